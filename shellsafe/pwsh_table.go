package shellsafe

import (
	"strings"
	"sync"
)

// psCmdletTable lists the commands that only read, each with every parameter and parameter alias that
// it may be given. A parameter may be shortened as PowerShell allows it. "*" accepts any parameter.
//
// A + before the colon marks a command that runs what it is given as a property: there, a value that
// is not written in the line could be a block of code.
const psCmdletTable = `
Get-ChildItem: Path LiteralPath PSPath LP Filter Include Exclude Recurse s Depth Force Name Attributes FollowSymlink Directory ad d File af Hidden ah h ReadOnly ar System as CodeSigningCert DocumentEncryptionCert SSLServerAuthentication DnsName Eku ExpiringInDays
Get-Item: Path LiteralPath PSPath LP Filter Include Exclude Force Stream
Get-ItemProperty: Path LiteralPath PSPath LP Name PSProperty Filter Include Exclude
Get-ItemPropertyValue: Path LiteralPath PSPath LP Name PSProperty Filter Include Exclude
Get-Content: Path LiteralPath PSPath LP ReadCount TotalCount First Head Tail Last Filter Include Exclude Force Delimiter Wait Raw Encoding AsByteStream Stream
Get-Location: PSProvider PSDrive Stack StackName
Get-PSDrive: Name LiteralName Scope PSProvider
Get-PSProvider: PSProvider
Get-Acl: Path PSPath InputObject LiteralPath Audit AllCentralAccessPolicies Filter Include Exclude
Get-FileHash: Path LiteralPath PSPath LP Algorithm InputStream
Get-AuthenticodeSignature: FilePath LiteralPath PSPath SourcePathOrExtension Content
Get-Command: Name Verb Noun Module PSSnapin ExcludeModule FullyQualifiedModule CommandType Type TotalCount Syntax ShowCommandInfo ArgumentList Args All ListImported ParameterName ParameterType UseFuzzyMatching FuzzyMinimumDistance UseAbbreviationExpansion
Get-Help: Name Path Category Component Functionality Role Detailed Full Examples Parameter
Get-Alias: Name Exclude Scope Definition
Get-Variable: Name ValueOnly Include Exclude Scope
Get-Member: InputObject Name MemberType Type Static View Force
Get-Module: Name FullyQualifiedName All ListAvailable PSEdition SkipEditionCheck Refresh
Get-InstalledModule: Name MinimumVersion MaximumVersion RequiredVersion AllVersions AllowPrerelease
Get-InstalledScript: Name MinimumVersion MaximumVersion RequiredVersion AllowPrerelease
Get-InstalledPSResource: Name Version Path Scope
Get-PSRepository: Name
Get-PSResourceRepository: Name
Get-Package: Name RequiredVersion MinimumVersion MaximumVersion AllVersions ProviderName Scope IncludeWindowsInstaller IncludeSystemComponent
Get-PackageProvider: Name ListAvailable
Get-PackageSource: Name Location ProviderName Provider
Get-Process: Name ProcessName Id PID InputObject Module FileVersionInfo FV IncludeUserName
Get-Service: Name ServiceName DisplayName DependentServices DS RequiredServices SDO ServicesDependedOn Include Exclude InputObject
Get-EventLog: LogName LN Newest After Before UserName InstanceId Index EntryType ET Source ABO Message MSG AsBaseObject List AsString
Get-WinEvent: ListLog ListProvider LogName ProviderName Path PSPath MaxEvents FilterXPath FilterXml FilterHashtable Force Oldest
Get-Counter: ListSet Counter SampleInterval MaxSamples Continuous
Get-HotFix: Id HFID Description
Get-ComputerInfo: Property
Get-CimInstance: ClassName Query Filter Property Namespace KeyOnly Shallow OperationTimeoutSec OT QueryDialect InputObject CimInstance
Get-CimClass: ClassName Namespace Amended MethodName PropertyName QualifierName OperationTimeoutSec OT
Get-WmiObject: Class ClassName Recurse Property Filter Amended DirectRead List Query Namespace NS
Get-Date: Date LastWriteTime UnixTimeSeconds UnixTime Year Month Day Hour Minute Second Millisecond DisplayHint UFormat Format AsUTC
Get-TimeZone: Id ListAvailable Name
Get-Uptime: Since
Get-Culture: Name NoUserOverrides ListAvailable
Get-UICulture:
Get-Host:
Get-History: Id Count
Get-Random: SetSeed Maximum Minimum InputObject Count Shuffle
Get-SecureRandom: Maximum Minimum InputObject Count Shuffle
Get-Unique: InputObject AsString OnType CaseInsensitive
Get-Verb: Verb Group
Get-Error: InputObject Newest Last
Get-ExecutionPolicy: Scope List
Get-ExperimentalFeature: Name
Get-FormatData: TypeName PowerShellVersion
Get-TypeData: TypeName
Get-TraceSource: Name
Get-Event: SourceIdentifier EventIdentifier
Get-EventSubscriber: SourceIdentifier SubscriptionId Force
Get-Job: Id InstanceId Name State HasMoreData Before After Newest Command IncludeChildJob ChildJobState Filter
Get-Runspace: Name Id InstanceId
Get-PSBreakpoint: Script Type Variable Command Id Runspace
Get-PSCallStack:
Get-PSReadLineOption:
Get-PSReadLineKeyHandler: Bound Unbound Chord Key
Get-PSHostProcessInfo: Name ProcessName Id Process
Get-PSSnapin: Name Registered
Get-PSSubsystem: Kind SubsystemType
Get-Clipboard: Raw Delimiter Format TextFormatType
Get-PfxCertificate: FilePath PSPath LiteralPath NoPromptForPassword
Get-LocalUser: Name SID
Get-LocalGroup: Name SID
Get-LocalGroupMember: Group Member Name SID
Get-Disk: Number FriendlyName SerialNumber UniqueId Path
Get-PhysicalDisk: UniqueId FriendlyName SerialNumber Usage
Get-Partition: DiskNumber PartitionNumber DriveLetter DiskId UniqueId
Get-Volume: DriveLetter FileSystemLabel FriendlyName Path UniqueId ObjectId FileSystemType
Get-NetIPAddress: IPAddress InterfaceIndex InterfaceAlias AddressFamily Type PrefixLength AddressState IncludeAllCompartments
Get-NetIPConfiguration: InterfaceAlias InterfaceIndex All Detailed AllCompartments
Get-NetIPInterface: InterfaceIndex InterfaceAlias AddressFamily ConnectionState Dhcp
Get-NetAdapter: Name InterfaceDescription InterfaceIndex IncludeHidden Physical
Get-NetAdapterStatistics: Name InterfaceDescription IncludeHidden
Get-NetRoute: DestinationPrefix InterfaceIndex InterfaceAlias NextHop AddressFamily Protocol PolicyStore State
Get-NetTCPConnection: LocalAddress LocalPort RemoteAddress RemotePort State OwningProcess AppliedSetting CreationTime
Get-NetUDPEndpoint: LocalAddress LocalPort OwningProcess CreationTime
Get-NetNeighbor: IPAddress InterfaceIndex InterfaceAlias LinkLayerAddress State AddressFamily
Get-NetFirewallRule: Name DisplayName Description DisplayGroup Group Enabled Direction Action All PolicyStore
Get-NetFirewallProfile: Name All Profile PolicyStore
Get-NetConnectionProfile: Name InterfaceAlias InterfaceIndex NetworkCategory
Get-DnsClientCache: Entry Name Type Status Section
Get-DnsClientServerAddress: InterfaceIndex InterfaceAlias AddressFamily
Get-ScheduledTask: TaskName TaskPath
Get-ScheduledTaskInfo: TaskName TaskPath InputObject
Get-ScheduledJob: Id Name
Get-SmbShare: Name Scoped Special
Get-Printer: Name Full
Get-PnpDevice: InstanceId DeviceId FriendlyName Class PresentOnly Status
Get-AppxPackage: Name Publisher AllUsers PackageTypeFilter
Get-WindowsOptionalFeature: Online FeatureName
Get-MpComputerStatus:
Get-MpPreference:
Get-BitLockerVolume: MountPoint
Get-ComputerRestorePoint: RestorePoint LastStatus
Get-DnsClient: InterfaceIndex InterfaceAlias
Get-NetAdapterBinding: Name InterfaceDescription ComponentID DisplayName AllBindings
Get-NetOffloadGlobalSetting:
Get-PrinterDriver: Name
Get-PrintJob: PrinterName ID
Get-MpThreat: ThreatID
Get-Tpm:
Get-WindowsEdition: Online
Get-WinUserLanguageList:
Get-WinSystemLocale:
Get-WinHomeLocation:
Get-StoragePool: FriendlyName UniqueId
Get-VirtualDisk: FriendlyName UniqueId
Select-Object+: InputObject Property ExcludeProperty ExpandProperty Unique CaseInsensitive Last First Skip SkipLast Index SkipIndex Wait
Select-String: SimpleMatch CaseSensitive Quiet List Include Exclude NotMatch AllMatches Encoding Context Culture InputObject Pattern Path LiteralPath PSPath LP Raw NoEmphasis
Select-Xml: Xml Node Path LiteralPath PSPath LP Content XPath Namespace
Where-Object+: InputObject FilterScript Property Value EQ CEQ IEQ NE CNE INE GT CGT IGT LT CLT ILT GE CGE IGE LE CLE ILE Like CLike ILike NotLike CNotLike INotLike Match CMatch IMatch NotMatch CNotMatch INotMatch Contains CContains IContains NotContains CNotContains INotContains In CIn IIn NotIn CNotIn INotIn Is IsNot Not
ForEach-Object+: InputObject Begin Process End RemainingScripts MemberName ArgumentList Args Parallel ThrottleLimit TimeoutSeconds UseNewRunspace
Sort-Object+: InputObject Property Stable Top Bottom Descending Unique Culture CaseSensitive
Group-Object+: InputObject Property NoElement AsHashTable AHT AsString Culture CaseSensitive
Measure-Object+: InputObject Property StandardDeviation Sum AllStats Average Maximum Minimum Line Word Character IgnoreWhiteSpace
Measure-Command+: InputObject Expression
Compare-Object+: ReferenceObject DifferenceObject SyncWindow Property ExcludeDifferent IncludeEqual PassThru Culture CaseSensitive
Format-Table+: InputObject Property AutoSize HideTableHeaders RepeatHeader Wrap GroupBy View ShowError DisplayError Force Expand ExcludeProperty
Format-List+: InputObject Property GroupBy View ShowError DisplayError Force Expand ExcludeProperty
Format-Wide+: InputObject Property AutoSize Column GroupBy View ShowError DisplayError Force Expand ExcludeProperty
Format-Custom+: InputObject Property Depth GroupBy View ShowError DisplayError Force Expand ExcludeProperty
Format-Hex: Path LiteralPath PSPath LP InputObject Encoding Count Offset Raw
ConvertTo-Json: InputObject Depth Compress EnumsAsStrings AsArray EscapeHandling
ConvertTo-Csv: InputObject Delimiter UseCulture IncludeTypeInformation NoTypeInformation QuoteFields UseQuotes NoHeader
ConvertTo-Html+: InputObject Property Body Head Title As CssUri PostContent PreContent Meta Charset Transitional Fragment
ConvertTo-Xml: Depth InputObject NoTypeInformation As
ConvertTo-CliXml: Depth InputObject
ConvertTo-SecureString: String SecureKey Key AsPlainText Force
ConvertFrom-Json: InputObject AsHashtable Depth NoEnumerate DateKind
ConvertFrom-Csv: Delimiter UseCulture InputObject Header
ConvertFrom-StringData: StringData Delimiter
ConvertFrom-CliXml: InputObject
ConvertFrom-String: Delimiter PropertyNames TemplateFile TemplateContent IncludeExtent InputObject
ConvertFrom-Markdown: Path LiteralPath InputObject AsVT100EncodedString
ConvertFrom-SddlString: Sddl Type
Import-Csv: Delimiter Path LiteralPath PSPath LP UseCulture Header Encoding
Import-PowerShellDataFile: Path LiteralPath PSPath LP SkipLimitCheck
Test-Path: Path LiteralPath PSPath LP Filter Include Exclude PathType Type IsValid OlderThan NewerThan
Test-Json: Json Path LiteralPath PSPath LP Schema SchemaFile Options
Test-ModuleManifest: Path
Resolve-Path: Path LiteralPath PSPath LP Relative RelativeBasePath Force
Convert-Path: Path LiteralPath PSPath LP Force
Split-Path: Path LiteralPath PSPath LP Parent Qualifier NoQualifier Leaf LeafBase Extension Resolve IsAbsolute
Join-Path: Path PSPath ChildPath AdditionalChildPath Resolve Extension
Join-String+: InputObject Property Separator OutputPrefix op OutputSuffix os SingleQuote DoubleQuote FormatString UseCulture
Out-String: InputObject Stream Width NoNewline
Out-Null: InputObject
Out-Host: InputObject Paging
Out-Default: InputObject Transcript
Write-Output: *
Write-Host: *
Write-Error: Message Msg Exception ErrorRecord Category ErrorId TargetObject RecommendedAction CategoryActivity Activity CategoryReason Reason CategoryTargetName TargetName CategoryTargetType TargetType
Write-Warning: Message Msg
Write-Verbose: Message Msg
Write-Debug: Message Msg
Write-Information: MessageData Msg Message Tags
Write-Progress: Activity Status Id PercentComplete SecondsRemaining CurrentOperation ParentId Completed SourceId
Show-Markdown: Path LiteralPath PSPath InputObject
Read-Host: Prompt AsSecureString MaskInput
New-TimeSpan: Start LastWriteTime End Days Hours Minutes Seconds Milliseconds
New-Guid: Empty InputObject
Start-Sleep: Seconds Milliseconds ms Duration ts
Wait-Process: Name ProcessName Id PID InputObject Timeout TimeoutSec Any PassThru
Set-Location: Path LiteralPath PSPath LP PassThru StackName
Push-Location: Path LiteralPath PSPath LP PassThru StackName
Pop-Location: PassThru StackName
Set-StrictMode: Off Version v
Clear-Host:
Invoke-Command+: ScriptBlock Command InputObject NoNewScope ArgumentList Args
New-Object: TypeName Property Strict ArgumentList Args
help: Name Path Category Component Functionality Role Detailed Full Examples Parameter
more: Path
oss: InputObject Stream Width
prompt:
pause:
cd..:
cd\:
cd~:
`

