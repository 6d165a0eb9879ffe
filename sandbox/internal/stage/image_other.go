//go:build !linux || !(amd64 || arm64)

package stage

// Image returns nil: there is no interpreter for this system.
func Image() []byte { return nil }
