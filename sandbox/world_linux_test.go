package sandbox

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"
)

// world is what nothing in a confined view may change: a git repository as workspace, a home with
// credentials, a directory elsewhere, and processes that listen.
type world struct {
	dir, workspace, home, canary string
	sentinel                     *exec.Cmd // a process that must not be signalled
	port                         string
	udp                          string
	socket, datagrams, abstract  string
	fifo                         string
	hidden                       []string
	leaked                       *os.File // open for writing and inheritable

	reached atomic.Int32 // connections, datagrams and bytes that came from inside
	signals chan os.Signal
	fifoFD  int
	before  string
}

var worlds atomic.Int32 // abstract sockets need names of their own

func newWorld(t *testing.T) *world {
	t.Helper()
	// Not t.TempDir: its paths are longer than the address of a unix socket may be.
	dir, err := os.MkdirTemp("", "w-")
	must(t, err)
	t.Cleanup(func() { removeAll(dir) })
	dir, err = filepath.EvalSymlinks(dir)
	must(t, err)
	w := &world{
		dir: dir, workspace: filepath.Join(dir, "ws"), home: filepath.Join(dir, "home"), canary: filepath.Join(dir, "canary"),
		fifo: filepath.Join(dir, "canary", "fifo"), socket: filepath.Join(dir, "canary", "docker.sock"),
		abstract: fmt.Sprintf("@planmode-test-%d-%d", os.Getpid(), worlds.Add(1)),
		hidden:   DefaultHidden(filepath.Join(dir, "home"), filepath.Join(dir, "home", ".local/state/planmode")),
	}
	w.files(t)
	w.repository(t)
	w.listen(t)
	w.sentinel = exec.Command("sleep", "3600")
	must(t, w.sentinel.Start())
	t.Cleanup(func() {
		_ = w.sentinel.Process.Kill()
		_ = w.sentinel.Wait()
	})
	w.signals = make(chan os.Signal, 16)
	signal.Notify(w.signals, unix.SIGUSR1, unix.SIGUSR2, unix.SIGWINCH, unix.SIGHUP, unix.SIGTERM, unix.SIGIO, unix.SIGCONT)
	t.Cleanup(func() { signal.Stop(w.signals) })
	// Without close-on-exec, as a careless parent of ours would leave it.
	fd, err := unix.Open(filepath.Join(w.canary, "leaked"), unix.O_RDWR|unix.O_CREAT, 0o600)
	must(t, err)
	w.leaked = os.NewFile(uintptr(fd), filepath.Join(w.canary, "leaked"))
	t.Cleanup(func() { _ = w.leaked.Close() })
	w.before = w.hash(t)
	return w
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (w *world) files(t *testing.T) {
	t.Helper()
	for name, body := range map[string]string{
		"ws/README.md": "# Sample\n\nhello\n", "ws/go.mod": "module example.com/sample\n\ngo 1.26\n",
		"ws/main.go":      "package main\n\nfunc main() { println(\"hello\") }\n",
		"ws/package.json": `{"name":"sample","version":"1.0.0","scripts":{"test":"echo ok"}}` + "\n",
		"ws/src/a.txt":    "b\na\nc\n", "ws/src/b.txt": "one\ntwo\n", "ws/data.json": "{\"a\": [1, 2]}\n",
		"ws/Makefile": "all:\n\techo made > made.txt\n", "ws/script.sh": "#!/bin/sh\necho ran\n",
		"ws/notes.txt": "todo\n", "ws/.env": "KEY=value\n", "ws/sub/deep/file.txt": "deep\n",
		"home/.bashrc": "# nothing\n", "home/.ssh/id_ed25519": "PRIVATE", "home/.netrc": "machine x password y\n",
		"home/.aws/credentials": "[default]\n", "home/.config/gh/hosts.yml": "token\n", "home/.npmrc": "//r/:_authToken=x\n",
		"home/.local/state/planmode/sessions/1.jsonl": "{}\n", "home/server.pem": "PRIVATE", "home/plain.txt": "plain\n",
		"home/.gitconfig": "[user]\n\tname = Test\n\temail = test@example.com\n[safe]\n\tdirectory = *\n",
		"canary/bird.txt": "sings\n", "canary/old.txt": "old\n", "canary/dir/below": "below\n",
	} {
		path := filepath.Join(w.dir, name)
		must(t, os.MkdirAll(filepath.Dir(path), 0o755))
		must(t, os.WriteFile(path, []byte(body), 0o644))
	}
	must(t, os.Chmod(filepath.Join(w.workspace, "script.sh"), 0o755))
	must(t, os.Symlink("README.md", filepath.Join(w.workspace, "link")))
	_ = unix.Setxattr(filepath.Join(w.canary, "old.txt"), "user.kept", []byte("1"), 0) // where the file system has them
}

func (w *world) repository(t *testing.T) {
	t.Helper()
	for _, args := range [][]string{
		{"init", "-q", "-b", "main"},
		{"add", "."},
		{"commit", "-q", "-m", "first"},
		{"branch", "feature"},
		{"tag", "v1"},
	} {
		cmd := exec.Command("git", args...)
		cmd.Dir, cmd.Env = w.workspace, w.env()
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %s: %v\n%s", args, err, out)
		}
	}
}

func (w *world) env() []string {
	return []string{"HOME=" + w.home, "PATH=" + os.Getenv("PATH"), "LANG=C.UTF-8", "USER=tester", "EDITOR=true", "GOFLAGS=-mod=mod", "GOPROXY=off"}
}

