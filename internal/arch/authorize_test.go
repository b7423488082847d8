package arch_test

import (
	"go/ast"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// unasked are the exported methods of Client and Lifecycle that do not ask Authorize, each with its
// reason.
var unasked = map[string]string{
	"As":             "it reads and changes no run",
	"Close":          "it reads and changes no run",
	"MaxRemember":    "it reads and changes no run",
	"Now":            "it reads and changes no run",
	"On":             "it reads and changes no run",
	"Ready":          "it reads and changes no run",
	"Recover":        "recovery settles what dead processes left, for nobody",
	"Serve":          "workers and deadlines execute what was allowed before",
	"Stuck":          "it lists calls of this process",
	"WithPrincipals": "it reads the directory, and no run",
}

// askers are the functions of lifecycle/authorize.go that ask Authorize.
var askers = []string{"allow", "allowActor", "allowInbox", "allowQuery", "allowView", "allowFeed",
	"allowPool"}

// K6: whatever door a person comes through, it calls a Client, and each call that reads or changes
// runs asks Authorize: by itself, or by a method that it calls.
func TestEveryCallAsksAuthorize(t *testing.T) {
	calls := make(map[string][]string) // by method: the methods of its receiver that it calls
	eachFile(t, "../../lifecycle", func(path string, file *ast.File) {
		if filepath.Base(filepath.Dir(path)) != "lifecycle" || strings.HasSuffix(path, "_test.go") {
			return
		}
		for _, decl := range file.Decls {
			f, ok := decl.(*ast.FuncDecl)
			if !ok || f.Recv == nil || !isPointerTo(f.Recv.List[0].Type, "Client", "Lifecycle") {
				continue
			}
			receiver := f.Recv.List[0].Names[0].Name
			calls[f.Name.Name] = nil
			ast.Inspect(f.Body, func(n ast.Node) bool {
				s, ok := n.(*ast.SelectorExpr)
				if !ok {
					return true
				}
				if x, ok := s.X.(*ast.Ident); ok && x.Name == receiver {
					calls[f.Name.Name] = append(calls[f.Name.Name], s.Sel.Name)
				}
				return true
			})
		}
	})
	require.Greater(t, len(calls), 20)
	asks := make(map[string]bool)
	for _, name := range askers {
		require.Contains(t, calls, name)
		asks[name] = true
	}
	for changed := true; changed; {
		changed = false
		for name, called := range calls {
			if !asks[name] && slices.ContainsFunc(called, func(callee string) bool { return asks[callee] }) {
				asks[name], changed = true, true
			}
		}
	}
	for name := range calls {
		switch {
		case !ast.IsExported(name):
		case unasked[name] != "":
			require.False(t, asks[name], "%s asks Authorize: take it off the list", name)
		default:
			require.True(t, asks[name], "%s does not ask Authorize: call allow (lifecycle/authorize.go) after it has "+
				"read the run", name)
		}
	}
	for name := range unasked {
		require.Contains(t, calls, name)
	}
}

// isPointerTo reports whether the type is a pointer to a named type in the list.
func isPointerTo(expr ast.Expr, names ...string) bool {
	star, ok := expr.(*ast.StarExpr)
	if !ok {
		return false
	}
	name, ok := star.X.(*ast.Ident)
	return ok && slices.Contains(names, name.Name)
}
