// Package arch tests which package may import which, and why.
package arch_test

import (
	"bytes"
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"go/version"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const house = "github.com/interlude-go/interlude"

// pkg is the part of go list's output about a package that the tests need.
type pkg struct {
	ImportPath, Dir                    string
	Imports, TestImports, XTestImports []string
	Module                             struct{ Path string }
}

// needs matches the Go version that a module requires.
var needs = regexp.MustCompile(`(?m)^go (\S+)$`)

// packages lists the packages of the module in the folder. It lists none if the module requires a
// newer Go than the running one, as engine/adk may.
func packages(t *testing.T, dir string) []pkg {
	t.Helper()
	mod, err := os.ReadFile(filepath.Join("..", "..", dir, "go.mod"))
	require.NoError(t, err)
	if need := needs.FindStringSubmatch(string(mod)); dir == "engine/adk" && version.Compare(runtime.Version(),
		"go"+need[1]) < 0 {
		t.Logf("%s is passed over: it needs Go %s", dir, need[1])
		return nil
	}
	cmd := exec.CommandContext(t.Context(), "go", "list",
		"-json=ImportPath,Dir,Imports,TestImports,XTestImports,Module", "./...")
	cmd.Dir = filepath.Join("..", "..", dir)
	if dir == "engine/adk" { // it requires a newer Go than the workspace
		cmd.Env = append(os.Environ(), "GOWORK=off")
	}
	out, err := cmd.Output()
	require.NoError(t, err)
	var all []pkg
	for dec := json.NewDecoder(strings.NewReader(string(out))); dec.More(); {
		var p pkg
		require.NoError(t, dec.Decode(&p))
		all = append(all, p)
	}
	require.NotEmpty(t, all)
	return all
}

// within reports whether the path is the package or below it.
func within(path, pkg string) bool { return path == pkg || strings.HasPrefix(path, pkg+"/") }

// rule forbids imports of to by from, except those in but. The paths are relative to the root
// module.
type rule struct {
	from, to string
	but      []string
	why      string
}

var rules = []rule{
	{"fsm", "", nil, "fsm is generated from the contract and pure: it imports no other package of the module"},
	{"contract", "lifecycle", nil, "the contract describes behaviour; it does not know the code that behaves so"},
	{"contract", "store", nil, "the contract knows events, not how they are stored"},
	{"contract", "engine", nil, "the contract knows evidence, not the engine that gives it"},
	{"contract/fcmp", "contract/audit", nil, "who writes events shares no code with the judge"},
	{"slots", "", nil, "slots is pure policy over names and numbers"},
	{"interaction", "", []string{"fsm", "internal/schema"}, "interaction is text and time; it needs no more than the " +
		"contract's words, and the schemas of forms"},
	{"store", "engine", nil, "store and engine do not depend on each other"},
	{"engine", "store", nil, "store and engine do not depend on each other"},
	{"store", "contract", nil, "a store keeps events; it does not interpret them"},
	{"engine", "contract", nil, "an engine gives evidence; the gate decides"},
	{"engine", "lifecycle", nil, "arrows point one way: lifecycle uses engines"},
	{"store", "lifecycle", nil, "arrows point one way: lifecycle uses stores"},
	{"engine/netguard", "", nil, "a package of tools does not know who uses it"},
	{"internal/schema", "lifecycle", nil, "a package of tools does not know who uses it"},
	{"internal/plainjson", "", nil, "a package of tools does not know who uses it"},
	{"internal/procid", "", nil, "a package of tools does not know who uses it"},
	{"internal/hostile", "", []string{"interaction"}, "a package of tools does not know who uses it"},
	{"internal/sample", "", nil, "a package of tools does not know who uses it"},
}

func TestImportsFollowTheRules(t *testing.T) {
	for _, p := range packages(t, ".") {
		for _, r := range rules {
			if !within(p.ImportPath, house+"/"+r.from) {
				continue
			}
			for _, imported := range p.Imports {
				forbidden := within(imported, strings.TrimSuffix(house+"/"+r.to, "/")) && !within(imported,
					house+"/"+r.from)
				allowed := slices.ContainsFunc(r.but, func(but string) bool { return within(imported, house+"/"+but) })
				require.False(t, forbidden && !allowed, "%s imports %s: %s", p.ImportPath, imported, r.why)
			}
		}
	}
}

// A run's events are written with contract/fcmp and judged with contract/audit. No package may
// import both, so that the judge stays independent.
func TestWritersOfLogsDoNotImportTheirChecker(t *testing.T) {
	for _, p := range packages(t, ".") {
		if within(p.ImportPath, house+"/contract") || strings.HasSuffix(p.ImportPath, "test") ||
			p.ImportPath == house+"/lifecycle/stories" {
			continue // the checker's own command, and suites that judge the logs they recorded
		}
		require.NotContains(t, p.Imports, house+"/contract/audit", p.ImportPath)
	}
}

func TestNobodyImportsLifecycle(t *testing.T) {
	for _, p := range packages(t, ".") {
		if within(p.ImportPath, house+"/lifecycle") || within(p.ImportPath, house+"/host") {
			continue // the front ends in host are above it: they call its Client, as a host does
		}
		for _, imported := range p.Imports {
			require.False(t, within(imported, house+"/lifecycle"), "%s imports %s: lifecycle is the API of hosts, and "+
				"nothing below it knows it", p.ImportPath, imported)
		}
	}
}

// nestedModules are the modules other than the root. Each keeps its dependencies out of the root
// module.
var nestedModules = []string{"engine/acp", "engine/adk", "engine/eino", "interaction/typed", "store/sqlite",
	"store/postgres", "host/all", "host/front", "host/link", "host/mcp", "host/notify", "host/otel", "host/policy",
	"host/render", "host/signin", "host/slack", "host/ui",
	"host/web", "cmd", "examples", "examples/anthropic", "examples/openai", "proof"}

func TestRootKnowsNoNestedModule(t *testing.T) {
	for _, p := range packages(t, ".") {
		for _, imported := range slices.Concat(p.Imports, p.TestImports, p.XTestImports) {
			for _, nested := range nestedModules {
				require.False(t, within(imported, house+"/"+nested), "%s imports %s: a host pays only for what it "+
					"imports", p.ImportPath, imported)
			}
		}
	}
}

func TestNestedModulesUseExportedAPIOnly(t *testing.T) {
	for _, dir := range nestedModules {
		for _, p := range packages(t, dir) {
			for _, imported := range slices.Concat(p.Imports, p.TestImports, p.XTestImports) {
				tool := imported == house+"/internal/sample" || imported == house+"/internal/hostile"
				if tool && !slices.Contains(p.Imports, imported) {
					continue // only our tests need them
				}
				inner := strings.HasPrefix(imported, house+"/internal/")
				require.False(t, inner, "%s imports %s: nested modules are what third parties could write",
					p.ImportPath, imported)
			}
		}
	}
}

// A host should read one package's documentation: lifecycle has everything that it needs of store,
// interaction, slots, fsm and fcmp, and engine has the same for the author of an engine.
func TestExamplesImportLifecycleEngineAndAStoreOnly(t *testing.T) {
	for _, p := range packages(t, "examples") {
		for _, imported := range slices.Concat(p.Imports, p.TestImports, p.XTestImports) {
			for _, inner := range []string{"contract", "fsm", "interaction", "slots"} {
				require.False(t, within(imported, house+"/"+inner), "%s imports %s: what a host needs of it is in "+
					"lifecycle or engine (aliases.go)", p.ImportPath, imported)
			}
			require.NotEqual(t, house+"/store", imported, "%s: lifecycle has what a host needs of it", p.ImportPath)
		}
	}
}

// The script that installs PostgreSQL and the tests look for it in the same places.
func TestScriptsAndTestsFindPostgreSQLInTheSamePlaces(t *testing.T) {
	source, err := os.ReadFile("../../store/postgres/pglocal/programs.go")
	require.NoError(t, err)
	script, err := os.ReadFile("../../.ci/postgres.sh")
	require.NoError(t, err)
	places := regexp.MustCompile(`(?m)^\t"(/[^"]+)",`).FindAllStringSubmatch(string(source), -1)
	require.NotEmpty(t, places)
	for _, place := range places {
		require.Contains(t, strings.Fields(string(script)), place[1])
	}
}

// dependencies are all direct dependencies that the root module may have, each with its reason.
var dependencies = map[string]string{
	"github.com/qmuntal/stateless":             "the state machine",
	"github.com/santhosh-tekuri/jsonschema/v5": "JSON Schema, behind internal/schema",
	"golang.org/x/sync":                        "errgroup and semaphore",
	"golang.org/x/text":                        "Unicode normal forms, in comparing replies with options",
	"go.yaml.in/yaml/v3":                       "questions come as YAML",
	"github.com/stretchr/testify":              "tests, and the exported suites",
	"pgregory.net/rapid":                       "tests, and the exported suites",
}

func TestTheRootHasFewDependencies(t *testing.T) {
	text, err := os.ReadFile("../../go.mod")
	require.NoError(t, err)
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if len(fields) == 2 && strings.HasPrefix(line, "\t") {
			require.Contains(t, dependencies, fields[0], "a direct dependency needs a reason here")
		}
	}
}

