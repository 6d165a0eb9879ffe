package planmode

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/renameio/v2/maybe"

	"github.com/planmode-dev/planmode/plan"
)

// A planFile is the revision on disk, for the user's editor and the model. There is one for each plan
// of a session. It is never reached through a symbolic link, and never outside its folder.
type planFile struct {
	dir  string // folder of the files
	own  string // the name that is this session's alone; "" if it has none
	slug string // "" until the first plan
	path string // of the present plan; "" until then
	plan int    // the plan that path belongs to
}

func planDir(cfg Config) string {
	if cfg.PlanDir != "" {
		return cfg.PlanDir
	}
	dir := cfg.SessionDir
	if dir == "" {
		state := os.Getenv("XDG_STATE_HOME")
		if !filepath.IsAbs(state) {
			home, err := os.UserHomeDir()
			if err != nil {
				home = os.TempDir()
			}
			state = filepath.Join(home, ".local", "state")
		}
		dir = filepath.Join(state, "planmode")
	}
	return filepath.Join(dir, "plans")
}

// PlanFilePath returns the plan file's path, or "" if no plan was begun in this session.
func (pm *PlanMode) PlanFilePath() string {
	pm.mu.Lock()
	defer pm.mu.Unlock()
	return pm.file.path
}

// follow opens the file of the plan that the state is in. A file that lacks the newest revision's text,
// because it is new or was lost, gets it: it is a copy, the record has the text.
func (f *planFile) follow(st plan.State) error {
	if !st.ReadOnly() && st.Mode() != plan.Executing {
		return nil
	}
	if err := f.open(st.Plan()); err != nil {
		return err
	}
	r, ok := st.Newest()
	if !ok {
		return nil
	}
	if _, err := f.read(); errors.Is(err, errNoPlanFile) {
		return f.write(r.Text)
	}
	return nil
}

// open makes the file of the numbered plan the present one. The name is claimed by creating the file,
// so that no two sessions share one. If the folder cannot be made the path stays as it was.
func (f *planFile) open(number int) error {
	if f.path != "" && f.plan == number {
		return nil
	}
	if err := os.MkdirAll(f.dir, 0o700); err != nil {
		return fmt.Errorf("planmode: the folder for plans cannot be made, so plans are kept in the session alone: %w", err)
	}
	const tries = 100
	for range tries {
		slug := f.slug
		switch {
		case f.own != "":
			slug = f.own
		case slug == "":
			slug = newSlug()
		}
		path := filepath.Join(f.dir, fileName(slug, number))
		file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		switch {
		case err == nil:
			f.slug, f.path, f.plan = slug, path, number
			return file.Close()
		case f.own != "" && errors.Is(err, fs.ErrExist): // from the session's earlier life
			f.slug, f.path, f.plan = slug, path, number
			return nil
		case !errors.Is(err, fs.ErrExist):
			return fmt.Errorf("planmode: the plan file cannot be made, so plans are kept in the session alone: %w", err)
		case f.slug != "":
			f.slug = "" // somebody has the name: take another
		}
	}
	return fmt.Errorf("planmode: no free name for a plan file in %s", f.dir)
}

// fileName returns the name of a plan's file. No slug leads out of the folder.
func fileName(slug string, number int) string {
	slug = strings.Map(func(r rune) rune {
		if r == filepath.Separator || r == '/' || r == 0 {
			return '_'
		}
		return r
	}, slug)
	if number > 1 {
		return fmt.Sprintf("%s-%d.md", slug, number)
	}
	return slug + ".md"
}

// write replaces the file's text.
func (f *planFile) write(text string) error {
	if f.path == "" {
		return nil
	}
	if err := f.regular(); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := maybe.WriteFile(f.path, []byte(text), 0o600); err != nil {
		return fmt.Errorf("planmode: the plan file could not be written; the plan itself is kept in the session: %w", err)
	}
	return nil
}

var errNoPlanFile = errors.New("planmode: there is no plan: pass its text to submit_plan, or write the plan file first")

// read returns the file's text.
func (f *planFile) read() (string, error) {
	if f.path == "" {
		return "", errNoPlanFile
	}
	if err := f.regular(); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return "", errNoPlanFile
		}
		return "", err
	}
	data, err := os.ReadFile(f.path)
	if err != nil {
		return "", fmt.Errorf("planmode: plan file: %w", err)
	}
	if strings.TrimSpace(string(data)) == "" {
		return "", errNoPlanFile
	}
	return string(data), nil
}

// regular refuses a link or anything else in the file's place.
func (f *planFile) regular() error {
	info, err := os.Lstat(f.path)
	if err != nil {
		return fmt.Errorf("planmode: plan file: %w", err)
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("planmode: %s is not a regular file; it was left alone", f.path)
	}
	if info.Size() > plan.MaxText {
		return fmt.Errorf("planmode: %s holds %d bytes: %w", f.path, info.Size(), plan.ErrTooLong)
	}
	return nil
}

var slugWords = [3][]string{
	strings.Fields(`amber brisk calm clear crisp deep early even fair fresh gentle glad green keen kind light lucid
		mellow mild neat noble open plain prime quick quiet rapid ready round sharp silent solid steady still sunny
		swift tidy true vivid warm wide wise`),
	strings.Fields(`anchor arch badger beacon birch bridge brook cedar comet compass coral crane delta ember falcon fern
		fjord garden glade harbor heron island juniper lantern lark ledger lighthouse maple meadow mill orchard otter
		pebble pine plover quarry raven reef river robin sail sparrow spruce summit thistle tide valley willow`),
	strings.Fields(`asks builds carries charts draws drifts finds flows gathers glides grows guides holds joins keeps
		leads lifts maps marks measures mends moves opens plans points reads rests rides rises sails sets shapes shows
		sings sorts spans starts steers stands sweeps tends traces turns walks weaves weighs works writes`),
}

// newSlug returns a name for people with a random tail: about 77 thousand words times 2^24.
func newSlug() string {
	var words []string
	for _, list := range slugWords {
		words = append(words, list[random(len(list))])
	}
	return fmt.Sprintf("%s-%06x", strings.Join(words, "-"), random(1<<24))
}

func random(n int) int {
	i, err := rand.Int(rand.Reader, big.NewInt(int64(n)))
	if err != nil { // crypto/rand does not fail
		return 0
	}
	return int(i.Int64())
}
