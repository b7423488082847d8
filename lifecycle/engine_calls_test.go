package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/lifecycle/internal/node"
	"github.com/interlude-go/interlude/store"
)

// J10: hosts rely on the limits of engine calls.
func TestEngineCallsHaveTheirLimits(t *testing.T) {
	require.Equal(t, 10*time.Second, node.TurnReturnLimit)
	require.Equal(t, 2*time.Second, node.CallReturnLimit)
	require.Equal(t, []time.Duration{time.Minute, 10 * time.Second, 10 * time.Second, 5 * time.Second},
		[]time.Duration{node.ReapLimit, node.CheckLimit, node.EndLimit, node.LossLimit})
}

// J10: a report of stuck calls names a run and a turn only if the call is for one.
func TestEngineCallNamesWhatItIsFor(t *testing.T) {
	for want, c := range map[string]EngineCall{
		`RunTurn of engine "e" for run r (attempt 1)`: {Engine: "e", Method: "RunTurn", RunID: "r", Attempt: 1},
		`Reap of engine "e" for run r`:                {Engine: "e", Method: "Reap", RunID: "r"},
		`OnLoss of engine "e"`:                        {Engine: "e", Method: "OnLoss"},
	} {
		require.Equal(t, want, c.String())
	}
}

// faultyEngine is an agent with every optional ability, each a function that may be left out.
type faultyEngine struct {
	agent
	reap   func(ctx context.Context, id string) error
	check  func(ctx context.Context, id string) error
	end    func(ctx context.Context, id string) error
	onLoss func() (stop func())
}

func (e faultyEngine) Reap(ctx context.Context, id string) error {
	if e.reap == nil {
		return nil
	}
	return e.reap(ctx, id)
}

func (e faultyEngine) Check(ctx context.Context, id string, _ engine.SessionHandle) error {
	if e.check == nil {
		return nil
	}
	return e.check(ctx, id)
}

func (e faultyEngine) End(ctx context.Context, id string) error {
	if e.end == nil {
		return nil
	}
	return e.end(ctx, id)
}

func (e faultyEngine) OnLoss(func(string, error)) (stop func()) {
	if e.onLoss == nil {
		return func() {}
	}
	return e.onLoss()
}

// sour is an error that cannot be read.
type sour struct{}

func (*sour) Error() string { panic("this error is broken, too") }

// exits is a value that ends the goroutine that encodes it.
type exits struct{}

func (exits) MarshalJSON() ([]byte, error) {
	runtime.Goexit()
	return nil, nil
}

func sticky() (engine.Profile, error) { return engine.Profile{Kind: fsm.ProfileStickyProcess}, nil }

// TestEngineFaultInATurnFailsItsRunOnly: J10, whatever an engine's code does instead of returning,
// its run fails with that reason, its slot and its place are free, and the same process continues
// with the next run. The log gets the stack of a panic (with paths of the host's source), the run
// its value.
func TestEngineFaultInATurnFailsItsRunOnly(t *testing.T) {
	fails := func(f func()) agent {
		return agent{turn: func(context.Context, engine.Turn) (engine.Outcome, error) {
			f()
			return finished(), nil
		}}
	}
	for name, c := range map[string]struct {
		engine  engine.Engine
		message string
	}{
		"RunTurn panics":        {fails(func() { panic("boom") }), "the engine panicked: boom"},
		"RunTurn panics by nil": {fails(func() { panic(nil) }), "the engine panicked: panic called with nil argument"},
		"RunTurn exits":         {fails(runtime.Goexit), node.ErrExited.Error()},
		"Profile panics": {agent{profile: func() (engine.Profile, error) {
			panic(errors.New("boom"))
		}}, "the engine panicked: boom"},
		"Profile exits": {agent{profile: func() (engine.Profile, error) {
			runtime.Goexit()
			return engine.Profile{}, nil
		}}, node.ErrExited.Error()},
		"its error panics": {agent{turn: func(context.Context, engine.Turn) (engine.Outcome, error) {
			return engine.Outcome{}, (*sour)(nil)
		}}, "the engine panicked: this error is broken, too"},
		"its hints exit": {agent{turn: func(context.Context, engine.Turn) (engine.Outcome, error) {
			o := asking("Which?")
			o.Questions[0].UIHints = map[string]any{"x": exits{}}
			return o, nil
		}}, node.ErrExited.Error()},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				log := &journal{}
				lc, stop := serve(t, Config{
					Store: newStore(t), Engine: agent{}, Engines: map[string]engine.Engine{"bad": c.engine},
					Concurrency: 1, Logger: slog.New(log),
				})
				for i := range 3 {
					id := fmt.Sprint("bad", i)
					_, err := lc.Submit(t.Context(), Spec{ID: id, Prompt: "x", Engine: "bad"})
					require.NoError(t, err)
					synctest.Wait()
					run := in(t, lc.Client, id, fsm.StateFailed)
					require.Equal(t, fsm.CodeEngineFailed, run.Error.Code)
					require.True(t, strings.HasPrefix(run.Error.Message, c.message), run.Error.Message)
					require.NotContains(t, run.Error.Message, ".go:")
				}
				submit(t, lc, "good")
				synctest.Wait()
				in(t, lc.Client, "good", fsm.StateSucceeded)
				require.Empty(t, lc.Stuck())
				stop()
			})
		})
	}
}

