package sandbox

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// hiddenInHome are the places below a home directory where programs keep credentials.
var hiddenInHome = []string{
	".ssh", ".aws", ".azure", ".gnupg", ".kube", ".password-store", ".netrc", "_netrc", ".npmrc", ".yarnrc.yml",
	".pypirc", ".git-credentials", ".pgpass", ".my.cnf", ".vault-token", ".terraform.d", ".terraformrc",
	".docker/config.json", ".cargo/credentials", ".cargo/credentials.toml", ".gem/credentials",
	".m2/settings.xml", ".gradle/gradle.properties", ".composer/auth.json", ".boto", ".s3cfg",
	".config/gh", ".config/glab-cli", ".config/hub", ".config/gcloud", ".config/git/credentials", ".config/op", ".config/doctl",
	".config/rclone", ".config/sops", ".config/age", ".config/containers/auth.json", ".config/pip/pip.conf", ".config/configstore",
	".config/google-chrome", ".config/chromium", ".mozilla", ".local/share/keyrings",
	".claude/.credentials.json", ".codex/auth.json", ".gemini/oauth_creds.json", ".local/share/opencode/auth.json",
	".bash_history", ".zsh_history", ".python_history", ".node_repl_history",
	"*.pem", "*.p12", "*.pfx", "*.kdbx", "id_*",
	"Library/Keychains", "Library/Application Support/Google/Chrome", "Library/Application Support/Firefox",
	"AppData/Roaming/gnupg", "AppData/Roaming/GitHub CLI",
}

// DefaultHidden returns the paths that hold credentials below home (~/.ssh, ~/.aws, ~/.netrc, key
// files, …), followed by state, the caller's own folders. Entries may be patterns and need not
// exist; see Spec.Hidden. An empty home contributes nothing.
func DefaultHidden(home string, state ...string) []string {
	var hidden []string
	if home != "" {
		for _, p := range hiddenInHome {
			hidden = append(hidden, filepath.Join(escapePattern(home, p), filepath.FromSlash(p)))
		}
	}
	for _, p := range state {
		if p != "" {
			hidden = append(hidden, p)
		}
	}
	return hidden
}

// escapePattern quotes home for use in front of a pattern, when the entry is one.
func escapePattern(home, entry string) string {
	if filepath.Separator == '\\' || !strings.ContainsAny(entry, "*?[") {
		return home
	}
	return patternQuotes.Replace(home)
}

var patternQuotes = strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`)

// defaultHidden is what a nil Spec.Hidden means: the user's credentials, and the state and the
// configuration of planmode itself, which hold transcripts and trust decisions.
func defaultHidden() []string {
	home, err := os.UserHomeDir()
	if err != nil {
		home = ""
	}
	return DefaultHidden(home, xdg("XDG_STATE_HOME", home, ".local/state"), xdg("XDG_CONFIG_HOME", home, ".config"))
}

// xdg returns planmode's folder below one of the XDG base directories.
func xdg(variable, home, fallback string) string {
	base := os.Getenv(variable)
	if !filepath.IsAbs(base) { // the XDG specification has relative paths ignored
		if home == "" {
			return ""
		}
		base = filepath.Join(home, filepath.FromSlash(fallback))
	}
	return filepath.Join(base, "planmode")
}

// existingHidden resolves the entries to the real paths that exist now, sorted, without those that
// lie below another one.
func existingHidden(entries []string) []string {
	var found []string
	for _, entry := range entries {
		if !filepath.IsAbs(entry) {
			continue
		}
		matches := []string{entry}
		if _, err := os.Lstat(entry); err != nil {
			if !strings.ContainsAny(entry, "*?[") {
				continue
			}
			matches, _ = filepath.Glob(entry) // a malformed pattern matches nothing
		}
		for _, m := range matches {
			if real, err := filepath.EvalSymlinks(m); err == nil {
				found = append(found, real)
			}
		}
	}
	slices.Sort(found)
	var top []string
	for _, p := range found {
		// Not only the last one: "/a-b" sorts between "/a" and "/a/c".
		if !slices.ContainsFunc(top, func(dir string) bool { return within(dir, p) }) {
			top = append(top, p)
		}
	}
	return top
}

// within reports whether the clean absolute path p is dir or lies below it.
func within(dir, p string) bool {
	if dir == p || dir == string(filepath.Separator) {
		return true
	}
	return strings.HasPrefix(p, dir+string(filepath.Separator))
}
