package shellsafe

import (
	"os"
	"strings"
	"testing"
)

var unescapeLine = strings.NewReplacer(`\\`, `\`, `\n`, "\n", `\t`, "\t", `\r`, "\r")

// readLines reads a list of lines from testdata; the comment stands at its head.
func readLines(t testing.TB, name string) []string {
	t.Helper()
	text, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	for len(lines) > 0 && strings.HasPrefix(lines[0], "# ") {
		lines = lines[1:]
	}
	if len(lines) < 100 {
		t.Fatalf("%s has only %d lines", name, len(lines))
	}
	return lines
}

func TestReadLines(t *testing.T) {
	for _, l := range readLines(t, "read.txt") {
		line := unescapeLine.Replace(l)
		if r := Analyze(line, nil); r.Verdict != Read {
			t.Errorf("%q is %s: %s (%s)", line, r.Verdict, r.Reason, r.Row)
		}
	}
}

// TestRefusedLines holds the verdict of every line and that each refusal explains itself.
func TestRefusedLines(t *testing.T) {
	for _, l := range readLines(t, "refused.txt") {
		want, l, ok := strings.Cut(l, "\t")
		if !ok {
			t.Fatalf("no verdict in %q", l)
		}
		line := unescapeLine.Replace(l)
		r := Analyze(line, nil)
		if r.Verdict.String() != want {
			t.Errorf("%q is %s, want %s (%s)", line, r.Verdict, want, r.Reason)
		}
		checkPromises(t, line, r)
	}
}

// checkPromises holds what every result promises.
func checkPromises(t testing.TB, line string, r Result) {
	t.Helper()
	if r.Verdict == Read {
		if r != (Result{Verdict: Read}) {
			t.Errorf("%q is read, yet has %+v", line, r)
		}
		return
	}
	if r.Reason == "" || r.Row == "" {
		t.Errorf("%q is %s without a reason or a row: %+v", line, r.Verdict, r)
	}
	end := r.At.Offset + len(r.At.Text)
	if r.At.Offset < 0 || end > len(line) || line[r.At.Offset:end] != r.At.Text {
		t.Errorf("%q: the span %+v is not in the line", line, r.At)
	}
}

func TestFindingsPoint(t *testing.T) {
	for _, c := range []struct{ line, at, row, hint string }{
		{"ls | sort -o out.txt f", "-o", "sort", "drop -o"},
		{"git status && git branch topic", "topic", "git branch", "git branch --list"},
		{"git checkout -- README.md", "checkout", "git checkout", "git show REV:FILE"},
		{"sed -i s/a/b/ f", "-i", "sed", "sed -n"},
		{"ls | tee out", "out", "tee", "leave `tee` out"},
		{`"tee" - -`, "-", "tee", "leave `tee` out"},
		{"echo hi > f", "> f", "redirect", "leave the redirection out"},
		{"bash -c 'ls; rm x'", "'ls; rm x'", "rm", ""},
		{"x=1; PATH=. ls", "PATH=.", "assignment", "leave the assignment out"},
		{"find . -delete", "-delete", "find", "drop -delete"},
		{"curl -s http://h/", "curl", "curl", "tool that fetches"},
		{"ls $(rm x)", "rm", "rm", ""},
		{"git log \"$r\"", `"$r"`, "git log", "--"},
	} {
		r := Analyze(c.line, nil)
		if r.At.Text != c.at || r.Row != c.row || !strings.Contains(r.Hint, c.hint) {
			t.Errorf("%q: at %q by %q with hint %q; want %q, %q, %q", c.line, r.At.Text, r.Row, r.Hint, c.at, c.row, c.hint)
		}
		checkPromises(t, c.line, r)
	}
}

// TestReadersThatRun are options of programs that only print otherwise.
func TestReadersThatRun(t *testing.T) {
	for line, want := range map[string]Verdict{
		"jobs -x ./f": Contained, "jobs -lx ./f": Contained, `$'jobs' -x ./f '-x'`: Contained, "jobs -l": Read, "jobs %1": Read,
		"wl-paste --watch ./f": Contained, "wl-paste --wat ./f": Contained, "wl-paste -nw ./f": Contained, "wl-paste -n": Read,
		"pidstat -e ./f": Contained, "pidstat -ue ./f": Contained, "pidstat -p ALL": Read, `pidstat $v`: Contained,
		"arch ./f": Contained, "arch -x86_64 ./f": Contained, `arch $v`: Contained, "arch": Read,
		"lspci -q": Network, "lspci -vQ": Network, "lspci -v": Read,
		"xdpyinfo -display other:0": Network, "xdpyinfo -d other:0": Contained, "xdpyinfo -disp other:0": Contained,
		"xdpyinfo": Read, "xdpyinfo -queryExtensions": Read, "xdpyinfo -ext all": Read,
		"diff3 --diff-program=./f a b c": Contained, "diff3 --diff-p ./f a b c": Contained, "diff3 -m a b c": Read,
		"uv pip list": Contained, "uv pip list --python ./f": Contained, "uv --version": Read, "docker compose ps": Network, "docker compose ls": Read,
		"cloc --vcs='touch f' .": Contained, "cloc --vcs ./f": Contained, "cloc --vcs=git .": Read, "cloc .": Read, "cloc a.go src": Read, "cloc x.tar.gz": Contained, "cloc *": Contained, "cloc ./*.go": Read, "cloc $x": Contained,
		"ip link s lo down": Write, "ip l s lo down": Write, "ip a s": Read, "ip r s": Read, "ip link sh": Read,
		"rustc --print=cfg=f": Contained, "rustc --print cfg=f": Contained, "rustc --print=cfg": Read, "rustc --print sysroot": Read, "rustc --print link-args": Contained,
		"jar tf x.jar -J-javaagent:x": Write, "jar tf @x": Write, "jar tf x.jar @y": Write, `jar tf "$x"`: Write, "jar tf x.jar": Read, "jar tf x.jar META-INF/": Read,
		"ar t x.a --plugin=x": Write, "ar t @x": Write, "ar t x.a": Read, "ar t ./*.a": Read, "man -c ls | cat": Write,
		"yay -Q --pacman x": Network, "yay -Qu": Network, "paru -Qua": Network, "pacman -Qu": Read, "pacman -Qi bash": Read, "yay -Qi x": Read, "pacman -Q --config x": Network,
		"uuencode -o f name": Write, "uuencode -mo f name": Write, "uuencode -m name": Read,
	} {
		if r := Analyze(line, nil); r.Verdict != want {
			t.Errorf("%q is %s, want %s", line, r.Verdict, want)
		}
	}
}

// TestAskedForItsVersion: what one program takes for a question is work to another.
func TestAskedForItsVersion(t *testing.T) {
	for _, line := range []string{
		"ruby version", "perl version", "tclsh version", "php version", "elixir version", // a script of that name
		"task version", "mage version", "wire version", // a target, or a package
		"rake -v", "just -v", "ninja -v", "ant -v", "waf -v", "autoconf -v", "autoreconf -v", "bmake -v", "as -v", // work, and tell of it
		"act -v", "mysql -v", "pg_dump -v", "mongodump -v", "mongo -v", "tcpdump -v", "tshark -V", // connect, and tell of it
		"openvpn version", "kubens version", "kubectx version", "istioctl version", "argocd version", "vagrant version", "stern version", // a name, or the server's version
		"premake5 --version", "waf --version", "dotnet --version", "pants --version", "poetry --version", "bundle --version", "serverless --version", "pyright --version", // the project's first
		"emerge list", "xbps-install ls", "nix-env list", // the name of a package
		"terragrunt workspace show", "terragrunt fmt -check", "gci write x", "az --version", "govulncheck -version",
	} {
		if r := Analyze(line, nil); r.Verdict == Read {
			t.Errorf("%q is read", line)
		}
	}
	for _, line := range []string{
		"ruby -v", "perl -v", "php --version", "lua -v", "zig version", "go version", "java -version", "node -v", "make -v", "make --version", "cmake --version", "ninja --version",
		"just --version", "gcc -v", "gcc --version", "ld -v", "as --version", "psql --version", "mysql --version", "kubectl version --client", "helm version", "terraform -version",
		"terraform workspace show", "tofu version", "golangci-lint version", "gopls version", "gci diff .", "gci print -s standard x.go", "protoc --version", "docker --version", "curl --version", "tsc -v",
	} {
		if r := Analyze(line, nil); r.Verdict != Read {
			t.Errorf("%q is %s: %s", line, r.Verdict, r.Reason)
		}
	}
}

// TestReadersThatFetch are programs that open a connection for the name of a file, or ask a name server
// for a name that the line gives.
func TestReadersThatFetch(t *testing.T) {
	for line, want := range map[string]Verdict{
		"awk 1 /inet/tcp/0/h/80": Network, "awk 1 /inet6/tcp/0/h/80": Network, "awk 1 f /inet/tcp/0/$x/80": Network, "awk -e 1 /inet/udp/0/h/1": Network,
		"awk 1 $x": Contained, `awk 1 "$x"`: Contained, `awk 1 "/$x"`: Contained, `awk 1 /in*`: Contained, `awk 1 "./$x"`: Read, "awk 1 *": Read, "awk 1 /dev/stdin": Read,
		`for f in *; do awk 1 "$f"; done`: Read, `for f in /inet/tcp/0/h/1 g; do awk 1 "$f"; done`: Contained, "find . | xargs awk 1": Read, "cat l | xargs awk 1": Contained,
		"find . -exec awk 1 {} +": Read, "find / -exec awk 1 {} +": Contained, `find /inet -exec awk 1 {} \;`: Contained,
		`x="a /inet/tcp/0/h/1"; awk 1 $x`: Contained, `for x in "a /inet/tcp/0/h/1" b; do awk 1 $x; done`: Contained, `awk 1 ./a$x`: Contained, `for f in $(ls); do awk 1 $f; done`: Read,
		`for f in $(find . -name x); do awk 1 $f; done`: Read, `for f in $(find / -name x); do awk 1 $f; done`: Contained,
		`awk '{getline x < "/inet/tcp/0/h/80"}'`: Network, `awk '{getline < $1}'`: Contained, `awk '{getline x < f}' f=/inet`: Contained, `awk 'BEGIN{getline < ("/in" "et/tcp/0/h/1")}'`: Contained,
		`awk 'BEGIN{while ((getline x < "f") > 0) print x}'`: Read, `awk 'BEGIN{getline x < "/in\145t/tcp/0/h/1"}'`: Contained, `awk 'BEGIN{getline x <` + "\n" + `f}'`: Contained,
		`awk 'BEGIN{getline; if (a < b) print}'`: Read, `awk '{ if ($1 < x) print }'`: Read, `awk 'BEGIN{while (getline < "f" > 0) n++}'`: Read,
		`awk 'BEGIN{ARGV[1]="/inet/tcp/0/h/1"} 1' x`: Contained, `awk 'BEGIN{split("a b", ARGV)}' x`: Contained, `awk 'FILENAME==ARGV[1]{n++}' a b`: Read, `awk 'ARGV[1] == FILENAME' a b`: Read,
		`awk '{ x == ARGV[1] = "y" }'`: Contained, `awk '{ x == ARGV[1]++ }'`: Contained, `awk 'BEGIN{SYMTAB["ARGV"][1]="x"}'`: Contained, `awk 'BEGIN{f(ARGV)}'`: Contained, `awk 'BEGIN{for (ARGV[1] in a) ;}'`: Contained,

		"openssl x509 -in http://h/x -noout": Network, "openssl crl -in HTTP://h/x": Network, `openssl x509 -in "$f"`: Contained, `openssl x509 -in "./$f"`: Read, `openssl x509 -in "ht$f"`: Contained,
		"openssl x509 -in cert.pem -noout": Read, "openssl x509 -in a:b": Read, `for f in *.pem; do openssl x509 -in "$f"; done`: Read, `for f in h*//*; do openssl x509 -in "$f"; done`: Contained,
		"gron http://h": Network, "gron f": Read, "gron ./*": Read, `for u in http://h b; do gron "$u"; done`: Contained, `u="./a http://h"; gron $u`: Contained, `gron "./$u"`: Read, `gron ./$u`: Contained,
		"find . -print0 | xargs -0 gron": Read, "ls | xargs -I{} openssl x509 -in {}": Read, "echo http://h | xargs openssl x509 -in": Contained, "find http://h | xargs -I{} openssl x509 -in {}": Contained,
		"xmllint http://h/x": Network, "xmllint --noout x.xml": Read, `xmllint --xpath "$q" x.xml`: Read, `xmllint "$f"`: Contained, "xml sel -N x=http://h -t -v //x f": Read, "xml sel -t -v //a http://h": Network,
		"javap -c http://h/A.class": Network, "javap jar:http://h/a.jar!/A": Network, "javap java.lang.String": Read, "pdfinfo http://h/x": Network, "pdfinfo x.pdf": Read,

		"tar tf h:x": Network, `tar tf "$f"`: Contained, `tar tf "h$f"`: Contained, "tar tf *.tar": Contained, "tar tf ./*.tar": Read, `for f in h:x b; do tar tf "$f"; done`: Contained, `for f in *; do tar tf "$f"; done`: Contained,
		`for f in ./*; do tar tf "$f"; done`: Read, `for f in ./*; do tar tf $f; done`: Contained, "find . -exec tar tf {} +": Read, `find h: -exec tar tf {} \;`: Contained, `ls | while read -r f; do tar tf "$f"; done`: Contained,
		`find . | while read -r f; do tar tf "$f"; done`: Read, `tar tf "$HOME/x.tar"`: Read, `tar tf "$PWD/x.tar"`: Read, "tar tf $f --force-local": Contained, `tar tf "$f" --force-local`: Read,

		"arp -a": Read, "arp 10.0.0.1": Read, "arp fe80::1": Read, "arp h": Network, `arp "$x"`: Contained,
		"ss -tulpn": Read, "ss dst h": Network, "ss -t 'dst h:ssh'": Network, "ss '( dport = :ssh or src h )'": Network, "ss dst 10.0.0.1": Read, "ss state established '( dport = :ssh )'": Read,
		`ss -t "sport = :$port"`: Read, "ss $x": Contained, `ss "dst $x"`: Contained,
		"lsof": Read, "lsof -i": Read, "lsof -i :80": Read, "lsof -iTCP -sTCP:LISTEN": Read, "lsof -i @h": Network, "lsof -i tcp@h:80": Network, "lsof -nPi@h": Network, "lsof -i @10.0.0.1:80": Read, `lsof -i "$x"`: Contained, `lsof -i ":$x"`: Read, `lsof -i "@$x"`: Contained,
		"fuser 80/tcp": Read, "fuser -v f": Read, "fuser 22,h/tcp": Network, "fuser -n tcp 22,h": Network, "fuser 22,10.0.0.1/tcp": Read, `fuser "$x/tcp"`: Contained,
		"who": Read, "who --lookup f": Network, "who --lo f": Network, "last -n 5": Read, "last -d -f x": Network, "last --dns": Network,
		"go list -m x@latest": Network, "go list -m all": Read, "go list ./...": Read, "lolcat http://h": Contained,
		"yum list": Network, "dnf list installed": Network, "choco list": Network, "winget list": Network, "brew deps x": Network, "brew list": Read, "dnf --version": Read,
		"rpm -qp http://h/x.rpm": Network, `rpm -qp "ht$f"`: Contained, `for u in http://h b; do rpm -qp "$u"; done`: Contained, "rpm -qp ./x.rpm": Read, "rpm -q bash": Read,
		"DEBUGINFOD_URLS=http://h readelf -a x": Contained,
	} {
		if r := Analyze(line, nil); r.Verdict != want {
			t.Errorf("%q is %s (%s), want %s", line, r.Verdict, r.Reason, want)
		}
	}
}

