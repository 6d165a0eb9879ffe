// Package tools makes the built-in tools: read, ls, find, grep, edit, write, bash, todo_write,
// ask_user, submit_plan and task.
//
// A tool says from its input alone what a call would do, and does it through its [tool.Grant]: the
// package reaches no file, process or machine by itself, and the linter and a test hold that. Texts
// are written for models: what happened, what was left out, and what to do next.
package tools

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"time"

	"github.com/planmode-dev/planmode/tool"
)

// Set is the name of the set that the built-in tools come in.
const Set = "builtin"

// Options tune the tools. The zero value is the default.
type Options struct {
	// Timeout is how long a command may run that does not say; 2 minutes by default. MaxTimeout is the
	// longest that one may ask for; 10 minutes by default.
	Timeout, MaxTimeout time.Duration
}

const (
	defaultTimeout    = 2 * time.Minute
	defaultMaxTimeout = 10 * time.Minute
)

func (o Options) timeouts() (usual, longest time.Duration) {
	usual, longest = o.Timeout, o.MaxTimeout
	if longest <= 0 {
		longest = max(defaultMaxTimeout, usual)
	}
	if usual <= 0 {
		usual = min(defaultTimeout, longest)
	}
	return min(usual, longest), longest
}

// All returns every built-in tool, in the order in which they are worth reading.
func All(o Options) []tool.Tool {
	return []tool.Tool{
		Read(), Ls(), Find(), Grep(), Edit(), Write(), Bash(o), TodoWrite(), AskUser(), SubmitPlan(), Task(),
	}
}

// maxText bounds the text of a result in bytes, about 16,000 tokens. What is cut says so.
const maxText = 64 << 10

// orWorkspace is the path that a call means by giving none.
func orWorkspace(p string) string {
	if p == "" {
		return "."
	}
	return p
}

// under returns the path of an entry below the folder, as a later call can give it.
func under(folder, rel string) string {
	switch {
	case folder == "" || folder == ".":
		return rel
	case rel == ".":
		return path.Clean(folder)
	}
	return path.Clean(folder) + "/" + strings.TrimPrefix(rel, "/")
}

// details encodes what a screen shows besides the text.
func details(v any) json.RawMessage {
	data, err := json.Marshal(v)
	if err != nil { // every caller passes plain values
		return nil
	}
	return data
}

// failed is a tool's own failure.
func failed(format string, args ...any) (tool.Result, error) {
	return tool.Result{}, fmt.Errorf(format, args...)
}

// A rejection is an error of a tool with a stable code, as the model sees it.
type rejection struct {
	Success bool   `json:"success"` // always false
	Code    string `json:"error_code"`
	Field   string `json:"field,omitempty"`
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`
}

func (r rejection) result() tool.Result {
	return tool.Result{Text: string(details(r)), IsError: true}
}

// missing explains an error about the path. For one that is not there it names the nearest entries.
func missing(g *tool.Grant, p string, err error) error {
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	dir, entries, nearErr := g.Near(p)
	if nearErr != nil {
		return fmt.Errorf("%s is not there", p)
	}
	abs, pathErr := g.Path(p)
	if pathErr != nil {
		return pathErr
	}
	rest := strings.TrimPrefix(strings.TrimPrefix(abs, dir), "/")
	name, deeper, isDeeper := strings.Cut(rest, "/")
	shown := shortened(g, dir)
	if isDeeper {
		err = fmt.Errorf("%s is not there: %s holds no folder %q", p, shown, name)
	} else {
		err = fmt.Errorf("%s is not there", p)
	}
	var names []string
	for _, e := range entries {
		n := e.Name()
		if e.IsDir() {
			n += "/"
		}
		names = append(names, n)
	}
	similar := nearest(name, names, 5)
	if len(similar) == 0 {
		return fmt.Errorf("%w; use ls or find to look for it", err)
	}
	for i, n := range similar {
		similar[i] = path.Join(shown, n)
		if strings.HasSuffix(n, "/") {
			similar[i] += "/" + deeper
		}
	}
	return fmt.Errorf("%w; did you mean %s?", err, strings.Join(similar, ", "))
}

// shortened returns an absolute path relative to the workspace where it lies in it.
func shortened(g *tool.Grant, abs string) string {
	ws := g.Workspace()
	if abs == ws {
		return "."
	}
	return strings.TrimPrefix(abs, strings.TrimSuffix(ws, "/")+"/")
}

// kindOf names what a path is, for errors and listings.
func kindOf(mode fs.FileMode) string {
	switch {
	case mode.IsRegular():
		return "file"
	case mode.IsDir():
		return "folder"
	case mode&fs.ModeSymlink != 0:
		return "link"
	case mode&fs.ModeNamedPipe != 0:
		return "pipe"
	case mode&fs.ModeSocket != 0:
		return "socket"
	}
	return "device"
}

// size writes a number of bytes for people and models.
func size(n int64) string {
	const k = 1000
	if n < k {
		return fmt.Sprintf("%d B", n)
	}
	units := "kMGTPE"
	v, u := float64(n)/k, 0
	for v >= k && u < len(units)-1 {
		v, u = v/k, u+1
	}
	return fmt.Sprintf("%.1f %cB", v, units[u])
}

// counted writes "1 line" and "2 lines".
func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	if strings.HasSuffix(noun, "ch") {
		return fmt.Sprintf("%d %ses", n, noun)
	}
	if stem, ok := strings.CutSuffix(noun, "try"); ok {
		return fmt.Sprintf("%d %stries", n, stem)
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
