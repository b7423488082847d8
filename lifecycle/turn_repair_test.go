package lifecycle

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/contract/fcmp"
	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/lifecycle/internal/decide"
	"github.com/interlude-go/interlude/store"
)

// saysIn is the outcome of a turn that ends with the text, in the session if there is one.
func saysIn(text, session string) engine.Outcome {
	o := engine.Outcome{Process: engine.Process{Status: engine.OK}, FinalText: text}
	if session != "" {
		o.Session = &engine.SessionHandle{Engine: "agent", Data: []byte(session)}
	}
	return o
}

// repairing submits a run whose output must be {"ok":true}, with so many rounds.
func repairing(tb testing.TB, lc *Lifecycle, rounds int, change ...func(*Spec)) {
	tb.Helper()
	spec := Spec{ID: "r", Prompt: "x", Mode: Auto, RepairRounds: rounds,
		OutputSchema: []byte(`{"type":"object","properties":{"ok":{"const":true}},"required":["ok"]}`)}
	for _, c := range change {
		c(&spec)
	}
	_, err := lc.Submit(tb.Context(), spec)
	require.NoError(tb, err)
}

// TestRepairRoundHasTheLatestSession: B3, reported through the sink or with an outcome; a later
// round without a session keeps it.
func TestRepairRoundHasTheLatestSession(t *testing.T) {
	for name, c := range map[string]struct {
		sink   string
		rounds []string // the session of each outcome
		seen   []string // by each round
		kept   string
	}{
		"told through the sink alone": {"sink", []string{"", "", ""}, []string{"", "sink", "sink"}, "sink"},
		"told with the first outcome": {"", []string{"one", "", ""}, []string{"", "one", "one"}, "one"},
		"told with each outcome": {"sink", []string{"one", "two", "three"}, []string{"", "one", "two"},
			"three"},
		"told anew in the middle, alone": {"sink", []string{"", "two", ""}, []string{"", "sink", "two"}, "two"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var seen []string
				lc, stop := serve(t, Config{Store: newStore(t), Engine: sinking(func(ctx context.Context,
					turn engine.Turn, s engine.Sink) (engine.Outcome, error) {
					n := len(seen)
					session := ""
					if turn.Session != nil {
						session = string(turn.Session.Data)
					}
					seen = append(seen, session)
					var err error
					if n == 0 && c.sink != "" {
						err = s.Session(ctx, engine.SessionHandle{Engine: "agent", Data: []byte(c.sink)})
					}
					text := `{"ok":false}`
					if n == 2 {
						text = `{"ok":true}`
					}
					return saysIn(text, c.rounds[n]), err
				})})
				repairing(t, lc, 5)
				synctest.Wait()
				run := in(t, lc.Client, "r", fsm.StateSucceeded)
				require.Equal(t, c.seen, seen)
				require.Equal(t, c.kept, string(run.Session.Data))
				stop()
			})
		})
	}
}

// TestRepairRoundsAreBounded: B3, and there is no round without a session that can receive the
// fault, or with one that cannot be kept.
func TestRepairRoundsAreBounded(t *testing.T) {
	for name, c := range map[string]struct {
		rounds  int
		session string
		turns   int
		profile func() (engine.Profile, error)
	}{
		"none":                            {0, "s", 1, nil},
		"one":                             {1, "s", 2, nil},
		"as many as there can be":         {MaxRepairRounds, "s", MaxRepairRounds + 1, nil},
		"without a session":               {3, "", 1, nil},
		"in its process":                  {3, "", 4, sticky},
		"with a session that is too long": {3, strings.Repeat("x", engine.MaxSessionHandle+1), 1, nil},
		"in its process, too long":        {3, strings.Repeat("x", engine.MaxSessionHandle+1), 1, sticky},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				turns := 0
				lc, stop := serve(t, Config{Store: newStore(t), Engine: agent{profile: c.profile,
					turn: func(context.Context, engine.Turn) (engine.Outcome, error) {
						turns++
						return saysIn(`{"ok":false}`, c.session), nil
					}}})
				repairing(t, lc, c.rounds)
				synctest.Wait()
				run := in(t, lc.Client, "r", fsm.StateFailed)
				require.Equal(t, fsm.CodeOutputInvalid, run.Error.Code)
				require.Contains(t, run.Error.Message, "the output is not valid: ")
				require.Equal(t, c.turns, turns)
				stop()
			})
		})
	}
}

