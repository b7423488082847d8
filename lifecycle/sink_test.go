package lifecycle

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/contract/fcmp"
	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/store"
)

// TestSinkSessionIsStoredAtOnce: E2, a handle that the engine reports during its turn is the run's
// from then on, whatever else is reported, until the next one.
func TestSinkSessionIsStoredAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		step := make(chan struct{})
		lc, stop := serve(t, Config{Store: newStore(t), Engine: sinking(func(ctx context.Context, _ engine.Turn,
			s engine.Sink) (engine.Outcome, error) {
			data := []byte("one")
			one := s.Session(ctx, engine.SessionHandle{Engine: "agent", Version: "1", Data: data})
			copy(data, "xxx") // it is the engine's again
			<-step
			message := s.Message(ctx, engine.Message{Text: "well"})
			<-step
			two := s.Session(ctx, engine.SessionHandle{Engine: "agent", Version: "2", Data: []byte("two")})
			<-step
			return finished(), errors.Join(one, message, two)
		})})
		submit(t, lc, "r")
		synctest.Wait()
		one, two := &interaction.SessionHandle{Engine: "agent", Version: "1", Data: []byte("one")},
			&interaction.SessionHandle{Engine: "agent",
				Version: "2", Data: []byte("two")}
		for _, want := range []*interaction.SessionHandle{one, one, two} {
			require.Equal(t, want, in(t, lc.Client, "r", fsm.StateRunning).Session)
			step <- struct{}{}
			synctest.Wait()
		}
		require.Equal(t, two, in(t, lc.Client, "r", fsm.StateSucceeded).Session)
		stop()
	})
}

// TestSinkSessionRefusesInvalidHandles, at their limits: a handle that cannot be kept is refused,
// and the turn may continue.
func TestSinkSessionRefusesInvalidHandles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		said := make(map[int]error)
		lc, stop := serve(t, Config{Store: newStore(t), Engine: sinking(func(ctx context.Context, _ engine.Turn,
			s engine.Sink) (engine.Outcome, error) {
			for _, size := range []int{0, 1, 65_536, 65_537} {
				said[size] = s.Session(ctx, engine.SessionHandle{Engine: "agent", Data: bytes.Repeat([]byte("x"),
					size)})
			}
			o := finished()
			o.Session = &engine.SessionHandle{Engine: "agent"}
			return o, nil
		})})
		submit(t, lc, "r")
		synctest.Wait()
		run := in(t, lc.Client, "r", fsm.StateSucceeded)
		require.Equal(t, []fsm.Warning{fsm.WarnEngineDiagnostic}, run.Warnings, "of the outcome's handle")
		require.Len(t, run.Session.Data, 65_536, "the last one that could be kept")
		require.EqualError(t, said[0], "engine: handle has 0 bytes, want 1 to 65536")
		require.NoError(t, said[1])
		require.NoError(t, said[65_536])
		require.EqualError(t, said[65_537], "engine: handle has 65537 bytes, want 1 to 65536")
		stop()
	})
}

// TestSessionThatCannotBeStoredFailsTheWait: B11, the run waits neither with it nor with an earlier
// one, and reports its fault.
func TestSessionThatCannotBeStoredFailsTheWait(t *testing.T) {
	for attempt := 1; attempt <= 2; attempt++ {
		synctest.Test(t, func(t *testing.T) {
			lc, stop := serve(t, Config{Store: newStore(t), Engine: sinking(func(_ context.Context, turn engine.Turn,
				_ engine.Sink) (engine.Outcome, error) {
				o := asking("?")
				if turn.Attempt == attempt {
					o.Session = &engine.SessionHandle{Engine: "agent", Data: make([]byte, engine.MaxSessionHandle+1)}
				}
				return o, nil
			})})
			submit(t, lc, "r")
			synctest.Wait()
			if attempt == 2 {
				in(t, lc.Client, "r", fsm.StateWaitingUser)
				_, err := lc.Reply(t.Context(), "r", interaction.Reply{ID: 1, Text: "yes"})
				require.NoError(t, err)
				synctest.Wait()
			}
			run := in(t, lc.Client, "r", fsm.StateFailed)
			require.Equal(t, &store.Failure{
				Code: fsm.CodeSessionResumeFailed,
				Message: "the session that the engine returned cannot be stored, so a wait could never be " +
					"resumed: engine: handle has 65537 bytes, want 1 to 65536",
			}, run.Error)
			stop()
		})
	}
}