// listen opens everything that a process inside must not reach.
func (w *world) listen(t *testing.T) {
	t.Helper()
	var listeners []net.Listener
	for _, l := range [][2]string{{"tcp", "127.0.0.1:0"}, {"unix", w.socket}, {"unix", w.abstract}} {
		listener, err := net.Listen(l[0], l[1])
		must(t, err)
		listeners = append(listeners, listener)
	}
	must(t, os.Chmod(w.socket, 0o777))
	w.port = listeners[0].Addr().String()
	var packets []net.PacketConn
	w.datagrams = filepath.Join(w.canary, "log.sock")
	for _, p := range [][2]string{{"udp", "127.0.0.1:0"}, {"unixgram", w.datagrams}} {
		conn, err := net.ListenPacket(p[0], p[1])
		must(t, err)
		packets = append(packets, conn)
	}
	must(t, os.Chmod(w.datagrams, 0o777))
	w.udp = packets[0].LocalAddr().String()
	done := make(chan struct{})
	for _, l := range listeners {
		go func() {
			defer func() { done <- struct{}{} }()
			for {
				conn, err := l.Accept()
				if err != nil {
					return
				}
				w.reached.Add(1)
				_ = conn.Close()
			}
		}()
	}
	for _, p := range packets {
		go func() {
			defer func() { done <- struct{}{} }()
			buf := make([]byte, 64)
			for {
				if _, _, err := p.ReadFrom(buf); err != nil {
					return
				}
				w.reached.Add(1)
			}
		}()
	}
	must(t, unix.Mkfifo(w.fifo, 0o666))
	fifo, err := unix.Open(w.fifo, unix.O_RDWR|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	must(t, err)
	w.fifoFD = fifo
	t.Cleanup(func() {
		for _, l := range listeners {
			_ = l.Close()
		}
		for _, p := range packets {
			_ = p.Close()
		}
		for range len(listeners) + len(packets) {
			<-done
		}
		_ = unix.Close(w.fifoFD)
	})
}

// hash covers everything below the world: names, kinds, permissions, owners, sizes, times of change
// of contents and of metadata, attributes and contents.
func (w *world) hash(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(w.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		var st unix.Stat_t
		if err := unix.Lstat(path, &st); err != nil {
			return err
		}
		fmt.Fprintf(&b, "%s %o %d %d %d %d %v %v", path, st.Mode, st.Uid, st.Gid, st.Nlink, st.Size, st.Mtim, st.Ctim)
		attrs := make([]byte, 1024)
		n, _ := unix.Llistxattr(path, attrs)
		fmt.Fprintf(&b, " %q", attrs[:max(n, 0)])
		if d.Type().IsRegular() {
			body, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			fmt.Fprintf(&b, " %x", sha256.Sum256(body))
		}
		b.WriteByte('\n')
		return nil
	})
	must(t, err)
	return b.String()
}

// check reports everything that shows outside that it should not.
func (w *world) check(t *testing.T, what string) {
	t.Helper()
	if now := w.hash(t); now != w.before {
		t.Errorf("%s: the world changed:\n%s", what, firstDifference(w.before, now))
		w.before = now
	}
	if n := w.reached.Swap(0); n > 0 {
		t.Errorf("%s: %d connections or datagrams came out", what, n)
	}
	select {
	case s := <-w.signals:
		t.Errorf("%s: signal %v came out", what, s)
	default:
	}
	buf := make([]byte, 256)
	if n, err := unix.Read(w.fifoFD, buf); n > 0 {
		t.Errorf("%s: the FIFO received %q", what, buf[:n])
	} else if err != nil && !errors.Is(err, unix.EAGAIN) {
		t.Errorf("%s: FIFO: %v", what, err)
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", w.sentinel.Process.Pid))
	if err != nil || !strings.Contains(string(stat), ") S ") {
		t.Errorf("%s: the sentinel does not sleep any more: %q, %v", what, stat, err)
	}
	if entries, err := os.ReadDir(os.TempDir()); err == nil {
		for _, e := range entries {
			if strings.HasPrefix(e.Name(), "planmode-run-") && os.Getenv(soleUser) != "" {
				t.Errorf("%s: %s was left behind", what, e.Name())
			}
		}
	}
}

// soleUser is set when nothing else uses the temporary directory.
const soleUser = "SANDBOX_SOLE_USER"

func firstDifference(a, b string) string {
	as, bs := strings.Split(a, "\n"), strings.Split(b, "\n")
	seen := map[string]bool{}
	for _, line := range as {
		seen[line] = true
	}
	var out []string
	for _, line := range bs {
		if !seen[line] {
			out = append(out, "+ "+line)
		}
		delete(seen, line)
	}
	for _, line := range as {
		if seen[line] {
			out = append(out, "- "+line)
		}
	}
	return strings.Join(out[:min(len(out), 6)], "\n")
}

// backends are the ways of enforcing that this machine has; each names the level that it must give.
func backends(t *testing.T) map[Level]*engine {
	t.Helper()
	all := map[Level]*engine{}
	for level, f := range map[Level]faults{Namespaces: {}, Landlock: {NoUserNS: true}} {
		e := &engine{faults: f}
		r := e.probe(t.Context())
		if r.Level != level {
			t.Logf("%s is left out on this machine: %s", level, r)
			continue
		}
		all[level] = e
	}
	if len(all) == 0 {
		t.Skip("this machine enforces nothing: see the log")
	}
	return all
}

// reExecuted is e with this program as the helper, as where files in memory may not be executed.
func reExecuted(e *engine) *engine {
	f := e.faults
	f.NoImage = true
	return &engine{faults: f}
}