// TestWorstDecides: Network before Write before Contained before Read, wherever they stand.
func TestWorstDecides(t *testing.T) {
	parts := map[Verdict]string{Read: "ls", Contained: "make", Write: "rm x", Network: "curl h"}
	for v1, p1 := range parts {
		for v2, p2 := range parts {
			for _, op := range []string{"; ", " | ", " && ", " || ", "\n"} {
				if got := Analyze(p1+op+p2, nil).Verdict; got != min(v1, v2) {
					t.Errorf("%q is %s, want %s", p1+op+p2, got, min(v1, v2))
				}
			}
		}
	}
}

func TestInvalid(t *testing.T) {
	for _, line := range []string{
		"", " \n\t", "# nothing", "ls \r\n", "ls\x00", "ls \x1b[m", "ls \x7f", "ls \u0085", "ls \xff", "ls 'a", "ls )", "if ls", "ls | ", "((", "ls #x\\\nrm y",
		strings.Repeat("a", MaxLen+1), strings.Repeat("(", 300),
	} {
		r := Analyze(line, nil)
		if r.Verdict != Invalid {
			t.Errorf("%.40q is %s", line, r.Verdict)
		}
		checkPromises(t, line, r)
	}
	if r := Analyze(strings.Repeat("ls;", MaxLen/3), nil); r.Verdict != Read {
		t.Errorf("%d bytes: %s", MaxLen, r.Reason)
	}
	if r := Analyze("ls", &Options{Dialect: 99}); r.Verdict != Invalid {
		t.Errorf("an unknown dialect is %s", r.Verdict)
	}
}