// TestEngineFaultBetweenTurnsFailsNoRun: J10 E7, a panic or an exit in a call outside of turns
// costs neither the process nor the runs.
func TestEngineFaultBetweenTurnsFailsNoRun(t *testing.T) {
	for name, fault := range map[string]func(){"panics": func() { panic("boom") }, "exits": runtime.Goexit} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newStore(t)
				reaped := orphaned(t, s, 1)
				waitsAt(t, s, "checked", "gone") // as a resumable run that waits
				_, err := s.Expire(t.Context(), time.Time{}, "gone")
				require.NoError(t, err)
				bad := func(context.Context, string) error { fault(); return nil }
				ask := func(context.Context, engine.Turn) (engine.Outcome, error) { return asking("Go on?"), nil }
				lc, stop := serve(t, Config{Store: s, Engine: faultyEngine{reap: bad, check: bad},
					Engines: map[string]engine.Engine{
						"sticky": faultyEngine{agent: agent{profile: sticky, turn: ask}, end: bad,
							onLoss: func() func() {
								fault()
								return nil
							}},
						"stops": faultyEngine{agent: agent{profile: sticky}, onLoss: func() func() { return fault }},
					}})
				pass(time.Second)
				run := in(t, lc.Client, reaped[0], fsm.StateFailed)
				require.Equal(t, fsm.CodeOrchestratorRestartInterrupted, run.Error.Code)
				require.Contains(t, run.Warnings, fsm.WarnOrphanReapFailed)
				checked, err := lc.Get(t.Context(), "checked")
				require.NoError(t, err)
				require.NotEmpty(t, checked.Recovery)

				for _, id := range []string{"canceled", "left"} {
					_, err = lc.Submit(t.Context(), Spec{ID: id, Prompt: "x", Engine: "sticky"})
					require.NoError(t, err)
				}
				synctest.Wait()
				in(t, lc.Client, "canceled", fsm.StateWaitingUser)
				require.NoError(t, lc.Cancel(t.Context(), "canceled", "")) // its process is ended now
				submit(t, lc, "good")
				synctest.Wait()
				in(t, lc.Client, "good", fsm.StateSucceeded)
				stop()
				in(t, clientOf(t, s), "left", fsm.StateFailed) // and this one's at the end
			})
		})
	}
}

