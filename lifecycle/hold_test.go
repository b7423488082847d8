package lifecycle

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/lifecycle/internal/decide"
	"github.com/interlude-go/interlude/lifecycle/internal/node"
	"github.com/interlude-go/interlude/store"
)

// lastsUntil returns an agent whose turns last until they are interrupted, except turns with a
// number above last, which succeed.
func lastsUntil(last int) agent {
	return agent{turn: func(ctx context.Context, t engine.Turn) (engine.Outcome, error) {
		if t.Attempt > last {
			return finished(), nil
		}
		<-ctx.Done()
		return engine.Outcome{}, context.Cause(ctx)
	}}
}

// J1, E4: the spec, else the host, decides about a turn that Grace cannot wait for.
func TestJ1InterruptedTurns(t *testing.T) {
	for name, c := range map[string]struct {
		spec   Spec
		config Config
		state  fsm.State
		held   bool
	}{
		"nobody says anything":  {state: fsm.StateFailed},
		"the host: repeat":      {config: Config{OnInterrupt: Repeat}, state: fsm.StateQueued},
		"the host: ask":         {config: Config{OnInterrupt: Ask}, state: fsm.StateQueued, held: true},
		"the host is forgiving": {config: Config{Forgiving: true}, state: fsm.StateQueued, held: true},
		"forgiving, but repeat": {config: Config{Forgiving: true, OnInterrupt: Repeat}, state: fsm.StateQueued},
		"the spec: fail": {spec: Spec{OnInterrupt: Fail}, config: Config{Forgiving: true},
			state: fsm.StateFailed},
		"the spec: repeat": {spec: Spec{OnInterrupt: Repeat}, state: fsm.StateQueued},
		"the spec: repeatable": {spec: Spec{Repeatable: true}, config: Config{Forgiving: true},
			state: fsm.StateQueued},
		"the spec: ask": {spec: Spec{OnInterrupt: Ask}, state: fsm.StateQueued, held: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newStore(t)
				c.config.Store, c.config.Engine, c.config.Grace = s, lastsUntil(1), -1
				lc, stop := serve(t, c.config)
				c.spec.ID, c.spec.Prompt = "r", "x"
				_, err := lc.Submit(t.Context(), c.spec)
				require.NoError(t, err)
				synctest.Wait()
				stop()
				run := in(t, clientOf(t, s), "r", c.state)
				require.Equal(t, c.held, run.Held())
				if c.state == fsm.StateFailed {
					require.Equal(t, fsm.CodeOrchestratorRestartInterrupted, run.Error.Code)
				}
				if c.held {
					require.Equal(t, &store.Block{
						Kind: store.BlockHeld, Code: fsm.CodeOrchestratorRestartInterrupted,
						Reason: "the host shut down during the turn", Choices: []Choice{ChoiceRepeat, ChoiceEnd},
					}, run.Block)
					require.Equal(t, []int{1, 1, 0}, []int{run.Yielded, run.Holds, run.Repeats})
				}
			})
		})
	}
}

// J1, D6: the first turn of a run with a resident process is treated like any run's, whether its
// worker was lost or its host shut down: nothing was asked, so a new process may execute it again.
// Afterwards the process is the run's context, and the run fails without it.
func TestJ1InterruptedTurnsOfStickyRuns(t *testing.T) {
	for _, shutdown := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			s := newStore(t)
			cfg := Config{Store: s, OnInterrupt: Ask, Grace: -1, Engine: agent{
				profile: func() (engine.Profile, error) { return engine.Profile{Kind: fsm.ProfileStickyProcess}, nil },
				turn: func(ctx context.Context, in engine.Turn) (engine.Outcome, error) {
					if in.Attempt == 2 {
						return asking("Go on?"), nil
					}
					<-ctx.Done()
					return engine.Outcome{}, context.Cause(ctx)
				},
			}}
			c := clientOf(t, s)
			_, err := c.Submit(t.Context(), Spec{ID: "r", Prompt: "x"})
			require.NoError(t, err)
			if shutdown {
				_, stop := serve(t, cfg)
				synctest.Wait()
				stop()
			} else {
				dies(t, s, 1)
			}
			_, stop := serve(t, cfg)
			synctest.Wait()
			run := in(t, c, "r", fsm.StateQueued)
			require.True(t, run.Held())
			require.Equal(t, []Choice{ChoiceRepeat, ChoiceEnd}, run.Block.Choices)
			require.Empty(t, run.Profile)

			require.NoError(t, c.Resume(t.Context(), "r", Resume{Choice: ChoiceRepeat}))
			pass(10 * time.Second)
			require.Equal(t, fsm.ProfileStickyProcess, in(t, c, "r", fsm.StateWaitingUser).Profile)
			reply(t, c, "r", 1, "yes")
			pass(10 * time.Second)
			in(t, c, "r", fsm.StateRunning)
			stop()
			require.Equal(t, fsm.CodeOrchestratorRestartInterrupted, in(t, c, "r", fsm.StateFailed).Error.Code)
		})
	}
}