// psCommonParams may be given to any command. Those that store into a variable are psStoring.
const psCommonParams = `Verbose vb Debug db ErrorAction ea WarningAction wa InformationAction infa
	ProgressAction proga OutBuffer ob ErrorVariable ev WarningVariable wv InformationVariable iv
	OutVariable ov PipelineVariable pv`

var psStoring = psSetOf(`errorvariable ev warningvariable wv informationvariable iv outvariable ov
	pipelinevariable pv`)

// psRemoteParams make a command work on another machine, whatever the command.
var psRemoteParams = psSetOf(`computername cn cimsession session pssession hostname connectionuri vmname
	vmid containerid server dnshostname sshconnection proxy`)

// psCmdlet is a row of the table.
type psCmdlet struct {
	name   string
	params []string // in lower case
	any    bool     // any parameter
	runs   bool     // runs a property that is a block
}

// psCmdlets returns the table by the name in lower case.
var psCmdlets = sync.OnceValue(func() map[string]*psCmdlet {
	common := strings.Fields(asciiLower(psCommonParams))
	m := map[string]*psCmdlet{}
	for line := range strings.Lines(psCmdletTable) {
		name, params, ok := strings.Cut(strings.TrimSpace(line), ":")
		if !ok {
			continue
		}
		c := &psCmdlet{name: name}
		if c.name, c.runs = strings.CutSuffix(name, "+"); c.runs {
			name = c.name
		}
		for _, p := range strings.Fields(params) {
			if p == "*" {
				c.any = true
				continue
			}
			c.params = append(c.params, asciiLower(p))
		}
		c.params = append(c.params, common...)
		m[asciiLower(name)] = c
	}
	return m
})