// TestSuccessAfterTurnTimeoutIsNotStored: B1 J10 I6, a turn that was interrupted before its engine
// returned has failed, whatever the engine returns then. Results within Grace, before that, count.
func TestSuccessAfterTurnTimeoutIsNotStored(t *testing.T) {
	late := func(ctx context.Context, _ engine.Turn) (engine.Outcome, error) {
		<-ctx.Done()
		return finished(), nil
	}
	for name, c := range map[string]struct {
		turn  func(ctx context.Context, t engine.Turn) (engine.Outcome, error)
		spec  Spec
		grace time.Duration
		end   func(lc *Lifecycle) error
		state fsm.State
		code  fsm.Code
	}{
		"after its time": {turn: late, spec: Spec{TurnTimeout: 100 * time.Millisecond}, state: fsm.StateFailed,
			code: fsm.CodeTurnTimeout},
		"after its time, a question": {turn: func(ctx context.Context, _ engine.Turn) (engine.Outcome, error) {
			<-ctx.Done()
			return asking("Go on?"), nil
		}, spec: Spec{TurnTimeout: 100 * time.Millisecond}, state: fsm.StateFailed, code: fsm.CodeTurnTimeout},
		"after a cancel": {turn: late, end: func(lc *Lifecycle) error {
			return lc.Cancel(context.Background(), "r", "")
		}, state: fsm.StateCanceled, code: fsm.CodeRunCanceled},
		"after a shutdown": {turn: late, grace: -1, state: fsm.StateFailed,
			code: fsm.CodeOrchestratorRestartInterrupted},
		"after a shutdown, repeatable": {turn: late, spec: Spec{Repeatable: true}, grace: time.Second,
			state: fsm.StateQueued},
		"within Grace": {turn: func(context.Context, engine.Turn) (engine.Outcome, error) {
			time.Sleep(10 * time.Second)
			return finished(), nil
		}, grace: 15 * time.Second, state: fsm.StateSucceeded},
		"after hours, until done": {turn: func(context.Context, engine.Turn) (engine.Outcome, error) {
			time.Sleep(5 * time.Hour)
			return finished(), nil
		}, grace: UntilDone, state: fsm.StateSucceeded},
		"at its time": {turn: func(context.Context, engine.Turn) (engine.Outcome, error) {
			time.Sleep(99 * time.Millisecond)
			return finished(), nil
		}, spec: Spec{TurnTimeout: 100 * time.Millisecond}, state: fsm.StateSucceeded},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newStore(t)
				lc, stop := serve(t, Config{Store: s, Grace: c.grace, Engine: agent{turn: c.turn}})
				c.spec.ID, c.spec.Prompt = "r", "x"
				_, err := lc.Submit(t.Context(), c.spec)
				require.NoError(t, err)
				synctest.Wait()
				if c.end != nil {
					require.NoError(t, c.end(lc))
				}
				if c.spec.TurnTimeout > 0 {
					pass(time.Second)
				}
				stop()
				run := in(t, clientOf(t, s), "r", c.state)
				if c.code != "" {
					require.Equal(t, c.code, run.Error.Code)
				}
				require.Empty(t, run.Output)
			})
		})
	}
}

// TestEngineIsNotCalledForAnInterruptedTurn: B1, an engine is not called for a turn that ended
// while it was asked for its profile.
func TestEngineIsNotCalledForAnInterruptedTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var called atomic.Bool
		e := agent{profile: func() (engine.Profile, error) {
			time.Sleep(time.Second)
			return engine.Profile{Kind: fsm.ProfileResumable}, nil
		}, turn: func(context.Context, engine.Turn) (engine.Outcome, error) {
			called.Store(true)
			return finished(), nil
		}}
		lc, stop := serve(t, Config{Store: newStore(t), Engine: e})
		_, err := lc.Submit(t.Context(), Spec{ID: "r", Prompt: "x", TurnTimeout: time.Second / 2})
		require.NoError(t, err)
		pass(2 * time.Second)
		require.Equal(t, fsm.CodeTurnTimeout, in(t, lc.Client, "r", fsm.StateFailed).Error.Code)
		require.False(t, called.Load())
		stop()
	})
}

