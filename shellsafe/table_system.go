package shellsafe

import "strings"

// systemRows show or change the state of the machine and its processes.
var systemRows = []row{
	reads("uname guname nproc gnproc uptime guptime free vmstat iostat mpstat lscpu lsusb lsmod lsns lslocks lsipc lsmem lslogins findmnt "+
		"printenv gprintenv whoami gwhoami id gid groups users w tty locale getconf hostid logname "+
		"ps pgrep pidof pstree pmap pwdx sw_vers vm_stat system_profiler lsb_release modinfo getcap "+
		"systemd-detect-virt systemd-path systemd-cgls getenforce sestatus dircolors acpi", "shows the state of the system"),
	{name: "arch", doc: "tells the architecture", opts: "--help --version", max: -1, maxWhy: "is run, on macOS", maxV: Contained, hint: "use `uname -m`"},
	{
		name: "pidstat", doc: "shows what processes use", open: true,
		bad: []bad{{"-e", Contained, "runs a command", "leave -e out"}},
	},
	{
		name: "lspci", doc: "lists PCI devices", open: true,
		bad: []bad{{"-q -Q", Network, "asks the name service, and keeps the answers", "leave it out"}},
	},
	{
		name: "xdpyinfo", doc: "describes the display", style: loose, opts: "-queryExtensions -version -ext=",
		bad: []bad{{"-display=", Network, "names a display, maybe of another machine", "leave it out"}},
	},
	{
		name: "who", doc: "shows who is here", open: true,
		bad: []bad{{"--lookup", Network, "asks a name server for names in a file", "leave it out"}},
	},
	{
		name: "last lastb", doc: "shows who was here", open: true,
		bad: []bad{{"-d --dns", Network, "asks a name server for addresses in a file", "leave it out"}},
	},
	{name: "lsof", doc: "lists open files", open: true, check: checkLsof, bad: []bad{{"-D=", Write, "writes a cache of devices", "leave it out"}}},
	{
		name: "date gdate", doc: "sets the clock", opts: "-Ru -I? -d= -r= -f= -j -n -v= --date= --reference= --file= --iso-8601? --rfc-3339= --rfc-email --rfc-2822 --utc --universal --debug --resolution --help --version",
		check: checkDate, bad: []bad{{"-s= --set=", Write, "sets the clock", "use `date -d TEXT` to compute"}},
	},
	{
		name: "hostname", doc: "sets the name", opts: "-fsidAIyavVh --fqdn --long --short --ip-address --all-ip-addresses --all-fqdns --domain --alias --nis --yp --version --help",
		max: -1, maxWhy: "becomes the machine's name", hint: "leave it out",
		bad: []bad{{"-F= --file= -b --boot", Write, "sets the machine's name", "leave it out"}},
	},
	{name: "domainname nisdomainname dnsdomainname", doc: "sets the name", opts: "-s -f -d", max: -1, maxWhy: "becomes the name"},
	{
		name: "sysctl", doc: "changes kernel settings", opts: "-aAXbdeNnqr --all --values --names --ignore --binary --deprecated --pattern= --help --version -h -V", check: checkSysctl,
		bad: []bad{{"-w --write -p? --load? --system", Write, "changes kernel settings", "leave it out"}},
	},
	{
		name: "dmesg", doc: "clears the ring buffer", opts: "-dehHJkLPrSTtuwWx -f= -F= -l= -s= --color? --decode --ctime --reltime --notime --human --json --kernel --userspace --level= --facility= --file= --since= --until= --follow --follow-new --nopager --raw --show-delta --time-format= --syslog --buffer-size= --help --version --noescape --force-prefix",
		bad: []bad{{"-c --read-clear -C --clear -n= --console-level= -D --console-off -E --console-on", Write, "changes the ring buffer or the console", "leave it out"}},
	},
	{name: "mount", doc: "mounts", opts: "-l -t= -v --types= --show-labels --help --version -h -V", max: -1, maxWhy: "is mounted", hint: "list with plain `mount` or `findmnt`"},
	{name: "lsblk", doc: "lists block devices", open: true},
	{name: "blkid", doc: "lists file systems", opts: "-p -g -k -i -o= -s= -t= -u= -n= -L= -U= --probe --list-filesystems --output= --match-tag= --match-token=", check: checkBlkid},
	{name: "fdisk sfdisk", doc: "changes partitions", opts: "-l -x -o= -L? -u? -d --list --list-details --output= --color? --units? --dump --json -J --version -v -V", check: checkFdisk},
	{name: "parted gdisk", doc: "changes partitions", verdict: Write, info: "-l --list --version -v -V"},
	{name: "udevadm", doc: "acts on devices", style: first, verdict: Write, subs: []row{{name: "info", opts: "-q= -p= -n= -r -a -x -e -d= --query= --path= --name= --root --attribute-walk --export --export-db --no-pager"}}},
	{name: "swapon", doc: "turns swap on", verdict: Write, info: "-s --show --summary --version"},
	writes("umount swapoff mkfs mke2fs mkswap fsck e2fsck losetup dmsetup lvcreate lvremove vgcreate pvcreate zfs zpool btrfs cryptsetup tune2fs resize2fs hdparm eject sync fstrim diskutil hdiutil", "changes file systems"),
	{name: "kill gkill", doc: "sends a signal", judge: judgeKill},
	{name: "pkill killall killall5 skill snice xkill renice grenice reptyr", doc: "changes processes", verdict: Write, info: "-l --list --version -V", hint: "use `pgrep` or `ps`"},
	{
		name: "fuser", doc: "lists users of files", opts: "-acmnuvs4 -6 --all --mount --namespace= --verbose --silent --user --ipv4 --ipv6 --version -V",
		bad: []bad{{"-k --kill -i --interactive", Write, "kills processes", "leave it out"}}, check: checkFuser,
	},
	{name: "top", doc: "is interactive", opts: "-bcHiSsEe1 -d= -n= -o= -p= -u= -U= -w? -l= --batch", check: checkTop},
	{name: "htop btop atop glances iotop nethogs iftop nvtop bpytop", doc: "is interactive", verdict: Contained, info: "--version -V"},
	{name: "sysdig", doc: "is interactive", verdict: Contained},
	{
		name: "systemctl", helps: 2, doc: "changes services", style: first, verdict: Write, noSub: Read, hint: "use `systemctl status`",
		opts: "-a -l -q -r -t= -p= -n= -o= -P= --user --system --no-pager --all --full --type= --state= --property= --value --lines= --output= --plain --no-legend --quiet --recursive --reverse --after --before --show-types --failed --version --help -h --legend= --timestamp=",
		bad:  []bad{{"-H= --host=", Network, "connects to another machine", "leave it out"}, {"-M= --machine= --root= --image=", Contained, "acts on another system", "leave it out"}},
		subs: []row{{
			name: "status show cat is-active is-enabled is-failed is-system-running list-units list-unit-files list-sockets list-timers list-jobs list-dependencies list-machines list-automounts list-paths get-default show-environment help whoami",
			opts: "-a -l -q -r -t= -p= -n= -o= -P= --user --system --no-pager --all --full --type= --state= --property= --value --lines= --output= --plain --no-legend --quiet --recursive --reverse --after --before --show-types --failed --legend= --timestamp= --with-dependencies",
			bad:  []bad{{"-H= --host=", Network, "connects to another machine", "leave it out"}, {"-M= --machine= --root= --image=", Contained, "acts on another system", "leave it out"}},
		}},
	},
	{name: "service rc-service initctl sv launchctl", doc: "changes services", verdict: Write, info: "--version list"},
	{name: "rc-status", doc: "lists services", open: true},
	{
		name: "journalctl", doc: "reads the journal", opts: "-aefklmNqrx -b? -n? -u= -t= -p= -o= -S= -U= -c= -g= -D= -F= -T= -i= --all --catalog --pager-end --no-pager --follow --no-tail --lines? --reverse --output= --output-fields= --utc --no-hostname --no-full --full --quiet --merge --boot? --list-boots --dmesg --unit= --user-unit= --identifier= --exclude-identifier= --priority= --facility= --grep= --case-sensitive? --since= --until= --cursor= --after-cursor= --show-cursor --system --user --directory= --file= --root= --namespace= --header --disk-usage --list-namespaces --fields --field= --verify --list-catalog --dump-catalog --help --version -h --truncate-newline",
		bad: []bad{
			{"--vacuum-size= --vacuum-time= --vacuum-files= --rotate --flush --sync --relinquish-var --smart-relinquish-var --update-catalog --setup-keys --force --cursor-file= --interval=", Write, "changes the journal's files", "leave it out"},
			{"-M= --machine= --image=", Contained, "reads another system", "leave it out"},
		},
	},
	{
		name: "systemd-analyze", doc: "analyses the start", style: first, opts: "--no-pager --user --system", noSub: Read,
		subs: []row{{name: "time blame critical-chain plot dump unit-paths calendar timestamp timespan syscall-filter security", open: true}},
	},
	{
		name: "loginctl", doc: "changes sessions", style: first, verdict: Write, noSub: Read, opts: "--no-pager --no-legend -a -l -p= --value",
		subs: []row{{name: "list-sessions list-users list-seats session-status user-status seat-status show-session show-user show-seat", open: true, bad: []bad{{"-H= --host=", Network, "connects to another machine", ""}}}},
	},
	{
		name: "timedatectl", doc: "changes the clock", style: first, verdict: Write, noSub: Read, opts: "--no-pager -a --all -p= --value",
		subs: []row{{name: "status show list-timezones timesync-status show-timesync", opts: "--no-pager -a --all -p= --property= --value"}},
	},
	{
		name: "hostnamectl localectl", doc: "changes settings", style: first, verdict: Write, noSub: Read, opts: "--no-pager --static --transient --pretty --json=",
		subs: []row{{name: "status show list-locales list-keymaps list-x11-keymap-models list-x11-keymap-layouts", opts: "--no-pager --static --transient --pretty --json="}},
	},
	{
		name: "crontab", doc: "changes the table", opts: "-l -u=", max: -1, maxWhy: "becomes the table", check: checkCrontab,
		bad: []bad{{"-e -r -i", Write, "changes the table", "list with -l"}},
	},
	{name: "at batch atrm", doc: "schedules a command", verdict: Write, info: "-l -V"},
	{name: "atq", doc: "lists scheduled commands", open: true},
	writes("useradd adduser userdel deluser usermod groupadd groupdel groupmod addgroup delgroup passwd chpasswd chsh chfn gpasswd vipw visudo pwconv", "changes accounts"),
	writes("reboot shutdown halt poweroff init telinit kexec pm-suspend rtcwake logoff", "stops the machine"),
	writes("modprobe insmod rmmod depmod update-grub grub-install mkinitcpio dracut update-initramfs", "changes the kernel's modules or the start"),
	{name: "ldconfig", doc: "writes the loader's cache", verdict: Write, info: "-p --print-cache -V --version", hint: "list with `ldconfig -p`"},
	{
		name: "update-alternatives alternatives", doc: "changes links", style: first, opts: "--display= --list= --query= --get-selections", check: checkAlternatives,
		bad: []bad{{"--set= --install= --remove= --remove-all= --auto= --config= --set-selections --all", Write, "changes links", "look with --display NAME"}},
	},
	{name: "stty", doc: "changes the terminal", verdict: Write, info: "-a -g size"},
	{name: "ldd", doc: "may run the file it is given", verdict: Contained, info: "--version", hint: "use `objdump -p FILE` or `readelf -d FILE`"},
	{name: "hwclock tzselect setterm loadkeys xrandr xset setxkbmap gsettings dconf kwriteconfig5 networksetup scutil nvram pmset", doc: "changes settings", verdict: Write, info: "--version --help"},
	{name: "defaults", doc: "changes settings", style: first, verdict: Write, noSub: Read, subs: []row{{name: "read read-type domains find help", open: true}}},
	{name: "plutil", doc: "converts property lists", verdict: Write},
	{name: "xcode-select", doc: "chooses developer tools", verdict: Write, info: "-p --print-path -v --version"},
	{name: "pbcopy xclip xsel wl-copy clip", doc: "changes the clipboard", verdict: Write},
	{
		name: "pbpaste wl-paste", doc: "prints the clipboard", open: true,
		bad: []bad{{"-w --watch", Contained, "runs a command whenever the clipboard changes", "leave it out"}},
	},
	{name: "notify-send osascript say espeak wall write mesg logger mail sendmail mutt", doc: "sends something", verdict: Write, info: "--version"},
	{name: "tmux screen zellij byobu dtach abduco", doc: "keeps sessions", verdict: Contained, info: "-V --version"},
	{name: "setenforce semanage restorecon aa-enforce apparmor_parser auditctl", doc: "changes the security policy", verdict: Write},
}