// pure packages read no clock, start no goroutine and touch no file.
var pure = []string{"fsm", "slots", "interaction", "contract", "lifecycle/internal/decide"}

func TestPurePackagesImportNoIO(t *testing.T) {
	for _, dir := range pure {
		eachFile(t, filepath.Join("../..", dir), func(path string, file *ast.File) {
			// a command may do I/O for the pure package next to it
			if strings.HasSuffix(path, "_test.go") || file.Name.Name == "main" {
				return
			}
			for _, i := range file.Imports {
				name := strings.Trim(i.Path.Value, `"`)
				require.False(t, slices.Contains([]string{"os", "net", "net/http", "os/exec", "path/filepath"}, name),
					"%s imports %s: %s is pure", path, name, dir)
			}
			ast.Inspect(file, func(n ast.Node) bool {
				if _, ok := n.(*ast.GoStmt); ok {
					t.Errorf("%s starts a goroutine: %s is pure", path, dir)
				}
				if s, ok := n.(*ast.SelectorExpr); ok {
					if x, ok := s.X.(*ast.Ident); ok && x.Name == "time" && slices.Contains([]string{"Now", "Since",
						"Until", "Sleep", "After", "NewTimer"}, s.Sel.Name) {
						t.Errorf("%s calls time.%s: time is a parameter in %s", path, s.Sel.Name, dir)
					}
				}
				return true
			})
		})
	}
}

