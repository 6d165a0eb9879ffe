package shellsafe

import "strings"

// psJudge judges the nodes of one PowerShell text.
type psJudge struct {
	worstOf
	opts  *Options
	known *psKnown
	depth int
	funcs map[string]bool // defined earlier in the text, at its top
	items bool            // $_ is known to be a string
	steps int             // bounds the work on one text
}

// psMaxSteps is far above what a text of MaxLen can need.
const psMaxSteps = 1 << 18

func analyzePS(line string, opts *Options, depth int) Result {
	known := &psKnown{assigned: map[string][]psNode{}}
	body, stop := parsePS(line, nil, known)
	j := &psJudge{worstOf: worstOf{line: line}, opts: opts, known: known, depth: depth, funcs: map[string]bool{}}
	if stop != nil {
		j.refuse(stop.verdict, stop.at, stop.row, stop.reason, "")
		return j.done()
	}
	if len(body) == 0 {
		return Result{Verdict: Read} // comments alone
	}
	for _, n := range body {
		if f, ok := n.(*psFunction); ok {
			j.define(f)
			continue
		}
		j.node(n)
	}
	return j.done()
}

// define judges a function at the top of the text and makes its name known. Its body is judged here,
// once; what a call hands over is judged at the call.
func (j *psJudge) define(f *psFunction) {
	j.nodes(f.body)
	if strings.ContainsAny(f.name, `:\/`) {
		j.refuse(Contained, f.pos(), "function", "a function with a scope or a path in its name", "")
		return
	}
	j.funcs[f.name] = true
}

func (j *psJudge) nodes(ns []psNode) {
	for _, n := range ns {
		j.node(n)
	}
}

// node judges a node of any kind.
func (j *psJudge) node(n psNode) {
	if j.steps++; j.steps > psMaxSteps {
		j.refuse(Invalid, n.pos(), "syntax", "too much to judge", "")
		return
	}
	switch n := n.(type) {
	case *psString:
		j.text(n)
	case *psNumber:
	case *psVar:
		j.variable(n)
	case *psList:
		j.nodes(n.items)
	case *psGroup:
		j.nodes(n.body)
	case *psBlock:
		j.nodes(n.body)
	case *psHash:
		j.nodes(n.keys)
		j.nodes(n.values)
	case *psType:
		j.typeName(n)
	case *psCast:
		j.cast(n)
	case *psMember:
		j.member(n)
	case *psIndex:
		j.node(n.target)
		j.node(n.index)
	case *psOp:
		j.operator(n)
	case *psPipeline:
		j.pipeline(n)
	case *psAssign:
		j.assign(n)
	case *psFlow:
		j.nodes(n.parts)
	case *psFunction:
		// Not at the top: whether it is defined when its name is used is not known.
		j.nodes(n.body)
		j.refuse(Contained, n.pos(), "function", "a function is defined inside a block", "")
	case *psValue:
		j.node(n.expr)
		j.redirects(n.redirs)
	case *psCommand:
		j.command(n)
	default:
		j.refuse(Invalid, n.pos(), "syntax", "a construct that is not judged", "")
	}
}

func (j *psJudge) text(n *psString) {
	j.nodes(n.parts)
	text := n.value
	if len(n.parts) > 0 {
		text = n.lead
	}
	if networkPath(text) {
		j.refuse(Network, n.pos(), "network path", quote(text)+" is on another machine", "")
	}
	if n.gt {
		j.refuse(Write, n.pos(), "redirect", "`>` inside a word may be a redirection",
			"put the word in single quotes if `>` is meant as text")
	}
}

