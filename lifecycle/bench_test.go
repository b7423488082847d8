package lifecycle

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/lifecycle/internal/decide"
	"github.com/interlude-go/interlude/lifecycle/internal/node"
)

// M4: the input of a plain engine's turn is the turn itself in other types, and allocates nothing.
func TestM4TheInputOfAPlainTurnAllocatesNothing(t *testing.T) {
	run, _, err := Spec{ID: "run-1", Prompt: "Ship it."}.record(time.Now())
	require.NoError(t, err)
	lc := &Lifecycle{Client: &Client{proc: node.Process{Clock: SystemClock{}}}}
	attempt := &turn{node: &membership{Lifecycle: lc}, record: &run, dialect: decide.Dialect{Plain: true}}
	var in engine.Turn
	require.Zero(t, testing.AllocsPerRun(100, func() { in = attempt.input(node.Workspace{}, nil) }))
	require.NotNil(t, in.History)
}

// A round trip on the memory store, one at a time: submit, ask, reply, finish.
func BenchmarkRoundTrip(b *testing.B) {
	agent := engine.Func(func(_ context.Context, t engine.Turn, _ engine.Sink) (engine.Outcome, error) {
		if len(t.Answers) == 0 {
			return engine.Ask(interaction.Question{Kind: interaction.Confirm, Prompt: "Shall I ship it?"}), nil
		}
		return engine.Done("Shipped."), nil
	})
	lc, err := New(Config{Engine: agent, Logger: slog.New(slog.DiscardHandler)})
	require.NoError(b, err)
	ctx, stop := context.WithCancel(b.Context())
	served := make(chan error, 1)
	go func() { served <- lc.Serve(ctx) }()
	b.ReportAllocs()
	for b.Loop() {
		run, err := lc.Submit(ctx, Spec{Prompt: "Build the release, ask, and ship it."})
		require.NoError(b, err)
		for e, err := range lc.Events(ctx, run.ID, 0) {
			require.NoError(b, err)
			if e.Type == "user.input.required" {
				_, err := lc.Reply(ctx, run.ID, interaction.Reply{ID: 1, Text: "yes"})
				require.NoError(b, err)
			}
		}
	}
	b.StopTimer()
	stop()
	require.NoError(b, <-served)
}
