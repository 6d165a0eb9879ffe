package shellsafe

// A cmdNode is a piece of a parsed line of cmd: [cmdSimple], [cmdGroup], [cmdPipe], [cmdIf] or [cmdFor].
type cmdNode interface{ isCmd() }

// cmdSimple is a command with its words.
type cmdSimple struct {
	psPos
	name   string // carets resolved, quotes kept
	nameAt psPos
	rest   string // what follows, carets resolved, quotes kept, without redirections
	offs   []int  // the offset of each byte of rest
	redirs []cmdRedir
	caret  bool // a caret was in it
}

// cmdGroup is ( … ), or several commands joined by &, && and ||.
type cmdGroup struct {
	body   []cmdNode
	redirs []cmdRedir
}

// cmdPipe is commands joined by |. Each runs in a cmd of its own, which reads its text once more.
type cmdPipe struct {
	psPos
	elems []cmdNode
}

// cmdIf is IF. Its condition only reads.
type cmdIf struct {
	words     []cmdWord
	then, els cmdNode
}

// cmdFor is FOR: the switches, the text in the brackets (which FOR /F may run), and the command.
type cmdFor struct {
	psPos
	opts []cmdWord
	set  cmdWord
	body cmdNode
}

// cmdWord is a word with its quotes.
type cmdWord struct {
	psPos
	text string
}

// cmdRedir is a redirection; the target is in lower case without quotes, "" for a merge such as 2>&1.
type cmdRedir struct {
	psPos
	input  bool
	target string
}

func (*cmdSimple) isCmd() {}
func (*cmdGroup) isCmd()  {}
func (*cmdPipe) isCmd()   {}
func (*cmdIf) isCmd()     {}
func (*cmdFor) isCmd()    {}
