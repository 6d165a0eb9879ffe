package tools_test

import (
	"testing"

	"github.com/planmode-dev/planmode/internal/tools"
	"github.com/planmode-dev/planmode/tool"
)

func specOf(t testing.TB, name string) tool.Spec {
	t.Helper()
	for _, tl := range tools.All(tools.Options{}) {
		if s := tl.Spec(); s.Name == name {
			return s
		}
	}
	t.Fatalf("no tool %s", name)
	return tool.Spec{}
}