// TestHungTurnIsSettledWithoutItsWorker: J10, a turn whose engine ignores that its context has
// ended is settled without it. Its place in this process is lost until the engine returns, which is
// reported; its later results are not stored.
func TestHungTurnIsSettledWithoutItsWorker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		goOn := make(chan struct{})
		s, log := newStore(t), &journal{}
		e := sinking(func(ctx context.Context, in engine.Turn, sink engine.Sink) (engine.Outcome, error) {
			if in.RunID != "good" {
				<-goOn
				if err := sink.Message(context.WithoutCancel(ctx), engine.Message{Text: "late"}); !errors.Is(err,
					engine.ErrStale) {
					t.Errorf("a late report: %v", err)
				}
			}
			return finished(), nil
		})
		lc, stop := serve(t, Config{Store: s, Engine: e, Concurrency: 2, Logger: slog.New(log)})
		for _, id := range []string{"timed", "canceled"} {
			_, err := lc.Submit(t.Context(), Spec{ID: id, Prompt: "x", TurnTimeout: 2 * time.Second})
			require.NoError(t, err)
		}
		pass(time.Second)
		require.NoError(t, lc.Cancel(t.Context(), "canceled", "enough"))
		pass(node.TurnReturnLimit + time.Second)
		require.Equal(t, fsm.CodeTurnTimeout, in(t, lc.Client, "timed", fsm.StateFailed).Error.Code)
		stuck := lc.Stuck()
		require.Len(t, stuck, 2)
		require.Equal(t, `RunTurn of engine "default" for run canceled (attempt 1)`, stuck[0].String())
		submit(t, lc, "good")
		pass(time.Minute)
		in(t, lc.Client, "good", fsm.StateQueued) // both places are taken
		close(goOn)
		synctest.Wait()
		in(t, lc.Client, "good", fsm.StateSucceeded)
		require.Empty(t, lc.Stuck())
		in(t, lc.Client, "timed", fsm.StateFailed)
		require.Contains(t, log.logged(), "WARN engine has returned from a turn that was settled without it")
		stop()
	})
}

// TestStuckNamesAHungProfileCall: J10, the report of stuck calls names the hung method.
func TestStuckNamesAHungProfileCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		goOn := make(chan struct{})
		lc, stop := serve(t, Config{Store: newStore(t), Engine: agent{profile: func() (engine.Profile, error) {
			<-goOn
			return engine.Profile{Kind: fsm.ProfileResumable}, nil
		}}})
		_, err := lc.Submit(t.Context(), Spec{ID: "r", Prompt: "x", TurnTimeout: time.Second})
		require.NoError(t, err)
		pass(node.TurnReturnLimit + 2*time.Second)
		in(t, lc.Client, "r", fsm.StateFailed)
		require.Len(t, lc.Stuck(), 1)
		require.Equal(t, `Profile of engine "default" for run r (attempt 1)`, lc.Stuck()[0].String())
		close(goOn)
		synctest.Wait()
		require.Empty(t, lc.Stuck())
		stop()
	})
}

// TestProfileWithoutKindFailsTheTurn: F7, its run could end in auto mode and not wait: an engine
// that leaves the kind out hears so in its first turn.
func TestProfileWithoutKindFailsTheTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lc, stop := serve(t, Config{Store: newStore(t), Engine: agent{profile: func() (engine.Profile, error) {
			return engine.Profile{Plain: true}, nil
		}}})
		submit(t, lc, "r")
		synctest.Wait()
		run := in(t, lc.Client, "r", fsm.StateFailed)
		require.Equal(t, fsm.CodeEngineUnavailable, run.Error.Code)
		require.Equal(t, `the engine's Profile has Kind "", want "resumable" or "sticky_process"`, run.Error.Message)
		stop()
	})
}

