package tools

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/planmode-dev/planmode/plan"
	"github.com/planmode-dev/planmode/tool"
)

// submitSchema is what a model is told. What it sends is held against submitCheck alone and then by
// submitInput, whose errors name the field and what to do.
const (
	submitSchema = `{"type":"object","properties":{
"plan":{"type":"string","description":"the whole plan as Markdown; each step is a line \"1. …\" or \"- [ ] …\""},
"title":{"type":"string","description":"title of a plan given in parts"},
"summary":{"type":"string","description":"what is to be done and why, for a plan given in parts"},
"steps":{"type":"array","maxItems":200,"description":"the steps of a plan given in parts, in order","items":{"anyOf":[
{"type":"string"},
{"type":"object","properties":{
"title":{"type":"string","description":"the step in one line"},
"detail":{"type":"string","description":"files, functions and concrete changes"},
"tools":{"type":"array","items":{"type":"string"},"description":"names of the tools that it needs"}},
"required":["title"],"additionalProperties":false}]}},
"open_questions":{"type":"array","items":{"type":"string"},"description":"what the user should decide; assumptions that were made"},
"risks":{"type":"array","items":{"type":"string"}}},
"additionalProperties":false}`
	submitCheck = `{"type":"object"}`
)

// Limits of a plan given in parts, in characters; the whole has those of package plan.
const (
	maxStepTitle  = 300
	maxStepDetail = 5000
	maxStepTools  = 20
	maxPlanRow    = 1000
	maxPlanRows   = 50
)

// submitInput is a plan in one of three forms: its text, its parts, or nothing, which is the plan file.
type submitInput struct {
	text  *string
	draft *plan.Draft
}

// SubmitPlan returns the tool that hands in a plan and ends the turn. It changes no mode: what is done
// with the plan is the user's decision.
func SubmitPlan() tool.Tool {
	return tool.New(tool.Spec{
		Name: "submit_plan",
		Set:  Set,
		Description: "Hand in the finished plan, while planning. Give either plan (Markdown with numbered or checkbox steps), or " +
			"summary and steps, or nothing to submit the plan file as it is. It ends your turn: the user reads the plan and decides. " +
			"It approves nothing and leaves plan mode on.",
		Schema: json.RawMessage(submitSchema),
		Check:  json.RawMessage(submitCheck),
		Kinds:  []tool.Effect{tool.SubmitPlan{}},
	}, func(submitInput) tool.Access {
		return tool.Access{tool.SubmitPlan{}}
	}, submitPlan)
}

type submitDetails struct {
	Revision int         `json:"revision"`
	Plan     int         `json:"plan"`
	Digest   plan.Digest `json:"digest"`
	Title    string      `json:"title"`
	Steps    int         `json:"steps"`
	Status   plan.Status `json:"status"`
}

func submitPlan(ctx context.Context, g *tool.Grant, in submitInput) (tool.Result, error) {
	text, field := "", "the plan file"
	switch {
	case in.text != nil:
		text, field = *in.text, "plan"
	case in.draft != nil:
		composed, err := plan.Compose(*in.draft)
		if err != nil {
			return notSubmitted("steps", err), nil
		}
		text, field = composed, "steps"
	}
	// A text is checked here too, so that the error names its field; the plan file is checked where it is read.
	if text != "" {
		if err := plan.Check(text); err != nil {
			return notSubmitted(field, err), nil
		}
	}
	rev, err := g.SubmitPlan(ctx, text)
	if err != nil {
		return notSubmitted(field, err), nil
	}
	steps := len(rev.Steps())
	return tool.Result{
		Text: fmt.Sprintf("revision %d of the plan (%s, digest %s) is recorded and with the user, who decides what is next. "+
			"Nothing is approved and plan mode is on. Your turn ends here.", rev.Number, counted(steps, "step"), rev.Digest.Short()),
		Details: details(submitDetails{rev.Number, rev.Plan, rev.Digest, rev.Title, steps, rev.Status}),
		EndTurn: true,
	}, nil
}

// submitErrors say what to do about each reason that a plan is not taken for.
var submitErrors = []struct {
	err        error
	code, hint string
}{
	{plan.ErrEmpty, "plan_empty", "write the plan, with one line \"1. …\" or \"- [ ] …\" for each step, and submit it again"},
	{plan.ErrNoSteps, "plan_has_no_steps", "write each step as a line \"1. …\" or \"- [ ] …\", outside code fences, and submit it again; if no change is due, answer in text"},
	{plan.ErrTooLong, "plan_too_long", "shorten it, or plan a first part alone, and submit it again"},
	{plan.ErrUnclean, "plan_not_clean", "take the character out and submit it again"},
	{plan.ErrUnchanged, "plan_unchanged", "change it as the user's feedback asks, or ask the user what they want instead"},
}

func notSubmitted(field string, err error) tool.Result {
	r := rejection{Code: "plan_not_taken", Field: field, Message: err.Error(), Hint: "no plan was recorded"}
	for _, e := range submitErrors {
		if errors.Is(err, e.err) {
			r.Code, r.Hint = e.code, e.hint
			return r.result()
		}
	}
	var wrong *plan.TransitionError
	if errors.As(err, &wrong) {
		r.Code, r.Hint = string(tool.WrongPhase), "answer in text; the user decides what is next"
	}
	return r.result()
}

