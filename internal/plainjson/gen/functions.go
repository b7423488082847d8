package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"slices"
	"strings"
)

const plainjson = "github.com/interlude-go/interlude/internal/plainjson"

// generator collects the functions of all structs reachable from the named ones.
type generator struct {
	source  *source
	structs []*structure
	imports map[string]bool
	body    bytes.Buffer
}

type structure struct {
	name    string // as the generated file writes it
	members []member
	read    bool
}

// function returns the struct's name without its package: the functions' names are write and read
// before it.
func (s *structure) function() string { return s.name[strings.LastIndexByte(s.name, '.')+1:] }

func (g *generator) reach(name string, read bool) error {
	i := slices.IndexFunc(g.structs, func(s *structure) bool { return s.name == name })
	if i >= 0 && (g.structs[i].read || !read) {
		return nil
	}
	if i < 0 {
		members, err := g.source.members(name)
		if err != nil {
			return err
		}
		i = len(g.structs)
		g.structs = append(g.structs, &structure{name: name, members: members})
	}
	s := g.structs[i]
	s.read = s.read || read
	g.importOf(name)
	for _, m := range s.members {
		if inner := strings.TrimPrefix(strings.TrimPrefix(m.typ, "*"), "[]"); g.isStruct(inner) {
			if err := g.reach(inner, read); err != nil {
				return err
			}
		}
	}
	return nil
}

// importOf makes the generated file import the package of a type.
func (g *generator) importOf(name string) {
	if pkg, _, qualified := strings.Cut(name, "."); qualified {
		g.imports[g.source.imports[pkg]] = true
	}
}

func (g *generator) isStruct(name string) bool {
	t, err := g.source.lookup(name)
	_, is := t.(*ast.StructType)
	return err == nil && is
}

func (g *generator) isText(name string) bool {
	if name == "string" {
		return true
	}
	t, err := g.source.lookup(name)
	if err != nil {
		return false
	}
	switch t.(type) {
	case *ast.Ident, *ast.SelectorExpr:
		pkg, _, qualified := strings.Cut(name, ".")
		if !qualified {
			pkg = ""
		}
		return g.isText(typeName(t, pkg))
	}
	return false
}

// methods has, for each type that needs no conversion, the name of its methods of Writer and
// Scanner, without the suffix If of optional members.
var methods = map[string]string{
	"uint64": "Uint", "bool": "Flag", "time.Duration": "Duration", "time.Time": "Time", "[]byte": "Bytes",
	"map[string]string": "Labels", "map[string]any": "Values", "json.RawMessage": "Raw", "int": "Int",
}

// The types for which Writer only has an If method, and those for which it only has one without If.
var (
	always = []string{"map[string]string", "map[string]any", "json.RawMessage"}
	never  = []string{"[]byte"}
)

func (s *structure) before(i int) string {
	opening := ","
	if i == 0 {
		opening = "{"
	}
	return fmt.Sprintf("`%s%q:`", opening, s.members[i].name)
}

func (g *generator) printf(format string, a ...any) { fmt.Fprintf(&g.body, format, a...) }

func (g *generator) writer(s *structure) error {
	g.printf("\nfunc write%s(w *plainjson.Writer, v *%s) {\n", s.function(), s.name)
	for i, m := range s.members {
		line, err := g.write(s, i, m)
		if err != nil {
			return fmt.Errorf("%s.%s: %w", s.name, m.field, err)
		}
		g.printf("%s\n", line)
	}
	g.printf("w.Put(`}`)\n}\n")
	return nil
}

func (g *generator) write(s *structure, i int, m member) (string, error) {
	before, value, suffix := s.before(i), "v."+m.field, ""
	if m.optional {
		suffix = "If"
	}
	method, known := methods[m.typ]
	element, isList := strings.CutPrefix(m.typ, "[]")
	inner, isPointer := strings.CutPrefix(m.typ, "*")
	switch {
	case m.optional && slices.Contains(never, m.typ), !m.optional && slices.Contains(always, m.typ),
		(isList || isPointer) && !known && !m.optional:
		return "", fmt.Errorf("a member of type %s cannot be optional=%t", m.typ, m.optional)
	case m.split && isList && g.isStruct(element):
		return g.writeSplit(m, before, element), nil
	case m.split:
		return "", fmt.Errorf("a member of type %s cannot be split", m.typ)
	case m.plain == "exact":
		return fmt.Sprintf("w.ExactIf(%s, %s)", before, value), nil
	case (m.typ == "int" || m.typ == "int64") && !m.optional:
		return fmt.Sprintf("w.Int(%s, int64(%s))", before, value), nil
	case (m.typ == "int8" || m.typ == "uint16") && m.optional:
		return fmt.Sprintf("w.IntIf(%s, int(%s))", before, value), nil
	case known:
		return fmt.Sprintf("w.%s%s(%s, %s)", method, suffix, before, value), nil
	case m.typ == "string":
		return fmt.Sprintf("w.Text%s(%s, %s)", suffix, before, value), nil
	case g.isText(m.typ):
		return fmt.Sprintf("w.Text%s(%s, string(%s))", suffix, before, value), nil
	case isList && g.isText(element):
		return fmt.Sprintf("plainjson.WriteTexts(w, %s, %s)", before, value), nil
	case isList && g.isStruct(element):
		return fmt.Sprintf("plainjson.WriteList(w, %s, %s, write%s)", before, value, base(element)), nil
	case isPointer && g.isStruct(inner):
		return fmt.Sprintf("if %s != nil {\nw.Put(%s)\nwrite%s(w, %s)\n}", value, before, base(inner), value), nil
	case g.isStruct(m.typ) && !m.optional:
		return fmt.Sprintf("w.Put(%s)\nwrite%s(w, &%s)", before, base(m.typ), value), nil
	case g.isStruct(m.typ):
		return fmt.Sprintf("if %s != (%s{}) {\nw.Put(%s)\nwrite%s(w, &%s)\n}", value, m.typ, before, base(m.typ),
			value), nil
	}
	return "", fmt.Errorf("type %s is not supported yet", m.typ)
}