// TestServeRejoinsWithoutWaitingForAHungTurn: J10, the node joins again without the stuck worker,
// and the other workers' runs continue.
func TestServeRejoinsWithoutWaitingForAHungTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		goOn := make(chan struct{})
		s := newStore(t)
		turns := make(map[string]*atomic.Int32)
		for _, id := range []string{"poison", "good"} {
			turns[id] = new(atomic.Int32)
		}
		e := agent{turn: func(_ context.Context, in engine.Turn) (engine.Outcome, error) {
			turns[in.RunID].Add(1)
			if in.RunID == "poison" {
				<-goOn
			}
			return finished(), nil
		}}
		lc, err := New(Config{Store: s, Engine: e, Concurrency: 2, Logger: slog.New(slog.DiscardHandler),
			Grace: time.Second})
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		served := make(chan error, 1)
		go func() { served <- lc.Serve(ctx) }()
		_, err = lc.Submit(t.Context(), Spec{ID: "poison", Prompt: "x", Repeatable: true})
		require.NoError(t, err)
		synctest.Wait()
		nodes, err := s.Nodes(t.Context())
		require.NoError(t, err)
		_, err = s.Expire(t.Context(), time.Time{}, nodes[0].ID) // another machine has taken over
		require.NoError(t, err)
		pass(30 * time.Second)
		again, err := s.Nodes(t.Context())
		require.NoError(t, err)
		require.Len(t, again, 1)
		require.NotEqual(t, nodes[0].ID, again[0].ID)
		submit(t, lc, "good")
		synctest.Wait()
		in(t, lc.Client, "good", fsm.StateSucceeded)
		require.EqualValues(t, 1, turns["poison"].Load(), "an engine is never called twice at one time for one run")
		require.Len(t, lc.Stuck(), 1)

		start := time.Now()
		cancel()
		err = <-served
		require.Less(t, time.Since(start), time.Second+node.AfterGrace)
		require.ErrorIs(t, err, ErrStuck)
		require.ErrorContains(t, err, `RunTurn of engine "default" for run poison (attempt 1)`)
		before, err := lc.Get(t.Context(), "poison")
		require.NoError(t, err)
		require.Equal(t, 1, workers(), "the stuck one alone outlives Serve")
		close(goOn)
		synctest.Wait()
		require.Zero(t, workers())
		after, err := lc.Get(t.Context(), "poison")
		require.NoError(t, err)
		require.Equal(t, before, after)
		require.True(t, lc.node.Permits.TryAcquire(2), "its place is free again")
		lc.node.Permits.Release(2)
		lc.Close()
	})
}

// TestRecoveryWaitsForNoHungEngineCall: J10 E7, a Reap or a Check that never returns holds up
// no other orphan, no later recovery and no shutdown.
func TestRecoveryWaitsForNoHungEngineCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const orphans = 250
		s := newStore(t)
		ids := orphaned(t, s, orphans, func(s *Spec) { s.Repeatable = true })
		hung := map[string]bool{ids[3]: true, ids[120]: true, ids[249]: true}
		goOn := make(chan struct{})
		e := faultyEngine{reap: func(_ context.Context, id string) error {
			if hung[id] {
				<-goOn
			}
			return nil
		}}
		lc, stop := serve(t, Config{Store: s, Engine: e})
		pass(3 * time.Second)
		for _, id := range ids {
			if !hung[id] {
				require.NotEqual(t, fsm.StateRunning, must(lc.Get(t.Context(), id)).State, id)
			}
		}
		in(t, lc.Client, ids[3], fsm.StateRunning)
		pass(node.ReapLimit + node.CallReturnLimit + 5*time.Second)
		require.Len(t, lc.Stuck(), 3)
		for id := range hung {
			require.Contains(t, must(lc.Get(t.Context(), id)).Warnings, fsm.WarnOrphanReapFailed)
			require.NotEqual(t, fsm.StateRunning, must(lc.Get(t.Context(), id)).State, id)
		}
		close(goOn)
		synctest.Wait()
		require.Empty(t, lc.Stuck())
		stop()
	})
}

func must(r Run, err error) Run {
	if err != nil {
		panic(err)
	}
	return r
}

