package node

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/lifecycle/internal/decide"
	"github.com/interlude-go/interlude/store"
)

// failing is a store that does not store the commits of some runs.
type failing struct {
	store.Store

	fails map[string]error // by the run's id
}

func (s *failing) Commit(ctx context.Context, batch []store.Commit) []error {
	errs := make([]error, len(batch))
	for i := range batch {
		if errs[i] = s.fails[batch[i].Run.ID]; errs[i] == nil {
			errs[i] = s.Store.Commit(ctx, batch[i:i+1])[0]
		}
	}
	return errs
}

// plainEngine has no optional ability, and checker only checks sessions.
type (
	plainEngine struct{ engine.Engine }
	checker     struct{ engine.Engine }
)

func (checker) Check(context.Context, string, engine.SessionHandle) error { return nil }

// TestSettleBatchGoesOnWhileAnEngineIsAwaited: E6 J10, as long as an engine is awaited, a batch in
// which a commit failed is tried again; and a run whose engine answers later is counted when it is
// settled, and reported when it cannot be.
func TestSettleBatchGoesOnWhileAnEngineIsAwaited(t *testing.T) {
	errDisk := errors.New("disk full")
	for name, late := range map[string]error{"settled later": nil, "not settled later either": errDisk} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				below := newStore(t)
				orphans := orphaned(t, below, 3, func(r *store.Run) { r.Repeatable = true })
				fails := map[string]error{orphans[0].ID: late, orphans[1].ID: errDisk}
				goOn := make(chan struct{})
				answer := sync.OnceFunc(func() { close(goOn) })
				defer answer()
				p := processOn(&failing{Store: below, fails: fails}, fakeEngine{reap: func(id string) error {
					if id == orphans[0].ID {
						<-goOn
					}
					return nil
				}})
				s := p.NewRecoverer(t.Context(), "", nil)
				orphans, err := below.Orphans(t.Context(), 0, 3)
				require.NoError(t, err)

				require.NoError(t, s.settleBatch(t.Context(), orphans), "the next pass tries again")
				done, fault := s.TakeResults()
				require.NoError(t, fault)
				require.Equal(t, Recovery{Requeued: 1}, done)

				answer()
				s.Wait()
				done, fault = s.TakeResults()
				if late != nil {
					require.ErrorContains(t, fault, "run "+orphans[0].ID+": disk full")
					require.Equal(t, Recovery{}, done)
					return
				}
				require.NoError(t, fault)
				require.Equal(t, Recovery{Requeued: 1}, done)
				run, err := below.Run(t.Context(), orphans[0].ID)
				require.NoError(t, err)
				require.Equal(t, fsm.StateQueued, run.State)
			})
		})
	}
}

// TestRecoverDescribesWhyAWaitIsOver: E1 E2 E8, a person learns from the run what recovery found.
func TestRecoverDescribesWhyAWaitIsOver(t *testing.T) {
	session := &interaction.SessionHandle{Engine: "agent", Version: "1", Data: []byte("s")}
	question := interaction.Baseline("Go on?")
	for name, c := range map[string]struct {
		change func(r *store.Run)
		check  func(h engine.SessionHandle) error
		says   string // empty: the wait continues
	}{
		"all is there": {func(*store.Run) {}, func(engine.SessionHandle) error {
			return nil
		}, ""},
		"the engine cannot tell": {func(*store.Run) {}, func(engine.SessionHandle) error {
			return errors.New("no network")
		}, ""},
		"the engine refuses it": {func(*store.Run) {}, func(h engine.SessionHandle) error {
			return errors.Join(engine.ErrHandleRefused, errors.New(h.Engine+h.Version+string(h.Data)))
		}, "agent1s"},
		"there is no session": {func(r *store.Run) {
			r.Session = nil
		}, nil, "the session handle is missing"},
		"there is no question": {func(r *store.Run) {
			r.Open, r.Deadline = nil, time.Time{}
		}, nil, "the pending question is missing"},
	} {
		t.Run(name, func(t *testing.T) {
			p := processOn(newStore(t), fakeEngine{check: c.check})
			run := queued("r", noon)
			run.State, run.Version, run.Attempt, run.Interactions = fsm.StateWaitingUser, 3, 1, 1
			run.Owner, run.Epoch = "n", 1
			run.Profile, run.Session, run.Deadline = fsm.ProfileResumable, session, noon
			run.Open = []interaction.Question{question}
			c.change(&run)
			found := p.inspectOrphan(t.Context(), &run)
			require.Equal(t, c.says == "", found.intact)
			if found.intact {
				return
			}
			cm, err := decide.Orphan(&run, &found.OrphanEvidence, decide.HostDefaults{})
			require.NoError(t, err)
			require.Equal(t, fsm.StateFailed, cm.Run.State)
			require.Equal(t, "session lost", cm.Run.RecoveryReason)
			require.Equal(t, fsm.CodeSessionResumeFailed, cm.Run.Error.Code)
			require.Contains(t, cm.Run.Error.Message, c.says)
		})
	}
}

