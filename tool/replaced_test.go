package tool

import (
	"context"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
)

// whileReplacing runs f while swap is called again and again, and stops that before it returns.
func whileReplacing(t *testing.T, swap, f func() error) {
	t.Helper()
	stop := make(chan struct{})
	var group sync.WaitGroup
	group.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			if err := swap(); err != nil {
				t.Error(err)
				return
			}
		}
	})
	if err := f(); err != nil {
		t.Error(err)
	}
	close(stop)
	group.Wait()
}

// TestOpenWhileReplaced: programs save a file by putting a new one in its place. Who reads meanwhile
// gets the old one or the new one, and no error; a link that takes its place leads nowhere.
func TestOpenWhileReplaced(t *testing.T) {
	w := newWorld(t)
	file, folder, aside := w.path("ws/saved.txt"), w.path("ws/docs"), w.path("ws/docs2")
	w.write("ws/saved.txt", "saved")
	w.mkdir("ws/docs2")
	w.write("ws/docs2/b.md", "the other")
	w.inTool(Access{ReadFile{"."}}, func(_ context.Context, g *Grant) error {
		save := func() error {
			if err := os.WriteFile(w.path("ws/new.txt"), []byte("saved"), 0o600); err != nil {
				return err
			}
			return os.Rename(w.path("ws/new.txt"), file)
		}
		reads := func(f *File, err error) {
			if err != nil {
				t.Error(err)
				return
			}
			if text, err := io.ReadAll(f); err != nil || string(text) != "saved" {
				t.Errorf("read %q: %v", text, err)
			}
			_ = f.Close()
		}
		d, err := g.OpenDir(".")
		if err != nil {
			return err
		}
		whileReplacing(t, save, func() error {
			for range 500 {
				reads(g.Open("saved.txt"))
				reads(d.Open("saved.txt"))
			}
			return nil
		})
		// The name is a folder, another folder, or nothing.
		exchange := func() error {
			for _, names := range [][2]string{{folder, folder + "3"}, {aside, folder}, {folder, aside}, {folder + "3", folder}} {
				if err := os.Rename(names[0], names[1]); err != nil {
					return err
				}
			}
			return nil
		}
		whileReplacing(t, exchange, func() error {
			for range 500 {
				below, err := d.OpenDir("docs")
				switch {
				case os.IsNotExist(err):
				case err != nil:
					t.Error(err)
				default:
					_ = below.Close()
				}
			}
			return nil
		})
		// The name is a file, or a link to what is hidden.
		linked := func() error {
			if err := os.Symlink(".env", w.path("ws/new.txt")); err != nil {
				return err
			}
			if err := os.Rename(w.path("ws/new.txt"), file); err != nil {
				return err
			}
			return save()
		}
		whileReplacing(t, linked, func() error {
			for range 500 {
				f, err := d.Open("saved.txt")
				if err != nil {
					if text := err.Error(); !strings.Contains(text, "symbolic link") && !strings.Contains(text, "replaced") {
						t.Error(err)
					}
					continue
				}
				reads(f, nil)
			}
			return nil
		})
		return nil
	})
}

// TestOpenFolder: what is no folder is not opened as one, and a link is none.
func TestOpenFolder(t *testing.T) {
	w := newWorld(t)
	w.link("docs", "ws/way")
	root, err := os.OpenRoot(w.path("ws"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = root.Close() }()
	for name, want := range map[string]string{"way": "not a folder", "a.go": "not a folder", "none": "no such file"} {
		if below, err := openFolder(root, name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v %v", name, below, err)
		}
	}
}
