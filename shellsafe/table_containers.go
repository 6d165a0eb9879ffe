package shellsafe

const dockerListOpts = "-a -q -s -f= -n= -l --all --quiet --size --filter= --format= --last= --latest --no-trunc --digests --tree"

var dockerBad = []bad{
	{"-H= --host=", Network, "uses another daemon", "leave it out"},
	{"-c= --context=", Network, "uses another daemon", "leave it out"},
	{"--config= --tlscacert= --tlscert= --tlskey= --tls --tlsverify -D --debug", Contained, "changes the client's settings", "leave it out"},
}

// containerRows: listing what a local daemon has is read-only; everything else starts, stops or fetches.
var containerRows = []row{
	{
		name: "docker podman nerdctl", helps: 2, doc: "acts on containers", style: first, verdict: Network, noSub: Read, info: "--version -v --help",
		opts: "-l= --log-level= --version -v --help", bad: dockerBad, hint: "list with `docker ps`, `docker images`, `docker inspect`",
		subs: []row{
			{name: "ps", opts: dockerListOpts},
			{name: "images", opts: dockerListOpts},
			{name: "version info", opts: "-f= --format="},
			{name: "inspect", opts: "-f= -s --format= --size --type="},
			{name: "history", opts: "-H -q --format= --human? --no-trunc --quiet --platform="},
			{name: "port top diff", open: true},
			{name: "container", style: first, doc: "acts on containers", verdict: Network, subs: []row{{name: "ls list ps", opts: dockerListOpts}, {name: "inspect", opts: "-f= -s --format= --size"}, {name: "top port diff", open: true}}},
			{name: "image", style: first, doc: "acts on images", verdict: Network, subs: []row{{name: "ls list", opts: dockerListOpts}, {name: "inspect", opts: "-f= --format= --platform="}, {name: "history", opts: "-H -q --format= --human? --no-trunc --quiet"}}},
			{name: "volume network", style: first, doc: "acts on volumes or networks", verdict: Network, subs: []row{{name: "ls list", opts: dockerListOpts}, {name: "inspect", opts: "-f= -v --format= --verbose"}}},
			{name: "context", style: first, doc: "changes contexts", verdict: Write, subs: []row{{name: "ls list show", opts: "-q --format= --quiet"}, {name: "inspect", opts: "-f= --format="}}},
			{name: "system", style: first, doc: "acts on the daemon", verdict: Network, subs: []row{{name: "df", opts: "-v --format= --verbose"}, {name: "info", opts: "-f= --format="}}},
			{name: "compose", style: first, doc: "acts on containers", verdict: Network, noSub: Read, opts: "-f= -p= --file= --project-name= --profile= --env-file= --project-directory= --ansi= --progress=", subs: []row{
				{name: "ls version", opts: "-a -q -f= --all --quiet --format= --filter= --short"},
				{name: "ps images top port", doc: "may fetch what the project's file includes", verdict: Network, hint: "use `docker ps`"},
			}},
			{name: "logs stats events wait attach", doc: "may block", verdict: Contained},
			{name: "run exec start unshare", doc: "runs a program", verdict: Network},
			{name: "cp save export", doc: "writes files", verdict: Write},
		},
	},
	{name: "docker-compose podman-compose", doc: "acts on containers", verdict: Network, info: "--version version -v"},
	{
		name: "kubectl oc k3s k", helps: 2, doc: "talks to a cluster", style: first, verdict: Network, noSub: Read, info: "--help", opts: "--kubeconfig= --context= --cluster= -n= --namespace= -o= --output=",
		hint: "read the manifests in the workspace",
		subs: []row{
			{name: "version", opts: "--client? -o= --output= --short", check: checkClientOnly},
			{name: "config", style: first, doc: "writes the configuration", verdict: Write, noSub: Read, subs: []row{
				{name: "view", opts: "-o= --output= --minify --flatten --raw --merge? --kubeconfig= --context= --allow-missing-template-keys? --template= --show-managed-fields"},
				{name: "current-context get-contexts get-clusters get-users", opts: "-o= --output= --no-headers --kubeconfig="},
			}},
			{name: "help options", open: true},
		},
	},
	{name: "helm", doc: "talks to a cluster", style: first, verdict: Network, noSub: Read, subs: []row{{name: "version env help", opts: "--short --template= -c --client"}, {name: "template lint", doc: "may fetch charts", verdict: Contained}}},
	{
		name: "kustomize k9s stern kind minikube k3d kubectx kubens argocd flux istioctl velero kops eksctl skopeo buildah crane oras trivy grype syft lima limactl colima multipass vagrant virsh VBoxManage qemu-system-x86_64 packer",
		doc:  "acts on machines, clusters or registries", verdict: Network, info: "--version",
	},
	{name: "crictl ctr runc crun lxc lxc-ls systemd-nspawn bwrap", doc: "acts on containers", verdict: Write, info: "--version"},
	// terragrunt runs commands of the project's files first, serverless the version that the project names.
	{name: "terragrunt pulumi cdk sam", doc: "acts on infrastructure", verdict: Network, info: "--version"},
	{name: "serverless", doc: "acts on infrastructure", verdict: Network},
	{name: "terraform tofu", doc: "acts on infrastructure", style: dash, verdict: Network, noSub: Read, info: "-version --version version -v -help --help", opts: "-chdir=", subs: []row{
		{name: "version", style: dash, opts: "-json"},
		{name: "fmt", style: dash, opts: "-check -diff -recursive -list= -no-color -write=", check: checkTerraformFmt},
		{name: "validate providers graph", doc: "runs providers", verdict: Contained},
		{name: "workspace", style: first, doc: "changes workspaces", verdict: Network, subs: []row{{name: "show", open: true}}},
	}},
}

func checkClientOnly(a *analyzer, c *call) {
	o, ok := c.opt("--client")
	if !ok || o.has && o.value.text != "true" {
		a.reportWord(Network, c.name, c.path, quote(c.path)+" asks the server", "add --client")
	}
}

func checkTerraformFmt(a *analyzer, c *call) {
	w, ok := c.opt("-write")
	if !c.has("-check") && !(ok && w.value.text == "false") {
		a.reportWord(Write, c.name, c.path, quote(c.path)+" rewrites files", "add -check -diff")
	}
}
