package lifecycle

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/store"
)

// watched is a store that counts the writes of recovery, and fails reads of orphans while it is
// told to.
type watched struct {
	store.Store
	expires atomic.Int64
	away    atomic.Bool
	hang    atomic.Bool
}

func (s *watched) Expire(ctx context.Context, now time.Time, ids ...string) ([]store.Node, error) {
	s.expires.Add(1)
	return s.Store.Expire(ctx, now, ids...)
}

func (s *watched) Orphans(ctx context.Context, skip, limit int) ([]Run, error) {
	if s.hang.Load() {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	if s.away.Load() {
		return nil, errors.New("connection refused")
	}
	return s.Store.Orphans(ctx, skip, limit)
}

// TestRecoveryGoesOnAsLongAsANodeServes: E6, a look in each third of a lease, which costs no write
// where nobody is silent; what it does is told, what it cannot do is told and tried again, and the
// end of Serve is no fault.
func TestRecoveryGoesOnAsLongAsANodeServes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, log := &watched{Store: newStore(t)}, &journal{}
		_, stop := serve(t, Config{Store: s, Engine: agent{}, Logger: slog.New(log), Lease: 12 * time.Second})
		require.NoError(t, s.Join(t.Context(), store.Node{ID: "other", Lease: time.Hour}, time.Now()))
		pass(time.Minute)
		require.Zero(t, s.expires.Load())
		require.Empty(t, log.told())

		s.away.Store(true)
		pass(8 * time.Second)
		require.Equal(t, []string{
			"ERROR recovery not finished; trying again: lifecycle: recover: connection refused", "ERROR recovery not " +
				"finished; trying again: lifecycle: recover: connection refused",
		}, log.told())
		s.away.Store(false)

		waitsAt(t, s, "r", "dying")
		_, err := s.Store.Expire(t.Context(), time.Time{}, "dying")
		require.NoError(t, err)
		pass(4 * time.Second)
		require.Equal(t, "INFO recovered", log.told()[2])
		pass(time.Minute)
		require.Len(t, log.told(), 3, "once")

		s.hang.Store(true)
		pass(10 * time.Second)
		stop()
		require.Len(t, log.told(), 3)
	})
}

// TestWhatARecoveryDidIsCounted: E1 E4, over all parts in which it was done.
func TestWhatARecoveryDidIsCounted(t *testing.T) {
	const orphans = 3*reconcileSize + 10
	s := newStore(t)
	ids := orphaned(t, s, orphans, func(s *Spec) { s.Repeatable = true })
	question := interaction.Baseline("Go on?")
	const parked = 2*reconcileSize + 5
	for _, id := range ids[:parked] {
		run, err := s.Run(t.Context(), id)
		require.NoError(t, err)
		cm, err := transition(&run, &change{
			event: fsm.EventTurnNeedsInput, now: stamp(SystemClock{}), node: "dead", profile: fsm.ProfileResumable,
			session: &store.Session{Engine: "agent", Data: []byte("s")}, question: &question,
		})
		require.NoError(t, err)
		require.NoError(t, s.Commit(t.Context(), []store.Commit{cm})[0])
	}
	done, err := clientOf(t, s).Recover(t.Context())
	require.NoError(t, err)
	require.Equal(t, Recovery{Preserved: parked, Requeued: orphans - parked}, done)
}

// senseless is a store with orphans that make no sense before those that do.
type senseless struct {
	store.Store
	before []Run
}

func (s senseless) Orphans(ctx context.Context, skip, limit int) ([]Run, error) {
	rest, err := s.Store.Orphans(ctx, max(0, skip-len(s.before)), limit)
	if skip > 0 {
		return rest, err
	}
	return append(append([]Run(nil), s.before...), rest...), err
}

// TestAnOrphanThatMakesNoSenseHoldsUpNoOther: E6, and is told of.
func TestAnOrphanThatMakesNoSenseHoldsUpNoOther(t *testing.T) {
	below := newStore(t)
	ids := orphaned(t, below, 3)
	ended := parked(t, "ended")
	ended.State = fsm.StateSucceeded
	log := &journal{}
	c := clientOf(t, senseless{below, []Run{ended}})
	c.log = slog.New(log)
	done, err := c.Recover(t.Context())
	require.ErrorContains(t, err, "run ended: fsm: ")
	require.Equal(t, Recovery{Failed: 3}, done)
	settledOnce(t, below, ids)
	require.Len(t, log.told(), 1, "while others could be settled")
	require.Contains(t, log.told()[0], "ERROR run not recovered; trying again: run ended: fsm: ")
}

// TestWhyAWaitIsOverIsSaid: E1 E2 E8, a person learns from the run what recovery found.
func TestWhyAWaitIsOverIsSaid(t *testing.T) {
	session := &store.Session{Engine: "agent", Version: "1", Data: []byte("s")}
	question := interaction.Baseline("Go on?")
	for name, c := range map[string]struct {
		change func(r *Run)
		check  func(h engine.Handle) error
		state  fsm.State
		reason string
		says   string
	}{
		"all is there": {func(*Run) {}, func(engine.Handle) error {
			return nil
		}, fsm.StateWaitingUser, "pending question and session are intact", ""},
		"the engine cannot tell": {func(*Run) {}, func(engine.Handle) error {
			return errors.New("no network")
		}, fsm.StateWaitingUser, "pending question and session are intact", ""},
		"the engine refuses it": {func(*Run) {}, func(h engine.Handle) error {
			return errors.Join(engine.ErrHandleRefused, errors.New(h.Engine+h.Version+string(h.Data)))
		}, fsm.StateFailed, "session lost", "agent1s"},
		"there is no session": {func(r *Run) {
			r.Session = nil
		}, nil, fsm.StateFailed, "session lost", "the session handle is missing"},
		"there is no question": {func(r *Run) {
			r.Pending, r.Deadline = nil, time.Time{}
		}, nil, fsm.StateFailed, "session lost", "the pending question is missing"},
	} {
		t.Run(name, func(t *testing.T) {
			n := alone(t, newStore(t), checking{agent{}, c.check})
			defer n.die(nil)
			run := parked(t, "r")
			run.Profile, run.Slot, run.Session, run.Pending, run.Engine = fsm.ProfileResumable, false, session,
				&question, DefaultEngine
			c.change(&run)
			cm, err := transition(&run, n.rescue(t.Context(), &run, "n"))
			require.NoError(t, err)
			require.Equal(t, c.state, cm.Run.State)
			require.Equal(t, c.reason, cm.Run.RecoveryReason)
			if c.state == fsm.StateFailed {
				require.Equal(t, fsm.CodeSessionResumeFailed, cm.Run.Error.Code)
				require.Contains(t, cm.Run.Error.Message, c.says)
			}
		})
	}
}

// checking is an agent that looks at handles, and remembers what it was to end.
type checking struct {
	agent
	check func(engine.Handle) error
}

func (c checking) Check(_ context.Context, _ string, h engine.Handle) error {
	if c.check == nil {
		return errors.New("it was not to be asked")
	}
	return c.check(h)
}

func (c checking) Reap(_ context.Context, id string) error {
	return errors.New("a run that waits for its engine's session has left nothing: " + id)
}