// TestSinkRefusesReportsAfterTheTurn: F8, an engine that keeps its sink is refused, and nothing is
// stored.
func TestSinkRefusesReportsAfterTheTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var kept engine.Sink
		lc, stop := serve(t, Config{Store: newStore(t), Engine: sinking(func(_ context.Context, _ engine.Turn,
			s engine.Sink) (engine.Outcome, error) {
			kept = s
			return asking("?"), nil
		})})
		submit(t, lc, "r")
		synctest.Wait()
		before := in(t, lc.Client, "r", fsm.StateWaitingUser)
		for _, err := range []error{
			kept.Message(t.Context(), engine.Message{Text: "by the way"}),
			kept.Warn(t.Context(), interaction.Diagnostic{Code: fsm.WarnEngineDiagnostic}),
			kept.Session(t.Context(), engine.SessionHandle{Engine: "agent", Data: []byte("late")}),
		} {
			require.ErrorIs(t, err, engine.ErrStale)
			require.ErrorContains(t, err, "the turn has ended")
		}
		require.Equal(t, before, in(t, lc.Client, "r", fsm.StateWaitingUser))
		stop()
	})
}

// TestSinkBoundsTheBytesOfATurn: J11, an agent that writes as fast as it can is stored up to the
// bound, and its run ends as it would have otherwise.
func TestSinkBoundsTheBytesOfATurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		text := strings.Repeat("x", 64<<10)
		lc, stop := serve(t, Config{Engine: engine.Func(func(ctx context.Context, _ engine.Turn, s engine.Sink) (
			engine.Outcome, error) {
			for range 400 { // 25 MiB
				if err := s.Message(ctx, engine.Message{Text: text}); err != nil {
					return engine.Outcome{}, err
				}
			}
			return engine.Done("done"), nil
		})})
		submit(t, lc, "r")
		synctest.Wait()
		run := in(t, lc.Client, "r", fsm.StateSucceeded)
		require.Equal(t, []fsm.Warning{fsm.WarnEngineOutputTruncated}, run.Warnings)
		require.Less(t, run.Seq, uint64(16<<20/len(text)+10))
		require.InDelta(t, 16<<20, run.Reported, 1<<20)
		stop()
	})
}

// refuses is a store that rejects the chosen commits.
type refuses struct {
	store.Store
	which func(c *store.Commit) error
	asked int
}

func (s *refuses) Commit(ctx context.Context, batch []store.Commit) []error {
	if len(batch) == 1 && batch[0].Fence != nil {
		if err := s.which(&batch[0]); err != nil {
			s.asked++
			return []error{err}
		}
	}
	return s.Store.Commit(ctx, batch)
}

// TestOutcomeThatTheStoreRefusesFailsTheRun: F7, permanently, since it would be refused again; the
// operator is informed.
func TestOutcomeThatTheStoreRefusesFailsTheRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		below := newStore(t)
		s, log := &refuses{Store: below, which: func(c *store.Commit) error {
			if c.Run.State == fsm.StateSucceeded {
				return errors.Join(store.ErrInvalid, errors.New("output is too large"))
			}
			return nil
		}}, &journal{}
		spends := agent{turn: func(context.Context, engine.Turn) (engine.Outcome, error) {
			o := finished()
			o.Usage = engine.Usage{InputTokens: 7}
			return o, nil
		}}
		lc, stop := serve(t, Config{Store: s, Engine: spends, Logger: slog.New(log)})
		submit(t, lc, "r")
		pass(time.Minute)
		run := in(t, lc.Client, "r", fsm.StateFailed)
		require.Equal(t, fsm.CodeProtocolSchemaViolation, run.Error.Code)
		require.Contains(t, run.Error.Message, "output is too large")
		require.Equal(t, 1, s.asked)
		require.Len(t, log.logged(), 1)
		require.Contains(t, log.logged()[0], "ERROR turn's result refused: ")
		used, err := below.Usage(t.Context(), "r")
		require.NoError(t, err)
		require.Len(t, used, 1, "what the turn has used is stored all the same (J13)")
		require.EqualValues(t, 7, used[0].InputTokens)
		stop()
	})
}

