package tool

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/planmode-dev/planmode/plan"
)

// TestRefusalJSON holds the shape that the model sees.
func TestRefusalJSON(t *testing.T) {
	w := newWorld(t).to(plan.Planning)
	r := refusalOf(t, w.decide("bash", shellInput{Command: "sort a.go > out.txt"}))
	res := r.Result()
	var fields map[string]any
	if err := json.Unmarshal([]byte(res.Text), &fields); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]any{
		"success": false, "is_error": true, "error_code": "plan_mode_blocked", "tool_name": "bash", "session_id": "s",
		"plan_mode": true, "fixable_by_llm": false,
	} {
		if fields[name] != want {
			t.Errorf("%s is %v, want %v", name, fields[name], want)
		}
	}
	at, _ := fields["at"].(map[string]any)
	if at["offset"] != float64(10) || !strings.HasPrefix(fmt.Sprint(at["text"]), ">") {
		t.Errorf("at is %v", fields["at"])
	}
	if len(fields) != 10 || !res.IsError || strings.Contains(res.Text, `\u003e`) {
		t.Errorf("%s", res.Text)
	}
	const order = `{"success":false,"is_error":true,"error_code":"c","tool_name":"t","session_id":"","plan_mode":false,"fixable_by_llm":true,"reason":"<r>"}`
	if text := (&Refusal{Code: "c", Tool: "t", Fixable: true, Reason: "<r>"}).Result().Text; text != order {
		t.Errorf("%s\nwant %s", text, order)
	}
	var back Refusal
	if err := json.Unmarshal([]byte(res.Text), &back); err != nil || back.Reason != r.Reason || *back.At != *r.At || back.Hint != r.Hint {
		t.Errorf("%v: %+v is not %+v", err, back, r)
	}
}
