package docs_test

import (
	"go/ast"
	"go/constant"
	"go/token"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/lifecycle"
)

// units are the units that follow a number in docs/limits.md.
var units = map[string]int64{
	"": 1, "bytes": 1, "KiB": 1 << 10, "MiB": 1 << 20,
	"ms": int64(time.Millisecond), "s": int64(time.Second), "min": int64(time.Minute), "days": 24 * int64(time.Hour),
}

var quantity = regexp.MustCompile(`^([\d,]+)(?: (\w+))?$`)

// Each number in docs/limits.md matches the code.
func TestLimitsAreThoseOfTheCode(t *testing.T) {
	table := rows(read(t, "docs/limits.md"))
	require.Greater(t, len(table), 50)
	for _, r := range table {
		require.Len(t, r, 3)
		found := quantity.FindStringSubmatch(r[1])
		require.NotNil(t, found, "a number, and a unit: %s", r)
		n, err := strconv.ParseInt(strings.ReplaceAll(found[1], ",", ""), 10, 64)
		require.NoError(t, err)
		require.Contains(t, units, found[2], "%s", r)
		n *= units[found[2]]

		for cell := range strings.SplitSeq(r[2], ", ") {
			checkLimit(t, r[0], strings.Split(strings.Trim(cell, "`"), "."), n)
		}
	}
}

// checkLimit checks that the code has the limit n: in a constant, in a field of Spec that Validate
// checks, or in a field that has a default.
func checkLimit(t *testing.T, limit string, holder []string, n int64) {
	t.Helper()
	switch p := load(t, holder[0]); {
	case len(holder) == 2:
		got, exact := constant.Int64Val(p.value(t, ast.NewIdent(holder[1])))
		assert.True(t, exact)
		assert.Equal(t, got, n, "%s of docs/limits.md", limit)
	case holder[1] == "Spec":
		require.NoError(t, withSize(t, holder[2], int(n)).Validate(), limit)
		require.ErrorIs(t, withSize(t, holder[2], int(n)+1).Validate(), lifecycle.ErrInvalidSpec, limit)
	default:
		got, exact := constant.Int64Val(p.otherwise(t, holder[2]))
		assert.True(t, exact)
		assert.Equal(t, got, n, "%s of docs/limits.md", limit)
	}
}

// withSize returns a specification whose field has the size.
func withSize(tb testing.TB, field string, n int) (s lifecycle.Spec) {
	tb.Helper()
	s.Prompt = "Do it."
	text := strings.Repeat("a", n)
	switch field {
	case "ID":
		s.ID = text
	case "Engine":
		s.Engine = text
	case "Pool":
		s.Pool = text
	case "Key":
		s.Key = text
	case "Title":
		s.Title = text
	case "WorkDir":
		s.WorkDir = text
	case "Meta":
		s.Meta = map[string]string{text: "b"}
	case "Labels":
		s.Labels = map[string]string{text: strings.Repeat("b", 255)}
	case "MaxQuestions":
		s.MaxQuestions = n
	case "Priority":
		s.Priority = -n
	default:
		tb.Fatalf("how is Spec.%s made so large?", field)
	}
	return s
}

// value computes an expression of constants.
func (p *pkg) value(tb testing.TB, e ast.Expr) constant.Value {
	tb.Helper()
	switch e := e.(type) {
	case *ast.BasicLit:
		return constant.MakeFromLiteral(e.Value, e.Kind, 0)
	case *ast.ParenExpr:
		return p.value(tb, e.X)
	case *ast.Ident:
		require.NotNil(tb, p.consts[e.Name], "package %s has no constant %s", p.name, e.Name)
		return p.value(tb, p.consts[e.Name])
	case *ast.SelectorExpr:
		other := typeName(e.X)
		if d, ok := durations[e.Sel.Name]; ok && other == "time" {
			return constant.MakeInt64(int64(d))
		}
		return load(tb, other).value(tb, e.Sel)
	case *ast.BinaryExpr:
		x, y := p.value(tb, e.X), p.value(tb, e.Y)
		if e.Op == token.SHL || e.Op == token.SHR {
			by, _ := constant.Uint64Val(y)
			return constant.Shift(x, e.Op, uint(by))
		}
		if e.Op == token.QUO {
			return constant.BinaryOp(x, token.QUO_ASSIGN, y) // integer division
		}
		return constant.BinaryOp(x, e.Op, y)
	}
	tb.Fatalf("package %s: an expression that this test does not know: %T", p.name, e)
	return nil
}

var durations = map[string]time.Duration{
	"Millisecond": time.Millisecond, "Second": time.Second, "Minute": time.Minute, "Hour": time.Hour,
}

// otherwise returns the default that a package gives to a zero field:
// if x.Field == 0 { x.Field = value }, x.Field = cmp.Or(x.Field, value), or orElse(&x.Field, value).
func (p *pkg) otherwise(tb testing.TB, field string) (v constant.Value) {
	tb.Helper()
	isField := func(e ast.Expr) bool {
		if address, ok := e.(*ast.UnaryExpr); ok && address.Op == token.AND {
			e = address.X
		}
		s, ok := e.(*ast.SelectorExpr)
		return ok && s.Sel.Name == field
	}
	for _, f := range p.bodies {
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.IfStmt:
				c, ok := n.Cond.(*ast.BinaryExpr)
				if !ok || c.Op != token.EQL || !isField(c.X) || len(n.Body.List) != 1 {
					return true
				}
				if set, ok := n.Body.List[0].(*ast.AssignStmt); ok && isField(set.Lhs[0]) {
					v = p.value(tb, set.Rhs[0])
				}
			case *ast.CallExpr:
				if f := typeName(n.Fun); (f == "cmp.Or" || f == "orElse") && len(n.Args) == 2 && isField(n.Args[0]) {
					v = p.value(tb, n.Args[1])
				}
			}
			return true
		})
	}
	require.NotNil(tb, v, "package %s gives no value to a %s that is zero", p.name, field)
	return v
}
