package node

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/contract/fcmp"
	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/lifecycle/internal/decide"
	"github.com/interlude-go/interlude/store"
)

// M4: the input of a plain engine's turn is the turn itself in other types, and allocates nothing.
func TestM4TheInputOfAPlainTurnAllocatesNothing(t *testing.T) {
	run := queued("run-1", noon)
	n := alone(t, newStore(t), agent{})
	defer n.die(nil)
	attempt := &turn{node: &n.member, record: &run, dialect: decide.Dialect{Plain: true}}
	var in engine.Turn
	require.Zero(t, testing.AllocsPerRun(100, func() { in = attempt.input(Workspace{}, nil) }))
	require.NotNil(t, in.History)
}

// C2: hints are stored as plain JSON; invalid ones are omitted, with a warning. The engine's own
// questions do not change.
func TestC2HintsAreMadePlain(t *testing.T) {
	type place struct {
		Row int `json:"row"`
	}
	asked := []engine.Question{{Prompt: "a", UIHints: map[string]any{"at": place{7}}},
		{Prompt: "b", UIHints: map[string]any{"call": func() {}}}}
	o := withPlainHints(engine.Outcome{Questions: asked})
	require.Equal(t, map[string]any{"at": map[string]any{"row": 7.0}}, o.Questions[0].UIHints)
	require.Nil(t, o.Questions[1].UIHints)
	require.Len(t, o.Diagnostics, 1)
	require.Equal(t, fsm.WarnAskUserTruncated, o.Diagnostics[0].Code)
	require.Contains(t, o.Diagnostics[0].Detail, "ui_hints are left out")
	require.Equal(t, place{7}, asked[0].UIHints["at"])
	require.Equal(t, finished(), withPlainHints(finished()))
}

// TestSinkBoundsTheReportsOfATurn: J11, the last place is for saying that there were more; a
// session is stored beyond it.
func TestSinkBoundsTheReportsOfATurn(t *testing.T) {
	one := []fcmp.Payload{&fcmp.MessageIntermediate{Text: "x"}}
	for name, c := range map[string]struct {
		left int
		turn *turn
		said string
	}{
		"messages": {9_999, &turn{record: &store.Run{}}, "more than 10000 messages in one turn"},
		"bytes": {0, &turn{reportBytes: 16 << 20, record: &store.Run{}},
			"more than 16 MiB of messages in one turn"},
		"events":    {0, &turn{record: &store.Run{Seq: 100_000}}, "the run has more than 100000 events"},
		"all bytes": {0, &turn{record: &store.Run{Reported: 256 << 20}}, "the run has more than 256 MiB of messages"},
		"not yet": {9_999, &turn{reportBytes: 16<<20 - 1, record: &store.Run{Seq: 99_999, Reported: 256<<20 - 1}},
			"more than 10000 messages in one turn"},
	} {
		t.Run(name, func(t *testing.T) {
			for n := range c.left + 3 {
				events, err := c.turn.admit(one)
				require.NoError(t, err)
				switch {
				case n < c.left:
					require.Equal(t, one, events)
				case n == c.left:
					require.Equal(t, []fcmp.Payload{&fcmp.Warning{
						Code: "ENGINE_OUTPUT_TRUNCATED", Detail: c.said + "; the rest is in the transcript only",
					}}, events)
				default:
					require.Empty(t, events)
				}
				none, err := c.turn.admit(nil)
				require.NoError(t, err)
				require.Empty(t, none)
			}
		})
	}
}

// Invalid figures are limited to storable ones.
func TestUsageOfAWildEngine(t *testing.T) {
	require.Equal(t, store.Usage{CostMicroUSD: 1, Worked: time.Microsecond},
		usageOf(engine.Usage{InputTokens: -1, OutputTokens: math.MinInt64, CostUSD: 0.0000009}, 1999))
	for _, cost := range []float64{math.NaN(), math.Inf(-1), -1} {
		require.Zero(t, usageOf(engine.Usage{CostUSD: cost}, -1))
	}
	most := store.Usage{InputTokens: store.MaxUsage, OutputTokens: store.MaxUsage, CostMicroUSD: store.MaxUsage,
		Worked: store.MaxUsage * time.Microsecond}
	require.Equal(t, most, usageOf(engine.Usage{InputTokens: math.MaxInt64, OutputTokens: math.MaxInt64,
		CostUSD: math.Inf(1)}, math.MaxInt64))
	require.InDelta(t, 8796093.022208, most.CostUSD(), 1e-6)
}

// J10: settling a turn without its worker reads its specification, so a late worker does not set
// it, and does not call the engine.
func TestTurnSettledBeforeItsWorkerStarted(t *testing.T) {
	settled, open := new(turn), new(turn)
	require.True(t, settled.startSettling(&StuckCall{}))
	require.False(t, settled.setSpec(Spec{Prompt: "too late"}, &decide.Origin{}))
	require.Empty(t, settled.spec.Prompt)
	require.Nil(t, settled.origin)
	require.True(t, open.setSpec(Spec{Prompt: "in time"}, nil))
	require.Equal(t, "in time", open.spec.Prompt)
}
