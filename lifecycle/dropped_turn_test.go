package lifecycle

import (
	"context"
	"errors"
	"slices"
	"sync"
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

// TestDroppedTurnIsRepeatedIfRepeatable: E4, a node that could not renew its lease for its whole
// length drops its turns. If no other node has taken the lease, they are still the node's: it
// reports them as interrupted, and repeats only repeatable ones.
func TestDroppedTurnIsRepeatedIfRepeatable(t *testing.T) {
	for name, repeatable := range map[string]bool{"it may be repeated": true, "it may not": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &cut{Store: newStore(t)}
				var attempts []int // of one run, one after the other
				e := agent{turn: func(ctx context.Context, turn engine.Turn) (engine.Outcome, error) {
					attempts = append(attempts, turn.Attempt)
					if len(attempts) > 1 {
						return finished(), nil
					}
					<-ctx.Done()
					return engine.Outcome{}, context.Cause(ctx)
				}}
				_, err := clientOf(t, s).Submit(t.Context(), Spec{ID: "r", Prompt: "x", Repeatable: repeatable})
				require.NoError(t, err)
				lc, stop := serve(t, Config{Store: s, Engine: e, Lease: 12 * time.Second,
					Poll: time.Hour}) // the end of the pause before a repeat waits for no poll
				s.off.Store(true)
				pass(20 * time.Second)
				in(t, lc.Client, "r", fsm.StateRunning)
				s.off.Store(false)
				pass(8 * time.Second)
				if repeatable {
					run := in(t, lc.Client, "r", fsm.StateSucceeded)
					require.Contains(t, run.Warnings, fsm.WarnTurnRepeated)
					require.Equal(t, []int{1, 2}, attempts)
				} else {
					run := in(t, lc.Client, "r", fsm.StateFailed)
					require.Equal(t, fsm.CodeOrchestratorRestartInterrupted, run.Error.Code)
					require.Equal(t, []int{1}, attempts)
				}
				stop()
			})
		})
	}
}

// absent is a store that makes one commit without acknowledging it, and is away from then on: it
// neither writes nor reads until it is back.
type absent struct {
	store.Store
	loses func(c *store.Commit) bool

	mu                  sync.Mutex
	gone, claims, spent bool // guarded by mu; claims: these are made again
}

var errAway = errors.New("connection refused")

func (a *absent) away(claim bool) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.gone && (!claim || !a.claims) {
		return errAway
	}
	return nil
}

func (a *absent) set(gone, claims bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.gone, a.claims = gone, claims
}

func (a *absent) Commit(ctx context.Context, batch []store.Commit) []error {
	err := a.away(false)
	if err == nil {
		errs := a.Store.Commit(ctx, batch)
		a.mu.Lock()
		defer a.mu.Unlock()
		if a.spent || !slices.ContainsFunc(batch, func(c store.Commit) bool { return a.loses(&c) }) {
			return errs
		}
		a.gone, a.spent, err = true, true, errAway
	}
	return slices.Repeat([]error{err}, len(batch))
}

func (a *absent) Claim(ctx context.Context, req store.ClaimRequest) ([]store.Claimed, error) {
	if err := a.away(true); err != nil {
		return nil, err
	}
	return a.Store.Claim(ctx, req)
}

func (a *absent) Run(ctx context.Context, id string) (store.Run, error) {
	if err := a.away(false); err != nil {
		return store.Run{}, err
	}
	return a.Store.Run(ctx, id)
}

// talking says something in each turn, asks once, and is done.
type talking struct{ turns atomic.Int64 }

func (e *talking) Profile(context.Context) (engine.Profile, error) {
	return engine.Profile{Kind: fsm.ProfileResumable}, nil
}

