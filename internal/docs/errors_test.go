package docs_test

import (
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/fsm"
)

// withErrors are the packages whose errors docs/errors.md lists.
var withErrors = []string{"lifecycle", "interaction", "slots", "engine", "store", "sqlite", "postgres", "fsm"}

// explainedElsewhere are error types that the table of another error explains.
var explainedElsewhere = []string{"fsm.Refusal"}

// docs/errors.md has exactly one row for each exported error, error type and code.
func TestEachErrorIsExplained(t *testing.T) {
	want := make(map[string]bool)
	for _, name := range withErrors {
		p := load(t, name)
		for v := range p.vars {
			if strings.HasPrefix(v, "Err") {
				want[name+"."+v] = true
			}
		}
		for typ, methods := range p.method {
			if full := name + "." + typ; methods["Error"] && regexp.MustCompile(`^[A-Z]`).MatchString(typ) &&
				!slices.Contains(explainedElsewhere, full) {
				want[full] = true
			}
		}
	}
	for _, c := range fsm.Codes() {
		want[string(c)] = true
	}
	for _, w := range fsm.Warnings() {
		want[string(w)] = true
	}

	_, text, found := strings.Cut(read(t, "docs/errors.md"), "\n## Calls: lifecycle\n")
	require.True(t, found)
	explained := make(map[string]bool)
	for _, r := range rows(text) {
		name := strings.Trim(r[0], "`")
		require.False(t, explained[name], "%s stands there twice", name)
		explained[name] = true
		if len(r) == 4 {
			require.Regexp(t, `^(-|[45]\d\d)$`, r[3], "the HTTP status of %s", name)
		}
		for _, cell := range r[1:] {
			require.NotEmpty(t, cell, name)
		}
	}
	require.Equal(t, slices.Sorted(maps.Keys(want)), slices.Sorted(maps.Keys(explained)))
}

// The guide answers with the HTTP statuses of docs/errors.md.
func TestTheGuideAnswersWithTheStatusOfEachError(t *testing.T) {
	statuses := map[string]string{"StatusBadRequest": "400", "StatusForbidden": "403", "StatusNotFound": "404",
		"StatusConflict": "409"}
	cases := regexp.MustCompile(`(?s)case (errors\.Is.*?):\n\t\treturn http\.(\w+)`)
	table := rows(read(t, "docs/errors.md"))
	found := cases.FindAllStringSubmatch(read(t, "docs/guide.md"), -1)
	require.NotEmpty(t, found)
	for _, c := range found {
		for _, name := range regexp.MustCompile(`lifecycle\.Err\w+`).FindAllString(c[1], -1) {
			i := slices.IndexFunc(table, func(r row) bool { return r[0] == "`"+name+"`" && len(r) == 4 })
			require.GreaterOrEqual(t, i, 0, name)
			require.Equal(t, statuses[c[2]], table[i][3], name)
		}
	}
}

// docs/web.md lists each code that host/web answers with.
func TestTheCodesOfProblemsAreOnThePage(t *testing.T) {
	_, section, found := strings.Cut(read(t, "docs/web.md"), "\n## Problems\n")
	require.True(t, found)
	section, _, _ = strings.Cut(section, "\n## ")
	paths, err := filepath.Glob(filepath.Join(root, "host/web/*.go"))
	require.NoError(t, err)
	codes := make(map[string]bool)
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		source := read(t, strings.TrimPrefix(path, root+"/"))
		for _, m := range regexp.MustCompile(`"([A-Z]{3,}(?:_[A-Z]+)*)"`).FindAllStringSubmatch(source, -1) {
			codes[m[1]] = true
		}
	}
	require.Greater(t, len(codes), 30)
	for code := range codes {
		require.Contains(t, section, "`"+code+"`")
	}
}
