package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/proof/checkout"
)

// small makes a module with one package in a temporary folder, and returns the mutants that
// gremlins reported for it.
func small(t *testing.T) (root string, mutants []mutant) {
	t.Helper()
	root = t.TempDir()
	dir := filepath.Join(root, "small")
	require.NoError(t, os.Mkdir(dir, 0o750))
	require.NoError(t, os.WriteFile(filepath.Join(root, "go.mod"), []byte("module example.org/sm\n\ngo 1.25.0\n"),
		0o600))
	for _, name := range []string{"small.go", "small_test.go"} {
		text, err := os.ReadFile(filepath.Join("testdata", "small", name+".txt"))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), text, 0o600))
	}
	report, err := os.ReadFile("testdata/small/report.json")
	require.NoError(t, err)
	mutants, err = readReport(report, func(file string) ([]byte, error) {
		return os.ReadFile(filepath.Join(dir, file))
	}, false)
	require.NoError(t, err)
	return root, mutants
}

// patience is a second for a mutant that never ends, and more than a busy machine needs for another.
func patience(m mutant) time.Duration {
	if m.after == "for n <= 5 {" || m.after == "n++" {
		return time.Second
	}
	return time.Minute
}

// Mutants that gremlins skips, in tables, constants and cases, are tried. A mutant that gremlins
// calls killed, but that does not compile, is left out.
func TestMutantsThatGremlinsSkipsAreTried(t *testing.T) {
	root, mutants := small(t)
	src, err := load(t.Context(), root, "small")
	require.NoError(t, err)
	for i := range mutants {
		if m := &mutants[i]; strings.HasPrefix(m.after, "return") {
			m.status = timedOut // as happens on a busy machine
		}
	}
	var spent time.Duration
	became := map[string]status{}
	for i := range mutants {
		m := &mutants[i]
		took, err := trial{root: root, pkg: "small", patience: patience(*m)}.settle(t.Context(), src, mutants[i:i+1])
		require.NoError(t, err)
		spent += took
		became[m.after] = m.status
	}
	require.Positive(t, spent)
	require.Equal(t, map[string]status{
		"var Limit = 1 >> 3":       killed,
		"const Hidden = 5 - 1":     notCovered,
		"case n <= 0:":             killed,
		"case n >= 0:":             killed,
		"case n >= Limit:":         killed,
		"case n <= Limit:":         killed,
		`return "much of " - "it"`: notViable,
		"for n >= 5 {":             lived,
		"for n <= 5 {":             timedOut,
		"n++":                      timedOut,
		"func Untested(a, b bool) bool { return a || b }": notCovered,
	}, became)
}

func list(t *testing.T, text string) []entry {
	t.Helper()
	entries, err := parseList(text)
	require.NoError(t, err)
	return entries
}

const (
	hidden = "small.go ARITHMETIC_BASE\n- const Hidden = 5 + 1\n+ const Hidden = 5 - 1\nNobody uses it.\n\n"
	loop   = "# Two lines of reason.\nsmall.go CONDITIONALS_BOUNDARY\n- for n > 5 {\n+ for n >= 5 {\nThe loop " +
		"has\nno effect.\n\n"
	cases = "small.go CONDITIONALS_BOUNDARY\n- case n < 0:\n+ case n <= 0:\nx\n\n" +
		"small.go CONDITIONALS_NEGATION\n- case n < 0:\n+ case n >= 0:\nx\n\n" +
		"small.go CONDITIONALS_BOUNDARY\n- case n > Limit:\n+ case n >= Limit:\nx\n\n" +
		"small.go CONDITIONALS_NEGATION\n- case n > Limit:\n+ case n <= Limit:\nx\n\n" +
		"small.go INVERT_BITWISE\n- var Limit = 1 << 3\n+ var Limit = 1 >> 3\nx\n\n"
	untested = "small.go INVERT_LOGICAL\n- func Untested(a, b bool) bool { return a && b }\n+ func Untested(a, b " +
		"bool) bool { return a || b }\nx\n"
)

