package shellsafe

import "strings"

// networkRows talk to other machines, or show the state of this one's network.
var networkRows = []row{
	{
		name: "curl wget aria2c http https httpie xh wget2 lynx w3m links elinks", doc: "fetches from the network", verdict: Network, info: "--version --help",
		hint: "use the tool that fetches, or a copy in the workspace",
	},
	connects("scp sftp ftp ncftp lftp tftp rcp rlogin rsh telnet", "connects to another machine"),
	connects("nc ncat netcat socat nmap masscan tcpdump tshark wireshark iperf iperf3 mtr traceroute traceroute6 tracepath ping ping6 fping arping hping3", "sends packets"),
	connects("dig nslookup host whois drill kdig delv resolvectl avahi-browse avahi-resolve", "asks a name server"),
	connects("psql mysql mariadb mongo mongosh redis-cli valkey-cli sqlcmd sqlplus clickhouse-client cqlsh influx etcdctl consul vault nomad nats kcat kafkacat pg_dump mysqldump mongodump pg_isready", "connects to a data base"),
	connects("aws gcloud gsutil bq doctl heroku flyctl fly vercel netlify wrangler firebase linode-cli hcloud oci ibmcloud databricks snowsql sentry-cli", "talks to a service"),
	{name: "az", doc: "talks to a service, also for its version", verdict: Network},
	connects("glab hub tea jira linear travis circleci", "talks to a forge"),
	{name: "act", doc: "runs the project's workflows", verdict: Contained, info: "--version"},
	{
		name: "gh", helps: 3, doc: "talks to a forge", style: first, verdict: Network, noSub: Read, info: "--version --help", opts: "--help --version -h",
		hint: "use `git log`, `git show`; or let the user vouch for the sub-command",
		subs: []row{
			{name: "version help", doc: "prints", open: true},
			{name: "config", style: first, doc: "changes the configuration", verdict: Write, noSub: Read, subs: []row{{name: "get list ls", opts: "-h= --host="}}},
			{name: "completion", opts: "-s= --shell="},
			{name: "alias", style: first, doc: "changes the configuration", verdict: Write, noSub: Read, subs: []row{{name: "list ls"}}},
		},
	},
	{name: "getent", doc: "asks the name services", check: checkGetent, opts: "-i -A -s= --no-idn --no-addrconfig --service="},
	{
		name: "ss", doc: "lists sockets", opts: "-hVHOnraloemipTsEZzb460tudwxSMB -A= -f= -F= -N= --help --version --no-header --oneline --numeric --resolve --all --listening --options --extended --memory --processes --threads --info --summary --tipcinfo --tos --cgroup --context --contexts --bpf --events --ipv4 --ipv6 --packet --tcp --mptcp --sctp --udp --dccp --raw --unix --tipc --vsock --xdp --family= --query= --socket= --filter= --inet-sockopt --bound-inactive",
		bad: []bad{
			{"-K --kill", Write, "closes sockets", "leave it out"},
			{"-D= --diag=", Write, "writes a file", "leave it out"},
		}, check: checkSs,
	},
	{name: "netstat", doc: "lists sockets", open: true},
	{name: "ip", doc: "changes the network's settings", style: first, judge: judgeIP},
	{name: "ifconfig", doc: "changes the network's settings", opts: "-a -s -v -l", max: 1, maxWhy: "changes a setting", hint: "give only the interface"},
	{name: "iwconfig route", doc: "changes the network's settings", opts: "-n -e -ee -4 -6 -v", max: -1, maxWhy: "changes a setting"},
	{
		name: "arp", doc: "changes the table", opts: "-a -n -e -v -i= --numeric --all", max: 1, maxWhy: "changes the table",
		bad: []bad{{"-d= -s= -f? --delete= --set= --file?", Write, "changes the table", "list with -a"}}, check: checkArp,
	},
	{name: "ethtool iw nmcli networkctl wpa_cli rfkill brctl bridge tc wg", doc: "may change the network's settings", verdict: Contained},
	{
		name: "iptables ip6tables iptables-save ip6tables-save", doc: "changes the firewall", opts: "-L -S -n -v -x -t= -w? -4 -6 --list --list-rules --numeric --verbose --exact --table= --line-numbers --wait? --version -V -c", check: checkIptables,
		bad: []bad{{"-A -C -D -I -R -F -Z -N -X -P -E --append --check --delete --insert --replace --flush --zero --new-chain --delete-chain --policy --rename-chain --set-counters", Write, "changes the firewall", "list with -L or -S"}},
	},
	{
		name: "nft", doc: "changes the firewall", style: first, verdict: Write, noSub: Contained, bad: []bad{{"-f= --file= -i --interactive", Write, "changes the firewall", "use `nft list ruleset`"}}, opts: "-a -n -j -s -S -y -N -p -t --handle --numeric --json --stateless --service --reversedns --terse",
		subs: []row{{name: "list", open: true}},
	},
	{name: "ufw", doc: "changes the firewall", style: first, verdict: Write, subs: []row{{name: "status version", open: true}}},
	{name: "firewall-cmd pfctl ipset", doc: "changes the firewall", verdict: Write, info: "--state --list-all --version -V"},
	{name: "openssl", doc: "may connect or write", style: first, noSub: Contained, subs: []row{
		{name: "version", open: true},
		{name: "x509 crl req", style: loose, check: checkOpenssl, opts: "-in= -inform= -noout -text -subject -issuer -dates -startdate -enddate -serial -fingerprint -sha256 -sha1 -pubkey -modulus -hash -purpose -ext= -nameopt= -certopt= -email -ocsp_uri -checkend= -verify"},
		{name: "rand", style: loose, opts: "-hex -base64"},
		{name: "asn1parse", style: loose, opts: "-in= -inform= -i -dump -offset= -length="},
		{name: "dgst sha256 md5 sha1 sha512", style: loose, opts: "-sha256 -sha1 -sha512 -sha384 -sha224 -md5 -hex -r -c -binary"},
		{name: "ciphers list", style: loose, opts: "-v -V -s -tls1_2 -tls1_3 -commands -digest-commands -cipher-commands -digest-algorithms -cipher-algorithms"},
		{name: "s_client s_server s_time ocsp cmp", doc: "connects to another machine", verdict: Network},
	}},
	{name: "gpg gpg2 gpgconf gpg-connect-agent ssh-add ssh-agent pass age minisign cosign", doc: "touches its key store", verdict: Contained, info: "--version"},
	{name: "ssh-keygen", doc: "creates keys", judge: judgeSSHKeygen},
	{name: "ssh-keyscan ssh-copy-id", doc: "connects to another machine", verdict: Network},
	{name: "ngrok cloudflared tailscale zerotier-cli wg-quick openvpn", doc: "changes or uses the network", verdict: Network, info: "--version"},
}

