package sandbox

import (
	"bytes"
	"os"
	"strconv"
	"syscall"
)

// killDescendants ends every process below pid, first stopping them so that none can start another
// one behind our back. Processes whose parents ended before are below whatever took them over.
func killDescendants(pid int) {
	var all []int
	for range 20 {
		now := descendants(pid)
		fresh := false
		for _, p := range now {
			if syscall.Kill(p, syscall.SIGSTOP) == nil && !contains(all, p) {
				all, fresh = append(all, p), true
			}
		}
		if !fresh {
			break
		}
	}
	for _, p := range all {
		_ = syscall.Kill(p, syscall.SIGKILL)
	}
}

func contains(pids []int, p int) bool {
	for _, q := range pids {
		if p == q {
			return true
		}
	}
	return false
}

// descendants lists the living processes below pid, from /proc.
func descendants(pid int) []int {
	children := map[int][]int{}
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	names, _ := dir.Readdirnames(-1)
	_ = dir.Close()
	for _, name := range names {
		if p, err := strconv.Atoi(name); err == nil {
			if parent, ok := parentOf(name); ok {
				children[parent] = append(children[parent], p)
			}
		}
	}
	var below []int
	for queue := []int{pid}; len(queue) > 0; queue = queue[1:] {
		below = append(below, children[queue[0]]...)
		queue = append(queue, children[queue[0]]...)
	}
	return below
}

// parentOf reads the parent from /proc/PID/stat; zombies have nothing left to kill.
func parentOf(pid string) (int, bool) {
	stat, err := os.ReadFile("/proc/" + pid + "/stat")
	if err != nil {
		return 0, false
	}
	// The name stands in parentheses and may itself contain any.
	i := bytes.LastIndexByte(stat, ')')
	if i < 0 {
		return 0, false
	}
	fields := bytes.Fields(stat[i+1:])
	if len(fields) < 2 || fields[0][0] == 'Z' {
		return 0, false
	}
	parent, err := strconv.Atoi(string(fields[1]))
	return parent, err == nil
}
