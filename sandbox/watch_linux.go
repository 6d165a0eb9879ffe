package sandbox

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// watcher ends a run that outgrows a limit which the kernel does not hold at its level: the bytes
// in a private directory that is no mount of its own, and for root the number of processes, which
// RLIMIT_NPROC does not count for root.
type watcher struct {
	done   chan struct{}
	result chan string
}

const watchEvery = 100 * time.Millisecond

// watch watches the descendants of the helper.
func (v *view) watch(helper int) *watcher {
	bytes := v.level == Landlock || v.copy != ""
	processes := os.Geteuid() == 0 && v.job.Limits.Processes > 0 && !(v.mounted() && pidLimitIsLocal())
	if !bytes && !processes {
		return nil
	}
	w := &watcher{make(chan struct{}), make(chan string, 1)}
	go func() {
		for {
			select {
			case <-w.done:
				w.result <- ""
				return
			case <-time.After(watchEvery):
			}
			if broken := v.broken(helper, bytes, processes); broken != "" {
				killDescendants(helper)
				w.result <- broken
				return
			}
		}
	}()
	return w
}

// stop ends the watch and returns the limit that was broken, if one was.
func (w *watcher) stop() string {
	if w == nil {
		return ""
	}
	close(w.done)
	return <-w.result
}

func (v *view) broken(helper int, bytes, processes bool) string {
	limits := v.job.Limits
	if processes {
		n := len(descendants(helper))
		if v.mounted() {
			n-- // process 1 is the helper's
		}
		if n > limits.Processes {
			return fmt.Sprintf("%d processes, more than the limit of %d", n, limits.Processes)
		}
	}
	if bytes && treeSize(v.base) > limits.Scratch {
		return fmt.Sprintf("more than %d bytes in the private directory", limits.Scratch)
	}
	return ""
}

func treeSize(dir string) int64 {
	var total int64
	_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil //nolint:nilerr // it changes while we look
		}
		if info, err := d.Info(); err == nil && info.Mode().IsRegular() {
			total += info.Size()
		}
		return nil
	})
	return total
}
