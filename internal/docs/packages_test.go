package docs_test

import (
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// calls are the main calls of the packages that a host uses: each has an example that is run.
var calls = map[string][]string{
	"lifecycle": {
		"Client_Submit", "Lifecycle_Serve", "Client_Events", "Client_Inbox", "Client_Reply", "Client_Cancel",
		"Client_Fork", "Client_Resume", "Spec_deadline", "Client_As", "Authorize", "AskPolicy", "AskPolicy_wait",
		"Client_Claim", "Client_Stats", "Client_Feed", "FeedFilter",
	},
	"engine/flow":         {"", "Step", "Ask", "Approve", "Ctx_Sleep", "RunAll", "All", "Ctx_Defer"},
	"lifecycle/rehearsal": {"Play", "EveryCrash"},
	"host/link":           {""},
}

func parsed(t *testing.T, folder string) (fset *token.FileSet, files, tests []*ast.File) {
	t.Helper()
	fset = token.NewFileSet()
	names, err := filepath.Glob(filepath.Join(root, folder, "*.go"))
	require.NoError(t, err)
	for _, name := range names {
		file, err := parser.ParseFile(fset, name, nil, parser.ParseComments)
		require.NoError(t, err)
		if strings.HasSuffix(name, "_test.go") {
			tests = append(tests, file)
		} else {
			files = append(files, file)
		}
	}
	return fset, files, tests
}

// Each main call of a package for hosts has a runnable example.
func TestTheMainCallsHaveExamples(t *testing.T) {
	for folder, names := range calls {
		_, _, tests := parsed(t, folder)
		var run []string
		for _, example := range doc.Examples(tests...) {
			if example.Output != "" {
				run = append(run, example.Name)
			}
		}
		for _, name := range names {
			require.Contains(t, run, name, "Example%s of %s", name, folder)
		}
	}
}

// The documentation of packages and exported names is for users: it has no requirement ids.
func TestExportedDocumentationHasNoRequirementIDs(t *testing.T) {
	id := regexp.MustCompile(`\b[A-NPR][1-9][0-9]?\b`)
	var found []string
	require.NoError(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		hidden := rel != "." && strings.HasPrefix(d.Name(), ".")
		if hidden || slices.Contains([]string{"testdata", "node_modules", "proof", "internal"}, d.Name()) {
			return filepath.SkipDir
		}
		fset, files, _ := parsed(t, rel)
		if len(files) == 0 || files[0].Name.Name == "main" {
			return nil
		}
		for _, file := range files {
			if strings.HasSuffix(fset.Position(file.Pos()).Filename, ".gen.go") {
				continue // says which rule of the contract a name is from
			}
			ast.FileExports(file) // leaves the documentation that go doc shows
			ast.Inspect(file, func(n ast.Node) bool {
				if c, ok := n.(*ast.CommentGroup); ok && id.MatchString(c.Text()) {
					found = append(found, fset.Position(c.Pos()).String()+" "+id.FindString(c.Text()))
				}
				return true
			})
		}
		return nil
	}))
	require.Empty(t, found, "requirement ids belong in tests and in the contract:\n%s", strings.Join(found, "\n"))
}

// The documentation of package lifecycle addresses hosts: its links are exported names.
func TestThePackageDocumentationNamesExports(t *testing.T) {
	for folder := range calls {
		fset, files, _ := parsed(t, folder)
		p, err := doc.NewFromFiles(fset, files, folder)
		require.NoError(t, err)
		require.NotRegexp(t, `\b[a-z_]+\.go\b|\b[a-z]+\.[a-z]+[A-Z]\w*|\b[a-z]+[A-Z]\w*\b`, programless(p.Doc), folder)
	}
}

// programless returns the documentation without its indented programs.
func programless(text string) string {
	lines := slices.DeleteFunc(strings.Split(text, "\n"), func(l string) bool { return strings.HasPrefix(l, "\t") })
	return strings.Join(lines, "\n")
}
