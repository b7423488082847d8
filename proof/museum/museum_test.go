package main

import (
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/tools/go/packages"

	"github.com/interlude-go/interlude/proof/checkout"
)

// Each bug still fits the tree. .ci/search shows that each is seen.
func TestEveryPatchFits(t *testing.T) {
	root, err := checkout.Root()
	require.NoError(t, err)
	bugs, err := readBugs("bugs", "")
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(bugs), 15)
	for _, b := range bugs {
		_, err := patched(root, b.diff)
		assert.NoError(t, err, b.name)
	}
}

func TestApplyRefusesAPatchThatDoesNotFit(t *testing.T) {
	const diff = "--- a/museum_test.go\n+++ b/museum_test.go\n@@ -1 +1 @@\n-package elsewhere\n+package here\n"
	_, err := patched(".", diff)
	require.ErrorContains(t, err, "does not apply any more: the lines of hunk 1 are 0 times in museum_test.go")
	_, err = patched(".", "--- a/gone.go\n+++ b/gone.go\n@@ -1 +1 @@\n-package gone\n+package here\n")
	require.ErrorContains(t, err, "does not apply any more")
	files, err := patched(".", "--- a/museum_test.go\n+++ b/museum_test.go\n@@ -1 +1 @@\n-package main\n+package "+
		"changed\n")
	require.NoError(t, err)
	require.Regexp(t, "^package changed\n\nimport", files["museum_test.go"])
}

func TestReadBugNeedsStoryCheckAndDiff(t *testing.T) {
	for _, text := range []string{"", "story: once\ncheck: go test ./x -run T\n", "check: go test ./x\n--- a/x\n",
		"story: once\n--- a/x\n"} {
		_, err := readBug("bug", text)
		require.ErrorContains(t, err, "unified diff")
	}
	b, err := readBug("bug", "story: Once upon a time.\ncheck: go test ./x -run TestX -short\n\n--- a/x\n+++ b/x\n")
	require.NoError(t, err)
	require.Equal(t, bug{"bug", "Once upon a time.", check{"./x", []string{"-run", "TestX", "-short"}},
		"--- a/x\n+++ b/x\n"}, b)
}

// Bugs in the bodies of functions are compiled together, and each is active only when it is chosen.
func TestWeaveAddsBugsToFunctions(t *testing.T) {
	const plain = `package p

import "fmt"

// F says so.
func F() string { return "f" }

func (T) F(n int) { fmt.Println(n) }

type T int
`
	bodies := make(map[string]body)
	imports := make(map[string]string)
	for _, change := range []struct{ from, to string }{
		{`{ return "f" }`, `{ return os.TempDir() }`}, {`{ fmt.Println(n) }`, `{}`},
		{`import "fmt"`, `import ("fmt"; "os")`},
	} {
		d, complete, err := differenceOf(plain, strings.Replace(plain, change.from, change.to, 1))
		require.NoError(t, err)
		require.True(t, complete)
		for name, text := range d.bodies {
			bodies[name] += body("if chosen {" + text + "}\n")
		}
		maps.Copy(imports, d.imports)
	}
	g, err := parseGoFile(plain)
	require.NoError(t, err)
	require.Equal(t, `package p; import "os"

import "fmt"

// F says so.
func F() string {if chosen { return os.TempDir() }
 return "f" }

func (T) F(n int) {if chosen {
return}
 fmt.Println(n) }

type T int
`, g.woven(bodies, imports))
	for _, change := range []struct{ from, to string }{
		{"type T int", "type T uint"}, {"F() string", "G() string"}, {"(n int)", "(n uint)"},
		{`{ return "f" }`, "{ again: goto again }"}, {"type T int", "type T int\nvar x T"},
	} {
		_, complete, err := differenceOf(plain, strings.Replace(plain, change.from, change.to, 1))
		require.NoError(t, err)
		require.False(t, complete, "%s needs a program of its own", change.to)
	}
}

// Most bugs do not need a separate program, and these compile.
func TestMostBugsAreWovenIn(t *testing.T) {
	root, err := checkout.Root()
	require.NoError(t, err)
	bugs, err := readBugs("bugs", "")
	require.NoError(t, err)
	w, err := newWeave(root, bugs)
	require.NoError(t, err)
	require.Greater(t, len(w.bugs), len(bugs)*3/4)

	texts, err := w.woven()
	require.NoError(t, err)
	folders := map[string]bool{"os": true} // which the bugs import
	for name := range texts {
		folders["./"+path.Dir(name)] = true
	}
	loaded, err := packages.Load(&packages.Config{Mode: packages.NeedName | packages.NeedCompiledGoFiles |
		packages.NeedImports | packages.NeedDeps | packages.NeedExportFile | packages.NeedTypesSizes, Dir: root},
		slices.Collect(maps.Keys(folders))...)
	require.NoError(t, err)
	exports := make(map[string]string)
	packages.Visit(loaded, nil, func(p *packages.Package) { exports[p.PkgPath] = p.ExportFile })
	fset := token.NewFileSet()
	compiled := importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) {
		return os.Open(exports[path])
	})
	for _, p := range loaded {
		var files []*ast.File
		in := ""
		add := func(name string, text any) {
			file, err := parser.ParseFile(fset, name, text, parser.SkipObjectResolution)
			require.NoError(t, err)
			files = append(files, file)
		}
		for _, name := range p.CompiledGoFiles {
			inTree, err := filepath.Rel(root, name)
			require.NoError(t, err)
			if text, woven := texts[filepath.ToSlash(inTree)]; woven {
				in = path.Dir(filepath.ToSlash(inTree))
				add(name, text)
			} else {
				add(name, nil)
			}
		}
		if in != "" {
			add("museum_bug.go", texts[path.Join(in, "museum_bug.go")])
			_, err := (&types.Config{Importer: compiled, Sizes: p.TypesSizes}).Check(p.PkgPath, fset, files, nil)
			require.NoError(t, err)
			delete(folders, "./"+in)
		}
	}
	require.Len(t, folders, 1, "other packages that have bugs are not compiled on this system")
}
