package tools

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/planmode-dev/planmode/tool"
)

type askInput struct {
	Questions []askQuestion `json:"questions" jsonschema:"1 to 4 questions, asked together"`
}

type askQuestion struct {
	Header   string      `json:"header,omitempty" jsonschema:"a word or two that name the matter, at most 30 characters"`
	Question string      `json:"question" jsonschema:"the question, one or two sentences"`
	Options  []askOption `json:"options,omitempty" jsonschema:"2 to 4 answers to choose from; left out, the user writes the answer"`
	Multiple bool        `json:"multiple,omitempty" jsonschema:"the user may choose several"`
}

type askOption struct {
	Label       string `json:"label" jsonschema:"the answer in a few words"`
	Description string `json:"description,omitempty" jsonschema:"what choosing it means"`
}

// Limits of a question, in characters.
const (
	maxQuestions   = 4
	minOptions     = 2
	maxOptions     = 4
	maxHeader      = 30
	maxQuestion    = 1000
	maxLabel       = 100
	maxOptionWords = 500
)

// AskUser returns the tool that asks the user.
func AskUser() tool.Tool {
	return tool.New(tool.Spec{
		Name: "ask_user",
		Set:  Set,
		Description: "Ask the user 1 to 4 questions and wait for the answers. Ask only what changes the work and cannot be found " +
			"out by looking. The user can always write an answer of their own, so propose no \"other\". Allowed in plan mode.",
		Kinds: []tool.Effect{tool.AskUser{}},
	}, func(askInput) tool.Access {
		return tool.Access{tool.AskUser{}}
	}, ask)
}

func ask(ctx context.Context, g *tool.Grant, in askInput) (tool.Result, error) {
	questions, err := in.questions()
	if err != nil {
		return tool.Result{}, err
	}
	answers, err := g.AskUser(ctx, questions)
	switch {
	case errors.Is(err, tool.ErrNoUser):
		where := "say so in your answer"
		if g.PlanMode() {
			where = "state it in the plan, among its open questions"
		}
		return rejection{
			Code: string(tool.NoUser), Message: "nobody can be asked: this session runs without a user",
			Hint: "do not ask again; make the most reasonable assumption, go on, and " + where,
		}.result(), nil
	case err != nil:
		return tool.Result{}, err
	case len(answers) != len(questions):
		return failed("%s came back to %s", counted(len(answers), "answer"), counted(len(questions), "question"))
	}
	return answered(questions, answers), nil
}

// questions checks the input.
func (in askInput) questions() ([]tool.Question, error) {
	if n := len(in.Questions); n < 1 || n > maxQuestions {
		return nil, fmt.Errorf("questions: %d given; 1 to %d are due", n, maxQuestions)
	}
	var questions []tool.Question
	for i, q := range in.Questions {
		field := fmt.Sprintf("questions[%d]", i)
		out := tool.Question{Header: oneLine(q.Header), Text: strings.TrimSpace(q.Question), Several: q.Multiple}
		if err := errors.Join(
			short(field+".header", out.Header, 0, maxHeader),
			short(field+".question", out.Text, 1, maxQuestion),
		); err != nil {
			return nil, err
		}
		if slices.ContainsFunc(questions, func(other tool.Question) bool { return other.Text == out.Text }) {
			return nil, fmt.Errorf("%s.question: it is asked twice", field)
		}
		var err error
		if out.Options, err = q.options(field); err != nil {
			return nil, err
		}
		questions = append(questions, out)
	}
	return questions, nil
}

func (q askQuestion) options(field string) ([]tool.Option, error) {
	switch n := len(q.Options); {
	case n == 0 && q.Multiple:
		return nil, fmt.Errorf("%s.options: multiple asks for options to choose from", field)
	case n == 0:
		return nil, nil
	case n < minOptions || n > maxOptions:
		return nil, fmt.Errorf("%s.options: %d given; %d to %d are due, or none for a written answer", field, n, minOptions, maxOptions)
	}
	var options []tool.Option
	for i, o := range q.Options {
		name := fmt.Sprintf("%s.options[%d]", field, i)
		out := tool.Option{Label: oneLine(o.Label), Description: strings.TrimSpace(o.Description)}
		if err := errors.Join(
			short(name+".label", out.Label, 1, maxLabel),
			short(name+".description", out.Description, 0, maxOptionWords),
		); err != nil {
			return nil, err
		}
		same := func(other tool.Option) bool { return strings.EqualFold(other.Label, out.Label) }
		switch {
		case slices.ContainsFunc(options, same):
			return nil, fmt.Errorf("%s.label: %q is there twice", name, out.Label)
		case strings.EqualFold(strings.Trim(out.Label, ".…: "), "other"):
			return nil, fmt.Errorf("%s.label: leave %q out; the user can always write something else", name, out.Label)
		}
		options = append(options, out)
	}
	return options, nil
}

// short checks a text that people read.
func short(field, text string, least, most int) error {
	switch n := utf8.RuneCountInString(text); {
	case n < least:
		return fmt.Errorf("%s: it is empty", field)
	case n > most:
		return fmt.Errorf("%s: %d characters; the limit is %d", field, n, most)
	}
	if i := strings.IndexFunc(text, func(r rune) bool { return r != '\n' && r != '\t' && unprintable(r) }); i >= 0 {
		return fmt.Errorf("%s: it holds a control character at byte %d", field, i)
	}
	return nil
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

type askDetails struct {
	Answers []askAnswer `json:"answers"`
}

type askAnswer struct {
	Question string   `json:"question"`
	Chosen   []string `json:"chosen"`
	Other    string   `json:"other,omitempty"`
}

// answered writes the answers for reading, and as JSON below.
func answered(questions []tool.Question, answers []tool.Answer) tool.Result {
	var b strings.Builder
	var d askDetails
	for i, q := range questions {
		a := answers[i]
		row := askAnswer{Question: q.Text, Chosen: append([]string{}, a.Chosen...), Other: strings.TrimSpace(a.Other)}
		d.Answers = append(d.Answers, row)
		fmt.Fprintf(&b, "%d. %s\n", i+1, oneLine(q.Text))
		for _, c := range row.Chosen {
			fmt.Fprintf(&b, "   chosen: %s\n", oneLine(c))
		}
		switch {
		case row.Other != "":
			fmt.Fprintf(&b, "   written: %s\n", strings.ReplaceAll(row.Other, "\n", "\n   "))
		case len(row.Chosen) == 0:
			b.WriteString("   not answered\n")
		}
	}
	data := details(d)
	b.Write(data)
	return tool.Result{Text: b.String(), Details: data}
}