func checkDate(a *analyzer, c *call) {
	if c.has("-j") {
		return // BSD: do not set
	}
	for _, w := range c.operands {
		if strings.HasPrefix(w.text, "+") {
			continue
		}
		a.reportWord(Write, w, c.path, "the operand "+quote(a.wordText(w))+" sets the clock", "use `date -d TEXT +FORMAT`")
		return
	}
}

func checkSysctl(a *analyzer, c *call) {
	for _, w := range c.operands {
		if !w.lit || strings.Contains(w.text, "=") {
			a.reportWord(Write, w, c.path, quote(a.wordText(w))+" changes a kernel setting", "give only the name")
			return
		}
	}
}

func checkBlkid(a *analyzer, c *call) {
	if !c.hasAny("-p", "--probe", "-k", "--list-filesystems", "-L", "-U") {
		a.reportWord(Contained, c.name, c.path, "`blkid` may write its cache", "use `lsblk -f`")
	}
}

func checkTop(a *analyzer, c *call) {
	if !c.hasAny("-b", "--batch", "-l") {
		a.reportWord(Contained, c.name, c.path, "`top` is interactive", "use `top -bn1` or `ps aux`")
	}
}

func checkCrontab(a *analyzer, c *call) {
	if !c.has("-l") {
		a.reportWord(Write, c.name, c.path, "`crontab` installs a table", "list with -l")
	}
}

// judgeKill: `kill -l` lists the signals and `kill -0 PID` asks whether a process is there.
func judgeKill(a *analyzer, c *call) {
	if len(c.words) > 0 && c.words[0].lit {
		switch s := c.words[0].text; {
		case s == "-l" || s == "-L" || s == "--list" || s == "--table" || s == "--version" || s == "--help":
			return
		case s == "-0":
			ok := true
			for _, w := range c.words[1:] {
				ok = ok && (!w.mayBeOption() || w.num || w.src != nil && !w.split && w.text == "")
			}
			if ok {
				return
			}
		}
	}
	a.reportWord(Write, c.name, c.path, "`kill` sends a signal", "look with `ps` or `kill -0 PID`")
}

func checkAlternatives(a *analyzer, c *call) {
	if len(c.opts) == 0 || len(c.operands) > 0 {
		a.reportWord(Write, c.name, c.path, quote(c.path)+" changes links", "look with --display NAME")
	}
}

func checkFdisk(a *analyzer, c *call) {
	if !c.hasAny("-l", "--list", "-x", "--list-details", "-d", "--dump", "-J", "--json", "--version", "-v", "-V") {
		a.reportWord(Write, c.name, c.path, quote(c.path)+" changes partitions", "list with -l")
	}
}
