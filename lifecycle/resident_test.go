package lifecycle

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/lifecycle/internal/decide"
	"github.com/interlude-go/interlude/lifecycle/internal/node"
	"github.com/interlude-go/interlude/store"
)

// mortal is a living engine whose processes may die by themselves, and cannot always be ended.
type mortal struct {
	living
	onLoss func(string, error)
	endErr error
	ends   []string // in which order they were to be ended
}

func newMortal() *mortal { return &mortal{living: living{alive: make(map[string]bool)}} }

func (m *mortal) OnLoss(fn func(string, error)) (stop func()) {
	m.onLoss = fn
	return func() {}
}

func (m *mortal) End(ctx context.Context, id string) error {
	m.mu.Lock()
	m.ends = append(m.ends, id)
	m.mu.Unlock()
	return errors.Join(m.living.End(ctx, id), m.endErr)
}

// dies has the run's process end by itself.
func (m *mortal) dies(id string) {
	m.mu.Lock()
	delete(m.alive, id)
	m.mu.Unlock()
	m.onLoss(id, errors.New("killed"))
}

// hesitant is a store that gives the prepared answers to the commit of a loss, and counts them.
type hesitant struct {
	store.Store

	mu      sync.Mutex
	answers []error     // guarded by mu; one for each such commit, then they are stored
	tries   []time.Time // guarded by mu
}

func (s *hesitant) Commit(ctx context.Context, batch []store.Commit) []error {
	if len(batch) == 1 && batch[0].Run.State == fsm.StateFailed {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.tries = append(s.tries, time.Now())
		if len(s.answers) > 0 {
			err := s.answers[0]
			s.answers = s.answers[1:]
			return []error{err}
		}
	}
	return s.Store.Commit(ctx, batch)
}

// TestSettleLostProcessRetriesCommits: D6, immediately if it loses, immediately again after another
// change, and ever more rarely while the store is unavailable, at most once a poll.
func TestSettleLostProcessRetriesCommits(t *testing.T) {
	away := errors.New("connection refused")
	for name, c := range map[string]struct {
		answers []error
		after   []time.Duration // of each try
		logged  int
	}{
		"it does not":             {nil, []time.Duration{0}, 0},
		"somebody else was first": {[]error{store.ErrConflict, store.ErrConflict}, []time.Duration{0, 0, 0}, 0},
		"the store is out of order": {[]error{away, away}, []time.Duration{0, 20 * time.Millisecond,
			60 * time.Millisecond}, 1},
		"it is, and then others were": {[]error{away, store.ErrConflict}, []time.Duration{0, 20 * time.Millisecond,
			20 * time.Millisecond}, 1},
		"it is, for long": {[]error{away, away, away, away, away, away, away}, []time.Duration{
			0, 20 * time.Millisecond, 60 * time.Millisecond, 140 * time.Millisecond, 300 * time.Millisecond,
			600 * time.Millisecond, 900 * time.Millisecond, 1200 * time.Millisecond,
		}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, e, log := &hesitant{Store: newStore(t), answers: c.answers}, newMortal(), &journal{}
				lc, stop := serve(t, Config{Store: s, Engine: e, Logger: slog.New(log), Poll: 300 * time.Millisecond})
				submit(t, lc, "r")
				pass(time.Second)
				in(t, lc.Client, "r", fsm.StateWaitingUser)
				died := time.Now()
				e.dies("r")
				pass(5 * time.Second)
				run := in(t, lc.Client, "r", fsm.StateFailed)
				require.Equal(t, fsm.CodeInteractionProcessLost, run.Error.Code)
				require.Equal(t, "the resident process ended while the run waited", run.Error.Message)
				require.False(t, run.Slot)
				var after []time.Duration
				for _, at := range s.tries {
					after = append(after, at.Sub(died))
				}
				require.Equal(t, c.after, after)
				require.Len(t, log.logged(), c.logged)
				for _, line := range log.logged() {
					want := "ERROR lost process not settled; trying again: lifecycle: fail run r: connection refused"
					require.Equal(t, want, line)
				}
				stop()
			})
		})
	}
}