// checkOpenssl: x509 and crl fetch what -in names when that is a URL.
func checkOpenssl(a *analyzer, c *call) {
	for _, o := range c.opts {
		if o.name == "-in" && o.has && a.fetched(c, o.value) {
			return
		}
	}
	checkURLs(a, c)
}

func checkGetent(a *analyzer, c *call) {
	if len(c.operands) > 0 && c.operands[0].lit && listed("passwd group shadow gshadow services protocols rpc ethers", c.operands[0].text) {
		return
	}
	a.reportWord(Network, c.name, c.path, "`getent` may ask a name server", "read /etc/hosts")
}

func checkIptables(a *analyzer, c *call) {
	if !c.hasAny("-L", "-S", "--list", "--list-rules", "--version", "-V") && !strings.HasSuffix(c.path, "-save") {
		a.reportWord(Write, c.name, c.path, quote(c.path)+" changes the firewall", "list with -L or -S")
	}
}

// ipFlags are the options of ip that only choose what is shown.
var ipFlags = map[string]bool{
	"-4": true, "-6": true, "-B": true, "-M": true, "-0": true, "-br": true, "-brief": true, "-o": true, "-oneline": true, "-s": true, "-stats": true,
	"-statistics": true, "-d": true, "-details": true, "-j": true, "-json": true, "-p": true, "-pretty": true, "-c": true,
	"-color": true, "-r": true, "-resolve": true, "-h": true, "-human": true, "-t": true, "-timestamp": true, "-ts": true,
	"-a": true, "-all": true, "-N": true, "-V": true, "-Version": true, "-iec": true, "-ss": true, "-color=never": true, "-color=always": true, "-color=auto": true,
}

// judgeIP: `ip OBJECT` and `ip OBJECT show …` look, every other verb acts. Verbs may be abbreviated, and
// an abbreviation that could be an acting verb is one.
func judgeIP(a *analyzer, c *call) {
	words := c.words
	for len(words) > 0 && words[0].lit && ipFlags[words[0].text] {
		words = words[1:]
	}
	if len(words) == 0 {
		return
	}
	object := words[0]
	if !object.lit || strings.HasPrefix(object.text, "-") {
		a.reportWord(Contained, object, c.path, quote(a.wordText(object))+" is not known to be a read-only option of `ip`", "")
		return
	}
	if object.text == "help" {
		return
	}
	if !ipObject(object.text) {
		a.reportWord(Write, object, c.path, quote("ip "+object.text)+" may change the network's settings", "use `ip addr`, `ip link` or `ip route`")
		return
	}
	if len(words) == 1 {
		return
	}
	verb := words[1]
	switch {
	case verb.lit && listed("show sho sh list lis li ls lst", verb.text):
	case verb.lit && verb.text == "s" && !strings.HasPrefix("link", object.text): // where it is short for set
	case verb.lit && verb.text == "get" && strings.HasPrefix("route", object.text):
	case verb.lit && (verb.text == "help" || verb.text == "dev" && object.text != "netns"):
	default:
		a.reportWord(Write, verb, c.path, quote("ip "+object.text+" "+a.wordText(verb))+" changes the network's settings", "use `ip "+object.text+" show`")
	}
}

// ipObject accepts the objects of ip that can be shown, and their abbreviations. An abbreviation of
// several objects means the first of them to ip; all of these are looked at in the same way.
func ipObject(s string) bool {
	if s == "" {
		return false
	}
	for _, o := range []string{
		"address", "link", "route", "neighbor", "neighbour", "rule", "maddress", "mroute", "tunnel", "ntable", "ntbl",
		"addrlabel", "netns", "token", "tcp_metrics", "tcpmetrics", "vrf",
	} {
		if strings.HasPrefix(o, s) {
			return true
		}
	}
	return false
}

func judgeSSHKeygen(a *analyzer, c *call) {
	if len(c.words) > 0 && c.words[0].lit && (c.words[0].text == "-l" || c.words[0].text == "-lf" || c.words[0].text == "-lvf") {
		ok := true
		for _, w := range c.words[1:] {
			ok = ok && (w.lit && (w.text == "-f" || w.text == "-v" || w.text == "-E" || w.text == "sha256" || w.text == "md5") || !w.mayBeOption())
		}
		if ok {
			return
		}
	}
	a.reportWord(Write, c.name, c.path, "`ssh-keygen` creates or changes keys", "show with `ssh-keygen -lf FILE`")
}
