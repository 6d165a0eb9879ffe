package shellsafe

// A psNode is a piece of a parsed PowerShell line. Every node knows where it stands in the line.
//
// Expressions: [psString], [psNumber], [psVar], [psList], [psGroup], [psBlock], [psHash], [psType],
// [psCast], [psMember], [psIndex], [psOp]. Statements: [psPipeline], [psAssign], [psFlow],
// [psFunction]. Parts of a pipeline: [psCommand], [psValue].
type psNode interface {
	isPS()
	pos() psPos
}

// psPos is a half-open range of bytes in the judged line.
type psPos struct{ from, to int }

func (p psPos) pos() psPos { return p }

// psString is a string in any spelling: bare, quoted, or a here-string.
type psString struct {
	psPos
	value string   // with escapes resolved; the expansions are left out of it
	parts []psNode // the expansions in it, in order
	lead  string   // the literal text before the first expansion
	bare  bool     // written without any quote at its start
	gt    bool     // has a bare > in it, which may be meant as a redirection
}

// psNumber is a number as written.
type psNumber struct {
	psPos
	text string
}

// psVar is a variable, $name, ${name} or @name; the name is in lower case.
type psVar struct {
	psPos
	name  string
	splat bool
}

// psList is a comma list.
type psList struct {
	psPos
	items []psNode
}

// psGroup is ( … ), $( … ) or @( … ): its open bracket and its statements.
type psGroup struct {
	psPos
	open string
	body []psNode
}

// psBlock is a script block. Whoever receives one may run it, so its body is judged where it stands.
type psBlock struct {
	psPos
	body []psNode
}

// psHash is a hash literal: the keys and values in order.
type psHash struct {
	psPos
	keys, values []psNode
}

// psType is a type literal; the name is in lower case without blanks.
type psType struct {
	psPos
	name string
}

// psCast converts its operand to a type; on the left of an assignment it constrains the variable.
type psCast struct {
	psPos
	typ     *psType
	operand psNode
}

// psMember reads a property, or calls a method when call is set.
type psMember struct {
	psPos
	target psNode
	name   psNode
	static bool
	call   bool
	args   []psNode
}

// psIndex is target[index].
type psIndex struct {
	psPos
	target, index psNode
}

// psOp is an operator with its operands: one (prefix or postfix), two or three. The operator is in
// lower case, with a plain dash. Precedence is not kept: every operand is judged whatever its place.
type psOp struct {
	psPos
	op       string
	operands []psNode
}

// psPipeline is a chain of commands joined by pipes, or several of those joined by && and ||.
type psPipeline struct {
	psPos
	elems []psNode
}

// psAssign is an assignment of any kind.
type psAssign struct {
	psPos
	target psNode
	value  psNode
}

// psFlow is a compound or flow statement (if, loops, switch, try, return …). Any of its parts may run.
type psFlow struct {
	psPos
	word  string
	parts []psNode
}

// psFunction is a function definition.
type psFunction struct {
	psPos
	name string
	body []psNode
}

// psValue is an expression that stands as a command in a pipeline.
type psValue struct {
	psPos
	expr   psNode
	redirs []psRedir
}

// psCommand is a command: its call operator if any ("&" or "."), its name and what follows.
type psCommand struct {
	psPos
	op     string
	name   psNode
	args   []psArg
	redirs []psRedir
}

// psArg is one word after the command's name: a parameter with or without attached value, or a value.
type psArg struct {
	psPos
	param   string // as written, without dash and colon; "" for a plain argument
	value   psNode // of a plain argument, or attached with a colon
	text    string // as written
	touches bool   // the next word follows without a blank
}

// psRedir is a redirection. A merge such as 2>&1 has no target.
type psRedir struct {
	psPos
	target psNode
}

func (*psString) isPS()   {}
func (*psNumber) isPS()   {}
func (*psVar) isPS()      {}
func (*psList) isPS()     {}
func (*psGroup) isPS()    {}
func (*psBlock) isPS()    {}
func (*psHash) isPS()     {}
func (*psType) isPS()     {}
func (*psCast) isPS()     {}
func (*psMember) isPS()   {}
func (*psIndex) isPS()    {}
func (*psOp) isPS()       {}
func (*psPipeline) isPS() {}
func (*psAssign) isPS()   {}
func (*psFlow) isPS()     {}
func (*psFunction) isPS() {}
func (*psValue) isPS()    {}
func (*psCommand) isPS()  {}