// TestComplexity: a line that is made to be judged for ever is refused.
func TestComplexity(t *testing.T) {
	var b strings.Builder
	for i := range 9 {
		name := string(rune('a' + i))
		next := "f" + string(rune('b'+i))
		b.WriteString("f" + name + "() { " + strings.Repeat(next+" $1; ", 80) + "}; ")
	}
	b.WriteString("fa x")
	if r := Analyze(b.String(), nil); r.Verdict == Read {
		t.Error("read")
	}
	for _, line := range []string{strings.Repeat("{", 4000) + "a,b" + strings.Repeat("}", 4000), strings.Repeat("eval ", 1900) + "ls", strings.Repeat("env ", 2000) + "ls"} {
		if r := Analyze(line, nil); r.Verdict == Read {
			t.Errorf("%.20q… is read", line)
		}
	}
}

func TestPOSIX(t *testing.T) {
	for _, c := range []struct {
		line string
		want Verdict
	}{
		{"ls | head -3", Read},
		{`for f in *.go; do wc -l "$f"; done`, Read},
		{"[ -f x ] && cat x", Read},
		{"x=1; echo $((x+1))", Read},
		{"ls >/dev/null 2>&1", Read},
		{"f() { ls; }; f", Read},
		{"export FOO=1; echo $FOO", Read},
		{"command -v git", Read},
		{"ls &>/dev/null", Invalid},      // not the grammar
		{"[[ -f x ]]", Contained},        // a program's name
		{"$'touch' x", Contained},        // a dollar and a word, or one word
		{"echo $'a'", Read},              // harmless either way
		{"{rm,x}", Contained},            // expanded by some shells
		{"source x", Contained},          // no such thing, or bash
		{"diff <(ls) x", Invalid},        // not the grammar
		{"cat <<< x", Invalid},           //
		{"a=(1 2)", Invalid},             //
		{"rm x", Write},                  //
		{"eval 'ls() { rm x; }'", Write}, //
		{"exec() { ls; }; exec rm x", Write},
	} {
		if r := Analyze(c.line, &Options{Dialect: POSIX}); r.Verdict != c.want {
			t.Errorf("%q is %s, want %s (%s)", c.line, r.Verdict, c.want, r.Reason)
		}
	}
}
