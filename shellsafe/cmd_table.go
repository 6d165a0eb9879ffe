package shellsafe

import (
	"strings"
	"sync"
)

// A winRule is a row for a program of Windows.
type winRule struct {
	switches string  // the switches that only read, without / or -; "*" any; name* by its start
	subs     string  // when set, the first word must be one of these
	operands bool    // other words may follow
	dash     bool    // switches may start with a dash too
	dynamic  bool    // words may be unknown: there is no switch that does more than read
	other    Verdict // for anything else; the zero value leaves it to the other tables
	hint     string
}

// winRules are the programs that can be used to read. PowerShell and cmd share them.
var winRules = sync.OnceValue(func() map[string]winRule {
	return map[string]winRule{
		"arp":         {switches: "a g", dash: true, other: Write},
		"attrib":      {switches: "s d l", operands: true, other: Write, hint: "attrib FILE shows the attributes"},
		"auditpol":    {subs: "/get /list", switches: "*", operands: true, other: Write},
		"bcdedit":     {switches: "enum v ?", operands: true, other: Write},
		"cacls":       {operands: true, other: Write},
		"certutil":    {subs: "-hashfile /hashfile", operands: true, other: Write, hint: "certutil -hashfile FILE only reads"},
		"chcp":        {other: Contained},
		"cipher":      {other: Write},
		"cmdkey":      {switches: "list", other: Write},
		"comp":        {switches: "*", operands: true, dynamic: true},
		"compact":     {operands: true, other: Write},
		"date":        {switches: "t"},
		"doskey":      {switches: "history h macros", other: Contained},
		"driverquery": {switches: "fo nh si v ?", operands: true, other: Network},
		"fc":          {switches: "*", operands: true, dynamic: true},
		"find":        {switches: "v c n i off offline ?", operands: true},
		"findstr":     {switches: "*", operands: true, dynamic: true},
		"fsutil":      {subs: "fsinfo", operands: true, other: Write},
		"getmac":      {switches: "fo nh v ?", operands: true, other: Network},
		"gpresult":    {switches: "r v z scope", operands: true, other: Write},
		"hostname":    {},
		"icacls":      {switches: "t c l q verify findsid ?", operands: true, other: Write, hint: "icacls FILE shows the rights"},
		"ipconfig":    {switches: "all allcompartments displaydns showclassid ?", dash: true, other: Write, hint: "ipconfig /all shows the settings"},
		"klist":       {other: Write},
		"mode":        {other: Contained},
		"more":        {switches: "e c p s t* ?", operands: true, dynamic: true},
		"mountvol":    {switches: "l ?", other: Write},
		"nbtstat":     {switches: "n c r s", dash: true, other: Network},
		"netstat":     {switches: "*", operands: true, dash: true, dynamic: true},
		"openfiles":   {subs: "/query", switches: "query fo nh v", operands: true, other: Write},
		"pnputil":     {switches: "enum-*", operands: true, other: Write},
		"powercfg":    {switches: "l list q query getactivescheme a availablesleepstates requests lastwake waketimers devicequery", operands: true, dash: true, other: Write},
		"qprocess":    {operands: true, other: Network},
		"query":       {subs: "user session process", operands: true, other: Contained},
		"quser":       {operands: true, other: Network},
		"qwinsta":     {operands: true, other: Network},
		"reg":         {subs: "query compare", switches: "*", operands: true, other: Write, hint: "reg query reads the registry"},
		"route":       {subs: "print", operands: true, switches: "4 6", dash: true, other: Write, hint: "route print shows the routes"},
		"sc":          {subs: "query queryex qc qdescription qfailure qtriggerinfo qprivs qsidtype getdisplayname getkeyname enumdepend sdshow", operands: true, other: Write, hint: "sc query reads"},
		"schtasks":    {switches: "query fo nh v tn xml ?", operands: true, other: Write, hint: "schtasks /query lists tasks"},
		"sort":        {switches: "r reverse + +* l locale m memory rec record ?", operands: true, hint: "drop /o: sorted lines go to standard output"},
		"subst":       {other: Write},
		"systeminfo":  {switches: "fo nh ?", operands: true, other: Network},
		"tasklist":    {switches: "svc m v fo fi nh apps ?", operands: true, other: Network},
		"time":        {switches: "t"},
		"tree":        {switches: "f a ?", operands: true},
		"tzutil":      {switches: "g l ?", other: Write},
		"ver":         {},
		"vol":         {operands: true, dynamic: true},
		"vssadmin":    {subs: "list", operands: true, switches: "*", other: Write},
		"w32tm":       {subs: "/query /tz", switches: "query status source peers configuration verbose tz", other: Write},
		"wevtutil":    {subs: "el enum-logs gl get-log qe query-events gli get-loginfo ep enum-publishers gp get-publisher", switches: "c rd f q e l ge gm", operands: true, other: Write},
		"where":       {switches: "r q f t ?", operands: true, dynamic: true},
		"whoami":      {switches: "*", operands: true},
	}
})