// TestSinkReturnsTheStoresRefusal: once, and the turn continues.
func TestSinkReturnsTheStoresRefusal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &refuses{Store: newStore(t), which: func(c *store.Commit) error {
			if c.Run.State == fsm.StateRunning {
				return store.ErrInvalid
			}
			return nil
		}}
		var said error
		lc, stop := serve(t, Config{Store: s, Engine: sinking(func(ctx context.Context, _ engine.Turn,
			sink engine.Sink) (engine.Outcome, error) {
			said = sink.Message(ctx, engine.Message{Text: "x"})
			return finished(), nil
		})})
		submit(t, lc, "r")
		pass(time.Minute)
		in(t, lc.Client, "r", fsm.StateSucceeded)
		require.ErrorIs(t, said, store.ErrInvalid)
		require.Equal(t, 1, s.asked)
		stop()
	})
}

// TestSinkRacesWithTheEndOfTheTurn: F8 I2, an engine must not report after it returned; if it does,
// each report is stored before the outcome or refused, and the outcome's record does not change in
// the meantime.
func TestSinkRacesWithTheEndOfTheTurn(t *testing.T) {
	for range 30 {
		const reporters = 8
		said := make(chan error, reporters)
		lc, stop := serving(t, Config{Store: newStore(t), Engine: sinking(func(ctx context.Context, _ engine.Turn,
			s engine.Sink) (engine.Outcome, error) {
			start := make(chan struct{}, reporters)
			for i := range reporters {
				go func() {
					start <- struct{}{}
					if i%2 == 0 {
						said <- s.Session(ctx, engine.SessionHandle{Engine: "agent", Data: []byte("late")})
					} else {
						said <- s.Message(ctx, engine.Message{Text: "by the way"})
					}
				}()
			}
			<-start
			return asking("?"), nil
		})})
		submit(t, lc, "r")
		stored := 0
		for range reporters {
			if err := <-said; err == nil {
				stored++
			} else {
				require.True(t, errors.Is(err, engine.ErrStale) || errors.Is(err, context.Canceled), err.Error())
			}
		}
		waits := false
		for event, err := range lc.Events(t.Context(), "r", 0) {
			require.NoError(t, err)
			if event.Type == fcmp.TypeInputRequired {
				waits = true
				require.NoError(t, lc.Cancel(t.Context(), "r", ""))
			}
			require.False(t, waits && event.Type == fcmp.TypeMessageIntermediate, "after the end of its turn")
		}
		run, err := lc.Get(t.Context(), "r")
		require.NoError(t, err)
		require.Equal(t, fsm.StateCanceled, run.State)
		require.GreaterOrEqual(t, int(run.Version), 4+stored)
		stop()
	}
}

// serving is serve outside of a bubble.
func serving(tb testing.TB, cfg Config) (lc *Lifecycle, stop func()) {
	tb.Helper()
	cfg.Logger = slog.New(slog.DiscardHandler)
	lc, err := New(cfg)
	require.NoError(tb, err)
	ctx, cancel := context.WithCancel(tb.Context())
	served := make(chan error, 1)
	go func() { served <- lc.Serve(ctx) }()
	return lc, func() {
		tb.Helper()
		cancel()
		require.NoError(tb, <-served)
		lc.Close()
	}
}