// J1: a turn whose engine was not called yet goes back to the queue when its host shuts down,
// though its spec allows no repeats, and it counts neither as a repeat nor as a round.
func TestJ1ATurnThatHasNotBegunGoesBack(t *testing.T) {
	for name, maxAttempts := range map[string]int{"unlimited": 0, "one attempt": 1} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newStore(t)
				asked := make(chan struct{})
				slow := agent{
					profile: func() (engine.Profile, error) {
						close(asked)
						time.Sleep(node.TurnReturnLimit / 2)
						return engine.Profile{Kind: fsm.ProfileResumable}, nil
					},
					turn: func(context.Context, engine.Turn) (engine.Outcome, error) {
						return engine.Outcome{}, errors.New("a turn that was handed back was executed")
					},
				}
				lc, stop := serveBeside(t, Config{Store: s, Engine: slow, Grace: -1})
				_, err := lc.Submit(t.Context(), Spec{ID: "r", Prompt: "x", Mode: Auto, MaxAttempts: maxAttempts})
				require.NoError(t, err)
				<-asked
				stop()
				c := clientOf(t, s)
				run := in(t, c, "r", fsm.StateQueued)
				require.Equal(t, []int{1, maxAttempts, 0}, []int{run.Attempt, run.Yielded, run.Repeats})
				require.Equal(t, []fsm.Warning{fsm.WarnTurnHandedBack}, run.Warnings)
				_, stop = serve(t, Config{Store: s, Engine: agent{}})
				in(t, c, "r", fsm.StateSucceeded)
				stop()
			})
		})
	}
}

// J5, E2: a turn that ends for a repairable reason fails the run, or holds it if configured: then
// it is retried automatically after longer and longer pauses, and immediately by Resume.
func TestJ5RepairableFailuresHold(t *testing.T) {
	for name, c := range map[string]struct {
		spec Spec
		host HoldPolicy
		err  error
		held bool
	}{
		"nobody says anything": {err: &engine.Failure{Code: fsm.CodeEngineUnavailable, Detail: "no"}},
		"the host":             {host: HoldOn, err: &engine.Failure{Code: fsm.CodeEngineUnavailable}, held: true},
		"the spec": {spec: Spec{Hold: HoldOn}, err: &engine.Failure{Code: fsm.CodeSessionResumeFailed},
			held: true},
		"the spec, not": {spec: Spec{Hold: HoldOff}, host: HoldOn,
			err: &engine.Failure{Code: fsm.CodeWorkspaceMissing}},
		"workspace":             {host: HoldOn, err: &engine.Failure{Code: fsm.CodeWorkspaceMissing}, held: true},
		"a failure of its own":  {host: HoldOn, err: errors.New("bug")},
		"passes, and no retry":  {host: HoldOn, err: engine.Later(0, "busy"), held: true},
		"the engine says so":    {err: engine.Hold(fsm.CodeEngineFailed, "the journal does not fit"), held: true},
		"the engine, whoever":   {spec: Spec{Hold: HoldOff}, err: engine.Hold("MY CODE\xff", "x"), held: true},
		"an engine's long text": {err: engine.Hold("", strings.Repeat("é\xff", 1<<20)), held: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var broken atomic.Bool
				broken.Store(true)
				lc, stop := serve(t, Config{Hold: c.host, Engine: agent{
					turn: func(context.Context, engine.Turn) (engine.Outcome, error) {
						if broken.Load() {
							return engine.Outcome{}, c.err
						}
						return finished(), nil
					},
				}})
				defer stop()
				c.spec.ID, c.spec.Prompt = "r", "x"
				_, err := lc.Submit(t.Context(), c.spec)
				require.NoError(t, err)
				synctest.Wait()
				if !c.held {
					in(t, lc.Client, "r", fsm.StateFailed)
					return
				}
				for hold, pause := range []time.Duration{time.Minute, 2 * time.Minute, 4 * time.Minute} {
					run := in(t, lc.Client, "r", fsm.StateQueued)
					require.Equal(t, []int{hold + 1, hold + 1, hold + 1}, []int{run.Holds, run.Yielded, run.Attempt})
					require.Equal(t, run.UpdatedAt.Add(pause), run.Block.Until)
					require.LessOrEqual(t, len(run.Block.Reason), decide.MaxDetail)
					pass(pause - 10*time.Second)
					require.Equal(t, run, in(t, lc.Client, "r", fsm.StateQueued))
					pass(12 * time.Second)
				}
				broken.Store(false)
				require.NoError(t, lc.Resume(t.Context(), "r", Resume{Choice: ChoiceRepeat}))
				synctest.Wait()
				run := in(t, lc.Client, "r", fsm.StateSucceeded)
				require.Zero(t, run.Holds)
			})
		})
	}
}

