package shellsafe

import (
	"strings"
	"sync"
)

// Names of types are in lower case, without a leading "system." and without generic arguments.

// psCasts are types to which any value may be converted without an effect.
var psCasts = psSetOf(`string char int int16 int32 int64 long uint16 uint32 uint64 byte sbyte short ushort
	uint ulong bool boolean double single float decimal bigint numerics.biginteger datetime datetimeoffset
	timespan guid version semver uri regex text.regularexpressions.regex xml xml.xmldocument psobject
	pscustomobject management.automation.pscustomobject void switch object ipaddress net.ipaddress
	mailaddress cultureinfo io.fileinfo io.directoryinfo globalization.cultureinfo consolecolor dayofweek
	stringcomparison text.stringbuilder nullable object[]`)

// psCollections are types whose objects hold values and do nothing else.
var psCollections = psSetOf(`ordered hashtable array arraylist collections.arraylist collections.hashtable
	collections.generic.list collections.generic.hashset collections.generic.dictionary
	collections.generic.queue collections.generic.stack collections.generic.sorteddictionary
	collections.generic.sortedset collections.stack collections.queue collections.specialized.ordereddictionary
	pscustomobject text.stringbuilder`)

// psNewObjects are types that New-Object may make.
var psNewObjects = psSetOf(`psobject pscustomobject object datetime timespan version uri guid string
	text.stringbuilder regex text.regularexpressions.regex collections.arraylist collections.hashtable
	collections.generic.list collections.generic.hashset collections.generic.dictionary
	collections.generic.queue collections.generic.stack io.fileinfo io.directoryinfo random
	management.automation.psobject xml.xmldocument xml`)

// psStaticTable lists, by type, the static methods that only compute or only read.
const psStaticTable = `
math: *
string: join format concat isnullorempty isnullorwhitespace compare compareordinal equals new
char: isdigit isletter isletterordigit iswhitespace isupper islower ispunctuation toupper tolower isnumber issymbol iscontrol convertfromutf32 getnumericvalue
int: parse
int32: parse
int64: parse
long: parse
double: parse isnan isinfinity
decimal: parse round floor ceiling truncate
bool: parse
byte: parse
convert: tostring toint16 toint32 toint64 tobyte todouble todecimal toboolean tochar todatetime touint32 touint64 tobase64string frombase64string tohexstring fromhexstring
bitconverter: tostring getbytes toint32 toint64 touint32 todouble
datetime: parse parseexact daysinmonth isleapyear compare fromfiletime fromfiletimeutc specifykind new frombinary
datetimeoffset: parse parseexact fromunixtimeseconds fromunixtimemilliseconds new
timespan: parse fromdays fromhours fromminutes fromseconds frommilliseconds fromticks new
timezoneinfo: findsystemtimezonebyid converttime converttimebysystemtimezoneid getsystemtimezones converttimetoutc converttimefromutc
guid: newguid parse new
version: parse new
uri: escapedatastring unescapedatastring escapeuristring iswellformeduristring new checkschemename checkhostname
net.webutility: urlencode urldecode htmlencode htmldecode
web.httputility: urlencode urldecode htmlencode htmldecode parsequerystring
net.ipaddress: parse isloopback
ipaddress: parse isloopback
regex: match matches ismatch replace split escape unescape new
text.regularexpressions.regex: match matches ismatch replace split escape unescape new
io.path: changeextension combine join getdirectoryname getextension getfilename getfilenamewithoutextension getfullpath getinvalidfilenamechars getinvalidpathchars getpathroot getrandomfilename getrelativepath gettemppath hasextension ispathrooted ispathfullyqualified exists trimendingdirectoryseparator endsindirectoryseparator

io.file: exists readalltext readalllines readallbytes readlines getattributes getcreationtime getcreationtimeutc getlastaccesstime getlastaccesstimeutc getlastwritetime getlastwritetimeutc openread opentext
io.directory: exists getfiles getdirectories getfilesystementries enumeratefiles enumeratedirectories enumeratefilesystementries getcurrentdirectory getparent getdirectoryroot getlogicaldrives getlastwritetime getcreationtime
io.driveinfo: getdrives
io.fileinfo: new
io.directoryinfo: new
environment: getenvironmentvariable getenvironmentvariables getfolderpath getlogicaldrives getcommandlineargs expandenvironmentvariables
enum: getnames getvalues getname isdefined parse
text.encoding: getencoding getencodings
text.asciiencoding: new
text.utf8encoding: new
array: indexof lastindexof
linq.enumerable: range repeat sum max min count first last distinct union intersect except reverse tolist toarray
diagnostics.process: getprocesses getprocessbyid getprocessesbyname getcurrentprocess
diagnostics.fileversioninfo: getversioninfo
diagnostics.stopwatch: startnew getelapsedtime
globalization.cultureinfo: getcultureinfo getcultures
cultureinfo: getcultureinfo getcultures
reflection.assemblyname: getassemblyname
object: referenceequals equals
console: writeline write
net.networkinformation.networkinterface: getallnetworkinterfaces getisnetworkavailable
security.principal.windowsidentity: getcurrent
runtime.interopservices.runtimeinformation: isosplatform
char[]: new
`

