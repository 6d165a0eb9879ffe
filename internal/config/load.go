package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/planmode-dev/planmode/llm"
	"github.com/planmode-dev/planmode/tool"
)

// FileName is the name of the configuration in its folder; ProjectFile the path of a project's.
const (
	FileName    = "config.json"
	ProjectFile = ".planmode/config.json"
)

// The environment variables that [Load] reads.
const (
	// EnvDefault turns plan mode on for new sessions: 1, true, yes or on. 0, false, no, off and "" say nothing, so that
	// the variable can tighten and never loosen. Anything else is a fault, and turns it on.
	EnvDefault = "PLANMODE_DEFAULT"
	// EnvModel replaces the model of the user's file.
	EnvModel = "PLANMODE_MODEL"
	// EnvAutonomy replaces the autonomy of the user's file. Anything but strict, hybrid and loose is a
	// fault, and means strict.
	EnvAutonomy = "PLANMODE_AUTONOMY"
)

// LoadOptions say where to look. The zero value looks nowhere and gives [Default].
type LoadOptions struct {
	Dirs    Dirs                     // Dirs.Config holds the user's file; "" means that there is none
	Home    string                   // what ~/ means in a path; "" makes such a path a fault
	Project string                   // absolute folder of the project; "" means that there is none
	Trusted bool                     // whether the user trusts the project, as [Dirs.Trusted] says; without it the project's file is not read
	Env     func(name string) string // nil means an empty environment
}

// Load returns the configuration and what is to be said about it. It never fails: a file or variable
// that is bad contributes nothing but one diagnostic of severity [Fault]. As long as a file is bad, sessions start planning
// and autonomy is strict, because rules that are missing might have said so; a bad variable makes what it would have set
// the strictest.
//
// The order is: defaults, the user's file, the environment, and then the restrictions of a trusted project.
func Load(o LoadOptions) (Config, []Diagnostic) {
	l := loader{o: o, c: Default()}
	if o.Dirs.Config != "" {
		l.user(filepath.Join(o.Dirs.Config, FileName))
	}
	if o.Env != nil {
		l.environment()
	}
	if o.Project != "" {
		l.project(filepath.Join(o.Project, filepath.FromSlash(ProjectFile)))
	}
	l.closeUp()
	return l.c, l.diags
}

type loader struct {
	o     LoadOptions
	c     Config
	diags []Diagnostic
	bad   []string // files that count for nothing
}

func (l *loader) user(path string) {
	data, err := readFile(path, openUser)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	f, n, ok := l.parse(path, "", data, err)
	if !ok {
		return
	}
	for _, r := range table {
		if v := n.member(r.field); v != nil {
			r.user(&l.c, f)
			line, _ := position(data, v.offset)
			l.c.Sources[r.field] = []Source{{Kind: "user", Name: path, Line: line}}
		}
	}
}

func (l *loader) project(path string) {
	open := func(string) (*os.File, error) { return os.OpenInRoot(l.o.Project, filepath.FromSlash(ProjectFile)) }
	if !l.o.Trusted {
		if _, err := os.Lstat(path); err == nil {
			l.diags = append(l.diags, Diagnostic{
				Severity: Notice, Path: path,
				Reason: "the project is not trusted, so its settings are not read; trust it if its restrictions are to count",
			})
		}
		return
	}
	data, err := readFile(path, open)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	f, n, ok := l.parse(path, l.o.Project, data, err)
	if !ok {
		return
	}
	for _, r := range table {
		v := n.member(r.field)
		if v == nil {
			continue
		}
		line, column := position(data, v.offset)
		before := l.valueOf(r)
		if r.project == nil || !r.project(&l.c, f) {
			reason := "a project may not loosen the user's settings; this field " + r.rule
			if r.project == nil {
				reason = "ignored in a project's file: this field is " + r.rule
			}
			l.diags = append(l.diags, Diagnostic{Refused, path, line, column, r.field, reason})
			continue
		}
		if l.valueOf(r) == before {
			continue // it says what holds already
		}
		src := Source{Kind: "project", Name: path, Line: line}
		if !r.adds || len(before) <= len("[]") {
			l.c.Sources[r.field] = nil
		}
		l.c.Sources[r.field] = append(l.c.Sources[r.field], src)
	}
}

