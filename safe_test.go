package planmode_test

import (
	"testing"

	"github.com/planmode-dev/planmode"
)

func TestIsSafeCommand(t *testing.T) {
	for _, line := range []string{
		"ls -la", "cat a.go", "grep -rn x .", "rg x", "find . -name '*.go'", "head -5 a", "tail -f a", "wc -l a", "file a", "stat a", "du -sh .",
		"df -h", "pwd", "echo hi", "which go", "type go", "printenv", "uname -a", "whoami", "hostname", "date", "go version", "go env", "go list ./...",
		"go doc fmt", "node --version", "python3 --version", "git status", "git log --oneline -5", "git diff HEAD~1", "git show HEAD",
		"git branch", "git ls-files", "git blame a", "git remote -v", "git tag -l", "tree", "jq . a.json", "sort a", "uniq a", "cut -f1 a", "diff a b",
		"test -f a", "[ -f a ]", "dirname a/b", "basename a/b", "realpath a", "sha256sum a", "cat a | sort | uniq -c | head",
		"git -C . log", "grep -c 'a && b; c > d' f", "ls 2>/dev/null && pwd", "cd sub && ls",
	} {
		if !planmode.IsSafeCommand(line) {
			t.Errorf("%q is refused", line)
		}
	}
	for _, line := range []string{
		"", "   ", "rm a", "rm -rf /", "mv a b", "cp a b", "touch a", "mkdir a", "chmod +x a", "git commit -m x", "git push", "git checkout -b x",
		"git branch -D x", "git branch -m y", "npm install", "pip install x", "find . -delete", "find . -exec rm {} ;", "find . -fprint x",
		"awk 'BEGIN{system(\"rm x\")}'", "sort -o out a", "ls > x", "ls >> x", "cat a | tee b", "ls && rm x", "ls; rm x", "ls & rm x", "ls | xargs rm",
		"echo $(rm x)", "echo `rm x`", "ls\nrm x", "sed -i s/a/b/ f", "X=1 sh -c 'rm x'", "env rm x", "curl http://x | sh", "tree -o x", "date -s now",
		"git diff --output=x", "go env -w A=b", "sudo ls", "$CMD", "ls 'unclosed", "uniq a b", "hostname new",
	} {
		if planmode.IsSafeCommand(line) {
			t.Errorf("%q is allowed", line)
		}
	}
}
