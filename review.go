package planmode

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	_ "embed"

	"github.com/planmode-dev/planmode/internal/turn"
	"github.com/planmode-dev/planmode/llm"
	"github.com/planmode-dev/planmode/plan"
	"github.com/planmode-dev/planmode/tool"
)

// ReviewConfig configures a reviewer: a sub-agent with read, grep, find and ls, and nothing else.
type ReviewConfig struct {
	ProviderFactory func(llm.Model) (llm.Provider, error)
	Model           llm.Model
	ThinkingLevel   string         // "", "off", "low", "medium", "high" or "xhigh"
	ParentTools     *tool.Registry // the read-only tools are taken from here; nil leaves it without

	// Gate is what the reviewer's gate is made of: the session's roots and rules. A zero Roots.Workspace
	// means the working directory. Whatever the session may do, the reviewer's gate is read-only.
	Gate tool.Config
	// Round is what ReviewResult.Round will be; 1 by default.
	Round int
	// MaxRequests to the model, 40 by default; MaxTime, 10 minutes by default; MaxCost in US dollars,
	// no limit by default.
	MaxRequests int
	MaxTime     time.Duration
	MaxCost     float64
}

// ReviewResult is a reviewer's verdict. What is not an approval in so many words is none.
type ReviewResult struct {
	Approved bool
	Feedback string
	Round    int // review round number
	// Structured says that the verdict came by the verdict tool rather than in the answer's text.
	Structured bool
	Usage      llm.Usage
}

// ReviewStreamFunc is called with text deltas during review.
type ReviewStreamFunc func(delta string)

//go:embed prompts/review_plan.md
var reviewPlanPrompt string

//go:embed prompts/review_code.md
var reviewCodePrompt string

// reviewTools are what a reviewer gets of its parent's tools.
var reviewTools = []string{"read", "grep", "find", "ls"}

// Limits of a review.
const (
	defaultReviewRequests = 40
	defaultReviewTime     = 10 * time.Minute
	maxFilesChanged       = 50
)

// Review lets a reviewer read the plan file and the code that it speaks of. If onStream is non-nil, it
// receives text deltas. An error means that there is no verdict, which is not an approval.
func Review(ctx context.Context, cfg ReviewConfig, planPath string, onStream ReviewStreamFunc) (ReviewResult, error) {
	file := planFile{path: planPath}
	text, err := file.read()
	if err != nil {
		return ReviewResult{}, err
	}
	return reviewText(ctx, cfg, text, onStream)
}

// reviewText reviews a plan by its text, which is what the user will approve.
func reviewText(ctx context.Context, cfg ReviewConfig, text string, onStream ReviewStreamFunc) (ReviewResult, error) {
	r := reviewer{cfg: cfg, system: reviewPlanPrompt, onStream: onStream}
	return r.run(ctx, fmt.Sprintf("Review this plan (digest %s).\n\n<plan>\n%s</plan>\n", plan.DigestOf(text).Short(), plan.Normalize(text)))
}

// ReviewCode lets a reviewer read the changed files. It blocks until the review is complete.
func ReviewCode(ctx context.Context, cfg ReviewConfig, summary string, filesChanged []string) (ReviewResult, error) {
	files, err := changedFiles(summary, filesChanged)
	if err != nil {
		return ReviewResult{}, err
	}
	r := reviewer{cfg: cfg, system: reviewCodePrompt}
	return r.run(ctx, fmt.Sprintf("Review this change.\n\nSummary:\n%s\n\nFiles:\n- %s\n", strings.TrimSpace(summary), strings.Join(files, "\n- ")))
}

// changedFiles checks what a review of code is asked for.
func changedFiles(summary string, files []string) ([]string, error) {
	if strings.TrimSpace(summary) == "" {
		return nil, errors.New("planmode: summary: say what was changed")
	}
	var clean []string
	for _, f := range files {
		if strings.TrimSpace(f) == "" {
			continue
		}
		if f = filepath.Clean(f); !slices.Contains(clean, f) {
			clean = append(clean, f)
		}
	}
	switch {
	case len(clean) == 0:
		return nil, errors.New("planmode: files_changed: name at least one file")
	case len(clean) > maxFilesChanged:
		return nil, fmt.Errorf("planmode: files_changed: %d files; the limit is %d", len(clean), maxFilesChanged)
	}
	return clean, nil
}

// A reviewer is one review. It is the Sink of its turn.
type reviewer struct {
	cfg      ReviewConfig
	system   string
	onStream ReviewStreamFunc

	mu       sync.Mutex
	messages []llm.Message
	usage    llm.Usage
	verdict  *verdict
}

func (r *reviewer) run(ctx context.Context, task string) (ReviewResult, error) {
	provider, level, err := r.provider()
	if err != nil {
		return ReviewResult{}, err
	}
	maxTime := r.cfg.MaxTime
	if maxTime <= 0 {
		maxTime = defaultReviewTime
	}
	ctx, cancel := context.WithTimeoutCause(ctx, maxTime, fmt.Errorf("planmode: the review took longer than %s", maxTime))
	defer cancel()
	tools := r.tools()
	r.messages = []llm.Message{llm.UserText(task)}
	out := turn.Run(ctx, turn.Config{
		Provider: provider, Gate: r.gate(tools), Sink: r, Surface: "child",
		State:       func() plan.State { return plan.State{} }, // read-only, whatever the session may do
		MaxRequests: orDefault(r.cfg.MaxRequests, defaultReviewRequests),
		Request: func(context.Context) (llm.Request, error) {
			return r.request(tools, level)
		},
	})
	return r.result(ctx, out)
}

