package sandbox

import (
	"fmt"
	"strings"
)

// seatbeltProfile writes the sandbox-exec profile of a run: reading is allowed but for what is
// hidden, writing below the given directories only, no network, and no signals to or inspection of
// processes outside. Later rules win over earlier ones.
func seatbeltProfile(writable, hidden []string) string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("(version 1)")
	line("(allow default)")
	line("(deny file-write*)")
	for _, dev := range []string{"/dev/null", "/dev/zero", "/dev/tty", "/dev/dtracehelper"} {
		line("(allow file-write-data file-ioctl (literal %s))", seatbeltString(dev))
	}
	for _, dir := range writable {
		line("(allow file-write* (subpath %s))", seatbeltString(dir))
	}
	line("(deny file-write-setugid)")
	for _, path := range hidden {
		line("(deny file-read* file-write* (subpath %s))", seatbeltString(path))
	}
	for _, rule := range []string{
		"network*", "signal", "process-info*", "mach-register", "mach-priv*", "iokit-open",
		"system-socket", "ipc-posix-shm-write*", "ipc-sysv*", "appleevent-send", "job-creation", "nvram*", "system-privilege",
	} {
		line("(deny %s)", rule)
	}
	line("(allow signal (target same-sandbox))")
	line("(allow process-info* (target same-sandbox))")
	// Services through which a process would have another one write or connect for it.
	for _, service := range []string{
		"com.apple.pasteboard.1", "com.apple.coreservices.launchservicesd", "com.apple.SecurityServer",
		"com.apple.securityd.xpc", "com.apple.dnssd.service", "com.apple.cfprefsd.agent",
	} {
		line("(deny mach-lookup (global-name %s))", seatbeltString(service))
	}
	return b.String()
}

// seatbeltString quotes a path for the profile's language, which is a dialect of Scheme.
func seatbeltString(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}
