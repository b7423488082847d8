package crash_test

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/proof/crash"
)

var update = flag.Bool("update", false, "write testdata/points.txt anew")

// pointsFile lists all points, one on each line. A change of the code that loses a point, or adds
// one, must change this file.
const pointsFile = "testdata/points.txt"

// tally counts what was played.
type tally struct {
	mu     sync.Mutex
	lines  []string // guarded by mu
	writes int      // guarded by mu
	cases  int      // guarded by mu
}

func (a *tally) add(scenario string, p crash.Point) {
	a.mu.Lock()
	defer a.mu.Unlock()
	kind := "read "
	if p.Write {
		kind = "write"
		a.writes++
	}
	a.lines = append(a.lines, fmt.Sprintf("%-9s %s %s", scenario, kind, p.Name))
	a.cases += len(p.Outcomes())
}

// check compares the points with the file's. With more set, there may be others besides.
func (a *tally) check(tb testing.TB, scenario string, more bool) {
	tb.Helper()
	if more {
		require.Subset(tb, a.lines, expected(tb, scenario), "points of %s are missing", scenario)
		return
	}
	require.ElementsMatch(tb, expected(tb, scenario), a.lines,
		"the points of %s differ from %s; -update writes it anew", scenario, pointsFile)
}

// everywhere plays each scenario once without a fault, and once for each of its points and
// outcomes.
func everywhere(t *testing.T, more bool, play func(*testing.T, *crash.Scenario, crash.Fault) []crash.Point) {
	t.Helper()
	var all tally
	t.Run("scenarios", func(t *testing.T) {
		for _, scenario := range crash.Scenarios() {
			t.Run(scenario.Name, func(t *testing.T) {
				t.Parallel()
				var mine tally
				for _, p := range play(t, &scenario, crash.Fault{}) {
					if !scenario.Counts(p) {
						continue
					}
					all.add(scenario.Name, p)
					mine.add(scenario.Name, p)
					for _, o := range p.Outcomes() {
						t.Run(fmt.Sprintf("%s %s", o, p.Name), func(t *testing.T) {
							play(t, &scenario, crash.Fault{Point: p.Name, Outcome: o})
						})
					}
				}
				if !*update {
					mine.check(t, scenario.Name, more)
				}
			})
		}
	})
	t.Logf("%d points, %d of them writes; %d cases", len(all.lines), all.writes, all.cases)
	if *update {
		slices.Sort(all.lines)
		require.NoError(t, os.WriteFile(pointsFile, []byte(strings.Join(all.lines, "\n")+"\n"), 0o600))
	}
}

// expected returns the points of the scenario in the file.
func expected(tb testing.TB, scenario string) (lines []string) {
	tb.Helper()
	text, err := os.ReadFile(pointsFile)
	require.NoError(tb, err)
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, scenario+" ") {
			lines = append(lines, strings.TrimSuffix(line, "\n"))
		}
	}
	return lines
}