// waitsAt makes a run that waits with a resident process at a node.
func waitsAt(tb testing.TB, s store.Store, id, nodeID string) {
	tb.Helper()
	now := node.CommitTime(SystemClock{})
	run, body, err := Spec{ID: id, Prompt: "x"}.record(now)
	require.NoError(tb, err)
	cm, err := decide.Submission(&run, body)
	require.NoError(tb, err)
	require.NoError(tb, s.Commit(tb.Context(), []store.Commit{*cm})[0])
	require.NoError(tb, s.Join(tb.Context(), store.Node{ID: nodeID, Lease: time.Hour}, now))
	claimed, err := s.Claim(tb.Context(), store.ClaimRequest{Node: nodeID, Now: now, Max: 1,
		Start: (&decide.Starts{Now: now}).Start})
	require.NoError(tb, err)
	require.Len(tb, claimed, 1)
	asks := decide.Read(asking("Go on?"), &decide.Terms{Profile: fsm.ProfileStickyProcess})
	cm, err = decide.Turn(&claimed[0].Run, asks, nodeID, now)
	require.NoError(tb, err)
	require.NoError(tb, s.Commit(tb.Context(), []store.Commit{*cm})[0])
}

// TestSettleLostProcessRetriesReads: the store cannot be read at first.
func TestSettleLostProcessRetriesReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &absent{Store: newStore(t), loses: func(*store.Commit) bool { return false }}
		e := newMortal()
		lc, stop := serve(t, Config{Store: s, Engine: e, Lease: time.Minute})
		submit(t, lc, "r")
		pass(time.Second)
		s.set(true, true)
		e.dies("r")
		pass(3 * time.Second)
		in(t, clientOf(t, s.Store), "r", fsm.StateWaitingUser)
		s.set(false, true)
		pass(time.Second)
		in(t, lc.Client, "r", fsm.StateFailed)
		stop()
	})
}

// TestShutdownLogsProcessesThatCannotBeEnded, ends all of them in order, and says in their runs
// why they are over.
func TestShutdownLogsProcessesThatCannotBeEnded(t *testing.T) {
	for name, cannot := range map[string]error{"they can": nil, "they cannot": errors.New("no such process")} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e, log := newMortal(), &journal{}
				e.endErr = cannot
				s := newStore(t)
				lc, stop := serve(t, Config{Store: s, Engine: e, Logger: slog.New(log)})
				for _, id := range []string{"b", "a"} {
					submit(t, lc, id)
					synctest.Wait()
				}
				stop()
				require.ElementsMatch(t, []string{"a", "b"}, e.ends)
				for _, id := range []string{"a", "b"} {
					run := in(t, clientOf(t, s), id, fsm.StateFailed)
					require.Equal(t, fsm.CodeInteractionProcessLost, run.Error.Code)
					require.Equal(t, "the host shut down while the run waited", run.Error.Message)
				}
				if cannot == nil {
					require.Empty(t, log.logged())
				} else {
					require.Equal(t, []string{"WARN resident process not ended: no such process",
						"WARN resident process not ended: no such process"}, log.logged())
				}
			})
		})
	}
}

// TestCancelEndsTheProcessAfterItsTurn: D3 I6, a canceled turn's process is ended when the
// turn has, and not under it.
func TestCancelEndsTheProcessAfterItsTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newMortal()
		goOn := make(chan struct{})
		deaf := &deafMortal{mortal: e, goOn: goOn}
		lc, stop := serve(t, Config{Store: newStore(t), Engine: deaf})
		submit(t, lc, "r")
		synctest.Wait()
		require.NoError(t, lc.Cancel(t.Context(), "r", ""))
		synctest.Wait()
		require.Empty(t, e.ends, "its turn still goes on")
		close(goOn)
		synctest.Wait()
		require.Equal(t, []string{"r"}, e.ends)
		stop()
		require.Equal(t, []string{"r"}, e.ends, "once")
	})
}

// deafMortal continues its turn though it is canceled.
type deafMortal struct {
	*mortal
	goOn <-chan struct{}
}

func (d *deafMortal) RunTurn(ctx context.Context, t engine.Turn, s engine.Sink) (engine.Outcome, error) {
	<-d.goOn
	return d.mortal.RunTurn(ctx, t, s)
}
