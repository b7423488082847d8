// Package docs_test keeps the pages in docs/ true: the names on the pages exist, and the numbers
// match the code.
package docs_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

const root = "../.."

// folders are the packages whose names the pages use, by the name that the pages write.
var folders = map[string]string{
	"lifecycle": "lifecycle", "store": "store", "engine": "engine", "interaction": "interaction", "slots": "slots",
	"fsm": "fsm", "contract": "contract", "fcmp": "contract/fcmp", "memory": "store/memory", "sqlite": "store/sqlite",
	"postgres": "store/postgres", "storetest": "store/storetest", "enginetest": "engine/enginetest",
	"process": "engine/process", "exec": "engine/exec", "acp": "engine/acp", "agents": "engine/agents",
	"netguard": "engine/netguard",
	"schema":   "internal/schema", "skill": "lifecycle/skill", "decide": "lifecycle/internal/decide",
	"node": "lifecycle/internal/node",
	"all":  "host/all", "link": "host/link", "notify": "host/notify", "mail": "host/notify/mail", "otel": "host/otel",
	"render": "host/render", "reqbody": "host/reqbody", "web": "host/web", "front": "host/front", "mcp": "host/mcp",
	"policy": "host/policy", "signin": "host/signin", "slack": "host/slack", "ui": "host/ui", "people": "people",
	"flow": "engine/flow", "eino": "engine/eino", "typed": "interaction/typed", "pgtest": "store/postgres/pgtest",
	"rehearsal": "lifecycle/rehearsal", "effecttest": "lifecycle/effecttest", "audit": "contract/audit",
}

// pkg has the declarations of a package.
type pkg struct {
	name   string
	consts map[string]ast.Expr        // the constants with an explicit value
	vars   map[string]bool            // package variables
	funcs  map[string]bool            // functions
	types  map[string]ast.Expr        // the types with their definitions
	method map[string]map[string]bool // methods by type
	fields map[string]map[string]bool // fields by type, and the methods of an interface
	bodies []*ast.FuncDecl
}

// load parses the package in a folder, once. It includes files for other systems, and no tests.
var load = func() func(tb testing.TB, name string) *pkg {
	var mu sync.Mutex
	known := make(map[string]*pkg)
	return func(tb testing.TB, name string) *pkg {
		tb.Helper()
		mu.Lock()
		defer mu.Unlock()
		if known[name] == nil {
			require.Contains(tb, folders, name, "a package that the pages name")
			known[name] = parse(tb, name, filepath.Join(root, folders[name]))
		}
		return known[name]
	}
}()

func parse(tb testing.TB, name, dir string) *pkg {
	tb.Helper()
	p := &pkg{name: name, consts: make(map[string]ast.Expr), vars: make(map[string]bool), funcs: make(map[string]bool),
		types: make(map[string]ast.Expr), method: make(map[string]map[string]bool),
		fields: make(map[string]map[string]bool)}
	paths, err := filepath.Glob(filepath.Join(dir, "*.go"))
	require.NoError(tb, err)
	require.NotEmpty(tb, paths, dir)
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments|parser.SkipObjectResolution)
		require.NoError(tb, err)
		for _, d := range file.Decls {
			p.add(d)
		}
	}
	return p
}

func (p *pkg) add(d ast.Decl) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		p.bodies = append(p.bodies, d)
		if d.Recv == nil {
			p.funcs[d.Name.Name] = true
			return
		}
		mark(p.method, receiver(d), d.Name.Name)
	case *ast.GenDecl:
		for _, s := range d.Specs {
			switch s := s.(type) {
			case *ast.TypeSpec:
				p.addType(s)
			case *ast.ValueSpec:
				for i, n := range s.Names {
					switch {
					case d.Tok == token.VAR:
						p.vars[n.Name] = true
					case i < len(s.Values):
						p.consts[n.Name] = s.Values[i]
					default:
						p.consts[n.Name] = nil
					}
				}
			}
		}
	}
}

func (p *pkg) addType(s *ast.TypeSpec) {
	p.types[s.Name.Name] = s.Type
	var members *ast.FieldList
	switch t := s.Type.(type) {
	case *ast.StructType:
		members = t.Fields
	case *ast.InterfaceType:
		members = t.Methods
	default:
		return
	}
	for _, f := range members.List {
		for _, n := range f.Names {
			mark(p.fields, s.Name.Name, n.Name)
		}
		if len(f.Names) == 0 { // embedded: hasMember searches the embedded type
			mark(p.fields, s.Name.Name, "embeds "+typeName(f.Type))
		}
	}
}

func mark(in map[string]map[string]bool, key, name string) {
	if in[key] == nil {
		in[key] = make(map[string]bool)
	}
	in[key][name] = true
}

// typeName returns the name of a type without its package and pointer.
func typeName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.StarExpr:
		return typeName(e.X)
	case *ast.SelectorExpr:
		return typeName(e.X) + "." + e.Sel.Name
	case *ast.IndexExpr:
		return typeName(e.X)
	}
	return ""
}

func receiver(d *ast.FuncDecl) string { return typeName(d.Recv.List[0].Type) }

// has reports whether the package has the name.
func (p *pkg) has(name string) bool {
	_, isConst := p.consts[name]
	_, isType := p.types[name]
	return isConst || isType || p.vars[name] || p.funcs[name]
}

// hasMember reports whether a type has the field or method: itself, by an embedded type, or by the
// type that it is an alias of.
func (p *pkg) hasMember(tb testing.TB, typ, member string) bool {
	tb.Helper()
	if p.method[typ][member] || p.fields[typ][member] {
		return true
	}
	others := []string{typeName(p.types[typ])}
	for f := range p.fields[typ] {
		if other, ok := strings.CutPrefix(f, "embeds "); ok {
			others = append(others, other)
		}
	}
	for _, other := range others {
		in, name, ok := strings.Cut(other, ".")
		if !ok && p.types[other] != nil && other != typ && p.hasMember(tb, other, member) {
			return true
		}
		if ok && folders[in] != "" && load(tb, in).hasMember(tb, name, member) {
			return true
		}
	}
	return false
}

// read returns a file of the repository.
func read(tb testing.TB, path string) string {
	tb.Helper()
	text, err := os.ReadFile(filepath.Join(root, path))
	require.NoError(tb, err)
	return string(text)
}

// row is a line of a table.
type row []string

// rows returns the lines of all tables of a page, without their heads; each cell is trimmed.
func rows(text string) (all []row) {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		head := i+1 < len(lines) && strings.HasPrefix(lines[i+1], "|--")
		if !strings.HasPrefix(line, "|") || strings.HasPrefix(line, "|--") || head {
			continue
		}
		var r row
		for _, cell := range strings.Split(strings.Trim(line, "|"), "|") {
			r = append(r, strings.TrimSpace(cell))
		}
		all = append(all, r)
	}
	return all
}
