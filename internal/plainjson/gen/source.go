package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// source is the text of one package, and of the packages of this module to which its structs refer.
type source struct {
	root, module string // the module's folder and path
	name         string // of the package
	types        map[string]ast.Expr
	imports      map[string]string // paths by name
	others       map[string]*source
}

var modulePath = regexp.MustCompile(`(?m)^module (\S+)$`)

// openSource reads the package in the folder, without tests and generated files.
func openSource(dir string) (*source, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	s := &source{types: make(map[string]ast.Expr), imports: make(map[string]string), others: make(map[string]*source)}
	for s.root = dir; ; s.root = filepath.Dir(s.root) {
		mod, err := os.ReadFile(filepath.Join(s.root, "go.mod"))
		if err == nil {
			s.module = string(modulePath.FindSubmatch(mod)[1])
			break
		}
		if s.root == filepath.Dir(s.root) {
			return nil, err
		}
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return nil, err
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") || strings.HasSuffix(name, "codec.gen.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		s.name = file.Name.Name
		for _, im := range file.Imports {
			where, err := strconv.Unquote(im.Path.Value)
			if err != nil {
				return nil, err
			}
			s.imports[path.Base(where)] = where
		}
		for _, d := range file.Decls {
			if d, ok := d.(*ast.GenDecl); ok && d.Tok == token.TYPE {
				for _, spec := range d.Specs {
					t := spec.(*ast.TypeSpec) //nolint:forcetypeassert // a declaration of types has nothing else
					s.types[t.Name.Name] = t.Type
				}
			}
		}
	}
	return s, nil
}

// lookup finds a declared type by its name in the source, which is pkg.Name in another package.
func (s *source) lookup(name string) (ast.Expr, error) {
	pkg, local, qualified := strings.Cut(name, ".")
	if !qualified {
		t, ok := s.types[name]
		if !ok {
			return nil, fmt.Errorf("there is no type %s in package %s", name, s.name)
		}
		return t, nil
	}
	if s.others[pkg] == nil {
		below, ours := strings.CutPrefix(s.imports[pkg], s.module+"/")
		if !ours {
			return nil, fmt.Errorf("%s: package %q is not of this module", name, s.imports[pkg])
		}
		other, err := openSource(filepath.Join(s.root, below))
		if err != nil {
			return nil, err
		}
		s.others[pkg] = other
	}
	return s.others[pkg].lookup(local)
}

// member is a field of a struct as encoding/json treats it.
type member struct {
	field, name string
	typ         string // as the source writes it
	optional    bool   // omitempty or omitzero
	plain       string // the plain tag
	split       bool   // a list whose first element is the member
	rest        string // the member with the list of its other elements; empty: none
}

// splitNames returns the names in the plain tag of a list that is stored as separate members.
func splitNames(plain string) (first, rest string) {
	first, rest, _ = strings.Cut(plain, ",")
	if first, found := strings.CutPrefix(first, "first="); found {
		return first, strings.TrimPrefix(rest, "rest=")
	}
	return "", ""
}

// members returns a struct's fields in order. Types are named as in the generated file.
func (s *source) members(name string) ([]member, error) {
	t, err := s.lookup(name)
	if err != nil {
		return nil, err
	}
	st, ok := t.(*ast.StructType)
	if !ok {
		return nil, fmt.Errorf("%s is not a struct", name)
	}
	pkg, _, qualified := strings.Cut(name, ".")
	if !qualified {
		pkg = ""
	}
	var all []member
	for _, f := range st.Fields.List {
		var tag reflect.StructTag
		if f.Tag != nil {
			text, err := strconv.Unquote(f.Tag.Value)
			if err != nil {
				return nil, err
			}
			tag = reflect.StructTag(text)
		}
		json, options, _ := strings.Cut(tag.Get("json"), ",")
		first, rest := splitNames(tag.Get("plain"))
		if json == "-" && first == "" {
			continue
		}
		if first != "" {
			json, options = first, "omitempty"
		}
		if json == "" || len(f.Names) == 0 {
			return nil, fmt.Errorf("%s: want a field with a name and a json tag, have %v %q", name, f.Names, tag)
		}
		for _, field := range f.Names {
			all = append(all, member{
				field: field.Name, name: json, typ: typeName(f.Type, pkg),
				optional: strings.Contains(options, "omit"), plain: tag.Get("plain"), split: first != "", rest: rest,
			})
		}
	}
	if len(all) == 0 || all[0].optional {
		return nil, fmt.Errorf("%s: want a first member that is never left out", name)
	}
	return all, nil
}

// typeName returns the type's text, with pkg before names that its package declares.
func typeName(t ast.Expr, pkg string) string {
	switch t := t.(type) {
	case *ast.Ident:
		if pkg != "" && ast.IsExported(t.Name) {
			return pkg + "." + t.Name
		}
		return t.Name
	case *ast.SelectorExpr:
		return typeName(t.X, "") + "." + t.Sel.Name
	case *ast.StarExpr:
		return "*" + typeName(t.X, pkg)
	case *ast.ArrayType:
		return "[]" + typeName(t.Elt, pkg)
	case *ast.MapType:
		return "map[" + typeName(t.Key, pkg) + "]" + typeName(t.Value, pkg)
	}
	return fmt.Sprintf("%T", t)
}

func sortedKeys(set map[string]bool) []string { return slices.Sorted(maps.Keys(set)) }
