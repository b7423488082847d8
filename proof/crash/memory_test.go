package crash_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/internal/sample"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/proof/crash"
	"github.com/interlude-go/interlude/slots"
	"github.com/interlude-go/interlude/store"
	"github.com/interlude-go/interlude/store/memory"
	"github.com/interlude-go/interlude/store/storetest"
)

// stage is a store in this process. One host after the other uses it.
type stage struct {
	testing.TB

	scenario *crash.Scenario
	store    store.Store
	journal  crash.Journal
	mute     bool // the hosts get no hints
}

// longest is the time limit of a host on its clock. The slowest host waits for a lease or two.
const longest = time.Hour

// host plays one part. After its fault, a host is abandoned: its store refuses all later calls.
func (s *stage) host(role crash.Role, fault crash.Fault) *crash.Store {
	s.Helper()
	ctx, end := context.WithTimeout(context.Background(), longest)
	defer end()
	numbered := crash.NewStore(s.store, fault, end)
	numbered.Mute = s.mute
	h := crash.Host{Scenario: s.scenario, Case: "case", Store: numbered, Journal: &s.journal,
		Clock: lifecycle.SystemClock{}, Role: role}
	if err := h.Play(ctx); !numbered.Gone() {
		require.NoError(s, err, "the %s host", role)
		require.NoError(s, ctx.Err(), "the %s host did not come to an end", role)
	}
	return numbered
}

// inMemory plays the scenario with the fault, and returns the points of the host that had the
// fault.
func inMemory(tb testing.TB, scenario *crash.Scenario, fault crash.Fault, mute bool) []crash.Point {
	tb.Helper()
	s := &stage{TB: tb, scenario: scenario, store: memory.New(), mute: mute}
	if scenario.Orphans {
		s.host(crash.First, crash.Fault{})
	}
	before, err := crash.Versions(tb.Context(), s.store, "case")
	require.NoError(tb, err)
	second := s.host(crash.Second, fault)
	if fault == (crash.Fault{}) {
		require.NoError(tb, second.Covers(tb.Context(), "case", before))
	} else {
		require.True(tb, second.Hit(), "the host did not come to the point")
	}
	s.host(crash.Last, crash.Fault{})
	v := crash.Verdict{Scenario: scenario, Case: "case", Journal: &s.journal, Crashed: fault.Ends()}
	require.NoError(tb, v.Judge(tb.Context(), s.store))
	return second.Found()
}

// I9 E5 E6 C5 K5: at each point, a host in this process ends or does not get the answer; the next
// host finishes the work.
func TestMemory(t *testing.T) { everywhere(t, exactly, each, memoryPlay(false)) }

// I9 E5: without hints, polling leads to the same end, with a few additional reads.
func TestMemoryWithoutHints(t *testing.T) { everywhere(t, atLeast, each, memoryPlay(true)) }

// hasty is a store whose callers do not wait: their contexts end while the store commits.
type hasty struct{ store.Store }

func (s hasty) Commit(ctx context.Context, batch []store.Commit) []error {
	s.Store.Commit(ctx, batch)
	return slices.Repeat([]error{fmt.Errorf("outcome unknown: %w", context.Canceled)}, len(batch))
}

// I9: a host that stops while the store commits may have written the record at its point.
func TestACanceledCommitIsAtItsPoint(t *testing.T) {
	below, now := memory.New(), time.Now().UTC().Truncate(time.Microsecond)
	require.NoError(t, below.SetPool(t.Context(), slots.Pool{Name: "p", Capacity: 1}))
	s := crash.NewStore(hasty{below}, crash.Fault{}, nil)
	require.ErrorIs(t, s.Commit(t.Context(), []store.Commit{storetest.Created("case.a", now)})[0], context.Canceled)
	require.NoError(t, s.Covers(t.Context(), "case", nil))
	require.NoError(t, below.Commit(t.Context(), []store.Commit{storetest.Created("case.b", now)})[0])
	require.ErrorContains(t, s.Covers(t.Context(), "case", nil), "run b was written at no point")
}

// each selects every case; under the race detector, one in eight.
func each(number int) bool { return number%sample.Raced(8) == 0 }

func memoryPlay(mute bool) player {
	return func(t *testing.T, scenario *crash.Scenario, fault crash.Fault) (found []crash.Point, reached bool) {
		t.Helper()
		synctest.Test(t, func(t *testing.T) { found = inMemory(t, scenario, fault, mute) })
		return found, true // inMemory requires it
	}
}
