package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/lifecycle/internal/node"
	"github.com/interlude-go/interlude/store"
)

// agent is an engine of two functions; without them it is resumable, and each turn is the run's
// last.
type agent struct {
	profile func() (engine.Profile, error)
	turn    func(ctx context.Context, t engine.Turn) (engine.Outcome, error)
}

func (a agent) Profile(context.Context) (engine.Profile, error) {
	if a.profile != nil {
		return a.profile()
	}
	return engine.Profile{Kind: fsm.ProfileResumable}, nil
}

func (a agent) RunTurn(ctx context.Context, t engine.Turn, _ engine.Sink) (engine.Outcome, error) {
	if a.turn != nil {
		return a.turn(ctx, t)
	}
	return finished(), nil
}

// sinking is a resumable engine that reports during its turn.
type sinking func(ctx context.Context, t engine.Turn, s engine.Sink) (engine.Outcome, error)

func (sinking) Profile(context.Context) (engine.Profile, error) {
	return engine.Profile{Kind: fsm.ProfileResumable}, nil
}

func (e sinking) RunTurn(ctx context.Context, t engine.Turn, s engine.Sink) (engine.Outcome, error) {
	return e(ctx, t, s)
}

// asking is the outcome of a turn that ends with a question.
func asking(prompt string) engine.Outcome {
	o := engine.Ask(interaction.Question{Kind: interaction.OpenText, Prompt: prompt})
	o.Session = &engine.SessionHandle{Engine: "agent", Version: "1", Data: []byte("session")}
	return o
}

func finished() engine.Outcome {
	return engine.Outcome{Process: engine.Process{Status: engine.OK}, FinalText: "ok\n__SKILL_DONE__\n"}
}

// serve has a lifecycle serve in the bubble. stop ends it and checks that nothing of it is left.
func serve(tb testing.TB, cfg Config) (lc *Lifecycle, stop func()) {
	tb.Helper()
	lc, end := serveBeside(tb, cfg)
	return lc, func() {
		tb.Helper()
		end()
		synctest.Wait() // a worker that is done has yet to return
		require.Zero(tb, workers(), "nothing outlives Serve")
	}
}

// serveBeside is serve for a Lifecycle among several in the bubble.
func serveBeside(tb testing.TB, cfg Config) (lc *Lifecycle, stop func()) {
	tb.Helper()
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	lc, err := New(cfg)
	require.NoError(tb, err)
	ctx, cancel := context.WithCancel(tb.Context())
	served := make(chan error, 1)
	go func() { served <- lc.Serve(ctx) }()
	synctest.Wait()
	return lc, func() {
		tb.Helper()
		cancel()
		require.NoError(tb, <-served)
		lc.Close()
	}
}

// workers counts the goroutines in this bubble that are workers of a node. After a test outside of
// bubbles, a worker that is done may still have to return.
func workers() (n int) {
	stacks := make([]byte, 4<<20)
	own, others, _ := strings.Cut(string(stacks[:runtime.Stack(stacks, true)]), "\n\n")
	head, _, _ := strings.Cut(own, "\n")
	_, bubble, found := strings.Cut(head, ", synctest bubble ") // "7]:"
	if !found {
		panic("the caller is not in a bubble")
	}
	for g := range strings.SplitSeq(others, "\n\n") {
		head, calls, _ := strings.Cut(g, "\n")
		if strings.HasSuffix(head, " bubble "+bubble) && strings.Contains(calls, "node.(*Node).runWorker(") {
			n++
		}
	}
	return n
}

func submit(tb testing.TB, lc *Lifecycle, id string) {
	tb.Helper()
	_, err := lc.Submit(tb.Context(), Spec{ID: id, Prompt: "x"})
	require.NoError(tb, err)
}

func TestDispatchReusesIdleWorkers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lc, stop := serve(t, Config{Store: newStore(t), Engine: agent{}, Concurrency: 16})
		require.Zero(t, workers())
		for i := range 50 {
			submit(t, lc, fmt.Sprint("r", i))
			synctest.Wait()
		}
		require.Equal(t, 1, workers())
		stop()
	})
}

