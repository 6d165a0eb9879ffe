package shellsafe

import "strings"

// psCommandName returns a command's name in lower case, without the name of a module of PowerShell's
// own. It is not literal when it is built from parts or is not a plain word.
func psCommandName(c *psCommand) (name string, literal bool) {
	s, ok := c.name.(*psString)
	if !ok || len(s.parts) > 0 || !s.bare && c.op == "" {
		return "", false
	}
	name = asciiLower(s.value)
	if rest, ok := strings.CutPrefix(name, "microsoft.powershell."); ok {
		if module, short, ok := strings.Cut(rest, `\`); ok && psOwnModules.has(module) && psCmdlets()[short] != nil {
			name = short
		}
	}
	return name, true
}

var psOwnModules = psSetOf("core management utility security diagnostics host")

// command judges a command: first all that it is given, then what it does.
func (j *psJudge) command(c *psCommand) {
	j.redirects(c.redirs)
	if b, ok := c.name.(*psBlock); ok && c.op != "" {
		j.nodes(b.body)
		j.arguments(c)
		return
	}
	j.node(c.name)
	j.arguments(c)
	name, literal := psCommandName(c)
	if !literal {
		if c.op == "" {
			j.refuse(Invalid, c.name.pos(), "syntax", "only the first part of a pipeline may be a value", "")
			return
		}
		j.refuse(Contained, c.name.pos(), "call operator", "what is called is known only when the line runs",
			"write the command's name")
		return
	}
	j.named(c, name)
}

func (j *psJudge) arguments(c *psCommand) {
	for _, a := range c.args {
		if a.value != nil {
			j.node(a.value)
		}
		if a.param != "" && strings.ContainsAny(a.param, ">") {
			j.refuse(Write, a.pos(), "redirect", "`>` inside a word may be a redirection", "")
		}
	}
}

// named judges a command by its name. What comes first here is what PowerShell looks for first: an
// alias, a function, a command of its own, a program.
func (j *psJudge) named(c *psCommand, name string) {
	if j.funcs[name] {
		// Its body was judged. Where the name is a known command's too, that must agree: which of the
		// two runs depends on whether the definition did.
		if _, alias := psAliases()[name]; !alias && psCmdlets()[name] == nil && psRows()[name].reason == "" {
			return
		}
	}
	if full, ok := psAliases()[name]; ok {
		if psUnixNames.has(name) && j.unknownParam(c, full) {
			j.program(c, name)
			return
		}
		if name == "set" && len(c.args) == 0 {
			return // it asks for a name; to cmd, from where people know it, it lists the environment
		}
		name = full
	}
	if cmdlet := psCmdlets()[name]; cmdlet != nil {
		j.cmdlet(c, cmdlet)
		return
	}
	if name == "invoke-expression" {
		j.expression(c)
		return
	}
	if row, ok := psRows()[name]; ok {
		j.refuse(row.verdict, c.name.pos(), name, row.reason, row.hint)
		return
	}
	if verb, noun, ok := strings.Cut(name, "-"); ok && psIsCmdletName(verb, noun) {
		if v, ok := psVerbs()[verb]; ok && !j.vouched(c) {
			j.refuse(v, c.name.pos(), "verb "+verb, quote(j.source(c.name))+" is not a command that only reads", "")
			return
		}
	}
	j.program(c, name)
}

func psIsCmdletName(verb, noun string) bool {
	for _, s := range []string{verb, noun} {
		if s == "" || strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789") != "" {
			return false
		}
	}
	return true
}

// source is the text of a node.
func (j *psJudge) source(n psNode) string {
	at := n.pos()
	return j.line[at.from:at.to]
}

// match resolves a parameter as PowerShell does: by its full name, or by a part that may be the start
// of several.
func (c *psCmdlet) match(param string) []string {
	low := asciiLower(param)
	var found []string
	for _, p := range c.params {
		if p == low {
			return []string{p}
		}
		if low != "" && strings.HasPrefix(p, low) {
			found = append(found, p)
		}
	}
	return found
}

// unknownParam says whether a command gets a parameter that its row lacks.
func (j *psJudge) unknownParam(c *psCommand, name string) bool {
	cmdlet := psCmdlets()[name]
	if cmdlet == nil || cmdlet.any {
		return false
	}
	for _, a := range c.args {
		if a.param != "" && len(cmdlet.match(a.param)) == 0 {
			return true
		}
	}
	return false
}

// psAnyValue are parameters whose value may be anything, also for a command that runs properties.
var psAnyValue = psSetOf(`inputobject first last skip skiplast index skipindex depth top bottom view width column
	referenceobject differenceobject syncwindow value argumentlist args throttlelimit timeoutseconds culture
	separator outputprefix op outputsuffix os formatstring head title body precontent postcontent cssuri meta
	charset as erroraction ea eq ceq ieq ne cne ine gt cgt igt lt clt ilt ge cge ige le cle ile like
	clike ilike notlike cnotlike inotlike match cmatch imatch notmatch cnotmatch inotmatch contains ccontains
	icontains notcontains cnotcontains inotcontains in cin iin notin cnotin inotin is isnot`)

// cmdlet judges a command of the reading table by its parameters.
func (j *psJudge) cmdlet(c *psCommand, row *psCmdlet) {
	var positional []psNode
	name := asciiLower(row.name)
	param := "" // the parameter that waits for its value
	for i := range c.args {
		a := &c.args[i]
		if v, ok := a.value.(*psVar); ok && v.splat && a.param == "" {
			j.splat(a, v, row)
			continue
		}
		switch {
		case a.param != "":
			param = j.parameter(a, row)
			if a.value == nil {
				continue
			}
		case a.text == "--":
			continue
		case param == "" || psSwitches.has(param):
			param = ""
			positional = append(positional, a.value)
		}
		j.paramValue(a, row, param)
		param = ""
	}
	switch name {
	case "foreach-object":
		j.forEach(c, positional)
	case "invoke-command":
		for _, n := range positional {
			if _, ok := n.(*psBlock); !ok {
				j.refuse(Network, n.pos(), "Invoke-Command", "a value before the block names another machine", "")
			}
		}
	case "compare-object":
		if len(positional) > 2 { // elsewhere than on Windows, compare is a program that writes the third
			j.refuse(Contained, c.pos(), row.name, "Compare-Object takes two values", "")
		}
	case "new-object":
		j.newObject(c)
	case "get-ciminstance", "get-wmiobject":
		for _, a := range c.args {
			if strings.Contains(asciiLower(a.text), "win32_product") {
				j.refuse(Write, a.pos(), "win32_product", "asking for Win32_Product makes Windows repair installations",
					"the Uninstall keys in the registry list what is installed")
			}
		}
	}
}

// psSwitches are parameters without a value, of the commands for which that matters.
var psSwitches = psSetOf(`recurse s force unique caseinsensitive wait not descending stable casesensitive
	noelement ashashtable aht asstring standarddeviation sum allstats average maximum minimum line word
	character ignorewhitespace excludedifferent includeequal passthru autosize hidetableheaders repeatheader
	wrap showerror displayerror transitional fragment singlequote doublequote useculture nonewscope strict
	usenewrunspace verbose vb debug db`)

// parameter judges the name of a parameter and returns it in full.
func (j *psJudge) parameter(a *psArg, row *psCmdlet) string {
	found := row.match(a.param)
	low := asciiLower(a.param)
	if len(found) == 0 {
		if row.any {
			return low
		}
		for p := range psRemoteParams.all() {
			if low == p || len(low) > 3 && strings.HasPrefix(p, low) {
				j.refuse(Network, a.pos(), row.name+" -"+p, "-"+a.param+" makes "+row.name+" work on another machine", "drop -"+a.param)
				return low
			}
		}
		j.refuse(Contained, a.pos(), row.name, "-"+a.param+" of "+row.name+" is not known to only read", "drop -"+a.param)
		return low
	}
	// Of several that could be meant, the one that is judged most strictly.
	strictest := found[0]
	for _, p := range found {
		if psStoring.has(p) {
			return p
		}
		if !psAnyValue.has(p) {
			strictest = p
		}
	}
	return strictest
}

// paramValue judges what a parameter gets; param is "" for a positional argument.
func (j *psJudge) paramValue(a *psArg, row *psCmdlet, param string) {
	if psStoring.has(param) {
		name := strings.TrimPrefix(psLiteral(a.value), "+")
		switch {
		case name == "" || strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789_") != "":
			j.refuse(Contained, a.pos(), row.name+" -"+param, "the variable to store into is not known", "")
		case len(j.known.assigned[name]) > 0:
			j.refuse(Contained, a.pos(), row.name+" -"+param, "the variable is used for something else in the line", "use another name")
		default:
			j.setVariable(name, a.pos())
		}
		return
	}
	if !row.runs || psAnyValue.has(param) || j.constant(a.value) {
		return
	}
	if row.name == "Compare-Object" && param == "" {
		return
	}
	if s, ok := a.value.(*psString); ok && len(s.parts) > 0 && row.name != "ForEach-Object" {
		return // a string is a property's name, whatever it says
	}
	j.refuse(Contained, a.pos(), row.name, row.name+" would run this value if it were a block of code",
		"write the block or the property's name out")
}

// splat judges @name: it must be a hash in the line, and every key of it a known parameter.
func (j *psJudge) splat(a *psArg, v *psVar, row *psCmdlet) {
	values := j.known.assigned[psPlainName(v.name)]
	if len(values) != 1 {
		j.refuse(Contained, a.pos(), "splatting", "@"+v.name+" can hand over any parameter", "write the parameters out")
		return
	}
	if list, ok := values[0].(*psGroup); ok && list.open == "@(" && !row.runs {
		return // positional values
	}
	h, ok := values[0].(*psHash)
	if !ok {
		j.refuse(Contained, a.pos(), "splatting", "@"+v.name+" can hand over any parameter", "write the parameters out")
		return
	}
	for i, key := range h.keys {
		name := psLiteral(key)
		if name == "" {
			j.refuse(Contained, a.pos(), "splatting", "a key of @"+v.name+" is not known", "write the parameters out")
			return
		}
		at := h.pos()
		each := &psArg{psPos: at, param: name, value: psUnwrap(h.values[i]), text: name}
		j.paramValue(each, row, j.parameter(each, row))
	}
}

// forEach judges what ForEach-Object runs: blocks, which were judged where they stand, or a member.
func (j *psJudge) forEach(c *psCommand, positional []psNode) {
	var member psNode
	for i := range c.args {
		a := &c.args[i]
		if a.param != "" && strings.HasPrefix("membername", asciiLower(a.param)) {
			member = a.value
			if member == nil && i+1 < len(c.args) {
				member = c.args[i+1].value
			}
		}
	}
	if member == nil && len(positional) > 0 {
		member = positional[0]
	}
	if b, ok := member.(*psBlock); ok || member == nil {
		for _, n := range positional {
			if _, ok := n.(*psBlock); !ok && b != nil {
				j.refuse(Contained, n.pos(), "ForEach-Object", "a value among the blocks of ForEach-Object", "")
			}
		}
		return
	}
	name := psLiteral(member)
	if psProperties.has(name) || psMethods.has(name) || psStringMethods.has(name) && j.items {
		return
	}
	v := Contained
	if psChangingMethods.has(name) {
		v = Write
	}
	j.refuse(v, member.pos(), "ForEach-Object", quote(j.source(member))+" calls a method if the object has one of that name",
		"for a property write { $_.Name }")
}

// newObject judges New-Object by the type that it makes.
func (j *psJudge) newObject(c *psCommand) {
	var typ psNode
	for i := range c.args {
		a := &c.args[i]
		low := asciiLower(a.param)
		switch {
		case low != "" && strings.HasPrefix("comobject", low):
			j.refuse(Contained, a.pos(), "New-Object -ComObject", "a COM object can do anything", "")
			return
		case low != "" && strings.HasPrefix("typename", low):
			typ = a.value
			if typ == nil && i+1 < len(c.args) {
				typ = c.args[i+1].value
			}
		}
	}
	if typ == nil && len(c.args) > 0 && c.args[0].param == "" {
		typ = c.args[0].value
	}
	if typ != nil {
		t := &psType{name: strings.ReplaceAll(psLiteral(typ), " ", "")}
		if psNewObjects.has(psTypeName(t)) {
			return
		}
	}
	j.refuse(Contained, c.pos(), "New-Object", "New-Object of this type is not known to be without effect", "")
}

// expression judges Invoke-Expression: a text that is written out is judged as code.
func (j *psJudge) expression(c *psCommand) {
	row := psRows()["invoke-expression"]
	if len(c.args) == 1 && (c.args[0].param == "" || asciiLower(c.args[0].param) == "command") {
		if s, ok := c.args[0].value.(*psString); ok && len(s.parts) == 0 {
			j.merge(analyzeNested(s.value, j.opts, PowerShell, j.depth+1), s.pos())
			return
		}
	}
	j.refuse(row.verdict, c.name.pos(), "Invoke-Expression", row.reason, row.hint)
}