// TestOrphansWhoseEngineIsAsked: E2 E7, recovery calls the engine of an orphan if the orphan holds
// a slot and the engine is a Reaper, or if the orphan waits and the engine is a Checker.
func TestOrphansWhoseEngineIsAsked(t *testing.T) {
	p := &Process{Engines: map[string]engine.Engine{"plain": plainEngine{}, "checks": checker{}, "both": fakeEngine{}}}
	running, waits, holds := fsm.StateRunning, fsm.StateWaitingUser, true
	for _, o := range []struct {
		engine string
		state  fsm.State
		slot   bool
		asked  bool
	}{
		{"plain", running, holds, false}, {"plain", waits, !holds, false}, {"plain", waits, holds, false},
		{"checks", running, holds, false}, {"checks", waits, !holds, true}, {"checks", waits, holds, true},
		{"both", running, holds, true}, {"both", waits, !holds, true}, {"both", running, !holds, false},
		{"unknown", waits, holds, false},
	} {
		run := &store.Run{Engine: o.engine, State: o.state, Slot: o.slot}
		require.Equal(t, o.asked, p.asksEngine(run), "%+v", o)
	}
}

// TestJ5HeldSessionsAreCheckedInPages: one check of held runs reads all pages, and pauses between
// them. The interval between checks grows while runs are held, and is the first one again after a
// check that found none.
func TestJ5HeldSessionsAreCheckedInPages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const many = SessionBatch + 5
		s := newStore(t)
		parked(t, s, many)
		good := false
		p := processOn(s, fakeEngine{check: func(engine.SessionHandle) error {
			if good {
				return nil
			}
			return engine.ErrHandleRefused
		}})
		p.Host.Hold = store.HoldOn
		done, err := p.Recover(t.Context(), "")
		require.NoError(t, err)
		require.Equal(t, Recovery{Held: many}, done)

		pauses, leaves := 0, error(nil)
		h := heldChecks{recoverer: p.NewRecoverer(t.Context(), "", nil), pause: func(time.Duration) error {
			pauses++
			return leaves
		}}
		check := func(next time.Duration) {
			t.Helper()
			time.Sleep(h.due.Sub(MonotonicNow(p.Clock)))
			pauses = 0
			require.NoError(t, h.checkDue(t.Context()))
			require.Equal(t, next, h.due.Sub(MonotonicNow(p.Clock)))
		}
		for _, next := range []time.Duration{time.Minute, 2 * time.Minute, 4 * time.Minute} {
			check(next)
			require.Equal(t, 1, pauses)
		}
		require.NoError(t, h.checkDue(t.Context()), "it is not due yet")
		require.Equal(t, 1, pauses)

		good = true
		check(8 * time.Minute)
		page, err := s.Runs(t.Context(), store.Query{Held: true, Limit: 1})
		require.NoError(t, err)
		require.Empty(t, page.Runs)
		check(time.Minute)
		require.Zero(t, pauses)
		check(time.Minute)

		good, leaves = false, context.Canceled
		_, err = p.Recover(t.Context(), "")
		require.NoError(t, err)
		time.Sleep(time.Minute)
		require.ErrorIs(t, h.checkDue(t.Context()), leaves)
	})
}
