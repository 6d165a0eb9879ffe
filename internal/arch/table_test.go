package arch

// module is this module's path, as go.mod spells it.
const module = "github.com/planmode-dev/planmode"

// A row says what the code of one package may know. Tests are free: they may import what they need,
// because nothing that ships depends on them.
type row struct {
	pkg  string   // folder below the module's root; "." is the root
	why  string   // what the package must not know; shown with each finding
	uses []string // packages of this module that it may import, as in pkg; "*" allows all
	mods []string // other modules' packages, each with what is below it; "*" allows all
	// never lists standard packages that it must not import: "os" is that package alone, "os/..." is
	// the package and all below it. The list everywhere comes on top.
	never []string
	// calls lists functions that it must not mention, such as "time.Now".
	calls []string
	// raw lifts the ban on unsafe, for code that speaks to the kernel.
	raw bool
}

// everywhere lists what no package imports: there is no cgo, no code is loaded at run time, and
// the old random numbers and ioutil have better successors. unsafe is added where a row is not raw.
var everywhere = []string{"C", "plugin", "io/ioutil", "math/rand"}

var (
	// world is the standard library's ways to files, processes, machines and memory. What a tool may
	// touch comes with its grant; a pure package touches nothing.
	world = []string{
		"os/...", "net", "net/http/...", "net/rpc/...", "net/smtp", "crypto/tls", "syscall/...", "log/syslog",
		"runtime/cgo", "archive/zip", "debug/...", "go/...", "text/template/...", "html/template",
	}
	// filesByName are functions of otherwise harmless packages that open what a path names.
	filesByName = []string{
		"path/filepath.EvalSymlinks", "path/filepath.Glob", "path/filepath.Walk", "path/filepath.WalkDir",
		"github.com/bmatcuk/doublestar/v4.FilepathGlob",
		"github.com/sabhiram/go-gitignore.CompileIgnoreFile",
		"github.com/sabhiram/go-gitignore.CompileIgnoreFileAndLines",
	}
	// clock are the functions that read the time or wait for it.
	clock = []string{
		"time.After", "time.AfterFunc", "time.NewTicker", "time.NewTimer", "time.Now", "time.Since", "time.Sleep",
		"time.Tick", "time.Until",
	}
	// start are the ways to start a process; looking for a program on PATH is none of them.
	start   = []string{"os/exec.Cmd", "os/exec.Command", "os/exec.CommandContext", "os.StartProcess"}
	network = []string{"net", "net/http/...", "net/rpc/...", "net/smtp"}
)