// networkPath says whether a text names a place on another machine, or a device: \\host\share in any
// spelling, behind a provider's name, or a drive that talks to a server.
func networkPath(s string) bool {
	low := asciiLower(strings.ReplaceAll(strings.TrimSpace(s), `/`, `\`))
	if i := strings.Index(low, "::"); i >= 0 && strings.HasPrefix(low[i+2:], `\\`) {
		return true
	}
	for _, drive := range []string{"wsman:", "ad:", "sqlserver:"} {
		if strings.HasPrefix(low, drive) {
			return true
		}
	}
	rest, ok := strings.CutPrefix(low, `\\`)
	if !ok {
		return false
	}
	host, share, ok := strings.Cut(rest, `\`)
	if strings.HasPrefix(s, "//") && strings.ContainsAny(host, " \t") {
		return false // a comment's text rather than a path
	}
	if host == "?" || host == "." || host == "wsl$" || host == "wsl.localhost" {
		return host == "." || strings.HasPrefix(share, "unc")
	}
	return ok && host != "" && share != "" && strings.Trim(host, "abcdefghijklmnopqrstuvwxyz0123456789.-_@%$") == ""
}

// psEngineVars give access to the engine, or change how later commands work.
var psEngineVars = psSetOf("psdefaultparametervalues executioncontext pscmdlet")

func (j *psJudge) variable(n *psVar) {
	switch {
	case psEngineVars.has(psPlainName(n.name)), strings.HasPrefix(n.name, "global:") && psEngineVars.has(n.name[7:]):
		j.refuse(Contained, n.pos(), "$"+n.name, "$"+n.name+" gives access to the engine", "")
	case strings.HasPrefix(n.name, "function:"):
		j.refuse(Contained, n.pos(), "$function:", "a function's code could be run by what receives it", "")
	case networkPath(n.name):
		j.refuse(Network, n.pos(), "network path", "the variable's name is a path on another machine", "")
	}
}

// psSettings are variables that the engine reads, and that may be set for the line alone without harm.
var psSettings = psSetOf(`erroractionpreference progresspreference warningpreference verbosepreference
	informationpreference debugpreference errorview formatenumerationlimit`)

// psReserved are variables that the engine reads, and whose value changes what commands do.
var psReserved = psSetOf(`psdefaultparametervalues psmoduleautoloadingpreference
	psnativecommandargumentpassing psnativecommanduseerroractionpreference pssessionoption
	pssessionconfigurationname pssessionapplicationname psemailserver psstyle pshome psscriptroot
	pscommandpath psboundparameters psculture psuiculture psversiontable executioncontext host home pwd
	profile shellid error outputencoding confirmpreference whatifpreference ofs maximumhistorycount
	maximumvariablecount maximumaliascount maximumfunctioncount maximumdrivecount maximumerrorcount
	myinvocation pscmdlet args input stacktrace nestedpromptlevel enabledexperimentalfeatures
	logcommandhealthevent logcommandlifecycleevent logenginehealthevent logenginelifecycleevent
	logproviderhealthevent logproviderlifecycleevent`)

func (j *psJudge) assign(n *psAssign) {
	j.node(n.value)
	j.target(n.target)
}

// target judges what an assignment, ++ or -- changes.
func (j *psJudge) target(n psNode) {
	switch t := n.(type) {
	case *psVar:
		j.setVariable(t.name, t.pos())
	case *psCast:
		j.castType(t.typ)
		j.target(t.operand)
	case *psList:
		for _, n := range t.items {
			j.target(n)
		}
	case *psGroup:
		for _, n := range t.body {
			j.target(psUnwrap(n))
		}
	case *psMember:
		j.node(t.target)
		j.node(t.name)
		if t.call || !j.own(t.target) {
			j.refuse(Write, t.pos(), "property assignment", "setting a property can change what the object stands for", "")
		}
	case *psIndex:
		j.node(t.target)
		j.node(t.index)
		if !j.own(t.target) {
			j.refuse(Write, t.pos(), "index assignment", "setting an element can change what the object stands for", "")
		}
	default:
		j.refuse(Write, n.pos(), "assignment", "the target of the assignment is not known", "")
	}
}

func (j *psJudge) setVariable(name string, at psPos) {
	plain := psPlainName(name)
	switch {
	case psSettings.has(plain):
	case psReserved.has(plain):
		j.refuse(Contained, at, "$"+plain, "$"+plain+" changes how later commands work", "")
	case strings.HasPrefix(plain, "env:"):
		j.refuse(Contained, at, "$env:", "an environment variable can change what later programs do", "")
	case strings.Contains(plain, ":"):
		j.refuse(Write, at, "drive variable", "$"+plain+" changes something outside the line", "use a plain variable")
	}
}

// own says whether an expression is a variable that can only hold a collection made in this text.
func (j *psJudge) own(n psNode) bool {
	v, ok := n.(*psVar)
	if !ok {
		return false
	}
	values := j.known.assigned[psPlainName(v.name)]
	for _, value := range values {
		if !psNewCollection(value) {
			return false
		}
	}
	return len(values) > 0
}

// psNewCollection says whether a value is a collection that nothing else refers to.
func psNewCollection(n psNode) bool {
	switch n := n.(type) {
	case *psHash:
		return true
	case *psList:
		return true
	case *psGroup:
		return n.open == "@("
	case *psCast:
		return psCollections.has(psTypeName(n.typ)) && psNewCollection(n.operand)
	case *psMember:
		t, ok := n.target.(*psType)
		return ok && n.call && n.static && psLiteral(n.name) == "new" && psCollections.has(psTypeName(t))
	case *psPipeline:
		if c, ok := n.elems[0].(*psCommand); ok && len(n.elems) == 1 && len(c.args) == 1 && c.args[0].param == "" {
			name, literal := psCommandName(c)
			t := &psType{name: psLiteral(c.args[0].value)}
			return literal && name == "new-object" && psCollections.has(psTypeName(t))
		}
	}
	return false
}

// tired says that a question about a value leads too deep, or that the text asked too many: then the
// answer is no. Variables that are made of one another would make the work grow with a power.
func (j *psJudge) tired(depth int) bool {
	j.steps++
	return depth > 8 || j.steps > psMaxSteps
}

// constant says whether an expression's value is written in the text, so that nothing else, a block of
// code least of all, can come through it. Blocks in it were judged where they stand.
func (j *psJudge) constant(n psNode) bool {
	return j.constantIn(n, 0)
}

func (j *psJudge) constantIn(n psNode, depth int) bool {
	if j.tired(depth) {
		return false
	}
	switch n := n.(type) {
	case *psString, *psNumber, *psBlock, *psType:
		return true
	case *psList:
		for _, item := range n.items {
			if !j.constantIn(item, depth+1) {
				return false
			}
		}
		return true
	case *psHash:
		for _, value := range n.values {
			if !j.constantIn(psUnwrap(value), depth+1) {
				return false
			}
		}
		return true
	case *psGroup:
		for _, item := range n.body {
			if !j.constantIn(psUnwrap(item), depth+1) {
				return false
			}
		}
		return true
	case *psCast:
		return j.constantIn(n.operand, depth+1)
	case *psVar:
		if n.name == "true" || n.name == "false" || n.name == "null" {
			return true
		}
		values := j.known.assigned[psPlainName(n.name)]
		for _, value := range values {
			if value == nil || !j.constantIn(value, depth+1) {
				return false
			}
		}
		return len(values) > 0
	}
	return false
}

func (j *psJudge) operator(n *psOp) {
	j.nodes(n.operands)
	switch n.op {
	case "++", "--":
		if len(n.operands) == 1 {
			j.target(n.operands[0])
		}
	case "-as":
		t, ok := n.operands[len(n.operands)-1].(*psType)
		if !ok {
			j.refuse(Contained, n.pos(), "-as", "the type to convert to is not known", "")
			return
		}
		j.castType(t)
	}
}

func (j *psJudge) typeName(n *psType) {
	depth := 0
	for _, r := range n.name {
		switch {
		case r == '[':
			depth++
		case r == ']':
			depth--
		case r == ',' && depth == 0:
			j.refuse(Contained, n.pos(), "type", "a type with an assembly's name loads that assembly", "")
			return
		}
	}
}

// psTypeName is a type's name without the part that may be left out.
func psTypeName(n *psType) string {
	name := strings.TrimPrefix(n.name, "system.")
	if i := strings.IndexAny(name, "[`"); i > 0 {
		name = name[:i]
	}
	return name
}

func (j *psJudge) cast(n *psCast) {
	j.node(n.operand)
	j.castType(n.typ)
}

// castType judges a conversion: it can call a constructor or a method of the type.
func (j *psJudge) castType(t *psType) {
	j.typeName(t)
	if !psCasts.has(psTypeName(t)) && !psCollections.has(psTypeName(t)) {
		j.refuse(Contained, t.pos(), "cast", "converting to ["+t.name+"] is not known to be without effect", "")
	}
}

func (j *psJudge) pipeline(n *psPipeline) {
	for i, e := range n.elems {
		saved := j.items
		if i > 0 {
			j.items = j.producesText(n.elems[i-1])
		}
		j.node(e)
		j.items = saved
	}
}

func (j *psJudge) redirects(rs []psRedir) {
	for _, r := range rs {
		if r.target == nil {
			continue
		}
		if v, ok := r.target.(*psVar); ok && v.name == "null" && !v.splat {
			continue
		}
		j.node(r.target)
		hint := "drop the redirection"
		if s := psLiteral(r.target); s == "nul" || s == "nul:" || s == "/dev/null" {
			hint = "PowerShell's null device is $null"
		}
		j.refuse(Write, psPos{r.from, r.to}, "redirect", "output is redirected to a file", hint)
	}
}
