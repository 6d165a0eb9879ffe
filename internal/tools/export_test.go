package tools

import (
	"context"

	"github.com/planmode-dev/planmode/tool"
)

// Cancelled runs a reading tool under a context that has ended already, which a gate does not do.
func Cancelled(name string) tool.Tool {
	type none struct{}
	return tool.New(tool.Spec{Name: name, Description: "reads the workspace under a cancelled context"},
		func(none) tool.Access { return tool.Access{tool.ReadFile{Path: "."}} },
		func(ctx context.Context, g *tool.Grant, _ none) (tool.Result, error) {
			ctx, cancel := context.WithCancel(ctx)
			cancel()
			switch name {
			case "read":
				return read(ctx, g, readInput{Path: "main.go"})
			case "ls":
				return ls(ctx, g, lsInput{})
			case "find":
				return find(ctx, g, findInput{Pattern: "*"})
			}
			return grep(ctx, g, grepInput{Pattern: "x"})
		})
}
