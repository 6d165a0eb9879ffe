package tool

import (
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"unicode"
)

// Roots say which files a session may touch. All paths are absolute. The zero value of each field
// allows nothing.
type Roots struct {
	// Workspace may be read, and written where changes are allowed.
	Workspace string
	// Read are further folders that may be read; "/" is the whole machine.
	Read []string
	// Hidden are files and folders that may be neither read nor written, whatever the rest says, with
	// what is below them. An entry without a slash is a pattern for a base name at any depth, such as
	// "id_*"; another is a path, or a pattern of [path.Match] for one. Letter case does not count. What
	// the entries hide from a process is the sandbox's matter, and only paths are hidden there; a command
	// line that names something hidden is refused, but that is no wall.
	Hidden []string
	// Keep is the folder for tool output that is too long for the model. It may be read.
	Keep string
	// Home is what "~" means; "" means that it is not understood.
	Home string

	hiding *hiding // made of Hidden by ready
}

// ready returns the roots with clean paths and what is hidden in a form that is quick to look up.
func (r Roots) ready() Roots {
	if r.Workspace != "" {
		r.Workspace = filepath.Clean(r.Workspace)
	}
	r.hiding = r.hide()
	return r
}

// protectedNames are entries of a workspace whose change is always asked for: they decide what other
// programs execute.
var protectedNames = []string{".git", ".planmode", ".envrc", ".vscode", ".idea", ".husky"}

var (
	errNoPath      = errors.New("the path is empty")
	errNulPath     = errors.New("the path holds a NUL byte")
	errNoWorkspace = errors.New("the path is relative, and there is no workspace")
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
	case r.Workspace == "":
		return "", errNoWorkspace
	}
	p = filepath.Clean(p) // a clean path costs nothing here, and a join of two would
	if p == "." {
		return r.Workspace, nil
	}
	if strings.HasPrefix(p, "..") || r.Workspace[len(r.Workspace)-1] == filepath.Separator {
		return filepath.Join(r.Workspace, p), nil
	}
	return r.Workspace + string(filepath.Separator) + p, nil
}

// readable returns the folder that lets the absolute path be read.
func (r *Roots) readable(abs string) (root string, ok bool) {
	if within(r.Workspace, abs) {
		return r.Workspace, true
	}
	if within(r.Keep, abs) {
		return r.Keep, true
	}
	for _, root := range r.Read {
		if within(root, abs) {
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
		part = asStored(part)
		for _, name := range protectedNames {
			if strings.EqualFold(part, name) {
				return true
			}
		}
	}
	return false
}

// asStored returns a name as file systems that fold names may store it: HFS+ ignores some characters,
// Windows what follows a colon and dots and spaces at the end, and knows .git as git~1 too.
func asStored(name string) string {
	name = strings.Map(func(c rune) rune {
		if unicode.Is(unicode.Cf, c) {
			return -1
		}
		return c
	}, name)
	name, _, _ = strings.Cut(name, ":")
	name = strings.TrimRight(name, ". ")
	if strings.EqualFold(name, "git~1") {
		return ".git"
	}
	return name
}

// within says whether the absolute clean path is the folder or below it.
func within(folder, abs string) bool {
	if folder == "" {
		return false
	}
	if len(folder) > 1 && folder[len(folder)-1] == filepath.Separator {
		folder = filepath.Clean(folder)
	}
	if runtime.GOOS == "windows" {
		folder, abs = strings.ToLower(folder), strings.ToLower(abs)
	}
	if folder == abs {
		return true
	}
	if folder[len(folder)-1] == filepath.Separator { // a root
		return strings.HasPrefix(abs, folder)
	}
	return len(abs) > len(folder) && abs[len(folder)] == filepath.Separator && strings.HasPrefix(abs, folder)
}
