package archtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// tree is one module as the checks see it.
type tree struct {
	root     string // directory of go.mod
	module   string // module path
	fset     *token.FileSet
	packages []*pkg // by directory
}

// pkg is one directory with Go files.
type pkg struct {
	name  string // relative to the module, slashes; "." is the root
	files []*file
	// info describes the files that are compiled on this platform; nil when
	// the package has test files only.
	info *types.Info
}

// file is one file that is no test.
type file struct {
	name    string // relative to the module, slashes
	ast     *ast.File
	imports map[string]*ast.ImportSpec // by path
	// compiled files are described by pkg.info, the others belong to another
	// operating system.
	compiled bool
}

// readTree reads the module whose go.mod is in root. Nested modules, testdata
// and directories that begin with "." or "_" are not part of it, as for the go
// command.
//
// Every file is opened by this process, not only by the go command that it
// starts: go test repeats a cached result unless it saw the test open a file
// that has changed.
func readTree(root string) (*tree, error) {
	t := &tree{root: root, fset: token.NewFileSet()}
	mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(mod)) {
		if path, ok := strings.CutPrefix(line, "module "); ok {
			t.module = strings.TrimSpace(path)
		}
	}
	if t.module == "" {
		return nil, fmt.Errorf("%s: no module line in go.mod", root)
	}
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		if path != root {
			if name := d.Name(); name == "testdata" || name == "vendor" || name[0] == '.' || name[0] == '_' {
				return filepath.SkipDir
			}
			if _, err := os.Stat(filepath.Join(path, "go.mod")); err == nil {
				return filepath.SkipDir
			} else if !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
		return t.readPackage(path)
	})
	if err != nil {
		return nil, err
	}
	return t, t.resolve()
}

func (t *tree) readPackage(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	name, err := filepath.Rel(t.root, dir)
	if err != nil {
		return err
	}
	p := &pkg{name: filepath.ToSlash(name)}
	found := false
	for _, e := range entries {
		if e.IsDir() || !strings.HasSuffix(e.Name(), ".go") {
			continue
		}
		found = true
		if strings.HasSuffix(e.Name(), "_test.go") {
			continue
		}
		f, err := t.readFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return err
		}
		p.files = append(p.files, f)
	}
	if found {
		t.packages = append(t.packages, p)
	}
	return nil
}

func (t *tree) readFile(path string) (*file, error) {
	src, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	rel, err := filepath.Rel(t.root, path)
	if err != nil {
		return nil, err
	}
	f := &file{name: filepath.ToSlash(rel), imports: map[string]*ast.ImportSpec{}}
	f.ast, err = parser.ParseFile(t.fset, path, src, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	for _, spec := range f.ast.Imports {
		path, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return nil, err
		}
		f.imports[path] = spec
	}
	return f, nil
}

// resolve type-checks the packages, so that the checks know which function a
// name stands for, whatever the import is called and however the value was
// come by.
func (t *tree) resolve() error {
	compiled := map[string][]string{} // package name -> file names
	exports := map[string]string{}    // import path -> export data file
	cmd := exec.Command("go", "list", "-deps", "-export", "-json=ImportPath,Export,GoFiles,Module,Error", "./...")
	cmd.Dir = t.root
	cmd.Env = append(os.Environ(), "GOWORK=off")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("go list: %w\n%s", err, stderr.Bytes())
	}
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var l struct {
			ImportPath, Export string
			GoFiles            []string
			Module             *struct{ Path string }
		}
		if err := dec.Decode(&l); err == io.EOF {
			break
		} else if err != nil {
			return err
		}
		exports[l.ImportPath] = l.Export
		if l.Module != nil && l.Module.Path == t.module {
			compiled[t.relative(l.ImportPath)] = l.GoFiles
		}
	}
	imp := importer.ForCompiler(t.fset, "gc", func(path string) (io.ReadCloser, error) {
		if exports[path] == "" {
			return nil, fmt.Errorf("no export data for %s", path)
		}
		return os.Open(exports[path])
	})
	for _, p := range t.packages {
		isCompiled := map[string]bool{}
		for _, name := range compiled[p.name] {
			isCompiled[name] = true
		}
		var files []*ast.File
		for _, f := range p.files {
			if isCompiled[filepath.Base(f.name)] {
				f.compiled = true
				files = append(files, f.ast)
			}
		}
		if len(files) == 0 {
			continue
		}
		p.info = &types.Info{Uses: map[*ast.Ident]types.Object{}}
		conf := types.Config{Importer: imp}
		if _, err := conf.Check(p.name, t.fset, files, p.info); err != nil {
			return fmt.Errorf("package %s: %w", p.name, err)
		}
	}
	return nil
}

// relative turns an import path into a package name of this module, or returns
// "" when it lies outside.
func (t *tree) relative(path string) string {
	if path == t.module {
		return "."
	}
	if rest, ok := strings.CutPrefix(path, t.module+"/"); ok {
		return rest
	}
	return ""
}
