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
	"As":      "it reads and changes no run",
	"Close":   "it reads and changes no run",
	"On":      "it reads and changes no run",
	"Recover": "recovery settles what dead processes left, for nobody",
	"Serve":   "workers and deadlines execute what was allowed before",
	"Stuck":   "it lists calls of this process",
}

// askers are the functions of lifecycle/authorize.go that ask Authorize.
var askers = []string{"allow", "allowActor", "allowQuery", "allowView"}

// K6: whatever door a person comes through, it calls a Client, and each call that reads or changes
// runs asks Authorize: by itself, or by the exported call that it is made of.
func TestEveryCallAsksAuthorize(t *testing.T) {
	calls := make(map[string][]string) // by exported method: the methods of its receiver that it calls
	eachFile(t, "../../lifecycle", func(path string, file *ast.File) {
		if filepath.Base(filepath.Dir(path)) != "lifecycle" || strings.HasSuffix(path, "_test.go") {
			return
		}
		for _, decl := range file.Decls {
			f, ok := decl.(*ast.FuncDecl)
			if !ok || f.Recv == nil || !f.Name.IsExported() || !isPointerTo(f.Recv.List[0].Type, "Client",
				"Lifecycle") {
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
	for name, called := range calls {
		asks := slices.ContainsFunc(called, func(callee string) bool {
			_, exported := calls[callee]
			return slices.Contains(askers, callee) || exported && unasked[callee] == ""
		})
		if unasked[name] != "" {
			require.False(t, asks, "%s asks Authorize: take it off the list", name)
			continue
		}
		require.True(t, asks, "%s does not ask Authorize: call allow (lifecycle/authorize.go) after it has read the "+
			"run", name)
	}
	for name := range unasked {
		require.Contains(t, calls, name)
	}
}

// isPointerTo reports whether the type is a pointer to one of the named types.
func isPointerTo(expr ast.Expr, names ...string) bool {
	star, ok := expr.(*ast.StarExpr)
	if !ok {
		return false
	}
	name, ok := star.X.(*ast.Ident)
	return ok && slices.Contains(names, name.Name)
}
