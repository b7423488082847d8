package lifecycle

import (
	"context"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/interaction"
)

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
