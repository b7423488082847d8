package linear_test

import (
	"cmp"
	"flag"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/contract"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/proof/linear"
	"github.com/interlude-go/interlude/proof/stores"
)

var (
	histories = flag.Int("histories", recordedRuns, "how many histories of runs, and a quarter as many of pools, are "+
		"recorded on each store")
	firstSeed = flag.Uint64("seed", seeded, "of the first world; 0: any. Another machine's timing makes other "+
		"histories of it")
	refusedAt = flag.String("refused", "", "the folder for refused histories; empty: a new one among the temporary "+
		"files")
)

// patience is the time limit for deciding one history. None should take more than a second.
const patience = time.Minute

func seed() uint64 {
	if *firstSeed != 0 {
		return *firstSeed
	}
	return rand.Uint64N(1 << 32)
}

// refusedDir returns the folder where the test leaves refused histories, which outlives the test.
func refusedDir(tb testing.TB) string {
	tb.Helper()
	if *refusedAt != "" {
		return *refusedAt
	}
	dir, err := os.MkdirTemp("", "refused-")
	require.NoError(tb, err)
	return dir
}

// tally counts the decisions.
type tally struct {
	histories, calls, open int
	events                 map[string]int // by name: the contract's events in commits of nodes
	rules                  map[string]int // by name: decisions without people, and calls of deputies
}

func (t *tally) add(history []porcupine.Operation) {
	t.histories++
	if t.events == nil {
		t.events, t.rules = make(map[string]int), make(map[string]int)
	}
	for _, op := range history {
		t.calls++
		if in, ok := op.Input.(linear.Input); ok && in.Change != nil {
			t.events[cmp.Or(in.Change.Event, "report")]++
		}
		t.addRules(op)
		if op.Return == math.MaxInt64 {
			t.open++
		}
	}
}

func (t *tally) addRules(op porcupine.Operation) {
	in, ok := op.Input.(linear.Input)
	out, is := op.Output.(linear.Output)
	if !ok || !is || out.Unknown {
		return
	}
	accepted := cmp.Or(out.Err, "accepted")
	if accepted != "accepted" && accepted != linear.NotDeputy && accepted != linear.NotFound {
		accepted = "refused otherwise"
	}
	switch {
	case in.Change != nil && in.Change.Ruled != nil:
		by := in.Change.Ruled.By
		if interaction.MemoryOf(by) > 0 {
			by = interaction.MemoryActor
		}
		t.rules[by+" "+accepted]++
	case in.Reply.Remember != nil:
		t.rules["remember "+accepted]++
	case in.Kind == linear.Forget || in.Kind == linear.Note:
		t.rules[fmt.Sprint(in.Kind, " ", accepted)]++
	case in.Reply.Actor.For != "":
		t.rules[strings.TrimSpace(fmt.Sprint("deputy's ", in.Kind, " ", accepted, " ", in.Right))]++
	}
}

func (t *tally) String() string {
	return fmt.Sprintf("%d histories, %d calls, %d of them of unknown outcome", t.histories, t.calls, t.open)
}

// judge decides the history of each run of a world, and returns the runs whose history could not
// have happened.
func judge(tb testing.TB, history []porcupine.Operation, t *tally) (refused []string) {
	tb.Helper()
	spec := linear.NewModel(contract.Load()).Spec()
	runs := linear.ByRun(history)
	for _, id := range slices.Sorted(maps.Keys(runs)) {
		t.add(runs[id])
		switch spec.Decide(runs[id], patience) {
		case porcupine.Ok:
		case porcupine.Illegal:
			refused = append(refused, id)
		default:
			tb.Errorf("the history of %s has %d calls and was not decided in %s", id, len(runs[id]), patience)
		}
	}
	return refused
}

// report writes refused histories to files and logs their names.
func report(tb testing.TB, dir string, seed uint64, history []porcupine.Operation, refused []string) []linear.Refusal {
	tb.Helper()
	spec := linear.NewModel(contract.Load()).Spec()
	var all []linear.Refusal
	for _, id := range refused {
		r, err := spec.Explain(dir, fmt.Sprintf("seed-%d-run-%s", seed, id), linear.ByRun(history)[id], patience)
		require.NoError(tb, err)
		all = append(all, r)
	}
	return all
}

// C4 C5 C8 E4 E6 I1 I2 J1 J5 J6 J13 K1 K2 K5 K7 N7 N9 N10 N11: the answers that clients and nodes get
// about a run could have been given one call at a time, according to the contract.
func TestRunsAreLinearizable(t *testing.T) {
	for _, name := range stores.Kinds {
		t.Run(name, func(t *testing.T) {
			const batches, size = 2, 6
			began, sum := time.Now(), tally{}
			handles := share(t, name, processes)
			for s, worlds := seed(), 0; worlds < 2 || sum.histories < *histories; s, worlds = s+1, worlds+1 {
				w := newWorld(t, handles, s)
				w.live(batches, size)
				history := w.log.Operations()
				if refused := judge(t, history, &sum); len(refused) > 0 {
					for _, r := range report(t, refusedDir(t), s, history, refused) {
						t.Errorf("seed %d: a history could not have happened: see %s and %s%s", s,
							filepath.ToSlash(r.Text), filepath.ToSlash(r.HTML), r.Why)
					}
				}
			}
			t.Logf("%s in %s; commits of nodes: %v; rules: %v", &sum, time.Since(began).Round(time.Millisecond),
				sum.events, sum.rules)
		})
	}
}