// winVerdicts are programs that have no form worth telling apart.
var winVerdicts = sync.OnceValue(func() map[string]Verdict {
	m := map[string]Verdict{}
	for v, words := range map[Verdict]string{
		Write: `taskkill tskill shutdown setx takeown robocopy xcopy replace expand convert makecab compress
			diskpart format label recover chkdsk sfc dism print clip mklink bcdboot bootcfg gpupdate secedit
			regedit regini logman typeperf tracerpt dxdiag msinfo32 diskshadow wbadmin manage-bde reagentc
			defrag cleanmgr eventcreate lodctr unlodctr logoff tsdiscon rwinsta reset esentutl ntdsutil
			netcfg pkgmgr wusa setspn vaultcmd change chgport powershell_ise copy move ren del`,
		Network: `ping tracert pathping nslookup ftp tftp telnet bitsadmin winrm winrs mstsc msra net1 finger
			winget choco scoop rasdial pscp plink putty curl wget`,
		Contained: `rundll32 regsvr32 mshta wscript cscript msiexec installutil msbuild forfiles runas psexec wsl
			explorer notepad at start odbcconf control hh pcalua scriptrunner bash.exe`,
	} {
		for w := range psWords(words) {
			m[w] = v
		}
	}
	delete(m, "curl") // the other tables know these two
	delete(m, "wget")
	return m
})

// judgeWindowsProgram judges a call by the tables above. It decides nothing about other programs.
func judgeWindowsProgram(name string, words []winWord) (winFinding, bool) {
	if v, ok := winVerdicts()[name]; ok {
		return found(v, name, quote(name)+" is not a program that only reads", ""), true
	}
	switch name {
	case "net":
		return judgeNet(words), true
	case "netsh":
		return judgeNetsh(words), true
	case "wmic":
		return judgeWmic(words), true
	case "timeout": // elsewhere a program of this name runs the words after the time
		for _, t := range lowTexts(words) {
			if t != "/t" && t != "/nobreak" && strings.Trim(t, "-0123456789") != "" {
				return winFinding{}, false
			}
		}
		return found(Read, name, "", ""), len(words) > 0
	}
	rule, ok := winRules()[name]
	if !ok {
		return winFinding{}, false
	}
	bad := rule.firstBad(words)
	if bad < 0 {
		return found(Read, name, "", ""), true
	}
	if name == "sort" && strings.HasPrefix(asciiLower(words[bad].text), "/o") {
		rule.other = Write
	}
	if rule.other == Invalid {
		return winFinding{}, false
	}
	f := found(rule.other, name, quote(words[bad].text)+" of "+name+" is not known to only read", rule.hint)
	if words[bad].dynamic {
		f = found(Contained, name, "a word that "+name+" gets is not known from the text", rule.hint)
	}
	f.at = words[bad].at
	if name == "certutil" && strings.Contains(asciiLower(words[bad].text), "url") {
		f.Verdict = Network
	}
	return f, true
}

