// Package arch holds no code, only tests of the module's shape: which package may import what, and
// what must not compile.
//
// The arrows are one table, in arrows_test.go. Its tests read the source of every package, for every
// operating system, and the linter's import rules are written from the same table, so that an editor
// shows a forbidden import and a machine without the linter still refuses it. A package that is not
// in the table fails the test: whoever adds a package says what it may know.
package arch
