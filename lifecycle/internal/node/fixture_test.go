package node

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/semaphore"

	"github.com/interlude-go/interlude/contract"
	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/lifecycle/internal/decide"
	"github.com/interlude-go/interlude/slots"
	"github.com/interlude-go/interlude/store"
	"github.com/interlude-go/interlude/store/memory"
)

// noon is a moment as a store has it.
var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// machineClock is the clock of the machine, which synctest replaces.
type machineClock struct{}

func (machineClock) Now() time.Time { return time.Now() }

func (machineClock) Timer(d time.Duration) (<-chan time.Time, func()) {
	t := time.NewTimer(d)
	return t.C, func() { t.Stop() }
}

// unobserved ignores all notices.
type unobserved struct{}

func (unobserved) Committed(*store.Commit) {}

func (unobserved) Claimed(*store.Run) {}

func (unobserved) StartTurn(context.Context, *store.Run, time.Time, map[string]string) (context.Context, string) {
	return nil, ""
}

func (unobserved) TurnEnded(*store.Run, EndedTurn) {}

// processOn is a process with one engine, for all names, that logs nothing.
func processOn(s store.Store, e engine.Engine) *Process {
	return &Process{Store: s, Clock: machineClock{}, Log: slog.New(slog.DiscardHandler), Due: NewDueHint(),
		Engines: map[string]engine.Engine{"default": e}, Stuck: new(StuckCalls), Notices: unobserved{},
		Journals: semaphore.NewWeighted(MaxJournalsRead)}
}

// fakeEngine executes nothing. Reap and Check may be nil.
type fakeEngine struct {
	reap  func(id string) error
	check func(h engine.SessionHandle) error
}

func (fakeEngine) Profile(context.Context) (engine.Profile, error) { return engine.Profile{}, nil }

func (fakeEngine) RunTurn(context.Context, engine.Turn, engine.Sink) (engine.Outcome, error) {
	return engine.Outcome{}, nil
}

func (e fakeEngine) Reap(_ context.Context, id string) error {
	if e.reap == nil {
		return nil
	}
	return e.reap(id)
}

func (e fakeEngine) Check(_ context.Context, _ string, h engine.SessionHandle) error {
	if e.check == nil {
		return nil
	}
	return e.check(h)
}

// newStore is a store with room for many runs.
func newStore(tb testing.TB) *memory.Store {
	tb.Helper()
	s := memory.New()
	require.NoError(tb, s.SetPool(tb.Context(), slots.Pool{Name: slots.DefaultPool, Capacity: 1000}))
	tb.Cleanup(func() { s.Close() })
	return s
}

// queued is a new run as it is submitted.
func queued(id string, now time.Time) store.Run {
	return store.Run{ID: id, Contract: contract.Version(), SpecDigest: strings.Repeat("0", 64), Engine: "default",
		Mode: fsm.ModeInteractive, SessionTimeout: time.Minute, Pool: slots.DefaultPool, CreatedAt: now,
		State: fsm.StateQueued, UpdatedAt: now, QueuedAt: now, Recovery: store.RecoveryNone}
}

// submit stores a new run.
func submit(tb testing.TB, s store.Store, run *store.Run) store.Run {
	tb.Helper()
	cm, err := decide.Submission(run, []byte(`{}`))
	require.NoError(tb, err)
	require.NoError(tb, s.Commit(tb.Context(), []store.Commit{*cm})[0])
	return cm.Run
}

// started submits n runs, has a node claim them, and returns them in the order of their ids.
func started(tb testing.TB, s store.Store, node string, n int, change func(*store.Run)) []store.Run {
	tb.Helper()
	now := CommitTime(machineClock{})
	for i := range n {
		run := queued(fmt.Sprintf("r%04d", i), now)
		if change != nil {
			change(&run)
		}
		submit(tb, s, &run)
	}
	require.NoError(tb, s.Join(tb.Context(), store.Node{ID: node, Lease: time.Minute}, now))
	claimed, err := s.Claim(tb.Context(), store.ClaimRequest{Node: node, Now: now, Max: n,
		Start: (&decide.Starts{Now: now}).Start})
	require.NoError(tb, err)
	require.Len(tb, claimed, n)
	runs := make([]store.Run, n)
	for i := range claimed {
		runs[i] = claimed[i].Run
	}
	return runs
}

// orphaned starts n runs on a node that then dies.
func orphaned(tb testing.TB, s store.Store, n int, change func(*store.Run)) []store.Run {
	tb.Helper()
	runs := started(tb, s, "dead", n, change)
	_, err := s.Expire(tb.Context(), time.Time{}, "dead")
	require.NoError(tb, err)
	return runs
}

// parked parks n runs of a resumable engine with a question and a session, on a node that then
// leaves.
func parked(tb testing.TB, s store.Store, n int) {
	tb.Helper()
	now := CommitTime(machineClock{})
	for _, run := range started(tb, s, "left", n, nil) {
		question := interaction.Baseline("Go on?")
		ev := decide.Read(engine.Outcome{Process: engine.Process{Status: engine.OK},
			Questions: []interaction.Question{question},
			Session:   &engine.SessionHandle{Engine: "agent", Version: "1", Data: []byte("s")}},
			&decide.Terms{Profile: fsm.ProfileResumable, Begun: true})
		cm, err := decide.Turn(&run, ev, "left", now)
		require.NoError(tb, err)
		cm.Fence = &store.Fence{Node: "left", Epoch: run.Epoch}
		require.NoError(tb, s.Commit(tb.Context(), []store.Commit{*cm})[0])
	}
	_, err := s.Expire(tb.Context(), time.Time{}, "left")
	require.NoError(tb, err)
}
