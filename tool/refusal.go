package tool

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/planmode-dev/planmode/shellsafe"
)

// A Code is the stable name of a refusal's cause.
type Code string

// The codes.
const (
	PlanModeBlocked Code = "plan_mode_blocked" // the mode forbids it
	UnknownTool     Code = "unknown_tool"
	InvalidInput    Code = "invalid_input"
	PolicyDenied    Code = "policy_denied"      // a rule of the user's, or a hidden path
	UserDenied      Code = "user_denied"        // the user said no
	NoUser          Code = "no_user"            // the user would have to be asked and cannot be
	StalePermission Code = "stale_permission"   // the permission is used, revoked, expired or foreign
	LoopStopped     Code = "loop_stopped"       // the same call was refused again and again
	SandboxMissing  Code = "sandbox_required"   // the user requires a sandbox that is not there
	Internal        Code = "internal_error"     // judging failed; that is a no
	WrongPhase      Code = "not_in_this_phase"  // such as a plan submitted while none is due
	Interrupted     Code = "interrupted"        // the program stopped before the call was done
	NotGranted      Code = "outside_permission" // a tool reached for more than it had declared
)

// A Refusal is a judged no, as data: the same in the model's tool result, the event and the log.
type Refusal struct {
	Code     Code
	Tool     string
	Session  string
	PlanMode bool // plan mode is active
	// Fixable says that the model can do something about it: another input, another tool.
	Fixable bool
	Reason  string          // what was wrong
	At      *shellsafe.Span // where, in a command line
	Hint    string          // what would work instead
}

// Error returns the reason.
func (r *Refusal) Error() string { return string(r.Code) + ": " + r.Reason }

type refusalJSON struct {
	Success  bool            `json:"success"`
	IsError  bool            `json:"is_error"`
	Code     Code            `json:"error_code"`
	Tool     string          `json:"tool_name"`
	Session  string          `json:"session_id"`
	PlanMode bool            `json:"plan_mode"`
	Fixable  bool            `json:"fixable_by_llm"`
	Reason   string          `json:"reason"`
	At       *shellsafe.Span `json:"at,omitempty"`
	Hint     string          `json:"hint,omitempty"`
}

// MarshalJSON writes the refusal with "success":false and "is_error":true.
func (r Refusal) MarshalJSON() ([]byte, error) {
	return json.Marshal(r.json())
}

func (r *Refusal) json() refusalJSON {
	return refusalJSON{false, true, r.Code, r.Tool, r.Session, r.PlanMode, r.Fixable, r.Reason, r.At, r.Hint}
}

// UnmarshalJSON reads what [Refusal.MarshalJSON] writes.
func (r *Refusal) UnmarshalJSON(data []byte) error {
	var j refusalJSON
	if err := json.Unmarshal(data, &j); err != nil {
		return err
	}
	*r = Refusal{j.Code, j.Tool, j.Session, j.PlanMode, j.Fixable, j.Reason, j.At, j.Hint}
	return nil
}

// Result returns the refusal as the model sees it: its JSON.
func (r *Refusal) Result() Result {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)                     // the model reads a command line better as it is
	if err := e.Encode(r.json()); err != nil { // every field is a plain value
		return Result{Text: r.Error(), IsError: true}
	}
	return Result{Text: strings.TrimSuffix(b.String(), "\n"), IsError: true}
}