func (l *loader) valueOf(r row) string {
	value, err := marshal(r.show(&l.c))
	if err != nil {
		panic(fmt.Sprintf("config: %s does not encode: %v", r.field, err))
	}
	return string(value)
}

// parse checks a file and makes its paths absolute. A bad one leaves one diagnostic.
func (l *loader) parse(path, project string, data []byte, err error) (*file, *node, bool) {
	bad := func(d Diagnostic) (*file, *node, bool) {
		l.bad = append(l.bad, path)
		l.diags = append(l.diags, d)
		return nil, nil, false
	}
	if err != nil {
		return bad(Diagnostic{Severity: Fault, Path: path, Reason: "the file cannot be used: " + unwrapPath(err)})
	}
	n, faults := inspect(data, l.o.Home, project)
	if len(faults) > 0 {
		d := diagnose(path, data, faults[0])
		if more := len(faults) - 1; more > 0 {
			d.Reason += fmt.Sprintf(" (the first of %d faults)", more+1)
		}
		return bad(d)
	}
	var f file
	if err := json.Unmarshal(data, &f); err != nil { // not for a file that was checked
		return bad(Diagnostic{Severity: Fault, Path: path, Reason: err.Error()})
	}
	for i, s := range f.ReadRoots {
		f.ReadRoots[i] = absolute(s, l.o.Home, project)
	}
	for i, s := range f.Hidden {
		f.Hidden[i] = absolute(s, l.o.Home, project)
	}
	return &f, n, true
}

