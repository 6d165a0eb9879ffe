// Package scripted is a model that plays a file: for demonstrations, for tests of whole sessions,
// and as the head of the fake vendors in internal/agenttest. It owns the file's format and the
// choice of the turn that answers a request. It knows nothing of tools, sessions or screens.
//
// # Format
//
// A script is a text of directives, one a line, in turns:
//
//	# Reads the file, then answers.
//	=== turn
//	expect: tools contain read
//	thinking: The user asks for main.go.
//	text: I will look at it.
//	call: read {"path": "main.go"}
//
//	=== turn
//	expect: last tool result contains "package main"
//	text: It is a command.
//	  It prints a greeting.
//	usage: input=1200 output=40 cache_read=1000
//
// Empty lines and lines that start with # are skipped. The value of a directive goes on in the lines
// below that are indented by a tab or by two spaces (taken off once); empty lines among them are kept.
// So any text can be written, also one that looks like a directive. The text after === turn is free.
//
// What the model writes, in order; each is a part of its message:
//
//	text: TEXT              Markdown
//	thinking: TEXT          shown reasoning
//	signature: TEXT         of the thinking above
//	redacted: TEXT          reasoning that the vendor hides
//	call: NAME JSON         a tool call; the input is {} when none is given
//	badcall: NAME TEXT      a tool call whose input is not checked to be JSON
//	huge: N                 N bytes of text (suffixes kB and MB are known)
//
// How the turn ends:
//
//	stop: end_turn | tool_use | max_tokens | refusal
//	usage: input=N output=N cache_read=N cache_write=N
//
// Without stop it is tool_use if the turn has calls, otherwise end_turn. Without usage the tokens are
// [Estimate]d. The cost always follows from the request's model.
//
// What goes wrong, at its place among the parts:
//
//	delay: DURATION         waits
//	stall:                  says nothing more until the request is cancelled
//	fault: KIND [status=N] [retry_after=DURATION] [times=N] [at=N]
//
// KIND is an [llm.ErrorKind] that a vendor can cause. With times=N the fault happens N times and the
// N+1st attempt goes through: [Provider] then announces a retry as a vendor's package would. The keys
// status and at (cut after so many bytes) matter to the fake vendors only.
//
// pace: DURATION is the wait between two pieces of a message; before the first turn it holds for all
// of them.
//
// What the request must be like (see below for conditions); a request that is not fails with an error
// that names the line:
//
//	expect: CONDITION
//
// # Which turn answers
//
// The model keeps no counter: the request decides, so that a session that was killed and resumed goes
// on where it was. A request that holds n messages of the model is answered by turn n+1.
//
// A turn with one or more match directives begins a group, to which the turns below belong up to the
// next one with match. The first group whose conditions all hold answers instead of the turns at the
// top of the file, and its turns are counted from the last message in which the user wrote text. A
// group stays right when a conversation was compacted, and can play a sub-agent or a reviewer:
//
//	=== turn
//	match: system contains "You review plans"
//	text: VERDICT: approve
//
// # Conditions
//
//	SUBJECT contains "TEXT"...     also: contain; all of the texts
//	SUBJECT lacks "TEXT"...        also: lack; none of them
//	SUBJECT is "TEXT"              also: are
//	SUBJECT matches "REGEXP"
//	last tool result fails         it is marked as an error
//	last tool result succeeds
//
// A subject is system, last user (the text of the last message in which the user wrote any), last
// message, last tool result, tool result N (of the last message, from 1), conversation (all messages),
// model, thinking (the level, or off) or tools (names, compared as whole words). Texts are Go strings
// in double quotes or backquotes; a single word needs none. A quoted text alone means last user
// contains.
package scripted