// TestRepairRoundIsNotStartedIfItCannotBeStored: F8, nor one after the turn's time is over; the
// turn was interrupted then, or took too long.
func TestRepairRoundIsNotStartedIfItCannotBeStored(t *testing.T) {
	// The node asks each whole second whether the engine has returned. The store answers between
	// two of these moments, so that it is always the worker that settles the turn.
	const tooLong = 2*time.Minute + time.Second/2
	for name, c := range map[string]struct {
		refused error
		lasts   time.Duration // that the store takes for it
		code    fsm.Code
	}{
		"the store refuses it":             {refused: store.ErrInvalid, code: fsm.CodeTurnInterrupted},
		"it is stored when time is over":   {lasts: tooLong, code: fsm.CodeTurnTimeout},
		"it is refused when time is over":  {refused: store.ErrInvalid, lasts: tooLong, code: fsm.CodeTurnTimeout},
		"it is stored just before its end": {lasts: time.Minute - 1, code: fsm.CodeOutputInvalid},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				turns := 0
				s := &refuses{Store: newStore(t), which: func(cm *store.Commit) error {
					if cm.Run.State == fsm.StateRunning {
						time.Sleep(c.lasts) // the bubble's time
						return c.refused
					}
					return nil
				}}
				lc, stop := serve(t, Config{Store: s, Lease: time.Hour, Engine: agent{turn: func(context.Context,
					engine.Turn) (engine.Outcome, error) {
					turns++
					return saysIn(`{"ok":false}`, "s"), nil
				}}})
				repairing(t, lc, 1, func(s *Spec) { s.TurnTimeout = time.Minute })
				pass(time.Hour)
				run := in(t, lc.Client, "r", fsm.StateFailed)
				require.Equal(t, c.code, run.Error.Code, run.Error.Message)
				if c.code == fsm.CodeOutputInvalid {
					require.Equal(t, 2, turns)
				} else {
					require.Equal(t, 1, turns)
					require.Equal(t, "the turn was interrupted before its output was repaired", run.Error.Message)
				}
				stop()
			})
		})
	}
}

// TestTextBeforeARepairIsBounded, and says so.
func TestTextBeforeARepairIsBounded(t *testing.T) {
	const message, final = decide.MaxMessage, decide.MaxFinalText
	for length, cut := range map[int]bool{message: false, message + 1: true, final + 1: true} {
		synctest.Test(t, func(t *testing.T) {
			said := strings.Repeat("x", length)
			lc, stop := serve(t, Config{Store: newStore(t), Engine: agent{turn: func(_ context.Context,
				turn engine.Turn) (engine.Outcome, error) {
				if turn.Repair == "" {
					return saysIn(said, "s"), nil
				}
				return saysIn(`{"ok":true}`, ""), nil
			}}})
			repairing(t, lc, 1)
			synctest.Wait()
			in(t, lc.Client, "r", fsm.StateSucceeded)
			var messages []string
			for event, err := range lc.Events(t.Context(), "r", 0) {
				require.NoError(t, err)
				var data struct {
					Text, Code, Detail string
					Truncated          bool
				}
				require.NoError(t, event.Decode(&data))
				switch event.Type {
				case fcmp.TypeMessageIntermediate:
					require.Equal(t, cut, data.Truncated, "%d bytes", length)
					messages = append(messages, data.Text)
				case fcmp.TypeWarning:
					require.Equal(t, string(fsm.WarnOutputRepairRequested), data.Code)
					require.Contains(t, data.Detail, "round 1 of 1: no JSON output was found")
				}
			}
			require.Equal(t, []string{said[:min(length, decide.MaxMessage)]}, messages)
			stop()
		})
	}
}

// TestRepairRoundThatFailsFailsTheTurn: B1, whatever it said before.
func TestRepairRoundThatFailsFailsTheTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lc, stop := serve(t, Config{Store: newStore(t), Engine: agent{turn: func(_ context.Context,
			turn engine.Turn) (engine.Outcome, error) {
			if turn.Repair == "" {
				return saysIn(`{"ok":false}`, "s"), nil
			}
			return engine.Outcome{}, errors.New("no fuel")
		}}})
		repairing(t, lc, 3)
		synctest.Wait()
		run := in(t, lc.Client, "r", fsm.StateFailed)
		require.Equal(t, fsm.CodeEngineFailed, run.Error.Code)
		require.Equal(t, "no fuel", run.Error.Message)
		stop()
	})
}
