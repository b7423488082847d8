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
	"slices"
	"strings"
)

// chosenBug is the environment variable that names the active bug of a program with several.
// Without it, none is active.
const chosenBug = "INTERLUDE_MUSEUM_BUG"

// weave puts many bugs into one copy of the tree. Where a bug changes the body of a function, the
// function begins with an if that holds the changed body and is executed when the bug is chosen.
// The packages above a bug are thus compiled once for all bugs.
type weave struct {
	root  string
	bugs  map[string]bool              // by name: the bugs that are woven in
	files map[string]map[string]body   // by file, from the tree's root, and function
	more  map[string]map[string]string // by file: the imports that only bugs need
}

// body is the text that is inserted at the beginning of a function's body.
type body string

// newWeave weaves in the bugs that only change the bodies of functions.
func newWeave(root string, bugs []bug) (*weave, error) {
	w := &weave{root: root, bugs: make(map[string]bool), files: make(map[string]map[string]body),
		more: make(map[string]map[string]string)}
	for _, b := range bugs {
		files, err := patched(root, b.diff)
		if err != nil {
			continue // try reports the error
		}
		changed, complete, err := differencesOf(root, files)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", b.name, err)
		}
		if !complete {
			continue
		}
		for name, d := range changed {
			w.add(b.name, name, d)
		}
		w.bugs[b.name] = true
	}
	return w, nil
}

// differencesOf compares files of the tree with the same files after a bug's patch.
func differencesOf(root string, files map[string]string) (all map[string]difference, complete bool, _ error) {
	all = make(map[string]difference, len(files))
	for name, text := range files {
		plain, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
		if err != nil {
			return nil, false, err
		}
		all[name], complete, err = differenceOf(string(plain), text)
		if err != nil {
			return nil, false, fmt.Errorf("%s: %w", name, err)
		}
		if !complete {
			return nil, false, nil
		}
	}
	return all, true, nil
}

func (w *weave) add(bug, file string, d difference) {
	if w.files[file] == nil {
		w.files[file], w.more[file] = make(map[string]body), make(map[string]string)
	}
	for function, text := range d.bodies {
		w.files[file][function] += body(fmt.Sprintf("if %s == %q {%s\n}\n", chosenName, bug, text))
	}
	maps.Copy(w.more[file], d.imports)
}

// chosenName is the variable that holds the name of the active bug, in each package that has bugs.
const chosenName = "museumBug"

// woven returns the files with the bugs in them, and for each package a file with the variable.
func (w *weave) woven() (map[string]string, error) {
	all := make(map[string]string)
	for name, bodies := range w.files {
		plain, err := os.ReadFile(filepath.Join(w.root, filepath.FromSlash(name)))
		if err != nil {
			return nil, err
		}
		g, err := parseGoFile(string(plain))
		if err != nil {
			return nil, err
		}
		all[name] = g.woven(bodies, w.more[name])
		all[path.Join(path.Dir(name), "museum_bug.go")] = fmt.Sprintf("package %s\n\nimport \"os\"\n\n"+
			"var %s = os.Getenv(%q)\n", g.file.Name.Name, chosenName, chosenBug)
	}
	return all, nil
}

// goFile is a file's text with its syntax.
type goFile struct {
	text string
	set  *token.FileSet
	file *ast.File
}

func parseGoFile(text string) (*goFile, error) {
	g := &goFile{text: text, set: token.NewFileSet()}
	var err error
	g.file, err = parser.ParseFile(g.set, "", text, parser.SkipObjectResolution)
	return g, err
}

func (g *goFile) offset(p token.Pos) int { return g.set.Position(p).Offset }

func (g *goFile) between(from, to token.Pos) string { return g.text[g.offset(from):g.offset(to)] }

// functions returns the functions that have a body, by the text before the body.
func (g *goFile) functions() map[string]*ast.FuncDecl {
	all := make(map[string]*ast.FuncDecl)
	for _, d := range g.file.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Body != nil {
			all[g.between(f.Type.Func, f.Body.Lbrace)] = f
		}
	}
	return all
}

// outside returns the declarations that are neither functions nor imports, without comments.
func (g *goFile) outside() (all []string) {
	for _, d := range g.file.Decls {
		if d, ok := d.(*ast.GenDecl); ok && d.Tok != token.IMPORT {
			all = append(all, g.between(d.TokPos, d.End()))
		}
	}
	return all
}

// imports returns the imports as they are written. Each is its own key.
func (g *goFile) imports() map[string]string {
	all := make(map[string]string)
	for _, i := range g.file.Imports {
		text := g.between(i.Pos(), i.End())
		all[text] = text
	}
	return all
}

// woven returns the text with added imports, and with a text inserted at the beginning of
// functions.
func (g *goFile) woven(bodies map[string]body, imports map[string]string) string {
	at := g.offset(g.file.Name.End())
	text := []string{g.text[:at]}
	for _, i := range slices.Sorted(maps.Keys(imports)) {
		text = append(text, "; import ", i)
	}
	functions := g.functions()
	byPlace := slices.SortedFunc(maps.Keys(bodies), func(a, b string) int {
		return g.offset(functions[a].Pos()) - g.offset(functions[b].Pos())
	})
	for _, name := range byPlace {
		begin := g.offset(functions[name].Body.Lbrace) + 1
		text = append(text, g.text[at:begin], string(bodies[name]))
		at = begin
	}
	return strings.Join(append(text, g.text[at:]), "")
}

// difference is what differs in the bodies of a file's functions.
type difference struct {
	bodies  map[string]string // by the text before the function's body
	imports map[string]string // the new ones
}

// differenceOf compares two versions of a file. The difference is not complete when more differs
// than bodies of functions, or when a changed body has a label: it would be declared twice.
func differenceOf(before, after string) (d difference, complete bool, _ error) {
	a, err := parseGoFile(before)
	if err != nil {
		return d, false, err
	}
	b, err := parseGoFile(after)
	if err != nil {
		return d, false, err
	}
	old, young := a.functions(), b.functions()
	if len(old) != len(young) || !slices.Equal(a.outside(), b.outside()) {
		return d, false, nil
	}
	d = difference{bodies: make(map[string]string), imports: b.imports()}
	for i := range a.imports() {
		delete(d.imports, i)
	}
	for name, f := range young {
		if old[name] == nil {
			return d, false, nil
		}
		text := b.between(f.Body.Lbrace+1, f.Body.Rbrace)
		if text == a.between(old[name].Body.Lbrace+1, old[name].Body.Rbrace) {
			continue
		}
		if hasLabel(f) {
			return d, false, nil
		}
		if f.Type.Results == nil {
			text += "\nreturn"
		}
		d.bodies[name] = text
	}
	return d, true, nil
}

func hasLabel(f *ast.FuncDecl) (found bool) {
	ast.Inspect(f, func(n ast.Node) bool {
		_, label := n.(*ast.LabeledStmt)
		found = found || label
		return !found
	})
	return found
}
