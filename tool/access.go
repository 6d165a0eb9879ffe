package tool

// An Access is what one call would do to the world: the list of its effects. An empty Access is not
// a claim of harmlessness but the absence of one, and is judged like [Opaque].
type Access []Effect

// An Effect is one thing that a call would do: [Nothing], [ReadFile], [WriteFile], [Shell], [Fetch],
// [SubmitPlan], [WriteTodos], [AskUser], [Spawn], [Claimed] or [Opaque]. Paths are as the model
// wrote them: relative to the workspace, absolute, or beginning with "~/".
type Effect interface{ effect() }

type (
	// Nothing: the call only computes.
	Nothing struct{}
	// ReadFile: the call reads the file, or the folder and what is below it.
	ReadFile struct{ Path string }
	// WriteFile: the call creates or changes that one file.
	WriteFile struct{ Path string }
	// Shell: the call runs the command line with bash in the folder ("" is the workspace).
	Shell struct {
		Command, Dir string
		// Scratch asks for a throw-away view of the workspace, in which what the command changes is
		// discarded.
		Scratch bool
	}
	// Fetch: the call reads the URL over the network.
	Fetch struct{ URL string }
	// SubmitPlan: the call hands in a plan.
	SubmitPlan struct{}
	// WriteTodos: the call replaces the todo list.
	WriteTodos struct{}
	// AskUser: the call asks the user a question.
	AskUser struct{}
	// Spawn: the call starts a sub-agent, which has a gate of its own under the same ceiling.
	Spawn struct{}
	// Claimed: a foreign tool's own word, such as an MCP server's readOnlyHint. It counts only if the
	// user trusts the source by name.
	Claimed struct {
		ReadOnly bool
		Source   string // such as "mcp:github"
	}
	// Opaque: nobody can tell.
	Opaque struct{ Why string }
)

func (Nothing) effect()    {}
func (ReadFile) effect()   {}
func (WriteFile) effect()  {}
func (Shell) effect()      {}
func (Fetch) effect()      {}
func (SubmitPlan) effect() {}
func (WriteTodos) effect() {}
func (AskUser) effect()    {}
func (Spawn) effect()      {}
func (Claimed) effect()    {}
func (Opaque) effect()     {}
