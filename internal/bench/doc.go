// Package bench measures what a user waits for, each beside something else measured in the same run, so
// that a figure means something on a machine that others use too:
//
//	go test ./internal/bench -run '^$' -bench .
//
// docs/performance.md keeps the last figures.
package bench
