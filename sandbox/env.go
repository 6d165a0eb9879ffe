package sandbox

import "strings"

// secretNames says which environment variables hold secrets. Names are compared in upper case; a
// "*" at either end stands for anything, also for nothing.
var secretNames = []string{
	// By the shape of the name.
	"*API_KEY*", "*APIKEY*", "*_KEY", "*_KEY_ID", "*_KEY_BASE64", "*TOKEN", "*_TOKEN_*", "*_TOKENS",
	"*SECRET*", "*PASSWORD*", "*PASSWD*", "*PASSPHRASE*", "*_PASS", "*_PWD", "*CREDENTIAL*", "*_PAT",
	"*_AUTH", "*_AUTHORIZATION", "*_BEARER", "*_COOKIE", "*_DSN", "*CONNECTION_STRING*",
	"*PRIVATE_KEY*", "*_SAS", "*_JWT", "*_WEBHOOK_URL", "*_CERT_DATA",
	// By the owner of the name: everything that these vendors define counts as secret.
	"AWS_*", "AZURE_*", "ANTHROPIC_*", "OPENAI_*", "GEMINI_*", "GROQ_*", "MISTRAL_*", "COHERE_*",
	"DEEPSEEK_*", "OPENROUTER_*", "HUGGINGFACE_*", "HF_*", "XAI_*", "VERTEXAI_*",
	"GOOGLE_APPLICATION_*", "GOOGLE_OAUTH_*", "CLOUDSDK_AUTH_*", "DOCKER_AUTH_CONFIG",
	"KUBECONFIG", "VAULT_*", "OP_SESSION_*", "BW_SESSION", "NPM_CONFIG_*AUTH*", "TWINE_*",
	"CARGO_REGISTRY_*", "PGPASSFILE", "NETRC", "ACTIONS_RUNTIME_*", "ACTIONS_ID_TOKEN_*",
	"PLANMODE_*KEY*",
}

// secretValues are prefixes that give a value away as a credential, whatever its name.
var secretValues = []string{
	"sk-ant-", "sk-proj-", "sk-or-", "sk_live_", "rk_live_", "ghp_", "gho_", "ghu_", "ghs_", "ghr_",
	"github_pat_", "glpat-", "xoxb-", "xoxp-", "xoxa-", "xapp-", "AKIA", "ASIA", "AIza", "ya29.",
	"hf_", "npm_", "pypi-", "dop_v1_", "-----BEGIN ", "eyJhbGciOi",
}

// CleanEnv returns env without the entries that carry secrets: API keys, tokens, passwords,
// everything that cloud and model vendors name (AWS_*, ANTHROPIC_*, OPENAI_*, …), values with the
// prefix of a known credential, and URLs that contain a password. Entries without "=" are dropped.
// The order is kept and env is not modified. It knows secrets by name and shape only: a secret in
// a variable of an innocent name passes.
func CleanEnv(env []string) []string {
	clean := make([]string, 0, len(env))
	for _, entry := range env {
		name, value, ok := strings.Cut(entry, "=")
		if ok && name == "" { // Windows: "=C:=C:\dir" names a drive's directory
			clean = append(clean, entry)
			continue
		}
		if !ok || secretName(name) || secretValue(value) {
			continue
		}
		clean = append(clean, entry)
	}
	return clean
}

func secretName(name string) bool {
	name = strings.ToUpper(name)
	for _, pattern := range secretNames {
		if matchName(pattern, name) {
			return true
		}
	}
	return false
}

// matchName matches a pattern in which "*" stands for any text.
func matchName(pattern, name string) bool {
	head, rest, star := strings.Cut(pattern, "*")
	if !star {
		return pattern == name
	}
	if !strings.HasPrefix(name, head) {
		return false
	}
	if rest == "" {
		return true
	}
	for i := len(head); i <= len(name); i++ {
		if matchName(rest, name[i:]) {
			return true
		}
	}
	return false
}

func secretValue(value string) bool {
	for _, prefix := range secretValues {
		if strings.HasPrefix(value, prefix) {
			return true
		}
	}
	_, rest, ok := strings.Cut(value, "://")
	if !ok {
		return false
	}
	authority, _, _ := strings.Cut(rest, "/")
	userinfo, _, ok := strings.Cut(authority, "@")
	return ok && strings.Contains(userinfo, ":")
}

// setEnv returns env with each name=value of pairs put in place of what was there.
func setEnv(env []string, pairs ...string) []string {
	out := make([]string, 0, len(env)+len(pairs))
	for _, entry := range env {
		name, _, _ := strings.Cut(entry, "=")
		if !definesAny(pairs, name) {
			out = append(out, entry)
		}
	}
	return append(out, pairs...)
}

func definesAny(pairs []string, name string) bool {
	for _, p := range pairs {
		if strings.HasPrefix(p, name+"=") {
			return true
		}
	}
	return false
}

// getEnv returns the last value of name, as most C libraries would after exec.
func getEnv(env []string, name string) string {
	for i := len(env) - 1; i >= 0; i-- {
		if value, ok := strings.CutPrefix(env[i], name+"="); ok {
			return value
		}
	}
	return ""
}
