//go:build linux && !amd64 && !arm64

package sandbox

// auditArch 0 means that there is no table for this architecture, and with it no rung.
const auditArch = 0

func filterRules(filterOptions) []rule { return nil }
