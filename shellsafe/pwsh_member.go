package shellsafe

import (
	"strings"
)

// member judges a property read or a method call.
func (j *psJudge) member(n *psMember) {
	j.node(n.target)
	j.node(n.name)
	j.nodes(n.args)
	name := psLiteral(n.name)
	if name == "" {
		if n.call {
			j.refuse(Contained, n.pos(), "method", "the method's name is not known", "")
		}
		return
	}
	switch t, static := n.target.(*psType); {
	case !n.call:
		if name == "scriptblock" || name == "invoke" {
			j.refuse(Contained, n.pos(), "."+name, "a piece of code could be run by what receives it", "")
		}
	case n.static && !static:
		j.refuse(Contained, n.pos(), "method", "a static method of a type that is not known", "")
	case n.static:
		j.staticCall(n, t, name)
	default:
		j.method(n, name)
	}
}

// psLiteral returns a string that is known from the text, in lower case; "" otherwise.
func psLiteral(n psNode) string {
	if s, ok := n.(*psString); ok && len(s.parts) == 0 {
		return asciiLower(s.value)
	}
	return ""
}

func (j *psJudge) staticCall(n *psMember, t *psType, name string) {
	typ := psTypeName(t)
	methods := psStatics()[typ]
	row := "[" + typ + "]::" + name
	switch {
	case methods["*"], methods[name]:
		if limit, ok := psArgLimits[row]; ok && len(n.args) > limit {
			v := Write
			if typ == "diagnostics.process" {
				v = Network
			}
			j.refuse(v, n.pos(), row, row+" with that many arguments does more than read", "")
		}
	case name == "new" && psCollections.has(typ):
	case typ == "scriptblock":
		j.refuse(Contained, n.pos(), row, "code is made from a text", "write the code out")
	case strings.HasPrefix(typ, "io.file") || strings.HasPrefix(typ, "io.directory") || typ == "environment":
		j.refuse(Write, n.pos(), row, row+" is not known to only read", "")
	case strings.HasPrefix(typ, "net."):
		j.refuse(Network, n.pos(), row, row+" talks to other machines", "")
	default:
		j.refuse(Contained, n.pos(), row, row+" is not known to be without effect", "")
	}
}

func (j *psJudge) method(n *psMember, name string) {
	switch {
	case psMethods.has(name):
	case psStringMethods.has(name) && j.stringy(n.target, 0):
	case psCollectionMethods.has(name) && j.own(n.target):
	case name == "where" && len(n.args) > 0 && j.constant(n.args[0]):
	case name == "foreach" && len(n.args) > 0:
		j.forEachMethod(n)
	case psStringMethods.has(name):
		j.refuse(Contained, n.pos(), "."+name, "."+name+" on something that may not be a string",
			"use the operator -replace, or call it on a string such as $_.Name")
	default:
		v := Contained
		if psChangingMethods.has(name) {
			v = Write
		}
		j.refuse(v, n.pos(), "."+name, "the method ."+name+"() is not known to only read", "")
	}
}

// forEachMethod judges .ForEach( … ), which takes a block, or a name that can be a method's.
func (j *psJudge) forEachMethod(n *psMember) {
	switch first := n.args[0].(type) {
	case *psBlock:
	case *psType:
		j.castType(first)
	default:
		name := psLiteral(first)
		if name == "" || !psProperties.has(name) && !psMethods.has(name) {
			j.refuse(Contained, n.pos(), ".foreach", ".ForEach with a name can call a method",
				"give it a block: .ForEach({ $_.Name })")
		}
	}
}

// stringy says whether a value is known to be a string or strings.
func (j *psJudge) stringy(n psNode, depth int) bool {
	if j.tired(depth) {
		return false
	}
	switch n := n.(type) {
	case *psString:
		return true
	case *psOp:
		switch n.op {
		case "-replace", "-join", "-f", "-split":
			return true
		case "+":
			return j.stringy(n.operands[0], depth+1)
		}
	case *psCast:
		return n.typ.name == "string" || n.typ.name == "string[]"
	case *psIndex:
		return j.stringy(n.target, depth+1)
	case *psMember:
		name := psLiteral(n.name)
		if n.call {
			return psToString.has(name) || psStringMethods.has(name) && j.stringy(n.target, depth+1)
		}
		return !n.static && psStringProperties.has(name)
	case *psGroup:
		return len(n.body) == 1 && j.stringy(psUnwrap(n.body[0]), depth+1)
	case *psPipeline:
		return j.producesText(n.elems[len(n.elems)-1])
	case *psVar:
		if n.name == "_" || n.name == "psitem" {
			return j.items
		}
		values := j.known.assigned[psPlainName(n.name)]
		for _, value := range values {
			if value == nil || !j.stringy(value, depth+1) {
				return false
			}
		}
		return len(values) > 0
	}
	return false
}

// producesText says whether a part of a pipeline is known to hand on strings.
func (j *psJudge) producesText(n psNode) bool {
	switch n := n.(type) {
	case *psValue:
		return j.stringy(n.expr, 1)
	case *psCommand:
		name, literal := psCommandName(n)
		if !literal {
			return false
		}
		if full, ok := psAliases()[name]; ok {
			name = full
		}
		return psTextCommands.has(name)
	}
	return false
}
