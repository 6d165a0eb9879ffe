package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/planmode-dev/planmode/internal/config"
	"github.com/planmode-dev/planmode/internal/journal"
	"github.com/planmode-dev/planmode/internal/session"
)

// A place is a project on this machine: its folder, the user's folders and the configuration there.
type place struct {
	home, workspace string
	dirs            config.Dirs
	cfg             config.Config
	diags           []config.Diagnostic
}

// findPlace loads what holds in the folder; "" is the working directory.
func findPlace(cwd string) (*place, error) {
	home, err := os.UserHomeDir()
	if err != nil {
		home = ""
	}
	if cwd == "" {
		if cwd, err = os.Getwd(); err != nil {
			return nil, usagef("the working directory: %v", err)
		}
	}
	if cwd, err = filepath.Abs(cwd); err != nil {
		return nil, err
	}
	workspace, err := filepath.EvalSymlinks(cwd)
	if err != nil {
		return nil, usagef("the workspace: %v", err)
	}
	if info, err := os.Stat(workspace); err != nil || !info.IsDir() {
		return nil, usagef("the workspace %s is not a folder", workspace)
	}
	dirs, diags, err := config.FindDirs(os.Getenv, home)
	if err != nil {
		return nil, err
	}
	p := &place{home: home, workspace: workspace, dirs: dirs}
	cfg, more := config.Load(config.LoadOptions{
		Dirs: dirs, Home: home, Project: workspace, Trusted: dirs.Trusted(workspace), Env: os.Getenv,
	})
	p.cfg, p.diags = cfg, append(diags, more...)
	return p, nil
}

// complain writes what is to be said about the configuration.
func (p *place) complain(w io.Writer) {
	for _, d := range p.diags {
		fmt.Fprintf(w, "planmode: configuration: %s\n", shown(d.String()))
	}
}

// faulty says that settings are missing, because a file or a variable that holds them is bad.
func (p *place) faulty() bool {
	return slices.ContainsFunc(p.diags, func(d config.Diagnostic) bool { return d.Severity == config.Fault })
}

// projectKey names a project's folder of sessions: its base name, for people, and a digest of its path.
func projectKey(workspace string) string {
	sum := sha256.Sum256([]byte(workspace))
	base := strings.Map(func(r rune) rune {
		if r < 128 && (r == '-' || r == '_' || r == '.' || '0' <= r && r <= '9' || 'A' <= r && r <= 'Z' || 'a' <= r && r <= 'z') {
			return r
		}
		return '-'
	}, filepath.Base(workspace))
	return strings.TrimLeft(base, ".-") + "-" + hex.EncodeToString(sum[:5])
}

func (p *place) sessionsDir() string {
	return filepath.Join(p.dirs.State, "sessions", projectKey(p.workspace))
}

// planDir is the folder of one session's plan files.
func (p *place) planDir(project, id string) string {
	return filepath.Join(p.dirs.State, "plans", project, id)
}

// keepDir is the folder of one session's long outputs.
func (p *place) keepDir(project, id string) string {
	return filepath.Join(p.dirs.State, "outputs", project, id)
}

// A sessionFile is a session's journal on disk.
type sessionFile struct {
	ID, Project, Path string
	Changed           time.Time
	Size              int64
}

// sessionFiles returns the sessions of the project, or of all, newest first.
func (p *place) sessionFiles(all bool) ([]sessionFile, error) {
	dirs := []string{p.sessionsDir()}
	if all {
		entries, err := os.ReadDir(filepath.Join(p.dirs.State, "sessions"))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		dirs = nil
		for _, e := range entries {
			if e.IsDir() {
				dirs = append(dirs, filepath.Join(p.dirs.State, "sessions", e.Name()))
			}
		}
	}
	var files []sessionFile
	for _, dir := range dirs {
		entries, err := os.ReadDir(dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		for _, e := range entries {
			id, ok := strings.CutSuffix(e.Name(), journal.Ext)
			info, err := e.Info()
			if !ok || err != nil || !info.Mode().IsRegular() {
				continue
			}
			files = append(files, sessionFile{id, filepath.Base(dir), filepath.Join(dir, e.Name()), info.ModTime(), info.Size()})
		}
	}
	slices.SortFunc(files, func(a, b sessionFile) int { return b.Changed.Compare(a.Changed) })
	return files, nil
}

// findSession returns the one session whose ID begins with the word, in any project.
func (p *place) findSession(word string) (sessionFile, error) {
	files, err := p.sessionFiles(true)
	if err != nil {
		return sessionFile{}, err
	}
	var found []sessionFile
	for _, f := range files {
		if f.ID == word {
			return f, nil
		}
		if strings.HasPrefix(f.ID, word) {
			found = append(found, f)
		}
	}
	switch {
	case word == "" || len(found) == 0:
		return sessionFile{}, usagef("there is no session %q; planmode sessions list --all shows them", word)
	case len(found) > 1:
		return sessionFile{}, usagef("%q names %d sessions; give more of the ID", word, len(found))
	}
	return found[0], nil
}

// workspaceOf reads in a session's journal which folder it works in; "" if that cannot be read.
func workspaceOf(at sessionFile) (string, error) {
	for line, err := range journal.Read(at.Path, nil) {
		if err != nil {
			return "", fmt.Errorf("session %s: %w", at.ID, err)
		}
		var e session.Entry
		if json.Unmarshal(line.Data, &e) != nil {
			continue
		}
		if ev, ok := e.Event.(session.Started); ok {
			return ev.Workspace, nil
		}
	}
	return "", nil
}

// hiddenNames are base names, as patterns, that hold keys wherever they lie.
var hiddenNames = []string{"id_rsa*", "id_ed25519*", "id_ecdsa*", "id_dsa*", "*.pem", "*.p12", "*.pfx", "*.kdbx", ".netrc", ".git-credentials", ".pgpass"}

// wholeMachine is the read root for everything that is not hidden.
func wholeMachine() string {
	if runtime.GOOS == "windows" {
		return filepath.VolumeName(os.Getenv("SystemDrive")+`\`) + `\`
	}
	return "/"
}