// TestServeEndsDespiteHungCalls: J10, Serve ends within Grace plus its bound though End, Reap,
// OnLoss and its stop never return, and says so.
func TestServeEndsDespiteHungCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore(t)
		orphaned(t, s, 1)
		goOn := make(chan struct{})
		hang := func(context.Context, string) error { <-goOn; return nil }
		ask := func(context.Context, engine.Turn) (engine.Outcome, error) { return asking("Go on?"), nil }
		lc, err := New(Config{
			Store: s, Grace: time.Second, Logger: slog.New(slog.DiscardHandler), Engine: faultyEngine{reap: hang,
				onLoss: func() func() {
					<-goOn
					return nil
				}},
			Engines: map[string]engine.Engine{"sticky": faultyEngine{agent: agent{profile: sticky, turn: ask},
				end: hang, onLoss: func() func() {
					return func() { <-goOn }
				}}},
		})
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		served := make(chan error, 1)
		go func() { served <- lc.Serve(ctx) }()
		for i := range 20 {
			_, err := lc.Submit(t.Context(), Spec{ID: fmt.Sprint("s", i), Prompt: "x", Engine: "sticky"})
			require.NoError(t, err)
		}
		pass(20 * time.Second)
		in(t, lc.Client, "s7", fsm.StateWaitingUser)
		start := time.Now()
		cancel()
		err = <-served
		require.LessOrEqual(t, time.Since(start), time.Second+node.AfterGrace)
		require.Equal(t, 43*time.Second, node.AfterGrace, "as docs/limits.md promises")
		var left *StuckError
		require.ErrorAs(t, err, &left)
		require.Len(t, left.Calls, 20+3)
		for i := range 20 {
			require.Equal(t, fsm.CodeInteractionProcessLost, in(t, lc.Client, fmt.Sprint("s", i),
				fsm.StateFailed).Error.Code)
		}
		close(goOn)
		synctest.Wait()
		require.Empty(t, lc.Stuck())
		lc.Close()
	})
}

// TestServeEndsWhenTheStoreIsClosed: J9 J10, with an error that says so, instead of retrying
// without end.
func TestServeEndsWhenTheStoreIsClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, log := newStore(t), &journal{}
		lc, err := New(Config{Store: s, Logger: slog.New(log), Engine: agent{turn: func(ctx context.Context,
			_ engine.Turn) (engine.Outcome, error) {
			<-ctx.Done()
			return engine.Outcome{}, context.Cause(ctx)
		}}})
		require.NoError(t, err)
		served := make(chan error, 1)
		go func() { served <- lc.Serve(t.Context()) }()
		submit(t, lc, "r")
		synctest.Wait()
		waited := make(chan error, 1)
		go func() {
			_, err := lc.Wait(t.Context(), "r")
			waited <- err
		}()
		synctest.Wait()
		require.NoError(t, s.Close())
		pass(10 * time.Second)
		require.ErrorIs(t, <-served, store.ErrClosed)
		require.ErrorIs(t, <-waited, store.ErrClosed)
		for _, err := range lc.Events(t.Context(), "r", 0) {
			require.ErrorIs(t, err, store.ErrClosed)
		}
		_, err = lc.Recover(t.Context())
		require.ErrorIs(t, err, store.ErrClosed)
		require.LessOrEqual(t, len(log.logged()), 3, "%q", log.logged())
		require.ErrorIs(t, lc.Serve(t.Context()), store.ErrClosed)
		lc.Close()
	})
}

// mute is a store that stops answering commits on request.
type mute struct {
	store.Store
	off atomic.Bool
}

func (m *mute) Commit(ctx context.Context, batch []store.Commit) []error {
	if !m.off.Load() {
		return m.Store.Commit(ctx, batch)
	}
	<-ctx.Done()
	return slices.Repeat([]error{ctx.Err()}, len(batch))
}

// TestServeGivesUpDespiteAHungEnd: J10, a turn that is given up at last leaves its process
// no more time than others have.
func TestServeGivesUpDespiteAHungEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		goOn := make(chan struct{})
		s := &mute{Store: newStore(t)}
		e, _ := lasting()
		e.profile = sticky
		lc, err := New(Config{
			Store: s, Grace: time.Second, Logger: slog.New(slog.DiscardHandler),
			Engine: faultyEngine{agent: e, end: func(context.Context, string) error { <-goOn; return nil }},
		})
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		served := make(chan error, 1)
		go func() { served <- lc.Serve(ctx) }()
		submit(t, lc, "r")
		pass(2 * time.Second)
		in(t, lc.Client, "r", fsm.StateRunning)
		s.off.Store(true)
		start := time.Now()
		cancel()
		err = <-served
		require.LessOrEqual(t, time.Since(start), time.Second+node.AfterGrace)
		require.ErrorContains(t, err, `End of engine "default" for run r`)
		close(goOn)
		synctest.Wait()
		lc.Close()
	})
}