// J5: retries that are used up hold the run where that is wanted, and a sticky run fails in any
// case.
func TestJ5RetriesThatAreUsedUp(t *testing.T) {
	for _, kind := range []engine.ProfileKind{engine.Resumable, engine.StickyProcess} {
		synctest.Test(t, func(t *testing.T) {
			lc, stop := serve(t, Config{Forgiving: true, Retry: &Retry{Max: 1}, Engine: agent{
				profile: func() (engine.Profile, error) { return engine.Profile{Kind: kind}, nil },
				turn: func(context.Context, engine.Turn) (engine.Outcome, error) {
					return engine.Outcome{}, engine.Later(0, "overloaded")
				},
			}})
			defer stop()
			_, err := lc.Submit(t.Context(), Spec{ID: "r", Prompt: "x"})
			require.NoError(t, err)
			pass(5 * time.Second)
			if kind == engine.StickyProcess {
				in(t, lc.Client, "r", fsm.StateFailed)
				return
			}
			run := in(t, lc.Client, "r", fsm.StateQueued)
			require.Equal(t, []int{2, 1, 1}, []int{run.Attempt, run.Repeats, run.Holds})
			require.True(t, run.Held())
		})
	}
}

// J5, E2: a parked run whose session is refused stays open and is held; it is unblocked when the
// engine accepts the session again, within the life of a node and by the next one; a reply in
// between is stored, and executed when the run continues.
func TestJ5ARefusedSessionHoldsTheWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore(t)
		parksMany(t, s, 4)
		var refuses atomic.Bool
		refuses.Store(true)
		var asked checks
		e := asked.of(func(_ context.Context, id string) error {
			if refuses.Load() {
				return expiredSession(id)
			}
			return nil
		})
		cfg := Config{Store: s, Engine: e, Hold: HoldOn}
		lc, stop := serve(t, cfg)
		pass(10 * time.Second)
		c := lc.Client
		run := in(t, c, "r0000", fsm.StateWaitingUser)
		require.Equal(t, &store.Block{
			Kind: store.BlockHeld, Code: fsm.CodeSessionResumeFailed, Reason: expiredSession("r0000").Error(),
			Choices: []Choice{ChoiceRepeat, ChoiceEnd},
		}, run.Block)
		require.Equal(t, store.RecoveredWaiting, run.Recovery)
		stats, err := c.Stats(t.Context())
		require.NoError(t, err)
		require.Equal(t, []int{4, 4}, []int{stats.Waiting, stats.Held})

		_, err = c.Reply(t.Context(), "r0001", interaction.Reply{ID: 1, Text: "yes"})
		require.NoError(t, err)
		synctest.Wait()
		answered := in(t, c, "r0001", fsm.StateQueued)
		require.Equal(t, answered.UpdatedAt.Add(decide.HoldPause(1)), answered.Block.Until)
		require.NoError(t, c.Resume(t.Context(), "r0002", Resume{Choice: ChoiceEnd, Actor: Actor{ID: "ada"}}))
		ended := in(t, c, "r0002", fsm.StateFailed)
		require.Equal(t, fsm.CodeSessionResumeFailed, ended.Error.Code)
		require.Contains(t, ended.Error.Message, "given up by ada")
		require.NoError(t, c.Resume(t.Context(), "r0003", Resume{Choice: ChoiceRepeat}))
		in(t, c, "r0003", fsm.StateWaitingUser)

		refuses.Store(false)
		pass(2 * time.Minute)
		require.Nil(t, in(t, c, "r0000", fsm.StateWaitingUser).Block, "a later check")
		in(t, c, "r0001", fsm.StateSucceeded)
		stop()

		refuses.Store(true)
		_, stop = serve(t, cfg)
		pass(10 * time.Second)
		require.NotNil(t, in(t, c, "r0000", fsm.StateWaitingUser).Block)
		stop()
		refuses.Store(false)
		_, stop = serve(t, cfg)
		pass(10 * time.Second)
		require.Nil(t, in(t, c, "r0000", fsm.StateWaitingUser).Block, "the next node")
		stop()
	})
}

