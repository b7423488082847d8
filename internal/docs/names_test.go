package docs_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// pages returns the Markdown files for users and maintainers. Generated pages are not among them.
func pages(tb testing.TB) []string {
	tb.Helper()
	all := []string{"README.md", "cmd/interlude/README.md", "lifecycle/stories/README.md", "RELEASING.md"}
	for _, pattern := range []string{"docs/*.md", "docs/*/*.md"} {
		paths, err := filepath.Glob(filepath.Join(root, pattern))
		require.NoError(tb, err)
		require.NotEmpty(tb, paths, pattern)
		for _, path := range paths {
			if page, err := filepath.Rel(root, path); err == nil && filepath.Base(page) != "requirements.md" {
				all = append(all, filepath.ToSlash(page))
			}
		}
	}
	return all
}

var (
	code      = regexp.MustCompile("`([^`\n]+)`")
	qualified = regexp.MustCompile(`(?:^|[^\w./*])([a-z]+)\.([A-Z]\w*)(?:\.([A-Z]\w*))?`)
	filePath  = regexp.MustCompile(`^[a-z][\w.-]*(?:/[\w.-]+)+\.(?:go|txt|json|sql|md)$`)
	inText    = regexp.MustCompile(`\b(Test[A-Z]\w+)\b`)
	contractI = regexp.MustCompile(`\b(TR|CG|WP|EC|WC|IV|FA|EV|ST|PR|MO|PL|RJ)-\d\d\b`)
)

// Each package.Name and package.Type.Member that a page writes as code exists, and so do each file
// and each test.
func TestWhatThePagesNameExists(t *testing.T) {
	tests := testNames(t)
	ids := read(t, "contract/lifecycle.json")
	for _, page := range pages(t) {
		text := read(t, page)
		if page == "docs/upgrade.md" { // its first column has the names that are gone
			text = regexp.MustCompile(`(?m)^\|[^|]*\|`).ReplaceAllString(text, "|")
		}
		for _, found := range code.FindAllStringSubmatch(text, -1) {
			if filePath.MatchString(found[1]) {
				assert.FileExists(t, filepath.Join(root, found[1]), "%s names it", page)
			}
			for _, name := range qualified.FindAllStringSubmatch(found[1], -1) {
				checkName(t, page, name[1], name[2], name[3])
			}
		}
		for _, name := range inText.FindAllString(text, -1) {
			assert.NotEmpty(t, tests[name], "%s names the test %s, which does not exist", page, name)
		}
		for _, id := range contractI.FindAllString(text, -1) {
			assert.Contains(t, ids, `"`+id+`"`, "%s names it", page)
		}
	}
}

func checkName(t *testing.T, page, in, name, member string) {
	t.Helper()
	if folders[in] == "" {
		return // the name belongs to another package, or to none
	}
	p := load(t, in)
	if !assert.True(t, p.has(name), "%s names %s.%s, which does not exist", page, in, name) || member == "" {
		return
	}
	assert.True(t, p.hasMember(t, name, member), "%s names %s.%s.%s, which does not exist", page, in, name, member)
}

// testNames returns the test functions of all modules, with their files.
func testNames(tb testing.TB) map[string]string {
	tb.Helper()
	names := make(map[string]string)
	declares := regexp.MustCompile(`(?m)^func (Test\w+|Example\w*|Fuzz\w+)\(`)
	err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, found := range declares.FindAllStringSubmatch(string(text), -1) {
			names[found[1]] = filepath.ToSlash(strings.TrimPrefix(path, root+"/"))
		}
		return err
	})
	require.NoError(tb, err)
	return names
}

// A link's brackets may occur in a program, too: engine.As[order](answer).
var fenced = regexp.MustCompile("(?ms)^```.*?^```")

var link = regexp.MustCompile(`\]\(([^)#\s]*)(?:#([^)\s]*))?\)`)