// TestDispatchStartsNoMoreWorkersThanTurns: there are many more runs than may execute here, and one
// starts when another ends.
func TestDispatchStartsNoMoreWorkersThanTurns(t *testing.T) {
	for _, concurrency := range []int{1, 3, 8} {
		synctest.Test(t, func(t *testing.T) {
			s := newStore(t)
			var now, most atomic.Int64
			lc, stop := serve(t, Config{Store: s, Concurrency: concurrency, Engine: agent{turn: func(_ context.Context,
				turn engine.Turn) (engine.Outcome, error) {
				if n := now.Add(1); n > most.Load() {
					most.Store(n) // a bound from below is enough
				}
				defer now.Add(-1)
				if len(turn.RunID)%2 == 0 {
					time.Sleep(time.Millisecond) // the bubble's time
				}
				return finished(), nil
			}}})
			var all sync.WaitGroup
			for i := range 300 {
				all.Go(func() {
					id := fmt.Sprint("r", i)
					submit(t, lc, id)
					if run, err := lc.Wait(t.Context(), id); err != nil || run.State != fsm.StateSucceeded {
						t.Errorf("%s: %v %v", id, run.State, err)
					}
				})
			}
			all.Wait()
			synctest.Wait()
			require.LessOrEqual(t, workers(), concurrency)
			require.LessOrEqual(t, most.Load(), int64(concurrency))
			require.Positive(t, workers(), "those that are idle stay for what comes")
			stop()
		})
	}
}

func TestWorkerSurvivesAPanicOfTheEngine(t *testing.T) {
	for name, faulty := range map[string]func(wrong *atomic.Bool) agent{
		"in a turn": func(wrong *atomic.Bool) agent {
			return agent{turn: func(context.Context, engine.Turn) (engine.Outcome, error) {
				if wrong.Load() {
					panic("no such model")
				}
				return finished(), nil
			}}
		},
		"while it tells its profile": func(wrong *atomic.Bool) agent {
			return agent{profile: func() (engine.Profile, error) {
				if wrong.Load() {
					panic("no such model")
				}
				return engine.Profile{Kind: fsm.ProfileResumable}, nil
			}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var wrong atomic.Bool
				lc, stop := serve(t, Config{Store: newStore(t), Engine: faulty(&wrong), Concurrency: 1})
				for i := range 6 {
					id := fmt.Sprint("r", i)
					wrong.Store(i%2 == 0)
					submit(t, lc, id)
					run, err := lc.Wait(t.Context(), id)
					require.NoError(t, err)
					if i%2 == 0 {
						require.Equal(t, fsm.StateFailed, run.State)
						require.Equal(t, fsm.CodeEngineFailed, run.Error.Code)
						require.Contains(t, run.Error.Message, "no such model")
					} else {
						require.Equal(t, fsm.StateSucceeded, run.State)
					}
					synctest.Wait()
					require.Equal(t, 1, workers())
				}
				stop()
			})
		})
	}
}

// slow is a store whose next non-empty claim is executed, and answered only on request, in the
// given way.
type slow struct {
	store.Store
	store.Watcher
	claimed chan struct{} // closed when it is made
	answer  chan error
	once    sync.Once
}

func newSlow(s interface {
	store.Store
	store.Watcher
}) *slow {
	return &slow{Store: s, Watcher: s, claimed: make(chan struct{}), answer: make(chan error)}
}

func (s *slow) Claim(ctx context.Context, req store.ClaimRequest) ([]store.Claimed, error) {
	claimed, err := s.Store.Claim(ctx, req)
	if len(claimed) > 0 {
		s.once.Do(func() {
			close(s.claimed)
			if err = <-s.answer; err != nil {
				claimed = nil
			}
		})
	}
	return claimed, err
}

// TestDispatchWhileTheNodeLeaves: a turn that is claimed while the node leaves is executed if there
// is time for it, and given back otherwise.
func TestDispatchWhileTheNodeLeaves(t *testing.T) {
	lasting := func(ctx context.Context, _ engine.Turn) (engine.Outcome, error) {
		<-ctx.Done()
		return engine.Outcome{}, context.Cause(ctx)
	}
	for _, c := range []struct {
		name       string
		grace      time.Duration
		turn       func(context.Context, engine.Turn) (engine.Outcome, error)
		repeatable bool
		state      fsm.State
	}{
		{"it has time to end", time.Second, nil, false, fsm.StateSucceeded},
		{"it lasts longer and may be repeated", time.Second, lasting, true, fsm.StateQueued},
		{"it lasts longer and may not", time.Second, lasting, false, fsm.StateFailed},
		{"there is no time and it may be repeated", -1, lasting, true, fsm.StateQueued},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSlow(newStore(t))
				lc, stop := serve(t, Config{Store: s, Engine: agent{turn: c.turn}, Grace: c.grace})
				_, err := lc.Submit(t.Context(), Spec{ID: "r", Prompt: "x", Repeatable: c.repeatable})
				require.NoError(t, err)
				<-s.claimed
				var leaving sync.WaitGroup
				leaving.Go(stop)
				synctest.Wait() // all loops except the claiming one have ended
				s.answer <- nil
				leaving.Wait()
				run, err := lc.Get(t.Context(), "r")
				require.NoError(t, err)
				require.Equal(t, c.state, run.State)
				require.Equal(t, 1, run.Attempt)
				require.Empty(t, run.Owner)
			})
		})
	}
}

