package sandbox

import "testing"

// benchLevels are the views at the levels that hold here.
func benchLevels(b *testing.B) []benchLevel {
	var levels []benchLevel
	for _, l := range []struct {
		name   string
		view   View
		faults faults
		want   Level
	}{
		{"full", Full, faults{}, None},
		{"landlock/read-only", ReadOnly, faults{NoUserNS: true}, Landlock},
		{"mounts/read-only", ReadOnly, faults{NoLandlock: true}, Mounts},
		{"namespaces/read-only", ReadOnly, faults{}, Namespaces},
		{"namespaces/workspace", Workspace, faults{}, Namespaces},
		{"namespaces/scratch", Scratch, faults{}, Namespaces},
	} {
		e := &engine{faults: l.faults}
		if l.view != Full {
			if r := e.probe(b.Context()); r.Level != l.want {
				b.Logf("%s: left out: %s", l.name, r)
				continue
			}
		}
		levels = append(levels, benchLevel{l.name, func(s Spec) error {
			s.View = l.view
			_, err := e.run(b.Context(), s)
			return err
		}})
	}
	return levels
}