// decides are the packages of ours that decisions may import: the contract's tables, the types of
// records, questions and outcomes, and the form of events. None is a store driver, an engine or a
// clock, and a decision that has a context could wait.
var decides = []string{"contract/fcmp", "engine", "fsm", "interaction", "internal/schema", "store"}

func TestDecisionsArePure(t *testing.T) {
	for _, p := range packages(t, ".") {
		if p.ImportPath != house+"/lifecycle/internal/decide" {
			continue
		}
		for _, imported := range p.Imports {
			ours, is := strings.CutPrefix(imported, house+"/")
			require.False(t, is && !slices.Contains(decides, ours), "decide imports %s: a decision needs the run, the "+
				"evidence and the time", imported)
			require.NotContains(t, []string{"context", "crypto/rand", "math/rand", "math/rand/v2"}, imported,
				"a decision that is computed again has the same result")
		}
		return
	}
	t.Fatal("there is no package lifecycle/internal/decide")
}

// skips are the files that may skip a test, each with its reason.
var skips = map[string]string{
	"internal/arch/arch_test.go": "it names what it looks for",
	"internal/sample/sample.go":  "a test of a single goroutine is run without the race detector, by test.sh",
	"engine/agents/agentstest/agentstest.go": "real agents are hundreds of megabytes: outside CI a test of one that " +
		"is missing says in a line what to do; in CI it fails, but for the one that CI may not install",
	"proof/page/browser_test.go": "a browser is hundreds of megabytes: in CI it must be there",
}