// psStatics returns the table above by type and method.
var psStatics = sync.OnceValue(func() map[string]map[string]bool {
	m := map[string]map[string]bool{}
	for line := range strings.Lines(psStaticTable) {
		if typ, methods, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			m[typ] = psWords(methods)
		}
	}
	return m
})

// psArgLimits gives how many arguments a static method takes before it does more than read here: make the
// folder, or ask another machine.
var psArgLimits = map[string]int{
	"[environment]::getfolderpath": 1, "[diagnostics.process]::getprocesses": 0,
	"[diagnostics.process]::getprocessbyid": 1, "[diagnostics.process]::getprocessesbyname": 1,
}

// psMethods are instance methods that only compute or read, whatever object they are called on: no
// class that a line can reach has one of this name that changes anything.
var psMethods = psSetOf(`tostring split trim trimstart trimend substring startswith endswith contains
	indexof lastindexof indexofany tolower toupper tolowerinvariant toupperinvariant padleft padright
	tochararray equals compareto gettype gethashcode containskey containsvalue getenumerator toarray
	adddays addhours addminutes addseconds addmilliseconds addmonths addyears addticks subtract
	toshortdatestring tolongdatestring toshorttimestring tolongtimestring touniversaltime tolocaltime
	tounixtimeseconds tofiletime tofiletimeutc tooadate isdaylightsavingtime duration negate
	match matches ismatch getbytes getstring getchars getbytecount getfiles getdirectories
	getfilesystementries enumeratefiles enumeratedirectories enumeratefilesystementries
	enumeratefilesysteminfos getfilesysteminfos opentext openread readtoend readline
	getnodes selectnodes selectsinglenode getelementsbytagname getattribute hasattribute hasattributes
	tostringinvariant getvalueordefault getlength getupperbound getlowerbound getvalue
	normalize isnormalized tryget trygetvalue
	findindex exists first last count min max peek item getnames getaccesscontrol getaccessrules
	getowner tobyte toint32 todouble asspan tolist toint64 getsubkeynames getvaluenames getvaluekind
	gettypecode tobytearray gettimezone getutcoffset isassignablefrom issubclassof getproperties
	getmembers getfields getinterfaces isinstanceoftype`)

// psStringMethods are harmless on a string and may change things on another object: FileInfo has a
// Replace that replaces files.
var psStringMethods = psSetOf("replace insert remove")

// psToString are the methods above that give a string.
var psToString = psSetOf(`tostring trim trimstart trimend substring tolower toupper tolowerinvariant
	toupperinvariant padleft padright split readtoend readline toshortdatestring tolongdatestring normalize`)

// psCollectionMethods change a collection in memory, so they may be called on the line's own.
var psCollectionMethods = psSetOf(`add addrange insert remove removeat clear push pop enqueue dequeue
	append appendline appendformat sort reverse unionwith exceptwith intersectwith tryadd`)

// psChangingMethods are known to change files, processes or settings.
var psChangingMethods = psSetOf(`delete moveto copyto create createsubdirectory createtext appendtext
	open openwrite write writeline writealltext save kill close setvalue deletevalue deletesubkey
	deletesubkeytree setaccesscontrol encrypt decrypt start stop restart terminate put commit
	setattribute removeall settime setlastwritetime remove clear add createsubkey`)

// psProperties are property names for which the short form `ForEach-Object Name` is accepted: no
// object has a method of one of these names.
var psProperties = psSetOf(`name fullname length extension basename directory directoryname lastwritetime
	lastaccesstime creationtime lastwritetimeutc creationtimeutc attributes mode parent root pspath psparentpath pschildname
	psiscontainer isreadonly linktype target versioninfo path providerpath line linenumber filename
	matches pattern context id processname cpu workingset ws handles pm npm vm starttime mainmodule
	modules threads company product productversion fileversion description title version commandtype
	source definition module parameters parametersets status displayname servicename starttype servicetype
	dependentservices requiredservices count sum average minimum maximum property values value key keys
	group message exception category year month day hour minute second ticks totaldays
	totalhours totalminutes totalseconds totalmilliseconds date timeofday dayofweek dayofyear host port scheme
	query segments major minor build revision hash algorithm index success captures groups
	inputobject sideindicator psobject properties membertype drive root used free provider synopsis
	examples dependencies devdependencies scripts type timecreated leveldisplayname providername logname
	commandline parentprocessid processid executablepath caption state startmode localaddress localport
	remoteaddress remoteport owningprocess ipaddress interfacealias innertext innerxml outerxml chars`)

// psStringProperties are the properties above that hold strings.
var psStringProperties = psSetOf(`name fullname extension basename directoryname pspath psparentpath
	pschildname path providerpath line filename pattern processname company product productversion
	fileversion description title definition displayname servicename message caption commandline
	executablepath innertext innerxml outerxml synopsis`)

// psTextCommands hand on strings and nothing else.
var psTextCommands = psSetOf(`get-content out-string split-path join-path convertto-json convertto-csv
	convertto-html git rg go findstr grep where.exe cmd hostname whoami systeminfo ipconfig tasklist netstat
	cargo node python python3 npm ls.exe sed awk jq`)