// psVerbs gives the verdict of a command by its verb, for commands that the table lacks. A verb that is
// not here, Get included, leaves a command unknown.
var psVerbs = sync.OnceValue(func() map[string]Verdict {
	m := map[string]Verdict{}
	for v, words := range map[Verdict]string{
		Write: `add approve backup block checkpoint clear close complete compress confirm convert copy
			debug deny disable dismount edit enable expand export grant initialize limit
			lock merge mount move new optimize out pop protect push redo register remove rename
			repair request reset resize restart restore resume revoke set split start step stop
			suspend switch tee undo unblock unlock unprotect unregister use watch write`,
		Network: `connect disconnect enter exit find install publish receive save send sync uninstall
			unpublish update upload download submit`,
		Contained: "invoke import",
	} {
		for w := range psWords(words) {
			m[w] = v
		}
	}
	return m
})

// psRows are commands with a verdict or a word of their own, other than Read.
var psRows = sync.OnceValue(func() map[string]psRow {
	return map[string]psRow{
		"invoke-expression":        {Contained, "Invoke-Expression runs a text as code", "write the command out"},
		"invoke-item":              {Contained, "Invoke-Item opens a file with its program", "Get-Content shows a file"},
		"invoke-history":           {Contained, "Invoke-History runs an earlier command", "Get-History lists them"},
		"start-process":            {Contained, "Start-Process runs a program in its own way", "call the program by its name"},
		"start-job":                {Contained, "Start-Job runs code in another process", "run the commands in place"},
		"start-threadjob":          {Contained, "Start-ThreadJob runs code on its own", "run the commands in place"},
		"import-module":            {Contained, "importing a module runs its code", "Get-Module -ListAvailable lists modules"},
		"new-module":               {Contained, "New-Module makes commands", ""},
		"set-alias":                {Contained, "an alias changes what later names mean", ""},
		"new-alias":                {Contained, "an alias changes what later names mean", ""},
		"import-alias":             {Contained, "aliases change what later names mean", ""},
		"set-variable":             {Contained, "Set-Variable can change how later commands work", "write $name = value"},
		"new-variable":             {Contained, "New-Variable can change how later commands work", "write $name = value"},
		"clear-variable":           {Contained, "Clear-Variable can change how later commands work", "write $name = $null"},
		"remove-variable":          {Contained, "Remove-Variable can change how later commands work", ""},
		"add-type":                 {Contained, "Add-Type compiles and loads code", ""},
		"add-member":               {Contained, "Add-Member can attach code to an object", "use Select-Object with a calculated property"},
		"update-typedata":          {Contained, "type data can attach code to objects", ""},
		"update-formatdata":        {Contained, "format data can contain code", ""},
		"invoke-webrequest":        {Network, "Invoke-WebRequest talks to another machine", ""},
		"invoke-restmethod":        {Network, "Invoke-RestMethod talks to another machine", ""},
		"invoke-cimmethod":         {Write, "Invoke-CimMethod calls a method of the system", "Get-CimInstance reads"},
		"invoke-wmimethod":         {Write, "Invoke-WmiMethod calls a method of the system", "Get-CimInstance reads"},
		"test-connection":          {Network, "Test-Connection talks to another machine", ""},
		"test-netconnection":       {Network, "Test-NetConnection talks to another machine", ""},
		"test-wsman":               {Network, "Test-WSMan talks to another machine", ""},
		"resolve-dnsname":          {Network, "Resolve-DnsName asks a name server", ""},
		"start-bitstransfer":       {Network, "Start-BitsTransfer copies over the network", ""},
		"get-pssession":            {Network, "Get-PSSession can talk to another machine", ""},
		"new-pssession":            {Network, "New-PSSession connects to another machine", ""},
		"new-cimsession":           {Network, "New-CimSession connects to another machine", ""},
		"new-webserviceproxy":      {Network, "New-WebServiceProxy talks to another machine", ""},
		"get-credential":           {Contained, "Get-Credential asks the user for a secret", ""},
		"receive-job":              {Contained, "Receive-Job takes a job's output away", "Get-Job lists jobs"},
		"wait-job":                 {Contained, "the job's code is not judged", ""},
		"export-modulemember":      {Contained, "Export-ModuleMember changes what names mean", ""},
		"import-clixml":            {Contained, "objects are rebuilt from a file", "Get-Content shows the file"},
		"trace-command":            {Write, "Trace-Command can write a file", ""},
		"remove-item":              {Write, "Remove-Item deletes", "Get-ChildItem shows what is there"},
		"copy-item":                {Write, "Copy-Item makes a copy", ""},
		"move-item":                {Write, "Move-Item moves", ""},
		"rename-item":              {Write, "Rename-Item renames", ""},
		"new-item":                 {Write, "New-Item creates", "Test-Path asks whether it is there"},
		"set-item":                 {Write, "Set-Item changes an item", "Get-Item shows it"},
		"clear-content":            {Write, "Clear-Content empties a file", "Get-Content reads one"},
		"set-itemproperty":         {Write, "Set-ItemProperty changes a property", "Get-ItemProperty shows it"},
		"stop-service":             {Write, "Stop-Service ends a service", "Get-Service lists them"},
		"start-service":            {Write, "Start-Service starts a service", "Get-Service lists them"},
		"restart-service":          {Write, "Restart-Service restarts a service", "Get-Service lists them"},
		"set-service":              {Write, "Set-Service changes a service", "Get-Service lists them"},
		"set-clipboard":            {Write, "Set-Clipboard changes the clipboard", ""},
		"set-acl":                  {Write, "Set-Acl changes rights", "Get-Acl shows them"},
		"compress-archive":         {Write, "Compress-Archive writes a file", ""},
		"expand-archive":           {Write, "Expand-Archive writes files", ""},
		"start-transcript":         {Write, "Start-Transcript writes a file", ""},
		"out-file":                 {Write, "Out-File writes a file", "drop it: output goes to the screen"},
		"tee-object":               {Write, "Tee-Object writes a file or a variable", "drop it: output goes to the screen"},
		"out-printer":              {Write, "Out-Printer prints", ""},
		"out-gridview":             {Contained, "Out-GridView opens a window", "Format-Table shows a table"},
		"show-command":             {Contained, "Show-Command opens a window that runs commands", "Get-Command -Syntax shows parameters"},
		"export-csv":               {Write, "Export-Csv writes a file", "ConvertTo-Csv shows the text"},
		"export-clixml":            {Write, "Export-Clixml writes a file", "ConvertTo-Xml shows the text"},
		"set-content":              {Write, "Set-Content writes a file", "Get-Content reads one"},
		"add-content":              {Write, "Add-Content writes a file", "Get-Content reads one"},
		"set-executionpolicy":      {Write, "Set-ExecutionPolicy changes what may run", "Get-ExecutionPolicy shows it"},
		"mkdir":                    {Write, "mkdir makes a folder", "Test-Path asks whether it is there"},
		"stop-process":             {Write, "Stop-Process ends processes", "Get-Process lists them"},
		"restart-computer":         {Write, "Restart-Computer restarts the machine", ""},
		"stop-computer":            {Write, "Stop-Computer ends the machine", ""},
		"suspend-job":              {Write, "Suspend-Job changes a job", ""},
		"powershell_ise.exe":       {Contained, "the script editor opens a window", ""},
		"convertfrom-securestring": {Contained, "a secret could be shown", ""},
	}
})

// psRow is what a command outside the table of reading commands does.
type psRow struct {
	verdict      Verdict
	reason, hint string
}
