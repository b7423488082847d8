package main

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A program with all mutants finds the same survivors as a program for each of them. A mutant that
// cannot be woven in, of a constant or a text, is tried with a separate program.
func TestTogetherSeesWhatSingleProgramsSee(t *testing.T) {
	root, mutants := small(t)
	src, err := load(t.Context(), root, "small")
	require.NoError(t, err)
	for i := range mutants {
		m := &mutants[i]
		m.status = runnable
		if src.check(m.file, m.source) != nil {
			m.status = notViable
		}
	}
	c, spent, err := trial{root: root, pkg: "small"}.choose(t.Context(), src, t.TempDir(), mutants)
	require.NoError(t, err)
	require.Positive(t, spent)
	became, together := map[string]status{}, 0
	for _, c.patience = range []time.Duration{time.Second, time.Minute} {
		part := slices.Clone(mutants)
		for i, m := range part {
			if patience(m) != c.patience {
				part[i].status = notViable // which is not tried
			}
		}
		_, err = c.settle(t.Context(), part, 2)
		require.NoError(t, err)
		for _, m := range part {
			if patience(m) == c.patience {
				became[m.after] = m.status
			}
		}
	}
	for i := range mutants {
		if c.in[i+1] {
			together++
		}
	}
	require.Equal(t, map[string]status{
		"var Limit = 1 >> 3":       killed,
		"const Hidden = 5 - 1":     lived,
		"case n <= 0:":             killed,
		"case n >= 0:":             killed,
		"case n >= Limit:":         killed,
		"case n <= Limit:":         killed,
		`return "much of " - "it"`: notViable,
		"for n >= 5 {":             lived,
		"for n <= 5 {":             timedOut,
		"n++":                      timedOut,
		"func Untested(a, b bool) bool { return a || b }": lived,
	}, became)
	require.Equal(t, len(mutants)-2, together, "all but the constant and the text")
	_, err = os.Stat(root + "/small/internal")
	require.ErrorIs(t, err, os.ErrNotExist, "the tree must not be modified")
}

// A change that the package's own tests do not detect is tried with other packages' tests.
func TestAlsoTriesTestsOfOtherPackages(t *testing.T) {
	root, mutants := small(t)
	other := filepath.Join(root, "other")
	require.NoError(t, os.Mkdir(other, 0o750))
	require.NoError(t, os.WriteFile(filepath.Join(other, "other_test.go"), []byte(
		"package other\n\nimport (\n\t\"testing\"\n"+
			"\n\t\"example.org/sm/small\"\n)\n\nfunc TestOther(t *testing.T) {\n\tif small.Untested(true, false) || "+
			"small.Hidden != 6 {\n\t\tt.Fail()\n\t}\n}\n\nfunc TestFails(t *testing.T) { t.Fail() }\n"), 0o600))
	src, err := load(t.Context(), root, "small")
	require.NoError(t, err)
	for i := range mutants {
		m := &mutants[i]
		if m.status = runnable; src.check(m.file, m.source) != nil || patience(*m) < time.Minute {
			m.status = notViable
		}
	}
	tr := trial{root: root, pkg: "small", patience: time.Minute, also: parseSuites("other:Other")}
	tr.also[0].patience = time.Minute
	c, _, err := tr.choose(t.Context(), src, t.TempDir(), mutants)
	require.NoError(t, err)
	_, err = c.settle(t.Context(), mutants, 2)
	require.NoError(t, err)
	for _, m := range mutants {
		if m.status == lived {
			require.Equal(t, "for n >= 5 {", m.after)
		}
	}
}

// A constant takes its type from its context, and keeps it in the call that replaces it.
func TestConstantsKeepTheirType(t *testing.T) {
	root := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(root, "typed"), 0o750))
	files := map[string]string{
		"go.mod": "module example.org/typed\n\ngo 1.25.0\n",
		"typed/typed.go": "package typed\n\nfunc A() rune { return -1 }\n" +
			"func B() byte { return 5 - 1 }\nfunc C() rune { return 5 + 1 }\nfunc D() rune { return 1<<3 - 1 }\n",
		"typed/typed_test.go": "package typed\n\nimport \"testing\"\n\nfunc TestTyped(t *testing.T) {\n" +
			"\tif A() != -1 || C() != 6 || D() != 7 {\n\t\tt.Error(A(), C(), D())\n\t}\n}\n",
	}
	for name, text := range files {
		require.NoError(t, os.WriteFile(filepath.Join(root, name), []byte(text), 0o600))
	}
	src, err := load(t.Context(), root, "typed")
	require.NoError(t, err)
	all := []mutant{{line: 3, column: 24, kind: "INVERT_NEGATIVES"}, {line: 4, column: 26, kind: "ARITHMETIC_BASE"},
		{line: 5, column: 26, kind: "ARITHMETIC_BASE"}, {line: 6, column: 29, kind: "ARITHMETIC_BASE"},
		{line: 6, column: 25, kind: "INVERT_BITWISE"}}
	for i := range all {
		all[i].file = "typed.go"
	}
	c, _, err := trial{root: root, pkg: "typed", patience: time.Minute}.choose(t.Context(), src, t.TempDir(), all)
	require.NoError(t, err)
	for i := range all {
		require.NoError(t, all[i].apply([]byte(files["typed/typed.go"])))
	}
	for _, c.slow = range []string{"", "Typed", "NoSuchTest"} { // whichever tests come last
		_, err = c.settle(t.Context(), all, 2)
		require.NoError(t, err)
		for i, want := range []status{killed, lived, killed, killed, killed} {
			require.Equal(t, want, all[i].status, all[i].after)
		}
	}
	require.Len(t, c.in, 4, "all but the constant in another constant")
}