// drawing lists the test files with random choices in a child process. With the seed of sample.N, all
// children would make the same choices.
var drawing = []string{"engine/process/host_linux_test.go", "proof/frontends/node_test.go"}

// TestNoForbiddenFileNamesSleepsOrSkips enforces the rules for source files that a program can
// check.
func TestNoForbiddenFileNamesSleepsOrSkips(t *testing.T) {
	eachFile(t, "../..", func(path string, file *ast.File) {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		isTest := strings.HasSuffix(path, "_test.go")
		if !isTest && !strings.HasSuffix(path, ".gen.go") {
			require.LessOrEqual(t, strings.Count(string(text), "\n"), 500, "%s: a file that a reader dreads; split "+
				"it by idea", path)
		}
		if !isTest && !imports(file, "testing") {
			return
		}
		bubble := strings.Contains(string(text), "testing/synctest")
		searches := bytes.HasPrefix(text, []byte("//go:build search"))
		name := filepath.ToSlash(strings.TrimPrefix(path, "../../"))
		ast.Inspect(file, func(n ast.Node) bool {
			s, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			x, ok := s.X.(*ast.Ident)
			if !ok {
				return true
			}
			if x.Name == "time" && s.Sel.Name == "Sleep" && isTest && !bubble {
				t.Errorf("%s sleeps: wait for the thing itself, or use a bubble", path)
			}
			if slices.Contains([]string{"Skip", "Skipf", "SkipNow"}, s.Sel.Name) && x.Name != "filepath" &&
				skips[name] == "" {
				t.Errorf("%s skips: in CI nothing is skipped", path)
			}
			if x.Name == "rand" && slices.Contains([]string{"N", "IntN", "Int64N", "Perm", "Shuffle"}, s.Sel.Name) &&
				isTest && !searches && !slices.Contains(drawing, name) {
				t.Errorf("%s draws differently each time: use sample.N", path)
			}
			return true
		})
	})
}

// Rule 20: the packages that test.sh tests without the race detector start no goroutine, neither
// they nor their tests: by a statement, a group, a parallel test, a timer or a server. Goroutines of
// imported packages are not seen: those packages' own tests run with the detector.
func TestPackagesWithoutTheRaceDetectorStartNoGoroutine(t *testing.T) {
	text, err := os.ReadFile("../../test.sh")
	require.NoError(t, err)
	_, list, _ := strings.Cut(string(text), "\nsequential=(")
	list, _, _ = strings.Cut(list, ")")
	require.NotEmpty(t, list)
	for _, folder := range strings.Fields(list) {
		files, err := filepath.Glob(filepath.Join("../..", folder, "*.go"))
		require.NoError(t, err)
		require.NotEmpty(t, files, folder)
		for _, path := range files {
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			require.NoError(t, err)
			ast.Inspect(file, func(n ast.Node) bool {
				_, starts := n.(*ast.GoStmt)
				if s, ok := n.(*ast.SelectorExpr); ok {
					starts = starts || slices.Contains([]string{"Go", "Parallel", "RunParallel", "AfterFunc",
						"NewServer", "NewTLSServer", "NewUnstartedServer", "Serve", "ListenAndServe"}, s.Sel.Name)
				}
				require.False(t, starts, "%s starts a goroutine: test it with the race detector", path)
				return true
			})
		}
	}
}

// imports reports whether the file imports the package.
func imports(file *ast.File, path string) bool {
	return slices.ContainsFunc(file.Imports, func(i *ast.ImportSpec) bool {
		return strings.Trim(i.Path.Value, `"`) == path
	})
}

// eachFile visits the Go files below a folder.
func eachFile(t *testing.T, root string, visit func(path string, file *ast.File)) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && path != root && strings.HasPrefix(d.Name(), ".") && d.Name() != ".." {
			return filepath.SkipDir
		}
		if d.IsDir() || filepath.Ext(path) != ".go" {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err == nil {
			visit(path, file)
		}
		return err
	})
	require.NoError(t, err)
}