// The target of each link within the repository exists, including the heading.
func TestLinksLeadSomewhere(t *testing.T) {
	for _, page := range pages(t) {
		for _, found := range link.FindAllStringSubmatch(fenced.ReplaceAllString(read(t, page), ""), -1) {
			target := page
			if strings.Contains(found[1], "://") {
				continue
			}
			if found[1] != "" {
				target = filepath.ToSlash(filepath.Join(filepath.Dir(page), found[1]))
			}
			_, err := os.Stat(filepath.Join(root, target))
			if assert.NoError(t, err, "%s links to it", page) && found[2] != "" {
				assert.Contains(t, anchors(read(t, target)), found[2], "%s links to %s#%s", page, target, found[2])
			}
		}
	}
}

// anchors returns the anchors of a page's headings.
func anchors(text string) (all []string) {
	gone := regexp.MustCompile("[^a-z0-9 _-]")
	for _, heading := range regexp.MustCompile(`(?m)^#+ (.+)$`).FindAllStringSubmatch(text, -1) {
		all = append(all, strings.ReplaceAll(gone.ReplaceAllString(strings.ToLower(heading[1]), ""), " ", "-"))
	}
	return all
}

// The five behaviours of docs/internals/glossary.md: each row has a rule of the contract, a function in a
// file, and a test or a story.
func TestBehavioursAreFoundInTwoHops(t *testing.T) {
	_, section, found := strings.Cut(read(t, "docs/internals/glossary.md"), "## Five behaviours, and where they are\n")
	require.True(t, found)
	section, _, _ = strings.Cut(section, "\n## ")
	table := rows(section)
	require.Len(t, table, 5)
	place := regexp.MustCompile("`([^`]+)`(?: \\(([^)]+)\\))?")
	for _, r := range table {
		require.Len(t, r, 4, "behaviour, rule, code, test: %s", r)
		require.Regexp(t, contractI, r[1])
		for _, cell := range r[2:] {
			places := place.FindAllStringSubmatch(cell, -1)
			require.NotEmpty(t, places, cell)
			for _, p := range places {
				checkPlace(t, p[1], p[2])
			}
		}
	}
}

// checkPlace fails the test unless the file declares the functions.
func checkPlace(t *testing.T, path, functions string) {
	t.Helper()
	if !assert.FileExists(t, filepath.Join(root, path)) || !strings.HasSuffix(path, ".go") {
		return
	}
	require.NotEmpty(t, functions, "%s: name the function", path)
	file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, path), nil, parser.SkipObjectResolution)
	require.NoError(t, err)
	declared := make(map[string]bool)
	for _, d := range file.Decls {
		if f, ok := d.(*ast.FuncDecl); ok {
			declared[f.Name.Name] = true
		}
	}
	for _, f := range code.FindAllStringSubmatch(functions, -1) {
		assert.True(t, declared[f[1]], "glossary.md says that %s has the function %s; it is in %v", path, f[1],
			declaring(t, filepath.Dir(path), f[1]))
	}
}

// declaring returns the files of a folder that declare the function, to show where it was moved.
func declaring(t *testing.T, dir, function string) (files []string) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(root, dir, "*.go"))
	require.NoError(t, err)
	declares := regexp.MustCompile(`(?m)^func (?:\([^)]*\) )?` + function + `\(`)
	for _, path := range paths {
		if declares.MatchString(read(t, strings.TrimPrefix(path, root+"/"))) {
			files = append(files, path)
		}
	}
	return files
}

// The page lists each retired word that names must not have, with what to write instead.
func TestTheGlossaryHasTheRetiredWords(t *testing.T) {
	_, section, found := strings.Cut(read(t, "docs/internals/glossary.md"), "## Retired words\n")
	require.True(t, found)
	file, err := parser.ParseFile(token.NewFileSet(), root+"/internal/arch/words_test.go", nil, 0)
	require.NoError(t, err)
	ast.Inspect(file, func(n ast.Node) bool {
		v, ok := n.(*ast.ValueSpec)
		if !ok || !strings.HasPrefix(v.Names[0].Name, "retired") {
			return true
		}
		for _, e := range v.Values[0].(*ast.CompositeLit).Elts {
			word := strings.Trim(e.(*ast.KeyValueExpr).Key.(*ast.BasicLit).Value, `"`)
			assert.Contains(t, section, "`"+word+"`", "a word that internal/arch refuses")
		}
		return false
	})
}
