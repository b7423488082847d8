package arch_test

import (
	"encoding/json"
	"go/ast"
	"go/constant"
	"go/format"
	"go/importer"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/fsm"
)

// hidden are exported types that the API of lifecycle or engine mentions, and that its users do not
// need to name. Each has its reason.
var hidden = map[string]string{
	"lifecycle fcmp.Audience": "a part of an event's data, read as a field; Audience is interaction's",
	"lifecycle fcmp.Option":   "a part of an event's data, read as a field; Option is interaction's",
	"lifecycle fcmp.Subject":  "a part of an event's data, read as a field; Subject is interaction's",
	"lifecycle fcmp.Failure":  "a part of an event's data, read as a field; Failure is store's",

	"lifecycle fcmp.Remember":      "a part of an event's data, read as a field; Remember is interaction's",
	"lifecycle fcmp.TextChange":    "a part of an event's data, read as a field; Change is interaction's",
	"lifecycle fcmp.RememberLimit": "a part of an event's data, read as a field; Limit is interaction's",

	"lifecycle interaction.JournalSize": "of a field for stores",
	"lifecycle store.Node":              "of a method for stores",
	"engine interaction.Actor":          "of a method for lifecycle",
	"engine interaction.Reply":          "of a method for lifecycle",
	"engine interaction.Principal":      "of an Actor",
	"engine interaction.Remember":       "of a Reply",
	"engine interaction.Limit":          "of a Remember",
	"engine interaction.Notes":          "the run sets them",
	"engine interaction.Note":           "of Notes",
}

// closed are types whose users only pass them on, so that their references are not needed.
var closed = map[string]bool{"store.Store": true, "interaction.JournalSize": true, "store.Node": true}

// compiled returns a function that reads the types of a package of the root module from its export
// data.
func compiled(t *testing.T) func(path string) *types.Package {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-export", "-deps", "-json=ImportPath,Export", "./lifecycle")
	cmd.Dir = "../.."
	out, err := cmd.Output()
	require.NoError(t, err)
	exports := make(map[string]string)
	for dec := json.NewDecoder(strings.NewReader(string(out))); dec.More(); {
		var p struct{ ImportPath, Export string }
		require.NoError(t, dec.Decode(&p))
		exports[p.ImportPath] = p.Export
	}
	gc := importer.ForCompiler(token.NewFileSet(), "gc", func(path string) (io.ReadCloser, error) {
		return os.Open(exports[path])
	})
	return func(path string) *types.Package {
		p, err := gc.Import(path)
		require.NoError(t, err)
		return p
	}
}

// reach collects the exported types of the module that are visible to users of package own, each
// with the place that mentions it. The engine package's types have no aliases: a host imports it.
type reach struct {
	own  *types.Package
	from map[*types.TypeName]string
	todo []*types.TypeName
}

func (r *reach) visit(typ types.Type, from string) {
	switch typ := types.Unalias(typ).(type) {
	case *types.Named:
		for arg := range typ.TypeArgs().Types() {
			r.visit(arg, from)
		}
		name := typ.Obj()
		if name.Pkg() == nil || !within(name.Pkg().Path(), house) || !name.Exported() || name.Pkg() != r.own &&
			within(name.Pkg().Path(), house+"/engine") {
			return
		}
		if r.from[name] == "" {
			r.from[name] = from
			r.todo = append(r.todo, name)
		}
	case interface{ Elem() types.Type }: // pointer, slice, array, channel, map
		r.visit(typ.Elem(), from)
		if m, ok := typ.(*types.Map); ok {
			r.visit(m.Key(), from)
		}
	case *types.Signature:
		r.visit(typ.Params(), from)
		r.visit(typ.Results(), from)
	case *types.Tuple:
		for v := range typ.Variables() {
			r.visit(v.Type(), from)
		}
	case *types.Struct:
		for f := range typ.Fields() {
			if f.Exported() {
				r.visit(f.Type(), from+"."+f.Name())
			}
		}
	case *types.Interface:
		for m := range typ.Methods() {
			r.visit(m.Type(), from+"."+m.Name())
		}
	}
}

// open visits the references of the collected types' fields and methods, until nothing is new.
func (r *reach) open() {
	for ; len(r.todo) > 0; r.todo = r.todo[1:] {
		name := qualified(r.todo[0])
		named, ok := r.todo[0].Type().(*types.Named)
		if !ok || closed[name] {
			continue
		}
		r.visit(named.Underlying(), name)
		for m := range named.Methods() {
			if m.Exported() {
				r.visit(m.Type(), name+"."+m.Name())
			}
		}
	}
}