// table is the module's architecture. Arrows point down only: a package may use what its row says and
// nothing else of the module. The rows stand in the order of the arrows, leaves first.
var table = []row{
	// The library.
	{
		pkg:   "plan",
		why:   "plan is a pure state machine: standard library only, no I/O, no clock, no randomness",
		never: join(world, "io/fs", "log/...", "math/rand/...", "crypto/rand", "runtime/..."),
		calls: join(clock, filesByName...),
	},
	{
		pkg:   "shellsafe",
		why:   "shellsafe is a pure function of a command line: it knows no sessions, files or processes",
		mods:  []string{"mvdan.cc/sh/v3/syntax"}, // not its interpreter: that is not bash
		never: join(world, "io/fs"),
		calls: join(clock, filesByName...),
	},
	{
		pkg:   "sandbox",
		why:   "sandbox starts processes and knows nothing of tools, sessions or the web",
		uses:  []string{"sandbox/internal/stage"},
		mods:  []string{"golang.org/x/sys", "golang.org/x/net/bpf"},
		never: []string{"net/http/..."},
		raw:   true,
	},
	{
		pkg:   "sandbox/internal/stage",
		why:   "stage starts before everything else in the program, so it imports syscall and unsafe alone",
		never: join(network, "os/...", "context", "errors", "fmt", "io/...", "log/...", "reflect", "strconv", "strings", "sync/...", "time"),
		raw:   true,
	},
	{
		pkg:   "tasks",
		why:   "tasks is a store of todos: it knows no sessions, screens, processes or machines",
		mods:  []string{"github.com/google/renameio/v2"},
		never: join(network, "os/exec", "syscall/..."),
	},
	{
		pkg:   "llm",
		why:   "llm is what a conversation is made of: vendors are sub-packages, tools and sessions are above",
		never: []string{"os/...", "net/http/...", "syscall/..."},
	},
	{
		pkg:   "llm/anthropic",
		why:   "a vendor's package knows llm and its vendor's wire, not another vendor",
		uses:  []string{"llm", "llm/internal/wire"},
		mods:  []string{"github.com/anthropics/anthropic-sdk-go/v2"},
		never: []string{"os/exec", "syscall/..."},
	},
	{
		pkg:   "llm/openai",
		why:   "a vendor's package knows llm and its vendor's wire, not another vendor",
		uses:  []string{"llm", "llm/internal/wire"},
		mods:  []string{"github.com/openai/openai-go/v3"},
		never: []string{"os/exec", "syscall/..."},
	},
	{
		pkg:   "llm/internal/wire",
		why:   "wire is what vendors' packages share on the way to a server: no vendor's format",
		uses:  []string{"llm"},
		never: []string{"os/...", "syscall/..."},
	},
	{
		pkg:   "llm/scripted",
		why:   "the scripted model plays a file: it starts nothing and talks to nobody",
		uses:  []string{"llm"},
		never: join(network, "os/exec", "syscall/..."),
	},
	{
		pkg:   "llm/catalog",
		why:   "the catalogue is a table of models: it talks to nobody",
		uses:  []string{"llm"},
		mods:  []string{"charm.land/catwalk"},
		never: join(network, "os/exec", "syscall/..."),
	},
	{
		pkg:   "llm/vendors",
		why:   "vendors joins the catalogue with the packages that speak the wires; it knows nothing above llm",
		uses:  []string{"llm", "llm/catalog", "llm/anthropic", "llm/openai"},
		never: []string{"os/exec", "syscall/..."},
	},
	{
		pkg:   "tool",
		why:   "tool is the execution boundary: it knows no sessions, screens or vendors",
		uses:  []string{"plan", "llm", "tasks", "shellsafe", "sandbox"},
		mods:  []string{"github.com/google/jsonschema-go", "github.com/bmatcuk/doublestar/v4", "golang.org/x/sync"},
		calls: start, // processes start through sandbox
	},
	{
		pkg: ".",
		why: "the library's front door knows no HTTP, terminal, ACP or vendor",
		// shellsafe answers IsSafeCommand, internal/tools makes the submit_plan tool; both are below.
		uses:  []string{"tasks", "internal/turn", "internal/tools", "tool", "shellsafe", "llm", "plan"},
		mods:  []string{"github.com/google/renameio/v2", "golang.org/x/sync"},
		never: join(network, "os/exec", "syscall/..."),
	},

	// The program.
	{
		pkg:   "internal/tools",
		why:   "a built-in tool reaches files, processes and machines through its grant alone",
		uses:  []string{"tool", "shellsafe", "plan", "tasks", "llm"},
		mods:  []string{"github.com/bmatcuk/doublestar/v4", "github.com/google/jsonschema-go"},
		never: world,
		calls: filesByName,
	},
	{
		pkg:   "internal/turn",
		why:   "turn is the loop of one prompt: it knows no journals, screens or files",
		uses:  []string{"tool", "llm", "plan"},
		mods:  []string{"golang.org/x/sync"},
		never: join(network, "os/...", "syscall/..."),
	},
	{
		pkg:   "internal/session",
		why:   "session takes commands and gives events: no HTTP, terminal, ACP, vendors or files",
		uses:  []string{".", "internal/turn", "tool", "llm", "plan", "tasks"},
		mods:  []string{"golang.org/x/sync"},
		never: join(network, "os/...", "syscall/..."),
		calls: filesByName,
	},
	{
		pkg:   "internal/journal",
		why:   "a journal keeps lines and does not know what they mean",
		mods:  []string{"github.com/gofrs/flock", "github.com/google/renameio/v2"},
		never: join(network, "os/exec"),
	},
	{
		pkg:   "internal/config",
		why:   "config reads the user's files into the library's own types; it starts nothing and wires nothing",
		uses:  []string{"plan", "tool", "llm", "shellsafe", "sandbox"},
		mods:  []string{"github.com/google/jsonschema-go", "github.com/google/renameio/v2"},
		never: join(network, "os/exec", "syscall/..."),
	},
	{
		pkg:  "cmd/planmode",
		why:  "cmd/planmode wires: it may see everything",
		uses: []string{"*"},
		mods: []string{"*"},
	},

	// What only tests and developers use.
	{
		pkg:  "llm/internal/vendortest",
		why:  "vendortest is the suite that every vendor's package passes",
		uses: []string{"*"},
		mods: []string{"*"},
	},
	{
		pkg:  "internal/agenttest",
		why:  "agenttest serves tests of every package",
		uses: []string{"*"},
		mods: []string{"*"},
	},
	{
		pkg:  "internal/bench",
		why:  "bench measures every package",
		uses: []string{"*"},
		mods: []string{"*"},
	},
	{
		pkg: "internal/arch",
		why: "arch looks at the module from outside",
	},
}

// join returns one list of two, and shares memory with neither.
func join(list []string, more ...string) []string {
	return append(append([]string{}, list...), more...)
}
