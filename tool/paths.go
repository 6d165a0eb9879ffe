package tool

import (
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"runtime"
	"strings"
)

// Roots say which files a session may touch. All paths are absolute. The zero value of each field
// allows nothing.
type Roots struct {
	// Workspace may be read, and written where changes are allowed.
	Workspace string
	// Read are further folders that may be read; "/" is the whole machine.
	Read []string
	// Hidden are files and folders that may be neither read nor written, whatever the rest says. An
	// entry without a slash is a pattern for a base name, such as "id_*".
	Hidden []string
	// Keep is the folder for tool output that is too long for the model. It may be read.
	Keep string
	// Home is what "~" means; "" means that it is not understood.
	Home string
}

// protectedNames are entries of a workspace whose change is always asked for: they decide what other
// programs execute.
var protectedNames = []string{".git", ".planmode", ".envrc", ".vscode", ".idea", ".husky"}

var (
	errNoPath  = errors.New("the path is empty")
	errNulPath = errors.New("the path holds a NUL byte")
)

// abs returns the path as an absolute, clean one. It does not look at the disk.
func (r *Roots) abs(p string) (string, error) {
	switch {
	case p == "":
		return "", errNoPath
	case strings.ContainsRune(p, 0):
		return "", errNulPath
	case p == "~" || strings.HasPrefix(p, "~/"):
		if r.Home == "" {
			return "", fmt.Errorf("%q: no home folder is known", p)
		}
		return filepath.Join(r.Home, p[1:]), nil
	case filepath.IsAbs(p):
		return filepath.Clean(p), nil
	}
	return filepath.Join(r.Workspace, p), nil
}

// hidden says which entry of Hidden covers the absolute path.
func (r *Roots) hidden(abs string) (string, bool) {
	for _, h := range r.Hidden {
		if strings.ContainsAny(h, `/\`) {
			if within(h, abs) {
				return h, true
			}
			continue
		}
		for p := abs; ; {
			base := filepath.Base(p)
			if ok, err := path.Match(h, base); ok || err != nil { // a bad pattern hides everything
				return h, true
			}
			parent := filepath.Dir(p)
			if parent == p {
				break
			}
			p = parent
		}
	}
	return "", false
}

// readable returns the folder that lets the absolute path be read.
func (r *Roots) readable(abs string) (root string, ok bool) {
	for _, root := range append([]string{r.Workspace, r.Keep}, r.Read...) {
		if root != "" && within(root, abs) {
			return root, true
		}
	}
	return "", false
}

// protected says whether the absolute path lies in an entry of the workspace that decides what other
// programs execute, at any depth: a nested repository has hooks too.
func (r *Roots) protected(abs string) bool {
	if !within(r.Workspace, abs) {
		return false
	}
	rel, err := filepath.Rel(r.Workspace, abs)
	if err != nil {
		return true
	}
	for part := range strings.SplitSeq(filepath.ToSlash(rel), "/") {
		for _, name := range protectedNames {
			if strings.EqualFold(part, name) {
				return true
			}
		}
	}
	return false
}

// within says whether the absolute clean path is the folder or below it.
func within(folder, abs string) bool {
	if folder == "" {
		return false
	}
	folder = filepath.Clean(folder)
	if runtime.GOOS == "windows" {
		folder, abs = strings.ToLower(folder), strings.ToLower(abs)
	}
	if folder == abs {
		return true
	}
	if !strings.HasSuffix(folder, string(filepath.Separator)) {
		folder += string(filepath.Separator)
	}
	return strings.HasPrefix(abs, folder)
}