// Each survivor needs an explanation, a mutant that is detected must not have one, and explanations
// do not make up for too low a share.
func TestJudgeRefusesUnexplainedSurvivorsAndStaleExplanations(t *testing.T) {
	_, mutants := small(t)
	v := judge("small", mutants, nil, true)
	require.Equal(t, map[status]int{killed: 1, lived: 1, timedOut: 2, notCovered: 7}, v.count)
	require.Len(t, v.unexplained, 8)
	require.ErrorContains(t, v.err(), "small: 3 of 11 mutants are seen, 27.3 %: want 90 %")
	require.ErrorContains(t, v.err(), "small/small.go:17:8: CONDITIONALS_BOUNDARY lived and is not explained: for n "+
		">= 5 {")

	v = judge("small", mutants, list(t, hidden+loop+cases+untested), true)
	require.Empty(t, v.unexplained)
	require.Empty(t, v.stale)
	require.EqualError(t, v.err(), "small: 3 of 11 mutants are seen, 27.3 %: want 90 %",
		"all is explained, and still too little is seen")

	for i := range mutants {
		if m := &mutants[i]; m.status == notCovered {
			m.status = killed
		}
	}
	v = judge("small", mutants, list(t, loop), true)
	require.NoError(t, v.err(), "10 of 11, and one is explained")
	v = judge("small", mutants, list(t, loop+loop), true)
	require.ErrorContains(t, v.err(), "small/small.go: CONDITIONALS_BOUNDARY is explained and does not survive: for "+
		"n >= 5 {", "one reason for each")
	require.Len(t, v.stale, 1)
	v = judge("small", mutants, list(t, hidden+loop), true)
	require.ErrorContains(t, v.err(), "does not survive: const Hidden = 5 - 1")
	v = judge("small", mutants, list(t, hidden+loop), false)
	require.NoError(t, v.err(), "where files were left out, no entry counts as stale")
	v = judge("small", mutants, list(t, loop+"small.go INCREMENT_DECREMENT\n- n--\n+ n++\nIt is slower.\n"), true)
	require.NoError(t, v.err(), "a mutant that times out today may have survived yesterday")
	require.ErrorContains(t, judge("none", nil, nil, true).err(), "0 of 0")

	var out strings.Builder
	require.NoError(t, table(&out, []verdict{judge("small", mutants, nil, true)}))
	require.Regexp(t, `small\s+11\s+8\s+2\s+1\s+0\s+90\.9 %\s+0\s+0s`, out.String())
}

// A report that is incomplete, or was made from another tree, is refused.
func TestAReportOfAnotherTreeIsRefused(t *testing.T) {
	read := func(string) ([]byte, error) { return []byte("a < b\n"), nil }
	for report, want := range map[string]string{
		`{`: "reading the report of gremlins",
		`{"files":[{"file_name":"x.go","mutations":[{"type":"INVERT_LOGICAL","status":"KILLED","line":2,"column":3}]}]}`:          "x.go has no line 2",
		`{"files":[{"file_name":"x.go","mutations":[{"type":"INVERT_LOGICAL","status":"KILLED","line":1,"column":3}]}]}`:          "INVERT_LOGICAL does not change",
		`{"files":[{"file_name":"x.go","mutations":[{"type":"CONDITIONALS_BOUNDARY","status":"RUNNABLE","line":1,"column":3}]}]}`: "gremlins did not try it",
	} {
		_, err := readReport([]byte(report), read, false)
		require.ErrorContains(t, err, want)
	}
	all, err := readReport(
		[]byte(`{"files":[{"file_name":"p/x.go","mutations":[{"type":"CONDITIONALS_BOUNDARY","status":"KILLED","line":1,"column":3}]}]}`), read, false)
	require.NoError(t, err)
	require.Equal(t, "a <= b", all[0].after)
	require.Equal(t, "a <= b\n", string(all[0].source))
}

