package arch_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// circles bounds, for a package, how many of its files use each other in a circle: such files can
// only be read together. A bound only falls.
var circles = map[string]int{
	"lifecycle":                 5,
	"lifecycle/internal/decide": 2,
	"lifecycle/internal/node":   5,
}

func TestFilesCanBeReadInParts(t *testing.T) {
	for dir, bound := range circles {
		largest := largestCircle(fileUses(t, dir))
		require.LessOrEqual(t, len(largest), bound, "%s: these files use each other in a circle: %v", dir, largest)
		require.GreaterOrEqual(t, len(largest), bound, "%s: the circle has become smaller: lower its bound", dir)
	}
}

func TestACircleIsFound(t *testing.T) {
	require.ElementsMatch(t, []string{"b", "c", "d"}, largestCircle(map[string][]string{
		"a": {"b"}, "b": {"c"}, "c": {"d", "e"}, "d": {"b"}, "e": {"f"}, "f": {"e"}, "g": {"g"},
	}))
}

// A host can name every type that lifecycle shows it: none is declared in an internal package.
func TestHostsSeeNoInternalTypes(t *testing.T) {
	_, _, checked := typeCheck(t, "lifecycle")
	names := checked.Scope().Names()
	require.NotEmpty(t, internalTypes(checked.Scope().Lookup("specs")), "what no host sees has some")
	for _, name := range names {
		if o := checked.Scope().Lookup(name); o.Exported() {
			require.Empty(t, internalTypes(o), "%s shows hosts a type of an internal package", name)
		}
	}
}

// internalTypes returns the types of internal packages that a declaration shows a host: types of
// values, parameters and results, and exported fields and methods.
func internalTypes(o types.Object) (found []string) {
	var visit func(types.Type)
	seen := make(map[types.Type]bool)
	visit = func(of types.Type) {
		if of == nil || seen[of] {
			return
		}
		seen[of] = true
		switch of := of.(type) {
		case *types.Named:
			if p := of.Obj().Pkg(); p != nil && strings.Contains(p.Path(), "/internal/") {
				found = append(found, of.String())
			}
			if of.Obj().Pkg() != o.Pkg() {
				return
			}
			visit(of.Underlying())
			for m := range of.Methods() {
				if m.Exported() {
					visit(m.Type())
				}
			}
		case *types.Struct:
			for f := range of.Fields() {
				if f.Exported() {
					visit(f.Type())
				}
			}
		case *types.Interface:
			for m := range of.Methods() {
				visit(m.Type())
			}
		case *types.Signature:
			for v := range of.Params().Variables() {
				visit(v.Type())
			}
			for v := range of.Results().Variables() {
				visit(v.Type())
			}
		case *types.Map:
			visit(of.Key())
			visit(of.Elem())
		case interface{ Elem() types.Type }: // pointer, slice, array, channel
			visit(of.Elem())
		}
	}
	visit(types.Unalias(o.Type()))
	return found
}

// fileUses returns, for each file of a package of the root module, the other files whose declarations
// it uses. Tests and other systems' files do not count.
func fileUses(t *testing.T, dir string) map[string][]string {
	t.Helper()
	files, info, checked := typeCheck(t, dir)
	uses := make(map[string][]string)
	for id, used := range info.Uses {
		if used.Pkg() != checked || !used.Pos().IsValid() {
			continue
		}
		from, to := filepath.Base(files.Position(id.Pos()).Filename), filepath.Base(files.Position(used.Pos()).Filename)
		if from != to && !slices.Contains(uses[from], to) {
			uses[from] = append(uses[from], to)
		}
	}
	return uses
}

// typeCheck checks the types of a package of the root module. Tests and other systems' files do not
// count.
func typeCheck(t *testing.T, dir string) (*token.FileSet, *types.Info, *types.Package) {
	t.Helper()
	exports := make(map[string]string) // by import path
	cmd := exec.CommandContext(t.Context(), "go", "list", "-export", "-deps", "-json=ImportPath,Export,GoFiles",
		"./"+dir)
	cmd.Dir = filepath.Join("..", "..")
	out, err := cmd.Output()
	require.NoError(t, err)
	var names []string
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p struct {
			ImportPath, Export string
			GoFiles            []string
		}
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else {
			require.NoError(t, err)
		}
		exports[p.ImportPath], names = p.Export, p.GoFiles // the package itself is the last one
	}
	files := token.NewFileSet()
	parsed := make([]*ast.File, len(names))
	for i, name := range names {
		parsed[i], err = parser.ParseFile(files, filepath.Join(cmd.Dir, dir, name), nil, parser.SkipObjectResolution)
		require.NoError(t, err)
	}
	conf := types.Config{Importer: importer.ForCompiler(files, "gc", func(path string) (io.ReadCloser, error) {
		if exports[path] == "" {
			return nil, fmt.Errorf("no export data of %s", path)
		}
		return os.Open(exports[path])
	})}
	info := &types.Info{Uses: make(map[*ast.Ident]types.Object)}
	checked, err := conf.Check(house+"/"+dir, files, parsed, info)
	require.NoError(t, err)
	return files, info, checked
}

// largestCircle returns the largest strongly connected component of the graph, by Tarjan's algorithm.
func largestCircle(uses map[string][]string) (largest []string) {
	index, low, onStack := make(map[string]int), make(map[string]int), make(map[string]bool)
	var stack []string
	var visit func(v string)
	visit = func(v string) {
		index[v] = len(index) + 1
		low[v] = index[v]
		stack, onStack[v] = append(stack, v), true
		for _, w := range uses[v] {
			if index[w] == 0 {
				visit(w)
				low[v] = min(low[v], low[w])
			} else if onStack[w] {
				low[v] = min(low[v], index[w])
			}
		}
		if low[v] < index[v] {
			return
		}
		first := slices.Index(stack, v)
		if circle := slices.Clone(stack[first:]); len(circle) > len(largest) {
			largest = circle
		}
		for _, w := range stack[first:] {
			onStack[w] = false
		}
		stack = stack[:first]
	}
	for v := range uses {
		if index[v] == 0 {
			visit(v)
		}
	}
	return largest
}