func (e *talking) RunTurn(ctx context.Context, t engine.Turn, s engine.Sink) (engine.Outcome, error) {
	e.turns.Add(1)
	if err := s.Message(ctx, engine.Message{Text: "well"}); err != nil {
		return engine.Outcome{}, err
	}
	if len(t.Answers) > 0 {
		return finished(), nil
	}
	o := engine.Ask(interaction.Question{Kind: interaction.OpenText, Prompt: "?"})
	o.Session = &engine.SessionHandle{Engine: "talking", Data: []byte("x")}
	return o, nil
}

// TestCommitStoredBeforeAnOutageIsFound: I2, a worker whose commit was stored, but who could not
// learn that for a while, finds it when the store is back, however often it retried, and continues
// from there.
func TestCommitStoredBeforeAnOutageIsFound(t *testing.T) {
	for name, loses := range map[string]func(c *store.Commit) bool{
		"a message":   func(c *store.Commit) bool { return c.Run.State == fsm.StateRunning },
		"a question":  func(c *store.Commit) bool { return c.Run.State == fsm.StateWaitingUser },
		"the outcome": func(c *store.Commit) bool { return c.Run.State == fsm.StateSucceeded },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &absent{Store: newStore(t), loses: loses}
				e := &talking{}
				var seen notified
				lc, stop := serve(t, Config{Store: s, Engine: e, Lease: time.Minute, Observer: Observer{
					Transition: func(n Transition) { seen.addf("%s -> %s", n.From, n.To) },
				}})
				outside := clientOf(t, s.Store)
				submit(t, lc, "r")
				pass(9 * time.Second)
				s.set(false, false)
				pass(2 * time.Second)
				if in(t, outside, "r", fsm.StateWaitingUser).Attempt == 1 {
					_, err := outside.Reply(t.Context(), "r", interaction.Reply{ID: 1, Text: "yes"})
					require.NoError(t, err)
				}
				pass(9 * time.Second)
				s.set(false, false)
				pass(2 * time.Second)
				run := in(t, outside, "r", fsm.StateSucceeded)
				require.Equal(t, 2, run.Attempt)
				require.EqualValues(t, 2, e.turns.Load())
				require.Equal(t, []string{
					" -> queued", "queued -> running", "running -> waiting_user", "queued -> running",
					"running -> succeeded",
				}, seen.drain(), "an observer is told of the commit that is found, once")
				stop()
			})
		})
	}
}

// living is an engine with a process that lives from a run's first turn until it is ended.
type living struct {
	mu    sync.Mutex
	alive map[string]bool // guarded by mu
}

func (l *living) Profile(context.Context) (engine.Profile, error) {
	return engine.Profile{Kind: fsm.ProfileStickyProcess}, nil
}

func (l *living) RunTurn(_ context.Context, t engine.Turn, _ engine.Sink) (engine.Outcome, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(t.Answers) == 0 {
		l.alive[t.RunID] = true
		return engine.Ask(interaction.Question{Kind: interaction.OpenText, Prompt: "?"}), nil
	}
	if !l.alive[t.RunID] {
		return engine.Outcome{}, &engine.Failure{Code: fsm.CodeInteractionProcessLost, Detail: "it was ended"}
	}
	return finished(), nil
}

func (l *living) End(_ context.Context, id string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.alive, id)
	return nil
}

func (l *living) OnLoss(func(string, error)) (stop func()) { return func() {} }

// TestReplyBeforeTheAcknowledgementOfAWait: D5, a question is answered before the worker that asked
// it knows that it is stored. The worker's process still belongs to the run, whether the worker
// finds the run in the queue or executing again.
func TestReplyBeforeTheAcknowledgementOfAWait(t *testing.T) {
	for name, claimed := range map[string]bool{"and is in the queue": false, "and is executed already": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &absent{Store: newStore(t), loses: func(c *store.Commit) bool {
					return c.Run.State == fsm.StateWaitingUser
				}}
				e := &living{alive: make(map[string]bool)}
				lc, stop := serve(t, Config{Store: s, Engine: e, Lease: time.Minute})
				outside := clientOf(t, s.Store)
				submit(t, lc, "r")
				pass(2 * time.Second)
				_, err := outside.Reply(t.Context(), "r", interaction.Reply{ID: 1, Text: "yes"})
				require.NoError(t, err)
				if claimed {
					s.set(true, true)
					pass(5 * time.Second)
					in(t, outside, "r", fsm.StateRunning)
				}
				pass(5 * time.Second)
				s.set(false, true)
				pass(5 * time.Second)
				require.Equal(t, 2, in(t, outside, "r", fsm.StateSucceeded).Attempt)
				stop()
			})
		})
	}
}

