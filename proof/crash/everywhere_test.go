package crash_test

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/proof/crash"
)

var update = flag.Bool("update", false, "write testdata/points.txt anew")

// pointsFile lists all points, one on each line. A change of the code that loses a point, or adds
// one, must change this file.
const pointsFile = "testdata/points.txt"

// tally counts the plays.
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

// check compares the points with the file's.
func (a *tally) check(tb testing.TB, scenario string, which choice) {
	tb.Helper()
	switch which {
	case exactly:
		require.ElementsMatch(tb, expected(tb, scenario), a.lines,
			"the points of %s differ from %s; -update writes it anew", scenario, pointsFile)
	case atLeast:
		require.Subset(tb, a.lines, expected(tb, scenario), "points of %s are missing", scenario)
	}
}

// choice says which points are played.
type choice int

const (
	// exactly: the points of the play without a fault, which must equal the file's.
	exactly choice = iota
	// atLeast: as exactly, but with additional points allowed.
	atLeast
	// listed: the file's points. Each host is a process, and its reads depend partly on timing. If a
	// host does not reach the point of its fault, the case is played again.
	listed
)

// maxPlays is how often a listed point is played until a host comes to it.
const maxPlays = 5

// player plays a scenario with a fault. It returns the points of the host that had the fault, and
// whether that host came to the fault's point.
type player func(*testing.T, *crash.Scenario, crash.Fault) (found []crash.Point, reached bool)

// everywhere plays each scenario once without a fault, and once for each of its points and outcomes
// that are chosen by the number of the case in its scenario.
func everywhere(t *testing.T, which choice, chosen func(number int) bool, play player) {
	t.Helper()
	var all tally
	var played atomic.Int64
	t.Run("scenarios", func(t *testing.T) {
		for _, scenario := range crash.Scenarios() {
			t.Run(scenario.Name, func(t *testing.T) {
				t.Parallel()
				var mine tally
				points, _ := play(t, &scenario, crash.Fault{})
				number := 0
				if which == listed {
					points = pointsOf(t, scenario.Name)
				}
				for _, p := range points {
					if !scenario.Counts(p) {
						continue
					}
					all.add(scenario.Name, p)
					mine.add(scenario.Name, p)
					for _, o := range p.Outcomes() {
						if number++; !chosen(number) {
							continue
						}
						played.Add(1)
						t.Run(fmt.Sprintf("%s %s", o, p.Name), func(t *testing.T) {
							reached := false
							for n := 0; n < maxPlays && !reached; n++ {
								_, reached = play(t, &scenario, crash.Fault{Point: p.Name, Outcome: o})
							}
							require.True(t, reached, "no host came to the point in %d plays", maxPlays)
						})
					}
				}
				if !*update {
					mine.check(t, scenario.Name, which)
				}
			})
		}
	})
	t.Logf("%d points, %d of them writes; %d cases, %d of them played", len(all.lines), all.writes, all.cases,
		played.Load())
	if *update && which == exactly {
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

// pointsOf returns the points of the scenario in the file.
func pointsOf(tb testing.TB, scenario string) (points []crash.Point) {
	tb.Helper()
	for _, line := range expected(tb, scenario) {
		kind, name, _ := strings.Cut(strings.TrimSpace(strings.TrimPrefix(line, scenario)), " ")
		points = append(points, crash.Point{
			Name: strings.TrimSpace(name), Write: kind == "write", Upkeep: strings.HasSuffix(name, ": nothing"),
		})
	}
	return points
}
