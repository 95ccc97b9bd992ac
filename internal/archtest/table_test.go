package archtest

// layers orders the packages from top to bottom. A package may import only
// packages of lower layers: never its neighbours, never upwards. "." is the
// module's root (main.go).
var layers = [][]string{
	{"."},
	{"cli"},
	{"tui", "report", "repair/apply", "catalog", "export"},
	{"repair"},
	{"incident"},
	{"commitment", "diff", "check", "broker"},
	{"replica", "query"},
	{"epoch", "logdir", "kraft", "internaltopic", "serverlog", "manifest"},
	{"checkpoint", "segment"},
	{"batch"},
	{"internal/schema"},
	{"finding", "internal/wire", "internal/rofs", "internal/outfile", "internal/demodata", "internal/visible", "internal/quietterm", "internal/javatext"},
	{"internal/archtest", "internal/logtest", "internal/fixture"},
}

// product is the import table: each package with all that it may import from
// this module. An edge that is not here is a decision to be taken: add it only
// when the layering stays true, and say why in docs/ARCHITECTURE.md.
//
// A package may be listed before it exists.
var product = rules{
	Layers: layers,
	Imports: map[string][]string{
		".": {"cli"},
		"cli": {
			"tui", "report", "repair/apply", "catalog", "export",
			"repair", "incident", "commitment", "diff", "check", "broker",
			"replica", "query", "epoch", "logdir", "kraft", "internaltopic", "serverlog", "manifest", "checkpoint", "segment", "batch",
			"finding", "internal/javatext", "internal/wire", "internal/rofs", "internal/outfile", "internal/demodata", "internal/visible", "internal/quietterm",
		},

		"tui": {
			"repair", "incident", "commitment", "diff", "check", "broker",
			"replica", "query", "epoch", "logdir", "kraft", "internaltopic", "serverlog", "checkpoint", "segment", "batch",
			"finding", "internal/wire", "internal/visible", "internal/quietterm",
		},
		"report": {
			"repair", "incident", "commitment", "diff", "check", "broker",
			"replica", "query", "epoch", "logdir", "kraft", "internaltopic", "serverlog", "manifest", "checkpoint", "segment", "batch",
			"finding", "internal/javatext", "internal/wire", "internal/outfile", "internal/visible",
		},
		"repair/apply": {
			"repair", "incident", "check", "broker", "replica", "epoch", "logdir", "manifest", "checkpoint", "segment", "batch",
			"finding", "internal/wire", "internal/rofs", "internal/outfile",
		},
		"catalog": {"diff", "replica", "epoch", "logdir", "checkpoint", "segment", "batch", "internal/wire", "internal/outfile"},
		"export": {
			"replica", "query", "epoch", "logdir", "kraft", "internaltopic", "serverlog", "checkpoint", "segment", "batch",
			"internal/wire", "internal/outfile",
		},

		"repair": {
			"incident", "commitment", "diff", "check", "broker",
			"replica", "epoch", "logdir", "kraft", "manifest", "checkpoint", "segment", "batch",
			"finding", "internal/wire",
		},
		"incident": {
			"commitment", "diff", "check", "broker",
			"replica", "epoch", "logdir", "kraft", "internaltopic", "serverlog", "checkpoint", "segment", "batch",
			"finding", "internal/wire",
		},

		"commitment": {"replica", "epoch", "logdir", "kraft", "internaltopic", "serverlog", "checkpoint", "segment", "batch", "finding", "internal/wire"},
		"diff":       {"replica", "epoch", "logdir", "segment", "batch", "finding"},
		"check":      {"replica", "epoch", "logdir", "kraft", "internaltopic", "serverlog", "checkpoint", "segment", "batch", "finding", "internal/wire"},
		"broker":     {"replica", "epoch", "logdir", "kraft", "checkpoint", "segment", "batch", "internal/wire", "internal/rofs"},

		"replica": {"epoch", "logdir", "kraft", "checkpoint", "segment", "batch", "internal/wire", "internal/rofs"},
		"query":   {"internaltopic", "kraft", "checkpoint", "segment", "batch", "internal/wire"},

		"epoch":         {"checkpoint", "segment", "batch"},
		"logdir":        {"checkpoint", "segment", "batch", "internal/wire", "internal/rofs"},
		"kraft":         {"segment", "batch", "internal/schema", "internal/wire"},
		"internaltopic": {"batch", "internal/schema", "internal/javatext", "internal/wire"},
		"serverlog":     {},
		"manifest":      {"internal/rofs"},

		"checkpoint": {"internal/wire"},
		"segment":    {"batch", "internal/wire", "internal/rofs"},
		"batch":      {"internal/wire"},

		"internal/schema": {"internal/javatext", "internal/wire"},

		"finding":            {},
		"internal/wire":      {},
		"internal/rofs":      {},
		"internal/outfile":   {},
		"internal/demodata":  {},
		"internal/visible":   {},
		"internal/quietterm": {},
		"internal/javatext":  {},

		"internal/archtest": {},
		"internal/logtest":  {},
		"internal/fixture":  {},
	},

	// Remedies says, for some packages, what to do instead of importing them.
	Remedies: map[string]string{
		"finding":          "decoders and readers state facts; check, diff, commitment or incident turn them into findings",
		"internal/outfile": "only repair/apply writes log data; a file that the user named is written by cli, catalog, export or report",
		"internal/logtest": "it is for tests only",
		"internal/fixture": "it is for tests only",
	},

	// Writers are the only packages that may change the file system.
	Writers: []string{"repair/apply", "internal/outfile"},

	// TestSupport packages are imported by tests only. They may import
	// "testing" and write: no product code reaches them.
	TestSupport: []string{"internal/logtest", "internal/fixture"},

	// Forbidden packages of the standard library, each with the remedy.
	Forbidden: map[string]string{
		"testing":   "test helpers belong in _test.go files, internal/logtest or internal/fixture",
		"io/ioutil": "use io and os",
		"os/exec":   "kafsck starts no other program",
		"plugin":    "kafsck is one static binary",
		"unsafe":    "decode with internal/wire, which checks every bound",
		"net/http":  "kafsck talks to no network",
		"net":       "kafsck talks to no network",
	},

	// Libraries names each module outside the standard library with the
	// packages that may use it, so that a library can be replaced in one
	// place. A path covers all below it.
	Libraries: map[string][]string{
		"github.com/klauspost/compress":     {"batch", "internal/logtest", "internal/fixture"},
		"github.com/pierrec/lz4/v4":         {"batch", "internal/logtest"},
		"github.com/spf13/cobra":            {"cli"},
		"github.com/spf13/pflag":            {"cli"},
		"github.com/schollz/progressbar/v3": {"cli"},
		"github.com/dustin/go-humanize":     {"check", "cli", "incident", "replica", "report", "tui"},
		"github.com/charmbracelet":          {"tui"},
		"github.com/expr-lang/expr":         {"query"},
		"github.com/parquet-go/parquet-go":  {"catalog", "export"},
		"github.com/zeebo/xxh3":             {"catalog", "diff", "replica"},
		"golang.org/x/term":                 {"cli", "tui"},
		"golang.org/x/sys":                  {"cli", "logdir", "repair/apply", "internal/rofs", "internal/outfile"},
		"github.com/google/go-cmp":          {"internal/logtest"},
		"github.com/rogpeppe/go-internal":   {"internal/logtest"},
	},
}
