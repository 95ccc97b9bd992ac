package archtest

import (
	"fmt"
	"go/ast"
	"go/types"
	"maps"
	"slices"
	"strings"
)

// rules is what a tree is held against; see table_test.go for each field.
type rules struct {
	Layers      [][]string
	Imports     map[string][]string
	Remedies    map[string]string
	Writers     []string
	TestSupport []string
	Forbidden   map[string]string
	Libraries   map[string][]string
}

// layer returns the layer of a package, 0 the top, or -1.
func (r *rules) layer(name string) int {
	return slices.IndexFunc(r.Layers, func(l []string) bool { return slices.Contains(l, name) })
}

// checkTable returns what is wrong with the table itself: an edge that does
// not point down makes a cycle possible.
func (r *rules) checkTable() []string {
	var bad []string
	for _, name := range slices.Sorted(maps.Keys(r.Imports)) {
		if r.layer(name) < 0 {
			bad = append(bad, fmt.Sprintf("table: %s is in no layer", name))
		}
		for _, imported := range r.Imports[name] {
			switch l := r.layer(imported); {
			case r.Imports[imported] == nil:
				bad = append(bad, fmt.Sprintf("table: %s → %s: %s has no line of its own", name, imported, imported))
			case l <= r.layer(name):
				bad = append(bad, fmt.Sprintf("table: %s → %s does not point down", name, imported))
			}
		}
	}
	return bad
}

// check returns one line for each violation, each with its remedy, sorted.
func (r *rules) check(t *tree) []string {
	bad := r.checkTable()
	for _, p := range t.packages {
		if r.Imports[p.name] == nil {
			bad = append(bad, fmt.Sprintf("%s: package is not in the table; give it a layer and its imports in internal/archtest/table_test.go", p.name))
		}
		if len(p.files) > 0 && !slices.ContainsFunc(p.files, func(f *file) bool { return f.ast.Doc != nil }) {
			bad = append(bad, fmt.Sprintf("%s: package has no doc comment; say in doc.go what it is for and what it never does", p.name))
		}
		for _, f := range p.files {
			bad = append(bad, r.checkImports(t, p, f)...)
			if !slices.Contains(r.Writers, p.name) && !slices.Contains(r.TestSupport, p.name) {
				bad = append(bad, r.checkWrites(t, p, f)...)
			}
		}
	}
	slices.Sort(bad)
	return slices.Compact(bad)
}

func (r *rules) checkImports(t *tree, p *pkg, f *file) []string {
	var bad []string
	support := slices.Contains(r.TestSupport, p.name)
	for path := range f.imports {
		if imported := t.relative(path); imported != "" {
			if r.Imports[p.name] != nil && !slices.Contains(r.Imports[p.name], imported) {
				bad = append(bad, fmt.Sprintf("%s: %s may not import %s: %s", f.name, p.name, imported, r.edgeRemedy(p.name, imported)))
			}
			continue
		}
		if first, _, _ := strings.Cut(path, "/"); strings.Contains(first, ".") {
			if !r.mayUse(p.name, path) {
				bad = append(bad, fmt.Sprintf("%s: %s may not use the library %s; use it where the table allows it, or enter it there", f.name, p.name, path))
			}
			continue
		}
		for forbidden, remedy := range r.Forbidden {
			if below(path, forbidden) && !support {
				bad = append(bad, fmt.Sprintf("%s: imports %s: %s", f.name, path, remedy))
			}
		}
	}
	return bad
}

func (r *rules) edgeRemedy(from, to string) string {
	if remedy := r.Remedies[to]; remedy != "" {
		return remedy
	}
	switch lf, lt := r.layer(from), r.layer(to); {
	case lt < 0:
		return "it is not in the table"
	case lt < lf:
		return "imports point down; move what is needed below both, or let the caller pass it as a value"
	case lt == lf:
		return "they are of one layer; move what both need down, or let a layer above join them"
	}
	return "the layers allow it but the table has no such edge; take what is needed from a package that may be imported, or enter the edge in internal/archtest/table_test.go"
}

func (r *rules) mayUse(name, path string) bool {
	for library, users := range r.Libraries {
		if below(path, library) && slices.Contains(users, name) {
			return true
		}
	}
	return false
}

// below tells whether path is parent or lies under it.
func below(path, parent string) bool {
	return path == parent || strings.HasPrefix(path, parent+"/")
}

// writes names the functions and methods that change a file system, by
// package. (*os.File).Write is not among them: a file to write to comes only
// from one of these, or is stdout.
var writes = map[string][]string{
	"os": {
		"Chmod", "Chown", "Chtimes", "CopyFS", "Create", "CreateTemp", "Lchown", "Link", "Mkdir", "MkdirAll", "MkdirTemp",
		"NewFile", "OpenFile", "Remove", "RemoveAll", "Rename", "Symlink", "Truncate", "WriteFile",
	},
	"syscall":               syscallWrites,
	"golang.org/x/sys/unix": syscallWrites,
}

var syscallWrites = []string{
	"Chmod", "Chown", "Creat", "Fallocate", "Fchmod", "Fchmodat", "Fchown", "Fchownat", "Ftruncate", "Futimes", "Futimesat",
	"Lchown", "Link", "Linkat", "Mkdir", "Mkdirat", "Mknod", "Mknodat", "Mmap", "Open", "Openat", "Openat2", "Pwrite", "Pwritev",
	"Rename", "Renameat", "Renameat2", "Rmdir", "Symlink", "Symlinkat", "Truncate", "Unlink", "Unlinkat", "UtimesNano",
	"UtimesNanoAt", "Utimes", "Write", "Writev",
}

const writeRemedy = "only repair/apply writes log data; a file that the user named goes through internal/outfile"

func (r *rules) checkWrites(t *tree, p *pkg, f *file) []string {
	var bad []string
	report := func(n ast.Node, what string) {
		bad = append(bad, fmt.Sprintf("%s:%d: names %s: %s", f.name, t.fset.Position(n.Pos()).Line, what, writeRemedy))
	}
	for path, spec := range f.imports {
		if writes[path] != nil && spec.Name != nil && spec.Name.Name == "." {
			report(spec, "everything of "+path+" (import .)")
		}
	}
	ast.Inspect(f.ast, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Ident:
			if !f.compiled {
				return true
			}
			fn, ok := p.info.Uses[n].(*types.Func)
			if ok && fn.Pkg() != nil && slices.Contains(writes[fn.Pkg().Path()], fn.Name()) {
				report(n, fn.FullName())
			}
		case *ast.SelectorExpr:
			// Not compiled here, so without types: only what is called by its
			// package's name can be seen.
			x, ok := n.X.(*ast.Ident)
			if f.compiled || !ok {
				return true
			}
			for path, spec := range f.imports {
				if importName(path, spec) == x.Name && slices.Contains(writes[path], n.Sel.Name) {
					report(n, path+"."+n.Sel.Name)
				}
			}
		}
		return true
	})
	return bad
}

func importName(path string, spec *ast.ImportSpec) string {
	if spec.Name != nil {
		return spec.Name.Name
	}
	return path[strings.LastIndexByte(path, '/')+1:]
}
