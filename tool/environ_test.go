package tool

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestHostileEnvironment: neither the user's variables nor what lies in the workspace makes a program
// that was proven to be read-only run another one.
func TestHostileEnvironment(t *testing.T) {
	h := newHostile(t)
	path := os.Getenv("PATH")
	h.mkdir("repo/bin")
	for _, name := range []string{"ls", "cat", "git", "go", "grep", "bash", "go1.99.9"} {
		h.executable("repo/bin/"+name, "#!/bin/sh\nexec "+h.script+" path\n")
	}
	h.link("../repo/bin", "elsewhere/bin")
	h.write("repo/ripgreprc", "--pre="+h.script+"\n")
	h.write("repo/.ripgreprc", "--pre="+h.script+"\n")
	h.write("repo/evil.pm", "package evil; system('"+h.script+"', 'perl'); 1;\n")
	h.write("repo/sitecustomize.py", "import os; os.system('"+h.script+" python')\n")
	h.write("repo/evil.js", "require('child_process').execFileSync('"+h.script+"', ['node'])\n")
	h.write("repo/.npmrc", "node-options=--require="+h.path("repo/evil.js")+"\nscript-shell="+h.script+"\ngit="+h.script+"\n")
	h.write("repo/goenv", "GOFLAGS=-toolexec="+h.script+"\nCC="+h.script+"\n")
	h.write("repo/go.mod", "module x\n\ngo 1.21\n")
	h.write("repo/main.go", "package main\n\nfunc main() {}\n")
	h.write("repo/lesskey", "#env\nLESSOPEN=|"+h.script+" lesskey\n")
	h.mkdir("repo/toolchain")
	h.write("repo/toolchain/go.mod", "module x\n\ngo 1.99.9\n\ntoolchain go1.99.9\n")
	h.mkdir("repo/.config/bat")
	h.write("repo/.config/bat/config", "--pager="+h.script+"\n")
	tests := []struct {
		name, value, line string
		program           string // that the line needs; "" is bash
	}{
		{"BASH_ENV", h.script, "ls", ""},
		{"ENV", h.script, "sh -c ls", ""},
		{"BASH_FUNC_ls%%", "() { " + h.script + "; }", "ls", ""},
		{"BASH_FUNC_git%%", "() { " + h.script + "; }", "git status", ""},
		{"PROMPT_COMMAND", h.script, "bash -c ls", ""},
		{"PS4", "$(" + h.script + ")", "bash -c ls", ""},
		{"SHELLOPTS", "xtrace", "ls", ""},
		{"PATH", h.path("repo/bin") + ":" + path, "ls; cat f; git status; grep x f", ""},
		{"PATH", h.path("elsewhere/bin") + ":" + path, "ls; cat f; git status; bash -c ls", ""},
		{"PATH", "bin:.:" + path, "ls; cat f", ""},
		{"LESSOPEN", "|" + h.script + " less", "less f | cat", "less"},
		{"LESSOPEN", "|-" + h.script + " less", "less f | cat", "less"},
		{"LESSKEYIN", h.path("repo/lesskey"), "less f | cat", "less"},
		{"LESSKEY_CONTENT", "#env;LESSOPEN=|" + h.script + " less", "less f | cat", "less"},
		{"MANPAGER", h.script, "man ls | cat", "man"},
		{"PAGER", h.script, "man ls | cat", "man"},
		{"MANOPT", "--pager=" + h.script, "man ls | cat", "man"},
		{"RIPGREP_CONFIG_PATH", h.path("repo/ripgreprc"), "rg x f", "rg"},
		{"", "", "rg x f", "rg"},
		{"GREP_OPTIONS", "--include=" + h.script, "grep x f", ""},
		{"PERL5OPT", "-I" + h.path("repo") + " -Mevil", "shasum f", "shasum"},
		{"PERL5LIB", h.path("repo"), "shasum f", "shasum"},
		{"PYTHONPATH", h.path("repo"), "pip list", "pip"},
		{"NODE_OPTIONS", "--require=" + h.path("repo/evil.js"), "node --version; npm --version", "node"},
		{"NPM_CONFIG_NODE_OPTIONS", "--require=" + h.path("repo/evil.js"), "npm --version", "npm"},
		{"", "", "npm --version", "npm"},
		{"JQ_COLORS", "$(" + h.script + ")", "jq . main.json", "jq"},
		{"GOFLAGS", "-toolexec=" + h.script, "go list ./...; go env; go version", "go"},
		{"GOENV", h.path("repo/goenv"), "go list ./...; go env GOFLAGS", "go"},
		{"GOTOOLCHAIN", "path", "cd toolchain && go list ./...; go version", "go"},
		{"", "", "cd toolchain && go list ./...; go version", "go"},
		{"BAT_PAGER", h.script, "bat f", "bat"},
		{"XDG_CONFIG_HOME", h.path("repo/.config"), "bat f", "bat"},
		{"SYSTEMD_PAGER", h.script, "systemctl status; journalctl -n 1", "systemctl"},
	}
	for _, tt := range tests {
		t.Run(tt.name+" "+tt.line, func(t *testing.T) {
			if tt.program != "" {
				if _, err := exec.LookPath(tt.program); err != nil {
					t.Skipf("%s is not installed", tt.program)
				}
			}
			if tt.name != "" {
				t.Setenv(tt.name, tt.value)
			}
			if ran := h.execute(tt.line); ran != "" {
				t.Errorf("ran %s", ran)
			}
		})
	}
}

// TestSteeringVariables: what decides which programs run is not handed on.
func TestSteeringVariables(t *testing.T) {
	w := newWorld(t)
	script := w.path("evil.sh")
	for _, name := range strings.Fields("BASH_ENV ENV LD_PRELOAD LD_LIBRARY_PATH LD_AUDIT DYLD_INSERT_LIBRARIES GIT_DIR GIT_EXTERNAL_DIFF " +
		"GIT_CONFIG_PARAMETERS GIT_TRACE LESSOPEN LESSCLOSE LESSKEY LESSKEYIN LESSKEY_CONTENT MANPAGER EDITOR VISUAL RIPGREP_CONFIG_PATH " +
		"GREP_OPTIONS TAR_OPTIONS PYTHONPATH PYTHONHOME PYTHONSTARTUP PERL5OPT PERL5LIB PERLLIB PERL5DB RUBYOPT RUBYLIB NODE_OPTIONS " +
		"NODE_PATH JAVA_TOOL_OPTIONS LUA_INIT LUA_INIT_5_4 GOFLAGS GCONV_PATH BAT_PAGER NPM_CONFIG_NODE_OPTIONS npm_config_node_options") {
		kept := readOnlyEnv([]string{name + "=" + script, "PATH=" + os.Getenv("PATH"), "HOME=/home/x"}, w.ws)
		for _, kv := range kept {
			if strings.HasPrefix(kv, name+"=") && strings.Contains(kv, script) {
				t.Errorf("%s is handed on", name)
			}
		}
	}
	kept := readOnlyEnv([]string{"HOME=/home/x", "TERM=xterm", "GOPATH=/go", "LC_ALL=C"}, w.ws)
	if got := strings.Join(kept, " "); !strings.HasPrefix(got, "HOME=/home/x TERM=xterm GOPATH=/go LC_ALL=C PATH=") {
		t.Errorf("%s", filepath.ToSlash(got))
	}
}