// TestLeavingNodeStartsNothing: a node that learns only while it leaves that it holds a run, whose
// claim was stored and not acknowledged, leaves it to recovery, although it keeps renewing its
// lease for the turns that it waits for.
func TestLeavingNodeStartsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSlow(newStore(t))
		goOn := make(chan struct{})
		var started sync.Map
		lc, stop := serve(t, Config{Store: s, Lease: 3 * time.Second, Grace: time.Minute,
			Engine: agent{turn: func(_ context.Context, turn engine.Turn) (engine.Outcome, error) {
				started.Store(turn.RunID, true)
				<-goOn
				return finished(), nil
			}}})
		submit(t, lc, "unknown")
		<-s.claimed
		submit(t, lc, "long")
		s.answer <- errors.New("connection reset")
		synctest.Wait()
		// the bubble's time: one poll, in which the other is claimed, and one renewal
		time.Sleep(1500 * time.Millisecond)
		synctest.Wait()
		_, executing := started.Load("long")
		require.True(t, executing)

		var leaving sync.WaitGroup
		leaving.Go(stop)
		time.Sleep(20 * time.Second) // the bubble's time: many renewals
		synctest.Wait()
		close(goOn)
		leaving.Wait()
		_, executed := started.Load("unknown")
		require.False(t, executed)
		run, err := lc.Get(t.Context(), "long")
		require.NoError(t, err)
		require.Equal(t, fsm.StateSucceeded, run.State)

		done, err := lc.Recover(t.Context())
		require.NoError(t, err)
		require.Equal(t, Recovery{Failed: 1}, done)
		run, err = lc.Get(t.Context(), "unknown")
		require.NoError(t, err)
		require.Equal(t, fsm.CodeOrchestratorRestartInterrupted, run.Error.Code)
	})
}

// parked is the record of a run that waits with a question whose deadline has passed.
func parked(tb testing.TB, id string) Run {
	tb.Helper()
	now := node.CommitTime(SystemClock{})
	run, _, err := Spec{ID: id, Prompt: "x", SessionTimeout: time.Second}.record(now)
	require.NoError(tb, err)
	run.Version, run.State, run.Profile, run.Attempt, run.Interactions = 3, fsm.StateWaitingUser,
		fsm.ProfileStickyProcess, 1, 1
	run.Owner, run.Slot, run.Epoch = "n", true, 1
	run.Open = []interaction.Question{{ID: 1, Attempt: 1, Kind: interaction.OpenText, Prompt: "Go on?", AskedAt: now}}
	run.Deadline = now
	return run
}

// refusing is a store in which there are always as many due questions as a sweep takes, and none
// can be settled.
type refusing struct {
	store.Store
	due   []Run
	tries atomic.Int64
}

func (s *refusing) Due(context.Context, time.Time, int) ([]Run, time.Time, error) {
	return s.due, time.Time{}, nil
}

func (s *refusing) Commit(_ context.Context, batch []store.Commit) []error {
	s.tries.Add(1)
	errs := make([]error, len(batch))
	for i := range errs {
		errs[i] = errors.New("disk full")
	}
	return errs
}

func TestWatchDeadlinesRetriesCommitsOncePerPoll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &refusing{Store: newStore(t), due: make([]Run, node.DueBatch)}
		for i := range s.due {
			s.due[i] = parked(t, fmt.Sprint("r", i))
		}
		_, stop := serve(t, Config{Store: s, Engine: agent{}})
		time.Sleep(10*time.Second + time.Millisecond) // the bubble's time
		synctest.Wait()
		require.EqualValues(t, 11, s.tries.Load())
		stop()
	})
}

// TestDispatchPicksEachIdleWorkerOnce: two long turns, after a short one, execute at the same time.
func TestDispatchPicksEachIdleWorkerOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		goOn := make(chan struct{})
		started := make(chan string, 10)
		lc, stop := serve(t, Config{Store: newStore(t), Engine: agent{turn: func(_ context.Context,
			turn engine.Turn) (engine.Outcome, error) {
			started <- turn.RunID
			if turn.RunID != "short" {
				<-goOn
			}
			return finished(), nil
		}}})
		submit(t, lc, "short")
		synctest.Wait()
		for i := range 4 {
			submit(t, lc, fmt.Sprint("long", i))
			synctest.Wait()
			require.Len(t, started, 2+i, "nobody waits for a worker that is busy")
		}
		close(goOn)
		pass(time.Second)
		for i := range 4 {
			in(t, lc.Client, fmt.Sprint("long", i), fsm.StateSucceeded)
		}
		stop()
	})
}
