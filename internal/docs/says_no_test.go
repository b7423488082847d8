package docs_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// asking are the functions and kinds of questions that a person may refuse.
var (
	asking = []string{"ConfirmOf", "ChoiceOf", "ApprovalOf"}
	kinds  = []string{"Confirm", "ChooseOne", "RiskAck", "Approval"}
	// reading are methods and fields of an answer that distinguish a yes from a no.
	reading = []string{"Yes", "Option", "Approved", "Decision", "Selection"}
)

// asks reports whether the code asks a question that a person may refuse.
func asks(code ast.Node) (found bool) {
	ast.Inspect(code, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			found = found || slices.Contains(asking, selected(n.Fun)) || slices.Contains(kinds, flowCall(n))
		case *ast.KeyValueExpr:
			key, _ := n.Key.(*ast.Ident)
			found = found || key != nil && key.Name == "Kind" && slices.Contains(kinds, selected(n.Value))
		}
		return !found
	})
	return found
}

// selected returns the name after the package or value of an expression such as engine.Ask.
func selected(e ast.Expr) string {
	if generic, ok := e.(*ast.IndexExpr); ok {
		e = generic.X
	}
	if s, ok := e.(*ast.SelectorExpr); ok {
		return s.Sel.Name
	}
	return ""
}

// flowCall returns the kind of question of flow.Confirm, flow.Choose or flow.Approve.
func flowCall(call *ast.CallExpr) string {
	fun := call.Fun
	if generic, ok := fun.(*ast.IndexExpr); ok {
		fun = generic.X
	}
	s, ok := fun.(*ast.SelectorExpr)
	if !ok {
		return ""
	}
	if pkg, ok := s.X.(*ast.Ident); !ok || pkg.Name != "flow" {
		return ""
	}
	return map[string]string{"Confirm": "Confirm", "Choose": "ChooseOne", "Approve": "Approval"}[s.Sel.Name]
}

// reads reports whether a condition of the code depends on the answer.
func reads(code ast.Node) (found bool) {
	answers := map[string]bool{}
	read := func(n ast.Node) (yes bool) {
		ast.Inspect(n, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.SelectorExpr:
				yes = yes || slices.Contains(reading, n.Sel.Name)
			case *ast.CallExpr:
				yes = yes || flowCall(n) != ""
			case *ast.Ident:
				yes = yes || answers[n.Name]
			}
			return !yes
		})
		return yes
	}
	ast.Inspect(code, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			for _, value := range n.Rhs {
				if !read(value) {
					continue
				}
				for _, to := range n.Lhs {
					if id, ok := to.(*ast.Ident); ok && id.Name != "_" {
						answers[id.Name] = true
					}
				}
			}
		case *ast.IfStmt:
			found = found || read(n.Cond) || n.Init != nil && read(n.Init)
		case *ast.SwitchStmt:
			found = found || n.Tag != nil && read(n.Tag)
		case *ast.CaseClause:
			for _, c := range n.List {
				found = found || read(c)
			}
		case *ast.ReturnStmt: // a flow that returns the error of a rejection
			for _, r := range n.Results {
				found = found || read(r)
			}
		}
		return true
	})
	return found
}

// N1: each example that asks has a condition that depends on the answer, and each program among them
// has a test that says no. An example that is added is found by its question.
func TestN1EveryExampleReadsTheAnswer(t *testing.T) {
	programs := map[string]bool{}
	count := 0
	require.NoError(t, filepath.WalkDir("../..", func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() && strings.HasPrefix(d.Name(), ".") && d.Name() != ".." {
			return filepath.SkipDir
		}
		name := strings.TrimPrefix(filepath.ToSlash(path), "../../")
		within := strings.HasPrefix(name, "examples/") || strings.HasPrefix(filepath.Base(name), "example") ||
			name == "cmd/interlude/act.go"
		if !strings.HasSuffix(name, ".go") || !within {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		isProgram := !strings.HasSuffix(name, "_test.go")
		for _, decl := range file.Decls {
			if !asks(decl) {
				continue
			}
			count++
			if isProgram {
				programs[filepath.Dir(path)] = true
				continue
			}
			others := slices.ContainsFunc(file.Decls, func(d ast.Decl) bool { return !asks(d) && reads(d) })
			if !reads(decl) && !others {
				t.Errorf("%s: %s asks and does not read the answer", name, nameOf(decl))
			}
		}
		return nil
	}))
	require.Greater(t, count, 20)
	says := regexp.MustCompile(`(?s)N1[^\n]*[:,].*?\nfunc Test\w+\(.*?\n}\n`)
	no := regexp.MustCompile(`"no"|"n\\n"|Reject|"reject"`)
	for dir := range programs {
		files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
		require.NoError(t, err)
		proved := false
		for _, f := range files {
			source, err := os.ReadFile(f)
			require.NoError(t, err)
			for _, test := range says.FindAllString(string(source), -1) {
				proved = proved || no.MatchString(test)
			}
		}
		if !proved {
			t.Errorf("%s asks, and has no test with N1 that says no", dir)
		}
	}
}

// The test finds an example that does not read its answer.
func TestN1AnExampleThatReadsNoAnswerIsFound(t *testing.T) {
	for body, want := range map[string]bool{
		`return engine.Ask(engine.ConfirmOf("Ship it?")), nil`:                                        false,
		`if len(t.Answers) > 0 { return done }; return engine.Ask(engine.ConfirmOf("?")), nil`:        false,
		`if yes, _ := t.Answers[0].Yes(); yes { return done }; return engine.Ask(engine.ConfirmOf())`: true,
		`_, _ = flow.Confirm(c, "sure", q); return "shipped", nil`:                                    false,
		`ok, err := flow.Confirm(c, "sure", q); if !ok { return "no", err }; return "shipped", nil`:   true,
		`_, err := flow.Approve(c, "pay", q); return "paid", err`:                                     true,
		`q := engine.Question{Kind: engine.RiskAck}; return engine.Ask(q)`:                            false,
	} {
		file, err := parser.ParseFile(token.NewFileSet(), "", "package p\nfunc f() {"+body+"}", 0)
		require.NoError(t, err)
		require.True(t, asks(file), body)
		require.Equal(t, want, reads(file), body)
	}
}

func nameOf(decl ast.Decl) string {
	if f, ok := decl.(*ast.FuncDecl); ok {
		return f.Name.Name
	}
	return "a declaration"
}