// UnmarshalJSON reads one of the forms. A mixture, a wrong type, an unknown name and a broken limit
// are errors that name the field.
func (in *submitInput) UnmarshalJSON(data []byte) error {
	var raw struct {
		Plan      *string           `json:"plan"`
		Title     string            `json:"title"`
		Summary   *string           `json:"summary"`
		Steps     []json.RawMessage `json:"steps"`
		Questions []string          `json:"open_questions"`
		Risks     []string          `json:"risks"`
	}
	if err := strictly(data, &raw); err != nil {
		return err
	}
	parts := raw.Summary != nil || raw.Steps != nil || raw.Questions != nil || raw.Risks != nil
	switch {
	case raw.Plan != nil && (parts || raw.Title != ""):
		return errors.New("plan: give either plan, or title, summary and steps, not both")
	case raw.Plan != nil && strings.TrimSpace(*raw.Plan) == "":
		return errors.New("plan: it is empty; leave it out to submit the plan file")
	case raw.Plan != nil:
		in.text = raw.Plan
		return nil
	case !parts: // a title alone says nothing: the text has one
		return nil
	case raw.Summary == nil || strings.TrimSpace(*raw.Summary) == "":
		return errors.New("summary: it is missing; a plan in parts has summary and steps")
	case len(raw.Steps) == 0:
		return errors.New("steps: there are none; a plan in parts has summary and steps")
	case len(raw.Steps) > plan.MaxSteps:
		return fmt.Errorf("steps: %d of them; the limit is %d", len(raw.Steps), plan.MaxSteps)
	}
	draft := &plan.Draft{Title: raw.Title, Summary: *raw.Summary, OpenQuestions: raw.Questions, Risks: raw.Risks}
	err := errors.Join(
		within("title", draft.Title, maxStepTitle),
		rows("open_questions", draft.OpenQuestions),
		rows("risks", draft.Risks),
	)
	for i, step := range raw.Steps {
		s, stepErr := readStep(step, fmt.Sprintf("steps[%d]", i))
		err = errors.Join(err, stepErr)
		draft.Steps = append(draft.Steps, s)
	}
	in.draft = draft
	return err
}

func readStep(raw json.RawMessage, field string) (plan.DraftStep, error) {
	var s plan.DraftStep
	if json.Unmarshal(raw, &s.Title) == nil && string(raw) != "null" {
		return s, errors.Join(filled(field, s.Title), within(field, s.Title, maxStepTitle))
	}
	var in struct {
		Title  string   `json:"title"`
		Detail string   `json:"detail"`
		Tools  []string `json:"tools"`
	}
	if string(raw) == "null" {
		return s, fmt.Errorf("%s: null is not a step", field)
	}
	if err := strictly(raw, &in); err != nil {
		return s, fmt.Errorf("%s: %w; a step is a string, or an object with title, detail and tools", field, err)
	}
	if len(in.Tools) > maxStepTools {
		return s, fmt.Errorf("%s.tools: %d of them; the limit is %d", field, len(in.Tools), maxStepTools)
	}
	s = plan.DraftStep{Title: in.Title, Detail: in.Detail, Tools: in.Tools}
	return s, errors.Join(
		filled(field+".title", s.Title),
		within(field+".title", s.Title, maxStepTitle),
		within(field+".detail", s.Detail, maxStepDetail),
	)
}

func filled(field, text string) error {
	if strings.TrimSpace(text) == "" {
		return fmt.Errorf("%s: it is empty", field)
	}
	return nil
}

func within(field, text string, most int) error {
	if n := len([]rune(text)); n > most {
		return fmt.Errorf("%s: %d characters; the limit is %d", field, n, most)
	}
	return nil
}

func rows(field string, list []string) error {
	if len(list) > maxPlanRows {
		return fmt.Errorf("%s: %d of them; the limit is %d", field, len(list), maxPlanRows)
	}
	var err error
	for i, row := range list {
		err = errors.Join(err, within(fmt.Sprintf("%s[%d]", field, i), row, maxPlanRow))
	}
	return err
}

// strictly decodes an object, and names the field of a wrong type.
func strictly(data []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	err := d.Decode(into)
	var wrong *json.UnmarshalTypeError
	switch {
	case errors.As(err, &wrong) && wrong.Field != "":
		return fmt.Errorf("%s: a JSON %s was given where %s is due", wrong.Field, wrong.Value, due(wrong))
	case errors.As(err, &wrong):
		return fmt.Errorf("a JSON %s was given where an object is due", wrong.Value)
	case err != nil:
		return errors.New(strings.TrimPrefix(err.Error(), "json: "))
	}
	return nil
}

func due(e *json.UnmarshalTypeError) string {
	if e.Type.Kind().String() == "slice" {
		return "an array"
	}
	return "a " + e.Type.Kind().String()
}