func qualified(name types.Object) string { return name.Pkg().Name() + "." + name.Name() }

// A host imports lifecycle, engine and a store, and the author of an engine imports engine: each
// type that their APIs mention has an alias there, with all its constants.
func TestAliasesAreComplete(t *testing.T) {
	unused := make(map[string]bool)
	for name := range hidden {
		unused[name] = true
	}
	load := compiled(t)
	for _, short := range []string{"lifecycle", "engine"} {
		p := load(house + "/" + short)
		aliases := make(map[*types.TypeName]bool)
		r := &reach{own: p, from: make(map[*types.TypeName]string)}
		values := make(map[string][]constant.Value) // of the package's constants, by their type
		for _, name := range p.Scope().Names() {
			obj := p.Scope().Lookup(name)
			if !obj.Exported() {
				continue
			}
			r.visit(obj.Type(), short+"."+name)
			switch obj := obj.(type) {
			case *types.Const:
				typ := types.Unalias(obj.Type()).String()
				values[typ] = append(values[typ], obj.Val())
			case *types.TypeName:
				if named, ok := types.Unalias(obj.Type()).(*types.Named); ok && obj.IsAlias() {
					aliases[named.Obj()] = true
				}
			}
		}
		r.open()
		for name, from := range r.from {
			key := short + " " + qualified(name)
			delete(unused, key)
			if !aliases[name] && hidden[key] == "" && name.Pkg() != p {
				t.Errorf("%s mentions %s, which has no alias in %s", from, qualified(name), short)
			}
		}
		for name := range aliases {
			scope := load(name.Pkg().Path()).Scope()
			for _, other := range scope.Names() {
				c, ok := scope.Lookup(other).(*types.Const)
				if ok && c.Exported() && types.Identical(c.Type(), name.Type()) &&
					!has(values[c.Type().String()], c.Val()) && (short != "engine" || usedByEngines(c)) {
					t.Errorf("%s has an alias in %s, and its constant %s has none", qualified(name), short, other)
				}
			}
		}
	}
	require.Empty(t, unused, "reasons for what is not mentioned any more")
}

// usedByEngines reports whether an engine may use the constant. Other codes are the library's.
func usedByEngines(c *types.Const) bool {
	switch qualified(types.Unalias(c.Type()).(*types.Named).Obj()) {
	case "fsm.Code":
		return fsm.Code(constant.StringVal(c.Val())).Source() == "engine"
	case "fsm.Warning":
		return strings.HasPrefix(constant.StringVal(c.Val()), "ENGINE_")
	}
	return true
}

func has(all []constant.Value, v constant.Value) bool {
	for _, other := range all {
		if constant.Compare(other, token.EQL, v) {
			return true
		}
	}
	return false
}

// An alias describes the type in one line, and links to it: the type has the full description.
func TestAliasesLinkToTheirTypes(t *testing.T) {
	for _, short := range []string{"lifecycle", "engine"} {
		paths, err := filepath.Glob("../../" + short + "/aliases*.go")
		require.NoError(t, err)
		require.NotEmpty(t, paths)
		for _, path := range paths {
			text, err := os.ReadFile(path)
			require.NoError(t, err)
			eachFile(t, path, func(_ string, file *ast.File) {
				for _, d := range file.Decls {
					d, ok := d.(*ast.GenDecl)
					require.True(t, ok, "%s has a function", path)
					if d.Tok != token.TYPE {
						continue
					}
					spec := d.Specs[0].(*ast.TypeSpec)
					source, ok := spec.Type.(*ast.SelectorExpr)
					require.True(t, ok && spec.Assign.IsValid(), "%s: %s is no alias", path, spec.Name)
					var b strings.Builder
					require.NoError(t, format.Node(&b, token.NewFileSet(), source))
					link := "[" + b.String() + "]"
					doc := "(?m)^// " + spec.Name.Name + " is " + regexp.QuoteMeta(link) + ": .+\\.\ntype " +
						spec.Name.Name + " = "
					require.True(t, regexp.MustCompile(doc).Match(text), "%s: the doc of %s is not a line of the form "+
						"\"%s is %s: …\"", path, spec.Name, spec.Name, link)
				}
			})
		}
	}
}
