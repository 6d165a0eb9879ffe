package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/renameio/v2/maybe"
)

// Dirs are the folders of the program's own files. They need not exist.
type Dirs struct {
	Config string // of the user's configuration
	State  string // of sessions, plans and the list of trusted projects
}

// FindDirs returns the folders by the XDG rules: $XDG_CONFIG_HOME/planmode and $XDG_STATE_HOME/planmode, or
// ~/.config/planmode and ~/.local/state/planmode. A variable that is not an absolute path is ignored, as those rules
// ask, and reported. Without a variable and without an absolute home there is no folder: an error that names it.
func FindDirs(env func(name string) string, home string) (Dirs, []Diagnostic, error) {
	var diags []Diagnostic
	find := func(name, below string) (string, error) {
		v := env(name)
		if v != "" && filepath.IsAbs(v) && !strings.ContainsFunc(v, hiddenRune) {
			return filepath.Join(v, "planmode"), nil
		}
		if v != "" {
			diags = append(diags, Diagnostic{
				Severity: Notice, Path: name, Reason: fmt.Sprintf("%s is not an absolute path; it is ignored", quote(v)),
			})
		}
		if !filepath.IsAbs(home) {
			return "", fmt.Errorf("config: no home folder is known (%q) and %s is not set to an absolute path", home, name)
		}
		return filepath.Join(home, filepath.FromSlash(below), "planmode"), nil
	}
	config, err := find("XDG_CONFIG_HOME", ".config")
	if err != nil {
		return Dirs{}, diags, err
	}
	state, err := find("XDG_STATE_HOME", ".local/state")
	if err != nil {
		return Dirs{}, diags, err
	}
	return Dirs{Config: config, State: state}, diags, nil
}

// UserFile returns the path of the user's configuration.
func (d Dirs) UserFile() string { return filepath.Join(d.Config, FileName) }

// trustName is the file of trusted projects in the state folder: one absolute path a line.
const trustName = "trusted_projects"

// Trusted says whether the user trusts the project in that very folder; folders below it are not included. Links are
// resolved first, so that trust belongs to the place and not to a name for it. Whatever cannot be
// read is not trusted.
func (d Dirs) Trusted(dir string) bool {
	real, err := realDir(dir)
	if err != nil {
		return false
	}
	list, err := d.TrustedProjects()
	return err == nil && slices.Contains(list, real)
}

// TrustedProjects returns the list of trusted folders, sorted.
func (d Dirs) TrustedProjects() ([]string, error) {
	if !filepath.IsAbs(d.State) {
		return nil, fmt.Errorf("config: the state folder %q is not absolute", d.State)
	}
	data, err := readFile(filepath.Join(d.State, trustName), openUser)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("config: the list of trusted projects: %w", err)
	}
	var list []string
	for line := range strings.Lines(string(data)) {
		// A last line without its end was cut, and would name another folder.
		path, whole := strings.CutSuffix(line, "\n")
		if whole && filepath.IsAbs(path) {
			list = append(list, path)
		}
	}
	slices.Sort(list)
	return slices.Compact(list), nil
}

// Trust adds the project's folder, with its links resolved, to the list. It must exist.
func (d Dirs) Trust(dir string) error {
	real, err := realDir(dir)
	if err != nil {
		return fmt.Errorf("config: cannot trust %s: %w", quote(dir), err)
	}
	list, err := d.TrustedProjects()
	if err != nil {
		return err
	}
	if slices.Contains(list, real) {
		return nil
	}
	return d.writeTrusted(append(list, real))
}

// Distrust takes the project's folder off the list, under its name and, where it still exists, under its real one.
func (d Dirs) Distrust(dir string) error {
	gone := []string{filepath.Clean(dir)}
	if real, err := realDir(dir); err == nil {
		gone = append(gone, real)
	}
	list, err := d.TrustedProjects()
	if err != nil {
		return err
	}
	kept := slices.DeleteFunc(slices.Clone(list), func(p string) bool { return slices.Contains(gone, p) })
	if len(kept) == len(list) {
		return nil
	}
	return d.writeTrusted(kept)
}

func (d Dirs) writeTrusted(list []string) error {
	slices.Sort(list)
	var b strings.Builder
	for _, p := range list {
		b.WriteString(p + "\n")
	}
	if err := os.MkdirAll(d.State, 0o700); err != nil {
		return fmt.Errorf("config: the list of trusted projects was not changed: %w", err)
	}
	if err := maybe.WriteFile(filepath.Join(d.State, trustName), []byte(b.String()), 0o600); err != nil {
		return fmt.Errorf("config: the list of trusted projects was not changed: %w", err)
	}
	return nil
}

// realDir returns the folder's absolute path without links. A path that no line can hold is refused.
func realDir(dir string) (string, error) {
	if !filepath.IsAbs(dir) {
		return "", errors.New("the path is not absolute")
	}
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return "", err
	}
	info, err := os.Stat(real)
	if err != nil {
		return "", err
	}
	if !info.IsDir() {
		return "", errors.New("it is not a folder")
	}
	if strings.ContainsFunc(real, hiddenRune) {
		return "", errors.New("the path holds a character that cannot be shown as it is")
	}
	return filepath.Clean(real), nil
}
