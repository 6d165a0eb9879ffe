package sandbox

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// watcher ends a run that outgrows a limit which the kernel does not hold at its level: the bytes
// in a TMPDIR that is no mount of its own, and for root the number of processes, which RLIMIT_NPROC
// does not count for root.
type watcher struct {
	done   chan struct{}
	result chan string
}

const watchEvery = 100 * time.Millisecond

func (h *helper) watch() *watcher {
	bytes := h.Level == Landlock
	processes := os.Geteuid() == 0 && h.Limits.Processes > 0 && (h.Level != Namespaces && h.Level != Mounts || !pidLimitIsLocal())
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
			if broken := h.broken(bytes, processes); broken != "" {
				killDescendants(os.Getpid())
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

func (h *helper) broken(bytes, processes bool) string {
	if processes {
		if n := len(descendants(os.Getpid())); n > h.Limits.Processes {
			return fmt.Sprintf("%d processes, more than the limit of %d", n, h.Limits.Processes)
		}
	}
	if bytes && treeSize(h.base) > h.Limits.Scratch {
		return fmt.Sprintf("more than %d bytes in the private directory", h.Limits.Scratch)
	}
	return ""
}

func treeSize(dir string) int64 {
	var total int64
	_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil // it changes while we look
		}
		if info, err := d.Info(); err == nil && info.Mode().IsRegular() {
			total += info.Size()
		}
		return nil
	})
	return total
}
