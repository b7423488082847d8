// Package reqmap maps each requirement to the tests that name it. The map is read from the test
// sources: an id counts where it stands in the name of a test or sub-test, or in a comment or text
// of one, or in a story that tests replay (testdata/*.txt). docs/requirements.md is generated from
// it.
package reqmap

import (
	"bufio"
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
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

// Requirements lists all requirements in order.
func Requirements() []Requirement {
	var all []Requirement
	for lines := bufio.NewScanner(strings.NewReader(requirements)); lines.Scan(); {
		if id, text, ok := strings.Cut(lines.Text(), " "); ok {
			all = append(all, Requirement{id, text})
		}
	}
	return all
}

// Map is the tests of each requirement id, as "function (file)".
type Map map[string][]string

// listing is a test that lists all ids and proves none.
const listing = "TestContractNamesItsRequirements"

// isTest says where tests stand: test files, and the suites that test files run.
func isTest(path string) bool {
	return strings.HasSuffix(path, "_test.go") || strings.Contains(path, "lifecycletest/") || strings.Contains(path,
		"storetest/") || strings.Contains(path, "enginetest/")
}

// scanner says how a file names ids; nil: it is no test. Sources under testdata are food for tests,
// not tests.
func scanner(path string) func(path, rel string, report func(id, where string)) error {
	story := strings.Contains("/"+path, "/testdata/")
	switch {
	case story && strings.HasSuffix(path, ".txt"):
		return scanStory
	case !story && strings.HasSuffix(path, ".go") && isTest(path):
		return scanFile
	}
	return nil
}

// Scan reads the test sources below the repository's root.
func Scan(root string) (Map, error) {
	known := make(map[string]bool)
	for _, r := range Requirements() {
		known[r.ID] = true
	}
	found := make(map[string]map[string]bool)
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
		return scan(path, rel, func(id, where string) {
			if known[id] && !strings.Contains(where, listing) {
				if found[id] == nil {
					found[id] = make(map[string]bool)
				}
				found[id][where] = true
			}
		})
	})
	m := make(Map)
	for id, places := range found {
		for p := range places {
			m[id] = append(m[id], p)
		}
		slices.Sort(m[id])
	}
	return m, err
}

// scanStory reports the ids of one story.
func scanStory(path, rel string, report func(id, where string)) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	for _, id := range idsInText(string(text)) {
		report(id, link(rel))
	}
	return nil
}

// scanFile reports the ids of one file, each with the declaration in which it stands.
func scanFile(path, rel string, report func(id, where string)) error {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, path, nil, parser.ParseComments)
	if err != nil {
		return err
	}
	note := func(ids []string, pos token.Pos) {
		name := place(file, pos)
		if strings.HasPrefix(name, "Benchmark") {
			return // it measures, and fails for no requirement
		}
		where := link(rel)
		if name != "" {
			where = fmt.Sprintf("`%s` (%s)", name, where)
		}
		for _, id := range ids {
			report(id, where)
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

// link leads from docs/requirements.md to a file.
func link(rel string) string { return fmt.Sprintf("[%s](../%s)", rel, rel) }

// place is the name of the declaration in which a position stands; empty: in none.
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

// declared is the variable of a declaration that the position belongs to.
func declared(d *ast.GenDecl, pos token.Pos) string {
	for _, s := range d.Specs {
		if v, ok := s.(*ast.ValueSpec); ok && (v.Pos() <= pos && pos <= v.End() || len(d.Specs) == 1) {
			return v.Names[0].Name
		}
	}
	return ""
}

// Root finds the repository's root above the present folder.
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

// Render writes the table.
func Render(m Map) []byte {
	var b bytes.Buffer
	b.WriteString("# Requirements and their tests\n\n<!-- Generated by internal/reqmap from the test sources. Run: " +
		"go generate ./... -->\n\n")
	b.WriteString("Each test named here would fail without its requirement.\n\n| id | requirement | tests " +
		"|\n|---|---|---|\n")
	for _, r := range Requirements() {
		fmt.Fprintf(&b, "| %s | %s | %s |\n", r.ID, r.Text, strings.Join(m[r.ID], "<br>"))
	}
	return b.Bytes()
}