// writeSplit writes a list as separate members.
func (g *generator) writeSplit(m member, before, element string) string {
	line := fmt.Sprintf("if len(v.%s) > 0 {\nw.Put(%s)\nwrite%s(w, &v.%s[0])\n", m.field, before, base(element),
		m.field)
	if m.rest != "" {
		line += fmt.Sprintf("plainjson.WriteList(w, `,%q:`, v.%s[1:], write%s)\n", m.rest, m.field, base(element))
	}
	return line + "}"
}

// reader generates the function that reads the struct.
func (g *generator) reader(s *structure) {
	g.printf("\nfunc read%s(s *plainjson.Scanner, v *%s) {\n", s.function(), s.name)
	for i, m := range s.members {
		g.printf("%s\n", g.read(s, i, m))
	}
	g.printf("s.Need(`}`)\n}\n")
}

// read generates the code that reads a member of a type that write has accepted. An optional member
// may be missing; the first member never is.
func (g *generator) read(s *structure, i int, m member) string {
	before, into := s.before(i), "&v."+m.field
	if i == 0 {
		return fmt.Sprintf("s.Need(%s)\n%s", before, g.readFirst(m))
	}
	element, isList := strings.CutPrefix(m.typ, "[]")
	inner, isPointer := strings.CutPrefix(m.typ, "*")
	method, known := methods[m.typ]
	switch {
	case m.split:
		g.importOf(element)
		line := fmt.Sprintf(readSplit, before, m.field, element, base(element))
		if m.rest != "" {
			line += fmt.Sprintf(readRest, fmt.Sprintf("`,%q:`", m.rest), m.field, element, base(element))
		}
		return line + "}"
	case m.plain == "exact":
		return fmt.Sprintf("s.Exact(%s, %s)", before, into)
	case m.plain == "own":
		return fmt.Sprintf("s.Own(%s, %s)", before, into)
	case known:
		return fmt.Sprintf("s.%s(%s, %s)", method, before, into)
	case m.typ == "int64":
		return fmt.Sprintf("s.Int64(%s, %s)", before, into)
	case m.typ == "int8":
		return fmt.Sprintf("s.Int8(%s, %s)", before, into)
	case m.typ == "uint16":
		return fmt.Sprintf("s.Uint16(%s, %s)", before, into)
	case m.typ == "string" && m.plain == "":
		return fmt.Sprintf("s.Text(%s, %s)", before, into)
	case g.isText(m.typ):
		return fmt.Sprintf("plainjson.Word(s, %s, %s)", before, into)
	case isList && g.isText(element):
		return fmt.Sprintf("plainjson.ReadWords(s, %s, %s)", before, into)
	case isList:
		g.importOf(element)
		return fmt.Sprintf(readList, before, element, element, base(element), m.field)
	case isPointer:
		return fmt.Sprintf("if s.Member(%s) {\nv.%s = new(%s)\nread%s(s, v.%s)\n}", before, m.field, inner,
			base(inner), m.field)
	}
	if m.optional {
		return fmt.Sprintf("if s.Member(%s) {\nread%s(s, %s)\n}", before, base(m.typ), into)
	}
	return fmt.Sprintf("s.Need(%s)\nread%s(s, %s)", before, base(m.typ), into)
}

// readList is generated inline: a function as an argument would make the Scanner escape to the
// heap.
const readList = "if s.Member(%s) {\nlist := make([]%s, 0, plainjson.FewElements)\ns.Need(`[`)\n" +
	"for more := s.Going(); more; more = s.Member(`,`) {\nlist = append(list, %s{})\n" +
	"read%s(s, &list[len(list)-1])\n}\ns.Need(`]`)\nv.%s = list\n}"

// The parts of the code that reads a list from separate members.
const (
	readSplit = "if s.Member(%[1]s) {\nv.%[2]s = make([]%[3]s, 1)\nread%[4]s(s, &v.%[2]s[0])\n"
	readRest  = "if s.Member(%[1]s) {\n" +
		"list := append(make([]%[3]s, 0, plainjson.FewElements), v.%[2]s...)\ns.Need(`[`)\n" +
		"for more := s.Going(); more; more = s.Member(`,`) {\nlist = append(list, %[3]s{})\n" +
		"read%[4]s(s, &list[len(list)-1])\n}\ns.Need(`]`)\nv.%[2]s = list\n}\n"
)

// readFirst generates the code that reads the value of an object's first member, after its name.
func (g *generator) readFirst(m member) string {
	switch {
	case m.plain == "own":
		return fmt.Sprintf("v.%s = s.OwnText()", m.field)
	case m.typ == "int":
		return fmt.Sprintf("v.%s = s.AnInt()", m.field)
	case m.typ == "bool":
		return fmt.Sprintf("if v.%s = s.Member(`true`); !v.%s {\ns.Need(`false`)\n}", m.field, m.field)
	case m.typ == "string" && m.plain == "":
		return fmt.Sprintf("v.%s = s.AText()", m.field)
	case g.isText(m.typ):
		g.importOf(m.typ)
		return fmt.Sprintf("v.%s = %s(s.AWord())", m.field, m.typ)
	}
	return fmt.Sprintf("read%s(s, &v.%s)", base(m.typ), m.field)
}

func base(name string) string { return (&structure{name: name}).function() }
