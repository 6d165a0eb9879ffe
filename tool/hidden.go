package tool

import (
	"os"
	"path"
	"path/filepath"
	"strings"
)

// hiding is a list of hidden entries, in lower case and by how they are looked up. Each maps to the
// entry as the user wrote it.
type hiding struct {
	paths    map[string]string        // absolute
	names    map[string]string        // base names at any depth
	bases    []hiddenPattern          // patterns of base names at any depth
	inFolder map[string]hiddenPattern // patterns whose folder is a plain path, by the folder
	patterns []hiddenPattern          // other patterns of paths
	onDisk   []string                 // the paths as they were written
}

type hiddenPattern struct {
	pattern, entry string
	next           *hiddenPattern
}

func (r *Roots) hide() *hiding {
	h := &hiding{paths: map[string]string{}, names: map[string]string{}, inFolder: map[string]hiddenPattern{}}
	for _, entry := range r.Hidden {
		slashed := filepath.ToSlash(entry)
		low := strings.ToLower(slashed)
		if !strings.Contains(slashed, "/") && slashed != "~" {
			if strings.ContainsAny(low, `*?[\`) {
				h.bases = append(h.bases, hiddenPattern{pattern: low, entry: entry})
			} else if low != "" {
				h.names[low] = entry
			}
			continue
		}
		abs, err := r.abs(entry)
		if err != nil { // such as "~/x" without a home: the name alone is hidden
			h.names[path.Base(low)] = entry
			continue
		}
		h.onDisk = append(h.onDisk, abs)
		abs = strings.ToLower(filepath.ToSlash(abs))
		h.paths[abs] = entry
		if !strings.ContainsAny(abs, `*?[\`) {
			continue
		}
		dir, base := path.Split(abs)
		if dir = path.Clean(dir); strings.ContainsAny(dir, `*?[\`) {
			h.patterns = append(h.patterns, hiddenPattern{pattern: abs, entry: entry})
			continue
		}
		p := hiddenPattern{pattern: base, entry: entry}
		if old, ok := h.inFolder[dir]; ok {
			p.next = &old
		}
		h.inFolder[dir] = p
	}
	return h
}

// hidden says which entry of Hidden covers the absolute path. It does not look at the disk.
func (r *Roots) hidden(abs string) (string, bool) {
	if len(r.Hidden) == 0 {
		return "", false
	}
	h := r.hiding
	if h == nil {
		h = r.hide()
	}
	for p := strings.ToLower(filepath.ToSlash(abs)); ; {
		if entry, ok := h.covers(p); ok {
			return entry, true
		}
		slash := strings.LastIndexByte(p, '/')
		switch {
		case slash < 0, len(p) == 1:
			return "", false
		case slash == 0:
			p = "/"
		default:
			p = p[:slash]
		}
	}
}

func (h *hiding) covers(p string) (string, bool) {
	if entry, ok := h.paths[p]; ok {
		return entry, true
	}
	slash := strings.LastIndexByte(p, '/')
	base := p[slash+1:]
	if entry, ok := h.names[base]; ok {
		return entry, true
	}
	for _, b := range h.bases {
		if b.matches(base) {
			return b.entry, true
		}
	}
	if len(h.inFolder) > 0 {
		b, ok := h.inFolder[p[:max(slash, 1)]]
		for next := &b; ok && next != nil; next = next.next {
			if next.matches(base) {
				return next.entry, true
			}
		}
	}
	for _, b := range h.patterns {
		if b.matches(p) {
			return b.entry, true
		}
	}
	return "", false
}

// matches holds a name against the pattern; a pattern that is none hides everything.
func (b *hiddenPattern) matches(name string) bool {
	ok, err := path.Match(b.pattern, name)
	return ok || err != nil
}

// hiddenOnDisk says which entry of Hidden the file is that a real path names, or lies in, by whatever
// other name: through a symbolic link, a second hard link or another spelling. It looks at the disk.
func (r *Roots) hiddenOnDisk(real string) (string, bool) {
	if r.hiding == nil || len(r.hiding.onDisk) == 0 {
		return "", false
	}
	var above []os.FileInfo
	for p := real; ; p = filepath.Dir(p) {
		if info, err := os.Stat(p); err == nil {
			above = append(above, info)
		}
		if filepath.Dir(p) == p {
			break
		}
	}
	for _, entry := range r.hiding.onDisk {
		info, err := os.Stat(entry)
		if err != nil {
			continue // what is not there hides nothing
		}
		for _, a := range above {
			if os.SameFile(a, info) {
				return entry, true
			}
		}
	}
	return "", false
}

// hiddenBelow returns the hidden paths that lie below a real folder, relative to it and in lower case,
// by their real names. It looks at the disk.
func (r *Roots) hiddenBelow(real string) map[string]string {
	if r.hiding == nil {
		return nil
	}
	var below map[string]string
	for _, entry := range r.hiding.onDisk {
		target, err := filepath.EvalSymlinks(entry)
		if err != nil || target == entry || !within(real, target) {
			continue
		}
		rel, err := filepath.Rel(real, target)
		if err != nil {
			continue
		}
		if below == nil {
			below = map[string]string{}
		}
		below[strings.ToLower(filepath.ToSlash(rel))] = entry
	}
	return below
}

var unquoted = strings.NewReplacer(`"`, "", `'`, "", `\`, "")

// hiddenInLine says which word of a command line names something hidden, as far as the text shows it.
func (r *Roots) hiddenInLine(line, dir string) (word, entry string, found bool) {
	if len(r.Hidden) == 0 {
		return "", "", false
	}
	// Quotes and backslashes only hide a name from the eye.
	line = unquoted.Replace(line)
	for _, word := range strings.FieldsFunc(line, func(c rune) bool { return strings.ContainsRune(" \t\n\r;|&<>()=,:@`$", c) }) {
		abs := word
		if !filepath.IsAbs(word) && !strings.HasPrefix(word, "~") && dir != "" {
			abs = filepath.Join(dir, word)
		}
		abs, err := r.abs(abs)
		if err != nil {
			continue
		}
		if entry, hidden := r.hidden(abs); hidden {
			return word, entry, true
		}
	}
	return "", "", false
}