// firstBad returns the index of the first word that the rule does not know, or -1.
func (r *winRule) firstBad(words []winWord) int {
	for i, w := range words {
		low := asciiLower(w.text)
		switch {
		case w.dynamic && !r.dynamic:
			return i
		case i == 0 && r.subs != "":
			if !psWords(r.subs)[low] {
				return i
			}
		case strings.HasPrefix(low, "/"), r.dash && strings.HasPrefix(low, "-"):
			if !r.hasSwitch(low[1:]) {
				return i
			}
		case strings.HasPrefix(low, "-") && len(low) > 1, strings.HasPrefix(low, "+") && !r.dynamic:
			return i
		case !r.operands:
			return i
		}
	}
	return -1
}

func (r *winRule) hasSwitch(s string) bool {
	if r.switches == "*" {
		return true
	}
	if i := strings.IndexAny(s, ":="); i >= 0 {
		s = s[:i]
	}
	for _, known := range strings.Fields(r.switches) {
		if prefix, ok := strings.CutSuffix(known, "*"); s == known || ok && strings.HasPrefix(s, prefix) {
			return true
		}
	}
	return false
}

// judgeNet judges net by its sub-command: with nothing more than a name, most of them list.
func judgeNet(words []winWord) winFinding {
	texts := lowTexts(words)
	if texts == nil {
		return found(Contained, "net", "a word of net is not known from the text", "")
	}
	if len(texts) == 0 {
		return found(Read, "net", "", "")
	}
	limit := map[string]int{
		"user": 1, "users": 1, "localgroup": 1, "share": 1, "accounts": 0, "start": 0, "config": 1,
		"statistics": 1, "stats": 1, "session": 0, "sessions": 0, "file": 0, "use": 0, "help": 9, "helpmsg": 1,
	}
	n, ok := limit[texts[0]]
	switch {
	case texts[0] == "view":
		return found(Network, "net view", "net view asks other machines", "")
	case !ok || len(texts)-1 > n || strings.Contains(strings.Join(texts, " "), "/"):
		return found(Write, "net "+texts[0], quote("net "+texts[0])+" with these words is not known to only read", "")
	}
	return found(Read, "net", "", "")
}

// judgeNetsh judges netsh: a context, then show.
func judgeNetsh(words []winWord) winFinding {
	texts := lowTexts(words)
	for i, t := range texts {
		if t == "show" && i > 0 {
			return found(Read, "netsh show", "", "")
		}
		if strings.Trim(t, "abcdefghijklmnopqrstuvwxyz0123456789") != "" {
			break
		}
	}
	return found(Write, "netsh", "netsh without `show` after its context is not known to only read", "netsh … show … reads")
}

// judgeWmic judges wmic: get and list read, unless the answer goes elsewhere or through a style sheet,
// which can contain code.
func judgeWmic(words []winWord) winFinding {
	reads := false
	for _, t := range lowTexts(words) {
		switch {
		case strings.HasPrefix(t, "/node"):
			return found(Network, "wmic /node", "wmic /node works on another machine", "")
		case t == "product":
			return found(Write, "wmic product", "asking for products makes Windows repair installations", "")
		case strings.HasPrefix(t, "/") && t != "/value":
			return found(Contained, "wmic "+t, quote(t)+" of wmic is not judged", "")
		case t == "get" || t == "list":
			reads = true
		case t == "call" || t == "create" || t == "delete" || t == "set" || t == "assoc" || t == "context":
			return found(Write, "wmic "+t, quote("wmic … "+t)+" is not known to only read", "wmic … get reads")
		}
	}
	if !reads {
		return found(Contained, "wmic", "wmic without get or list", "wmic … get reads")
	}
	return found(Read, "wmic", "", "")
}

// lowTexts returns the words in lower case; nil when one is not known.
func lowTexts(words []winWord) []string {
	out := make([]string, 0, len(words))
	for _, w := range words {
		if w.dynamic {
			return nil
		}
		out = append(out, asciiLower(w.text))
	}
	return out
}
