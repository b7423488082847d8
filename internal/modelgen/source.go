package main

import (
	"fmt"
	"go/ast"
	"go/doc"
	"go/format"
	"go/parser"
	"go/token"
	"iter"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// folders are the packages that do not lie in the root of the module.
var folders = map[string]string{"fcmp": "contract/fcmp"}

// sources holds the packages of the module that were read.
type sources struct {
	root  string            // the module's folder
	names map[string]string // by pkg.Name: the name under which it is re-exported
	pkgs  map[string]*pkg
}

// pkg holds the declarations of a package that a list may name.
type pkg struct {
	path   string // import path
	types  map[string]*typeDecl
	consts map[string]*constDecl
}

type typeDecl struct {
	pkg       string
	doc       string
	expr      ast.Expr
	fset      *token.FileSet
	methods   []*ast.FuncDecl
	consts    []*constDecl
	constsDoc string
}

type constDecl struct{ pkg, name, doc, comment string }

var modulePath = regexp.MustCompile(`(?m)^module (\S+)$`)

// open reads a package. Tests are left out.
func (src *sources) open(name string) (*pkg, error) {
	if p := src.pkgs[name]; p != nil {
		return p, nil
	}
	folder := name
	if f := folders[name]; f != "" {
		folder = f
	}
	mod, err := os.ReadFile(filepath.Join(src.root, "go.mod"))
	if err != nil {
		return nil, err
	}
	p := &pkg{path: path.Join(string(modulePath.FindSubmatch(mod)[1]), folder), types: make(map[string]*typeDecl),
		consts: make(map[string]*constDecl)}
	src.pkgs[name] = p
	files, err := filepath.Glob(filepath.Join(src.root, folder, "*.go"))
	if err != nil {
		return nil, err
	}
	fset := token.NewFileSet()
	var decls []ast.Decl
	for _, f := range files {
		if strings.HasSuffix(f, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(fset, f, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		decls = append(decls, file.Decls...)
	}
	for _, d := range decls {
		if d, ok := d.(*ast.GenDecl); ok && d.Tok == token.TYPE {
			for _, s := range d.Specs {
				t := s.(*ast.TypeSpec) //nolint:forcetypeassert // a declaration of types has nothing else
				p.types[t.Name.Name] = &typeDecl{pkg: name, doc: textOf(t.Doc, d.Doc), expr: t.Type, fset: fset}
			}
		}
	}
	for _, d := range decls {
		p.add(name, d)
	}
	return p, nil
}

// add stores a declaration of constants, or of a method.
func (p *pkg) add(name string, d ast.Decl) {
	if f, ok := d.(*ast.FuncDecl); ok && f.Recv != nil && f.Name.IsExported() {
		recv := f.Recv.List[0].Type
		if star, ok := recv.(*ast.StarExpr); ok {
			recv = star.X
		}
		if id, ok := recv.(*ast.Ident); ok && p.types[id.Name] != nil {
			p.types[id.Name].methods = append(p.types[id.Name].methods, f)
		}
	}
	block, ok := d.(*ast.GenDecl)
	if !ok || block.Tok != token.CONST {
		return
	}
	for _, s := range block.Specs {
		v := s.(*ast.ValueSpec) //nolint:forcetypeassert // a declaration of constants has nothing else
		for _, id := range v.Names {
			c := &constDecl{name, id.Name, textOf(v.Doc, nil), strings.TrimSpace(textOf(v.Comment, nil))}
			if !block.Lparen.IsValid() {
				c.doc = textOf(v.Doc, block.Doc)
			}
			p.consts[id.Name] = c
			if typ, ok := v.Type.(*ast.Ident); ok && p.types[typ.Name] != nil && id.IsExported() {
				t := p.types[typ.Name]
				t.consts, t.constsDoc = append(t.consts, c), textOf(block.Doc, nil)
			}
		}
	}
}

// textOf returns the text of the first comment that is not nil.
func textOf(comments ...*ast.CommentGroup) string {
	for _, c := range comments {
		if c != nil {
			return c.Text()
		}
	}
	return ""
}

// paths returns the import paths of the packages that were read.
func (src *sources) paths() iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, p := range src.pkgs {
			if !yield(p.path) {
				return
			}
		}
	}
}

// declaration returns the code that documents a type's fields and methods. It is empty if the type
// has neither.
func (src *sources) declaration(t *typeDecl, e entry) string {
	var b strings.Builder
	if s, ok := t.expr.(*ast.StructType); ok {
		fmt.Fprintf(&b, "type %s struct {\n", e.as)
		src.fields(&b, t, s)
		b.WriteString("}\n")
	}
	for _, m := range t.methods {
		if slices.Contains(e.omit, m.Name.Name) {
			continue
		}
		if b.Len() > 0 {
			b.WriteString("\n")
		}
		if text := m.Doc.Text(); text != "" {
			fmt.Fprintf(&b, "// %s\n", new(doc.Package).Synopsis(text))
		}
		recv := m.Recv.List[0]
		var name string
		if len(recv.Names) > 0 {
			name = recv.Names[0].Name + " "
		}
		fmt.Fprintf(&b, "func (%s%s) %s%s\n", name, src.typeName(recv.Type, t.pkg), m.Name,
			src.signature(m.Type, t.pkg))
	}
	code, err := format.Source([]byte(b.String()))
	if err != nil {
		return b.String() // formatting the whole file reports the same error
	}
	return string(code)
}

// fields writes a struct's exported fields with their comments, and the empty lines between them.
func (src *sources) fields(b *strings.Builder, t *typeDecl, s *ast.StructType) {
	last, hidden := 0, false
	for _, f := range s.Fields.List {
		first := f.Pos()
		if f.Doc != nil {
			first = f.Doc.Pos()
		}
		if begins := t.fset.Position(first).Line; last > 0 && begins > last+1 {
			b.WriteString("\n")
		}
		last = t.fset.Position(f.End()).Line
		if len(f.Names) > 0 && !f.Names[0].IsExported() {
			hidden = true
			continue
		}
		for l := range strings.Lines(textOf(f.Doc)) {
			b.WriteString("// " + l)
		}
		var names []string
		for _, id := range f.Names {
			names = append(names, id.Name)
		}
		fmt.Fprintf(b, "%s %s", strings.Join(names, ", "), src.typeName(f.Type, t.pkg))
		if text := strings.TrimSpace(textOf(f.Comment)); text != "" {
			fmt.Fprintf(b, " // %s", text)
		}
		b.WriteString("\n")
	}
	if hidden {
		b.WriteString("// Has unexported fields.\n")
	}
}

// typeName returns a type as the users of the alias would write it.
func (src *sources) typeName(t ast.Expr, pkg string) string {
	switch t := t.(type) {
	case *ast.Ident:
		if ast.IsExported(t.Name) {
			return src.named(pkg + "." + t.Name)
		}
		return t.Name
	case *ast.SelectorExpr:
		return src.named(src.typeName(t.X, "") + "." + t.Sel.Name)
	case *ast.StarExpr:
		return "*" + src.typeName(t.X, pkg)
	case *ast.ArrayType:
		return "[]" + src.typeName(t.Elt, pkg)
	case *ast.Ellipsis:
		return "..." + src.typeName(t.Elt, pkg)
	case *ast.MapType:
		return "map[" + src.typeName(t.Key, pkg) + "]" + src.typeName(t.Value, pkg)
	case *ast.FuncType:
		return "func" + src.signature(t, pkg)
	}
	return fmt.Sprintf("%T", t)
}

// named returns pkg.Name, or the name under which the type is re-exported.
func (src *sources) named(qualified string) string {
	if as, ok := src.names[qualified]; ok {
		return as
	}
	return qualified
}

// signature returns a function's parameters and results.
func (src *sources) signature(f *ast.FuncType, pkg string) string {
	list := func(fields *ast.FieldList) string {
		var all []string
		for _, p := range fields.List {
			var names []string
			for _, id := range p.Names {
				names = append(names, id.Name)
			}
			all = append(all, strings.TrimSpace(strings.Join(names, ", ")+" "+src.typeName(p.Type, pkg)))
		}
		return strings.Join(all, ", ")
	}
	text := "(" + list(f.Params) + ")"
	if f.Results == nil {
		return text
	}
	results := list(f.Results)
	if len(f.Results.List) > 1 || len(f.Results.List[0].Names) > 0 {
		results = "(" + results + ")"
	}
	return text + " " + results
}