// J5: an engine that cannot judge a session now leaves a held run unchanged.
func TestJ5WhatIsNotKnownChangesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore(t)
		parksMany(t, s, 1)
		var down atomic.Bool
		var asked checks
		_, stop := serve(t, Config{Store: s, Hold: HoldOn, Engine: asked.of(func(context.Context, string) error {
			if down.Load() {
				return errors.New("the service is down")
			}
			return expiredSession("r0000")
		})})
		pass(10 * time.Second)
		c := clientOf(t, s)
		run := in(t, c, "r0000", fsm.StateWaitingUser)
		require.True(t, run.Held())
		down.Store(true)
		pass(3 * time.Hour)
		require.Equal(t, run, in(t, c, "r0000", fsm.StateWaitingUser))
		stop()
	})
}

// J5: of all concurrent decisions about one held run, one wins, and the others get an error; a
// cancel and the end of the pause are among them. Invalid decisions are refused by name, with
// nothing written.
func TestJ5Resume(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lc, stop := serve(t, Config{Engine: agent{turn: func(context.Context, engine.Turn) (engine.Outcome, error) {
			return engine.Outcome{}, engine.Hold(fsm.CodeEngineUnavailable, "no such program")
		}}})
		_, err := lc.Submit(t.Context(), Spec{ID: "r", Prompt: "x"})
		require.NoError(t, err)
		synctest.Wait()
		stop()
		run := in(t, lc.Client, "r", fsm.StateQueued)
		require.ErrorIs(t, lc.Resume(t.Context(), "r", Resume{Choice: "raise"}), ErrInvalidArgument)
		for _, version := range []uint64{run.Version - 1, run.Version + 1} {
			err := lc.Resume(t.Context(), "r", Resume{Choice: ChoiceRepeat, Version: version})
			require.ErrorIs(t, err, ErrRunChanged)
		}
		for _, actor := range []string{"\xff", "a\x00b", "\x00b", strings.Repeat("a", 256)} {
			require.ErrorIs(t, lc.Resume(t.Context(), "r", Resume{Choice: ChoiceEnd, Actor: Actor{ID: actor}}),
				ErrInvalidArgument)
		}
		require.ErrorIs(t, lc.Resume(t.Context(), "none", Resume{Choice: ChoiceEnd}), ErrNotFound)
		require.Equal(t, run, in(t, lc.Client, "r", fsm.StateQueued))

		errs := make(chan error, 9)
		for i := range 9 {
			go func() {
				choice := []Choice{ChoiceRepeat, ChoiceEnd}[i%2]
				errs <- lc.Resume(t.Context(), "r", Resume{Choice: choice, Version: run.Version})
			}()
		}
		won := 0
		for range 9 {
			if err := <-errs; err == nil {
				won++
			} else {
				require.True(t, errors.Is(err, ErrRunChanged) || errors.Is(err, ErrTerminal), err)
			}
		}
		require.Equal(t, 1, won)
		_ = lc.Cancel(t.Context(), "r", "")
		require.ErrorIs(t, lc.Resume(t.Context(), "r", Resume{Choice: ChoiceRepeat}), ErrTerminal)
	})
}

// showing is a store that shows a run that is not durable yet, and counts the confirmations.
type showing struct {
	store.Store
	run      *Run // nil: as it is
	confirms int
}

func (s *showing) Run(ctx context.Context, id string) (Run, error) {
	if s.run != nil {
		return *s.run, nil
	}
	return s.Store.Run(ctx, id)
}

func (s *showing) Confirm(ctx context.Context, read func(store.Reader) error) error {
	s.confirms++
	return s.Store.Confirm(ctx, read)
}

// J8, J5: Resume refuses only by durable data, since its caller acts on that; an executed decision
// is made durable by its commit, and costs no other read. An actor may have as many bytes as
// documented.
func TestResumeRefusesByWhatIsDurable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &showing{Store: newStore(t)}
		c := clientOf(t, s)
		for _, id := range []string{"a", "b"} {
			_, err := c.Submit(t.Context(), Spec{ID: id, Prompt: "x"})
			require.NoError(t, err)
		}
		_, stop := serve(t, Config{Store: s, Engine: agent{turn: func(context.Context, engine.Turn) (engine.Outcome,
			error) {
			return engine.Outcome{}, engine.Hold(fsm.CodeEngineUnavailable, "no such program")
		}}})
		stop()
		shown := in(t, c, "a", fsm.StateQueued)
		shown.State, shown.Block = fsm.StateCanceled, nil
		s.run, s.confirms = &shown, 0
		resume := Resume{Choice: ChoiceRepeat, Actor: Actor{ID: strings.Repeat("a", interaction.MaxActor)}}
		require.NoError(t, c.Resume(t.Context(), "a", resume), "it is held, whatever was shown")
		require.Equal(t, 1, s.confirms)
		s.run, s.confirms = nil, 0
		require.NoError(t, c.Resume(t.Context(), "b", resume))
		require.Zero(t, s.confirms, "what is carried out")
		require.ErrorIs(t, c.Resume(t.Context(), "b", resume), ErrNotHeld)
		require.Equal(t, 1, s.confirms, "what is refused")
	})
}

