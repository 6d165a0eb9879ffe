package sandbox

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
)

// The helper is started with its name as argv[0], the request and control pipe as descriptor 3 and
// the reply pipe as descriptor 4. The request is one frame; then the pipe stays open, and its end
// means that the run is cancelled or that the program that started it is gone. The reply is one
// frame, written when everything has ended.
const (
	helperName  = "planmode-sandbox-helper"
	helperCtl   = 3
	helperReply = 4

	maxFrame = 64 << 20
)

// raw is text that need not be valid UTF-8, which JSON strings must be.
type raw = []byte

// request is what the helper is asked to do. Its paths are absolute and resolved.
type request struct {
	Level  Level // None supervises only
	View   View
	Path   raw // the program
	Argv   []raw
	Env    []raw
	Dir    raw
	Root   raw
	Home   raw   // "" when there is none to redirect
	Base   raw   // private directory of this run; its "tmp" is the TMPDIR
	Hidden []raw // existing
	Limits Limits
	ABI    int  // of Landlock; 0 leaves it out
	Copy   bool // Scratch by copying, where overlay does not work
	Faults faults
}

// reply is how it went.
type reply struct {
	Step    string // the step of the set-up that failed, before anything was started; "" when none
	Err     string
	Exec    bool // the program itself could not be executed: no other rung would help
	Limit   string
	Status  uint32 // wait status
	Changed []raw
}

// faults make a step fail as it would on another machine, for tests.
type faults struct {
	NoUserNS   bool // clone of a user namespace is refused
	NoMounts   bool // a user namespace without rights in it, as Ubuntu's AppArmor gives
	NoProc     bool // a fresh /proc is refused, as in a container that masks parts of it
	NoLandlock bool // a kernel without it
	ABI        int  // a kernel with an older Landlock; 0 is the kernel's own
	NoOverlay  bool
	NoSeccomp  bool
}

func writeFrame(w io.Writer, v any) error {
	body, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = w.Write(append(binary.LittleEndian.AppendUint32(nil, uint32(len(body))), body...))
	return err
}

func readFrame(r io.Reader, v any) error {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return err
	}
	n := binary.LittleEndian.Uint32(head[:])
	if n > maxFrame {
		return fmt.Errorf("sandbox: frame of %d bytes", n)
	}
	body := make([]byte, n)
	if _, err := io.ReadFull(r, body); err != nil {
		return err
	}
	return json.Unmarshal(body, v)
}

func toRaw(ss []string) []raw {
	out := make([]raw, len(ss))
	for i, s := range ss {
		out[i] = raw(s)
	}
	return out
}

func fromRaw(rs []raw) []string {
	out := make([]string, len(rs))
	for i, r := range rs {
		out[i] = string(r)
	}
	return out
}

// stepError is a step of the set-up that failed. The rung below may still hold.
type stepError struct {
	step string
	err  error
}

func (e *stepError) Error() string { return e.step + ": " + e.err.Error() }
func (e *stepError) Unwrap() error { return e.err }

// step names the step that err happened in.
func step(name string, err error) error {
	if err == nil {
		return nil
	}
	return &stepError{name, err}
}

// failed turns an error of the set-up into a reply.
func failed(err error) reply {
	var s *stepError
	if errors.As(err, &s) {
		return reply{Step: s.step, Err: s.err.Error()}
	}
	return reply{Step: "set-up", Err: err.Error()}
}

func closeAll(files ...*os.File) {
	for _, f := range files {
		if f != nil {
			_ = f.Close()
		}
	}
}
