package sandbox

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

// TestAsOrdinaryUser runs the other tests once more as nobody, from a copy of this program that
// nobody can reach.
func TestAsOrdinaryUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can become somebody else; the tests have just run as an ordinary user")
	}
	const nobody = 65534
	dir, err := os.MkdirTemp("", "sbu-")
	must(t, err)
	defer removeAll(dir)
	must(t, os.Chmod(dir, 0o755))
	program := filepath.Join(dir, "sandbox.test")
	must(t, copyProgram(program))
	home := filepath.Join(dir, "h")
	must(t, os.Mkdir(home, 0o755))
	must(t, os.Chown(home, nobody, nobody))
	args := []string{"-test.timeout=30m", "-test.skip=^(TestAsOrdinaryUser|ExampleProbe)$"}
	if testing.Verbose() {
		args = append(args, "-test.v")
	}
	if testing.Short() {
		args = append(args, "-test.short")
	}
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Dir = home
	cmd.Env = []string{"HOME=" + home, "TMPDIR=" + home, "PATH=" + os.Getenv("PATH"), "USER=nobody", soleUser + "=1"}
	if v := os.Getenv(wholeCorpus); v != "" {
		cmd.Env = append(cmd.Env, wholeCorpus+"="+v)
	}
	if corpus, err := os.ReadFile(corpusFile); err == nil {
		copied := filepath.Join(dir, "corpus.tsv")
		must(t, os.WriteFile(copied, corpus, 0o644))
		cmd.Env = append(cmd.Env, corpusPath+"="+copied)
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("as nobody: %v", err)
	}
	t.Logf("as nobody:\n%s", out)
}

func copyProgram(to string) error {
	src, err := os.Open(selfExe)
	if err != nil {
		return err
	}
	defer src.Close()
	dst, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE, 0o755)
	if err != nil {
		return err
	}
	if _, err := io.Copy(dst, src); err != nil {
		return err
	}
	return dst.Close()
}
