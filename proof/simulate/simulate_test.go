package simulate_test

import (
	"flag"
	"fmt"
	"maps"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/contract"
	"github.com/interlude-go/interlude/proof/simulate"
)

var (
	seeds = flag.Int("seeds", usual, "how many worlds are lived")
	from  = flag.Uint64("from", 1, "the seed of the first of them")
	only  = flag.Uint64("seed", 0, "the seed of the one world to live; -v shows its trace. 0: many")
)

// enough is a number of worlds that reaches every branch, with some margin.
const enough = 18_000

// world runs one world in a separate bubble.
func world(t *testing.T, seed uint64, o simulate.Options) (r *simulate.Report) {
	t.Helper()
	synctest.Test(t, func(*testing.T) { r = simulate.Run(seed, o) })
	return r
}

// failWithTrace fails the test with the broken promise of a seed, and the steps that led to it.
func failWithTrace(t *testing.T, seed uint64) {
	t.Helper()
	const last = 80
	r := world(t, seed, simulate.Options{Trace: true})
	trace := r.Trace[max(0, len(r.Trace)-last):]
	t.Errorf("seed %d: %s\nThe last %d of %d steps (all: go test ./simulate -run TestSeeds -seed %d -v):\n%s",
		seed, strings.Join(r.Broken, "\n"), len(trace), len(r.Trace), seed, strings.Join(trace, "\n"))
}

// total sums up all worlds.
type total struct {
	mu        sync.Mutex
	counts    simulate.Counts // guarded by mu
	sightings map[string]int  // guarded by mu
	broken    []uint64        // guarded by mu; seeds
}

func (all *total) add(r *simulate.Report) {
	all.mu.Lock()
	defer all.mu.Unlock()
	all.counts.Add(r.Counts)
	for what, n := range r.Sightings {
		all.sightings[what] += n
	}
	if len(r.Broken) > 0 {
		all.broken = append(all.broken, r.Seed)
	}
}

func (all *total) enough() bool {
	all.mu.Lock()
	defer all.mu.Unlock()
	return len(all.broken) >= 3
}

// live runs many worlds, as many at one time as there are cores.
func live(t *testing.T, first uint64, n int, o simulate.Options) *total {
	t.Helper()
	defer debug.SetGCPercent(debug.SetGCPercent(400)) // worlds are small and short-lived
	all := &total{sightings: make(map[string]int)}
	var next atomic.Int64
	t.Run("worlds", func(t *testing.T) {
		for core := range runtime.GOMAXPROCS(0) {
			t.Run(fmt.Sprint(core), func(t *testing.T) {
				t.Parallel()
				for i := next.Add(1) - 1; i < int64(n) && !all.enough(); i = next.Add(1) - 1 {
					all.add(world(t, first+uint64(i), o))
				}
			})
		}
	})
	slices.Sort(all.broken)
	return all
}

// A1 C5 C8 D3 D6 E1 E2 E3 E4 E6 F8 F9 I1 I2 I6 I10 K1 K2 K7 N7 N9 N10: every promise is kept, whatever
// goes wrong, and in whatever order.
func TestSeeds(t *testing.T) {
	if *only != 0 {
		r := world(t, *only, simulate.Options{Trace: true})
		t.Logf("%s\nhash %x", strings.Join(r.Trace, "\n"), r.Hash)
		require.Empty(t, r.Broken)
		return
	}
	began := time.Now()
	all := live(t, *from, *seeds, simulate.Options{})
	for _, seed := range all.broken {
		failWithTrace(t, seed)
	}
	took := time.Since(began)
	for _, what := range slices.Sorted(maps.Keys(all.sightings)) {
		t.Logf("%9d  %s", all.sightings[what], what)
	}
	t.Logf("%s, in %s: %.0f worlds a second", all.counts, took.Round(time.Millisecond),
		float64(all.counts.Seeds)/took.Seconds())
	if len(all.broken) == 0 && *seeds >= enough {
		for _, what := range slices.Concat(simulate.Rare(), arrows()) {
			require.Positive(t, all.sightings[what], "no world has shown this: %s", what)
		}
	}
}

// arrows returns the transitions of the contract that worlds must show, in the form in which they
// count them.
func arrows() (all []string) {
	for _, row := range contract.Load().Transitions {
		all = append(all, row.From+" → "+row.To+": "+row.Event)
	}
	return all
}