func TestReadListRefusesIncompleteEntries(t *testing.T) {
	for _, text := range []string{"x.go INVERT_LOGICAL\n- a && b\n+ a || b\n", "x.go NOTHING\n- a\n+ b\nx\n",
		"x.go INVERT_LOGICAL\na && b\na || b\nx\n"} {
		_, err := parseList(text)
		require.ErrorContains(t, err, "want the file and the mutator")
	}
	e := list(t, loop)[0]
	require.Equal(t, "The loop has no effect.", e.reason)
	again := list(t, e.String())
	require.Equal(t, e, again[0])
}

// Survivors are tried again by their printed form: the listed ones, even if their line has moved,
// and no others. Changed lines are counted.
func TestSurvivorsAreTriedAgainAsTheyWerePrinted(t *testing.T) {
	_, mutants := small(t)
	printed := "small  11  8\n# too long: small/small.go:9: n++\n"
	for _, m := range mutants {
		if strings.HasPrefix(m.after, "for n") {
			printed += "\n# small/small.go:1\n" + m.entry().String()
		}
	}
	printed += "\nsmall.go INVERT_LOGICAL\n- gone && forgotten\n+ gone || forgotten\n\nmutation: small/small.go:17:8: x"
	path := filepath.Join(t.TempDir(), "list")
	require.NoError(t, os.WriteFile(path, []byte(printed+printed), 0o600))
	survivors, err := readSurvivors(path)
	require.NoError(t, err)
	tried, gone := listed(survivors, mutants)
	var after []string
	for _, m := range tried {
		after = append(after, m.after)
	}
	require.ElementsMatch(t, []string{"for n >= 5 {", "for n <= 5 {"}, after)
	require.Equal(t, 1, gone)
	_, err = readSurvivors("testdata/small/small.go.txt")
	require.EqualError(t, err, "it names no mutant")

	v := judge("small", tried, nil, false)
	require.ErrorContains(t, v.err(), "want 90 %")
	v.listed = true
	require.NotContains(t, v.err().Error(), "want 90 %", "their share says nothing about the package")
	require.ErrorContains(t, v.err(), "is not explained: for n >= 5 {")
}

// Every list belongs to this tree: each entry's line exists, and its mutator turns the line into
// the changed one.
func TestSurvivorListsMatchTheTree(t *testing.T) {
	root, err := checkout.Root()
	require.NoError(t, err)
	lists, err := fs.Glob(os.DirFS("survivors"), "*.txt")
	require.NoError(t, err)
	nested, err := fs.Glob(os.DirFS("survivors"), "*/internal/*.txt")
	require.NoError(t, err)
	for _, path := range append(lists, nested...) {
		entries, err := readList(filepath.Join("survivors", path))
		require.NoError(t, err)
		pkg := strings.TrimSuffix(path, ".txt")
		for _, e := range entries {
			text, err := os.ReadFile(filepath.Join(root, pkg, e.file))
			require.NoError(t, err)
			require.True(t, e.fits(text), "%s/%s has no such line any more, or %s does not change it so:\n%s", pkg,
				e.file, e.kind, e)
		}
	}
}

func TestACopyLeavesOutIgnoredFiles(t *testing.T) {
	root, err := checkout.Root()
	require.NoError(t, err)
	to := t.TempDir()
	require.NoError(t, checkout.Copy(t.Context(), root, to))
	require.FileExists(t, filepath.Join(to, "go.mod"))
	require.FileExists(t, filepath.Join(to, "fsm", "machine.go"))
	require.NoDirExists(t, filepath.Join(to, ".tools"))
	require.NoError(t, forgetful(to, "fsm"))
	require.FileExists(t, filepath.Join(to, "fsm", "testdata", "rapid"))
}