// tardy is a store whose answer to a renewal is under way for a while.
type tardy struct {
	store.Store
	since atomic.Int64 // nanoseconds that the next answer takes
}

func (s *tardy) Renew(ctx context.Context, id string, now time.Time) ([]store.OwnedRun, error) {
	held, err := s.Store.Renew(ctx, id, now)
	time.Sleep(time.Duration(s.since.Swap(0))) // the bubble's time
	return held, err
}

// TestHeartbeatIgnoresTurnsStartedAfterIt: D5 E3, a renewal lists the runs held at its time. Runs
// started while its answer was in transit, and their processes, are not ended because of it.
func TestHeartbeatIgnoresTurnsStartedAfterIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &tardy{Store: newStore(t)}
		process := &living{alive: make(map[string]bool)}
		done := make(chan struct{})
		long, turns := until(done)
		lc, stop := serve(t, Config{Store: s, Engine: process, Engines: map[string]engine.Engine{"long": long},
			Lease: 12 * time.Second})
		s.since.Store(int64(9 * time.Second))
		pass(5 * time.Second) // it was asked a second ago
		submit(t, lc, "r")
		_, err := lc.Submit(t.Context(), Spec{ID: "long", Prompt: "x", Engine: "long"})
		require.NoError(t, err)
		pass(2 * time.Second)
		in(t, lc.Client, "r", fsm.StateWaitingUser)
		pass(10 * time.Second)
		_, err = lc.Reply(t.Context(), "r", interaction.Reply{ID: 1, Text: "yes"})
		require.NoError(t, err)
		close(done)
		pass(2 * time.Second)
		in(t, lc.Client, "r", fsm.StateSucceeded)
		in(t, lc.Client, "long", fsm.StateSucceeded)
		require.EqualValues(t, 1, turns.Load())
		stop()
	})
}

// overtaken is a store that acknowledges one commit, and is found without it afterwards, as a
// standby is that took over too early.
type overtaken struct {
	store.Store

	spent atomic.Bool
}

func (f *overtaken) Commit(ctx context.Context, batch []store.Commit) []error {
	if batch[0].Run.State == fsm.StateRunning && batch[0].Fence != nil && f.spent.CompareAndSwap(false, true) {
		return make([]error, len(batch))
	}
	return f.Store.Commit(ctx, batch)
}

// TestTurnIsSettledAfterLostReports: E4, a store that fails over without the last commits leaves a
// worker with a record that was never stored. Its turn ends, and is settled as interrupted, without
// endless retries.
func TestTurnIsSettledAfterLostReports(t *testing.T) {
	for name, repeatable := range map[string]bool{"it may be repeated": true, "it may not": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e := &talking{}
				lc, stop := serve(t, Config{Store: &overtaken{Store: newStore(t)}, Engine: e, Lease: 12 * time.Second})
				_, err := lc.Submit(t.Context(), Spec{ID: "r", Prompt: "x", Repeatable: repeatable})
				require.NoError(t, err)
				pass(12 * time.Second)
				if repeatable {
					run := in(t, lc.Client, "r", fsm.StateWaitingUser)
					require.Contains(t, run.Warnings, fsm.WarnTurnRepeated)
					require.EqualValues(t, 2, e.turns.Load())
				} else {
					run := in(t, lc.Client, "r", fsm.StateFailed)
					require.Equal(t, fsm.CodeOrchestratorRestartInterrupted, run.Error.Code)
					require.EqualValues(t, 1, e.turns.Load())
				}
				stop()
			})
		})
	}
}