// J5: the allowed decisions are those listed in the run's block and known to this release: a later
// release may have stored a new choice, whose meaning is unknown here.
func TestResumeRefusesAChoiceThatItDoesNotKnow(t *testing.T) {
	run := Run{ID: "r", State: fsm.StateQueued, Block: &store.Block{
		Kind: store.BlockHeld, Choices: []Choice{ChoiceEnd, "skip"},
	}}
	for choice, want := range map[Choice]error{
		ChoiceEnd: nil, "skip": ErrInvalidArgument, "": ErrInvalidArgument, ChoiceRepeat: ErrInvalidArgument,
		ChoiceRaise: ErrInvalidArgument,
	} {
		require.ErrorIs(t, (&Resume{Choice: choice}).refusal(&run), want, "%q", choice)
	}
}

// A bad policy is refused at the edge, in a spec and in a Config, and the ways to say the same are
// one job.
func TestPoliciesAreChecked(t *testing.T) {
	for _, cfg := range []Config{{OnInterrupt: "never"}, {Hold: "yes"}} {
		cfg.Engine = agent{}
		_, err := New(cfg)
		require.Error(t, err)
	}
	for _, spec := range []Spec{{OnInterrupt: "never"}, {Hold: "yes"}, {Repeatable: true, OnInterrupt: Ask}} {
		spec.Prompt = "x"
		require.ErrorIs(t, spec.Validate(), ErrInvalidSpec)
	}
	lc, err := New(Config{Engine: agent{}})
	require.NoError(t, err)
	defer lc.Close()
	_, err = lc.Submit(t.Context(), Spec{ID: "r", Prompt: "x", Repeatable: true})
	require.NoError(t, err)
	_, err = lc.Submit(t.Context(), Spec{ID: "r", Prompt: "x", OnInterrupt: Repeat})
	require.NoError(t, err)
	_, err = lc.Submit(t.Context(), Spec{ID: "r", Prompt: "x", OnInterrupt: Ask})
	require.ErrorIs(t, err, ErrSpecConflict)
}

// J1, J5: a client that recovers treats the runs of a dead node by the client's host's policy, if
// the spec has none.
func TestJ1AClientRecoversAsItsHostWants(t *testing.T) {
	for onInterrupt, want := range map[OnInterrupt]struct {
		state fsm.State
		held  bool
	}{"": {state: fsm.StateFailed}, Fail: {state: fsm.StateFailed}, Repeat: {state: fsm.StateQueued},
		Ask: {state: fsm.StateQueued, held: true}} {
		t.Run(string(onInterrupt), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newStore(t)
				c, err := NewClient(ClientConfig{Store: s, OnInterrupt: onInterrupt})
				require.NoError(t, err)
				defer c.Close()
				for id, spec := range map[string]Spec{"open": {}, "fails": {OnInterrupt: Fail}} {
					spec.ID, spec.Prompt = id, "x"
					_, err := c.Submit(t.Context(), spec)
					require.NoError(t, err)
				}
				dies(t, s, 2)
				_, err = c.Recover(t.Context())
				require.NoError(t, err)
				run := in(t, c, "open", want.state)
				require.Equal(t, want.held, run.Held())
				in(t, c, "fails", fsm.StateFailed)
			})
		})
	}
	_, err := NewClient(ClientConfig{Store: newStore(t), OnInterrupt: "never"})
	require.ErrorIs(t, err, ErrInvalidArgument)
	require.ErrorContains(t, err, `ClientConfig.OnInterrupt is "never", want "fail", "repeat" or "ask"`)
}

// dies claims so many runs for a node whose lease ends then.
func dies(t *testing.T, s store.Store, runs int) {
	t.Helper()
	require.NoError(t, s.Join(t.Context(), store.Node{ID: "dies", Lease: time.Second}, time.Now()))
	now := node.CommitTime(SystemClock{})
	claimed, err := s.Claim(t.Context(), store.ClaimRequest{Node: "dies", Now: now, Max: runs,
		Start: (&decide.Starts{Now: now}).Start})
	require.NoError(t, err)
	require.Len(t, claimed, runs)
	pass(time.Minute)
}