// inspect returns every fault of a file's text, in its order.
func inspect(data []byte, home, project string) (*node, []fault) {
	n, syntax := parse(data)
	if syntax != nil {
		return nil, []fault{*syntax}
	}
	var c checker
	c.check(n, root, "")
	for _, field := range []string{"read_roots", "hidden"} {
		list := n.member(field)
		if list == nil {
			continue
		}
		for i, item := range list.items {
			s, ok := item.scalar.(string)
			if !ok {
				continue // reported above
			}
			at := fmt.Sprintf("%s[%d]", field, i)
			switch {
			case s == "~" || strings.HasPrefix(s, "~/"):
				if home == "" {
					c.add(at, item.offset, "%s: no home folder is known", quote(s))
				}
			case field == "hidden" && strings.ContainsAny(s, `/\`) && !filepath.IsAbs(s):
				if project == "" {
					c.add(at, item.offset, "%s is neither absolute, nor from ~/, nor a base name", quote(s))
				} else if !filepath.IsLocal(filepath.FromSlash(s)) {
					c.add(at, item.offset, "%s leads out of the project", quote(s))
				}
			}
		}
	}
	return n, c.sorted()
}

// absolute returns the entry as the gate takes it: patterns for base names stay.
func absolute(s, home, project string) string {
	switch {
	case s == "~" || strings.HasPrefix(s, "~/"):
		return filepath.Join(home, s[1:])
	case filepath.IsAbs(s):
		return filepath.Clean(s)
	case project != "" && strings.ContainsAny(s, `/\`):
		return filepath.Join(project, filepath.FromSlash(s))
	}
	return s
}

func diagnose(path string, data []byte, f fault) Diagnostic {
	line, column := position(data, f.offset)
	return Diagnostic{Severity: Fault, Path: path, Line: line, Column: column, Field: f.field, Reason: f.reason}
}

// Check returns every fault of a file's text, with the path for the diagnostics. A project's file may say more than it
// may change; that is [Load]'s to judge. home is as in [LoadOptions]; project is the project's folder, or
// "" for the user's file.
func Check(path string, data []byte, home, project string) []Diagnostic {
	_, faults := inspect(data, home, project)
	out := make([]Diagnostic, 0, len(faults))
	for _, f := range faults {
		out = append(out, diagnose(path, data, f))
	}
	return out
}

func (l *loader) environment() {
	switch v := l.o.Env(EnvDefault); strings.ToLower(strings.TrimSpace(v)) {
	case "", "0", "false", "no", "off":
	case "1", "true", "yes", "on":
		l.fromEnv("plan.default", EnvDefault)
		l.c.Plan.Default = true
	default:
		l.fromEnv("plan.default", EnvDefault)
		l.c.Plan.Default = true
		l.envFault(EnvDefault, "plan.default", "%s is none of 1, true, yes, on, 0, false, no, off; sessions start in plan mode", v)
	}
	if v := l.o.Env(EnvModel); v != "" {
		if err := checkModel(v); err != nil || strings.ContainsFunc(v, hiddenRune) {
			l.envFault(EnvModel, "model", "%s is not of the form provider/model; it was not used", v)
		} else {
			l.fromEnv("model", EnvModel)
			l.c.Model = v
		}
	}
	if v := l.o.Env(EnvAutonomy); v != "" {
		a, err := tool.ParseAutonomy(v) // Strict where it is an error
		if err != nil {
			l.envFault(EnvAutonomy, "autonomy", "%s is none of strict, hybrid, loose; autonomy is strict", v)
		}
		l.fromEnv("autonomy", EnvAutonomy)
		l.c.Autonomy = a
	}
}

func (l *loader) fromEnv(field, name string) {
	l.c.Sources[field] = []Source{{Kind: "environment", Name: name}}
}

func (l *loader) envFault(name, field, format, value string) {
	l.diags = append(l.diags, Diagnostic{Severity: Fault, Path: name, Field: field, Reason: fmt.Sprintf(format, quote(value))})
}

// closeUp makes up for the rules of files that could not be read.
func (l *loader) closeUp() {
	if len(l.bad) == 0 {
		return
	}
	src := make([]Source, len(l.bad))
	for i, path := range l.bad {
		src[i] = Source{Kind: "fault", Name: path}
	}
	if !l.c.Plan.Default {
		l.c.Plan.Default = true
		l.c.Sources["plan.default"] = src
	}
	if l.c.Autonomy != tool.Strict {
		l.c.Autonomy = tool.Strict
		l.c.Sources["autonomy"] = src
	}
	for i := range l.diags {
		if d := &l.diags[i]; d.Severity == Fault && (d.Path == l.bad[0] || len(l.bad) > 1 && d.Path == l.bad[1]) {
			d.Reason += "; nothing of the file counts, and until it is mended sessions start in plan mode and autonomy is strict"
		}
	}
}

// openUser follows links: many people keep such files elsewhere and link them.
func openUser(path string) (*os.File, error) { return os.Open(path) }

var errShared = errors.New("every user of this machine may write it; take that right away (chmod o-w)")

func readFile(path string, open func(string) (*os.File, error)) ([]byte, error) {
	// Opening a FIFO would wait for ever.
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("it is not a regular file")
	}
	if errors.Is(err, fs.ErrNotExist) {
		if _, linked := os.Lstat(path); linked == nil {
			err = errors.New("it is a link that leads nowhere") // settings that went missing, not none
		}
	}
	if err != nil {
		return nil, err
	}
	f, err := open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err = f.Stat(); err != nil {
		return nil, err
	}
	if runtime.GOOS != "windows" && info.Mode().Perm()&0o002 != 0 {
		return nil, errShared
	}
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(data) > maxFile {
		err = fmt.Errorf("it is larger than %d bytes", maxFile)
	}
	return data, err
}

// unwrapPath leaves the path out of an error; the diagnostic has it.
func unwrapPath(err error) string {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err.Error()
	}
	return err.Error()
}

// ModelOf returns what the file says of a model, named provider/model.
func (c Config) ModelOf(name string) (llm.Model, bool) {
	provider, id, err := llm.SplitName(name)
	if err != nil {
		return llm.Model{}, false
	}
	for _, m := range c.Providers[provider].Models {
		if m.ID == id {
			return m, true
		}
	}
	return llm.Model{}, false
}
