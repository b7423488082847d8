// Package reqmap maps each requirement to the tests that name it. An id counts if it is in the name
// of a test or sub-test, in a comment or text of one, or in a story (lifecycle/stories).
// docs/internals/requirements.md is generated from the map.
package reqmap

import (
	"bufio"
	"cmp"
	_ "embed"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

//go:generate go run ./gen

//go:embed requirements.txt
var requirements string

// Requirement is one line of requirements.txt.
type Requirement struct{ ID, Text string }

func Requirements() []Requirement {
	var all []Requirement
	for lines := bufio.NewScanner(strings.NewReader(requirements)); lines.Scan(); {
		if id, text, ok := strings.Cut(lines.Text(), " "); ok {
			all = append(all, Requirement{id, text})
		}
	}
	return all
}

type Place struct {
	File string // from the repository's root
	Name string // the function or variable; empty for a story, and outside of declarations
}

type Map map[string][]Place

// listing is a test that lists all ids, and proves none of them.
const listing = "TestContractNamesItsRequirements"

// isTest reports whether the file can have tests: test files, and the suites that they run.
func isTest(path string) bool {
	return strings.HasSuffix(path, "_test.go") || strings.Contains(path, "lifecycletest/") || strings.Contains(path,
		"storetest/") || strings.Contains(path, "enginetest/")
}

// scanner returns the function that finds the ids in a file; nil for a file without tests. Sources
// under testdata are inputs of tests.
func scanner(path string) func(path, rel string, report func(id string, where Place)) error {
	switch {
	case strings.HasPrefix(path, "lifecycle/stories/") && strings.HasSuffix(path, ".txt"):
		return scanStory
	case !strings.Contains("/"+path, "/testdata/") && strings.HasSuffix(path, ".go") && isTest(path):
		return scanFile
	}
	return nil
}

func Scan(root string) (Map, error) {
	known := make(map[string]bool)
	for _, r := range Requirements() {
		known[r.ID] = true
	}
	found := make(map[string]map[Place]bool)
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if name := d.Name(); path != root && (strings.HasPrefix(name, ".") || name == "reqmap") {
				return filepath.SkipDir
			}
			return nil
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		scan := scanner(rel)
		if scan == nil {
			return nil
		}
		return scan(path, rel, func(id string, where Place) {
			if known[id] && where.Name != listing {
				if found[id] == nil {
					found[id] = make(map[Place]bool)
				}
				found[id][where] = true
			}
		})
	})
	m := make(Map)
	for id, places := range found {
		m[id] = slices.SortedFunc(maps.Keys(places), func(a, b Place) int {
			return cmp.Or(strings.Compare(a.File, b.File), strings.Compare(a.Name, b.Name))
		})
	}
	return m, err
}

func scanStory(path, rel string, report func(id string, where Place)) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	for _, id := range idsInText(string(text)) {
		report(id, Place{File: rel})
	}
	return nil
}

// scanFile reports the ids of one file, each with its surrounding declaration.
func scanFile(path, rel string, report func(id string, where Place)) error {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, path, nil, parser.ParseComments)
	if err != nil {
		return err
	}
	note := func(ids []string, pos token.Pos) {
		name := place(file, pos)
		if strings.HasPrefix(name, "Benchmark") {
			return // a benchmark measures, and proves no requirement
		}
		for _, id := range ids {
			report(id, Place{File: rel, Name: name})
		}
	}
	for _, group := range file.Comments {
		note(idsInText(group.Text()), group.Pos())
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BasicLit:
			if text, err := strconv.Unquote(n.Value); err == nil && n.Kind == token.STRING && len(text) < 300 {
				note(idsInText(text), n.Pos())
			}
		case *ast.FuncDecl:
			note(idsInName(n.Name.Name), n.Pos())
		}
		return true
	})
	return nil
}

func place(file *ast.File, pos token.Pos) string {
	for _, d := range file.Decls {
		begin, name := d.Pos(), ""
		switch d := d.(type) {
		case *ast.FuncDecl:
			name = d.Name.Name
			if d.Doc != nil {
				begin = d.Doc.Pos()
			}
		case *ast.GenDecl:
			name = declared(d, pos)
			if d.Doc != nil {
				begin = d.Doc.Pos()
			}
		}
		if begin <= pos && pos <= d.End() && name != "" {
			return name
		}
	}
	return ""
}

func declared(d *ast.GenDecl, pos token.Pos) string {
	for _, s := range d.Specs {
		if v, ok := s.(*ast.ValueSpec); ok && (v.Pos() <= pos && pos <= v.End() || len(d.Specs) == 1) {
			return v.Names[0].Name
		}
	}
	return ""
}

// Root finds the repository's root above the working directory.
func Root() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.work")); err == nil {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", errors.New("reqmap: no go.work above the present folder")
		}
		dir = parent
	}
}
