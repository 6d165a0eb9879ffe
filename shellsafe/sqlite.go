package shellsafe

import "strings"

// sqliteRow's options; the file must be opened read-only, and dot commands and SQL are judged apart.
var sqliteRow = row{
	name: "sqlite3", style: dash,
	opts: "-readonly -json -csv -line -list -column -markdown -table -box -html -quote -header -noheader -separator= -newline= -nullvalue= " +
		"-batch -bail -safe -tabs -ascii -echo -stats -cmd= -utf8 -help -version -lookaside= -mmap= -nofollow",
	bad: []bad{
		{"-init=", Contained, "runs the commands of a file", "leave it out"},
		{"-A? -archive? -append -zip -interactive -vfs= -vfstrace -deserialize -maxsize= -unsafe-testing -memtrace -multiplex", Contained, "is not known to be read-only", "leave it out"},
	},
}

// sqliteDots are the dot commands that only print, or that change how results are printed.
const sqliteDots = ".tables .schema .indexes .indices .databases .dbinfo .headers .header .mode .width .nullvalue .separator .show .dump " +
	".fullschema .stats .timer .changes .echo .eqp .explain .bail .help .timeout .version .print .sha3sum .lint .quit .exit .limit .parameter"

func judgeSqlite(a *analyzer, c *call) {
	c.row = &sqliteRow
	if !a.options(c) || len(c.opts) == 1 && c.hasAny("-version", "-help") {
		return
	}
	var texts []word
	for _, o := range c.opts {
		if o.name == "-cmd" {
			texts = append(texts, o.value)
		}
	}
	if len(c.operands) < 2 {
		a.reportWord(Contained, c.name, c.path, "`sqlite3` reads its commands from standard input", "give the query as an operand: `sqlite3 -readonly FILE 'select …'`")
		return
	}
	file := c.operands[0]
	if !c.hasAny("-readonly", "-safe") && !(file.lit && file.text == ":memory:") || !c.has("-readonly") && file.text != ":memory:" {
		a.reportWord(Write, c.name, c.path, "`sqlite3` opens the file for writing", "add -readonly")
		return
	}
	for _, w := range append(texts, c.operands[1:]...) {
		if !w.lit {
			a.reportWord(Contained, w, c.path, "the statement "+quote(a.wordText(w))+" is not known before it runs", "write it out")
			return
		}
		if why := sqliteText(w.text); why != "" {
			a.reportWord(Write, w, c.path, why, "use `select`, `.schema` or `.tables`")
			return
		}
	}
}

// sqliteText says what is wrong with one operand: dot commands, or SQL statements.
func sqliteText(s string) string {
	var sql strings.Builder
	for line := range strings.Lines(s) {
		if t := strings.TrimSpace(line); strings.HasPrefix(t, ".") {
			fields := strings.Fields(t)
			if !listed(sqliteDots, fields[0]) || strings.ContainsAny(t, "|`") || fields[0] == ".parameter" && len(fields) > 1 && fields[1] != "list" {
				return "the dot command " + quote(fields[0]) + " is not known to be read-only"
			}
			continue
		}
		sql.WriteString(line)
	}
	lower := strings.ToLower(sql.String())
	// These words are refused wherever they stand, quoted or not: names of that kind are rare in a query.
	for _, w := range []string{"writefile", "readfile", "load_extension", "edit(", "fts3_tokenizer", "attach", "detach", "vacuum", "fsdir", "zipfile", "import"} {
		if strings.Contains(lower, w) {
			return "the statement uses " + quote(w)
		}
	}
	for stmt := range strings.SplitSeq(lower, ";") {
		stmt = strings.TrimSpace(stmt)
		if stmt == "" {
			continue
		}
		verb, rest, _ := strings.Cut(stmt, " ")
		verb = strings.TrimRight(verb, "\n\t(")
		switch verb {
		case "select", "explain", "values":
		case "with":
			if strings.Contains(rest, "insert") || strings.Contains(rest, "update") || strings.Contains(rest, "delete") || strings.Contains(rest, "replace into") {
				return "the statement changes the data base"
			}
		case "pragma":
			if strings.Contains(rest, "=") || !listed(sqlitePragmas, strings.TrimSpace(strings.SplitN(rest, "(", 2)[0])) {
				return "the pragma " + quote(rest) + " is not known to be read-only"
			}
		default:
			return "the statement " + quote(verb) + " changes the data base"
		}
	}
	return ""
}

const sqlitePragmas = "table_info table_xinfo table_list index_list index_info index_xinfo foreign_key_list foreign_key_check database_list " +
	"collation_list function_list module_list pragma_list compile_options integrity_check quick_check user_version schema_version " +
	"application_id encoding page_count page_size freelist_count journal_mode"