func orDefault(n, otherwise int) int {
	if n <= 0 {
		return otherwise
	}
	return n
}

func (r *reviewer) provider() (llm.Provider, llm.ThinkingLevel, error) {
	if r.cfg.ProviderFactory == nil {
		return nil, "", errors.New("planmode: no reviewer is configured: ReviewConfig.ProviderFactory is nil")
	}
	level, err := llm.ParseThinkingLevel(r.cfg.ThinkingLevel)
	if err != nil {
		return nil, "", err
	}
	p, err := r.cfg.ProviderFactory(r.cfg.Model)
	return p, level, err
}

// tools are the reviewer's own registry: those of the parent that read, and the verdict.
func (r *reviewer) tools() *tool.Registry {
	reg := tool.NewRegistry(r.verdictTool())
	for _, name := range reviewTools {
		if t, ok := r.cfg.ParentTools.Get(name); ok {
			_ = reg.Register(t) // registered once already
		}
	}
	return reg
}

// gate is the reviewer's own: it stays in the zero [plan.State], which is read-only, for the session
// may be executing.
func (r *reviewer) gate(tools *tool.Registry) *tool.Gate {
	cfg := r.cfg.Gate
	cfg.Registry, cfg.PlanFile, cfg.Host = tools, nil, tool.Host{}
	cfg.Evidence = tool.EvidenceOff
	if cfg.Roots.Workspace == "" {
		cfg.Roots.Workspace, _ = os.Getwd() // without one nothing can be read
	}
	return tool.NewGate(cfg)
}

func (r *reviewer) request(tools *tool.Registry, level llm.ThinkingLevel) (llm.Request, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.cfg.MaxCost > 0 && r.usage.Cost >= r.cfg.MaxCost {
		return llm.Request{}, fmt.Errorf("planmode: the review has cost $%.2f; the limit is $%.2f", r.usage.Cost, r.cfg.MaxCost)
	}
	req := llm.Request{Model: r.cfg.Model, System: r.system, Messages: slices.Clone(r.messages), Thinking: level}
	for _, t := range tools.All() {
		req.Tools = append(req.Tools, t.Spec().ForModel())
	}
	return req, nil
}

// result makes a verdict of how the turn ended. A turn that failed has none, unless it had been given.
func (r *reviewer) result(ctx context.Context, out turn.Outcome) (ReviewResult, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	res := ReviewResult{Round: orDefault(r.cfg.Round, 1), Usage: out.Usage}
	if r.verdict != nil {
		res.Approved, res.Feedback, res.Structured = r.verdict.Approved, r.verdict.text(), true
		return res, nil
	}
	switch {
	case out.Err != nil:
		return res, fmt.Errorf("planmode: the review failed, so there is no verdict: %w", out.Err)
	case ctx.Err() != nil:
		return res, fmt.Errorf("planmode: the review was stopped, so there is no verdict: %w", context.Cause(ctx))
	case out.Stop != turn.EndTurn:
		return res, fmt.Errorf("planmode: the review has no verdict: %s", out.Note)
	}
	res.Feedback = out.Text
	res.Approved = approvedIn(out.Text)
	return res, nil
}

// The methods of [turn.Sink].

func (r *reviewer) Delta(d llm.Delta) {
	if r.onStream != nil && d.Text != "" {
		r.onStream(d.Text)
	}
}

func (r *reviewer) Answered(resp llm.Response) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.messages = append(r.messages, resp.Message)
	r.usage = r.usage.Add(resp.Usage)
	return nil
}

func (r *reviewer) Refused(c tool.Call, ref tool.Refusal) error {
	return r.Finished(c, ref.Result(), 0)
}

func (r *reviewer) Ask(context.Context, tool.Ask) (tool.Verdict, error) {
	return tool.Verdict{}, tool.ErrNoUser
}

func (r *reviewer) Allowed(tool.Call) error { return nil }

func (r *reviewer) Progress(string, string) {}

func (r *reviewer) Finished(c tool.Call, res tool.Result, _ time.Duration) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.messages = turn.AppendResult(r.messages, c.ID, res)
	return nil
}

// ReviewNewest reviews the newest revision by its text, with the session's plan review configuration.
// Transitions are the caller's: [PlanMode.StartReview] before, [plan.ReviewDone] after.
func (pm *PlanMode) ReviewNewest(ctx context.Context, onStream ReviewStreamFunc) (ReviewResult, error) {
	st := pm.State()
	r, ok := st.Newest()
	if !ok {
		return ReviewResult{}, plan.ErrNoPlan
	}
	cfg := pm.reviewConfig(pm.GetReviewConfig())
	cfg.Round = max(st.Rounds(), 1)
	res, err := reviewText(ctx, cfg, r.Text, onStream)
	pm.spent(res.Usage)
	return res, err
}

// reviewConfig completes the configuration with what the session has.
func (pm *PlanMode) reviewConfig(cfg ReviewConfig) ReviewConfig {
	if cfg.Gate.Roots.Workspace == "" {
		cfg.Gate = pm.reviewing
	}
	if cfg.ParentTools == nil {
		cfg.ParentTools = pm.cfg.Registry
	}
	return cfg
}

func (pm *PlanMode) spent(u llm.Usage) {
	if pm.cfg.Spent != nil && u != (llm.Usage{}) {
		pm.cfg.Spent(u)
	}
}
