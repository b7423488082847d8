package lifecycle

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/store"
)

// The decision alone: what a commit is made of, its events validated and encoded.
func BenchmarkDecide(b *testing.B) {
	now := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	run, body, err := Spec{ID: "run-1", Prompt: "Build the release, ask, and ship it."}.record(now)
	require.NoError(b, err)
	created, err := decideSubmission(&run, body)
	require.NoError(b, err)
	claimed := created.Run.Claim("node-1")
	running, err := decideStart(&claimed, "node-1", now)
	require.NoError(b, err)
	ask := &details{
		now: now, node: "node-1", profile: fsm.ProfileResumable,
		facts:   fsm.FactProcessOK,
		session: &interaction.SessionHandle{Engine: "agent", Data: []byte("session-1")},
		question: &interaction.Question{Kind: interaction.Confirm, Prompt: "Shall I ship it?",
			DefaultPolicy: interaction.EngineJudgement},
	}
	parked, err := transition(&running.Run, fsm.EventTurnNeedsInput, ask)
	require.NoError(b, err)
	answer := interaction.Reply{ID: 1, Text: "yes", Actor: Actor{ID: "ada"}}.Answer(now)
	record := interaction.Settle(*parked.Run.Pending, answer, "key", "digest")
	for name, c := range map[string]struct {
		run   *store.Run
		event fsm.Event
		ev    *details
	}{
		"start": {&claimed, fsm.EventTurnStarted, &details{now: now, node: "node-1"}},
		"ask":   {&running.Run, fsm.EventTurnNeedsInput, ask},
		"reply": {&parked.Run, fsm.EventInteractionReplyAccepted, &details{
			facts: fsm.FactPendingMatches | fsm.FactRuleMet, now: now, answer: &answer,
			settled: []interaction.Record{record}}},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := transition(c.run, c.event, c.ev); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// M4: the input of a plain engine's turn is the turn itself in other types, and allocates nothing.
func TestM4TheInputOfAPlainTurnAllocatesNothing(t *testing.T) {
	run, _, err := Spec{ID: "run-1", Prompt: "Ship it."}.record(time.Now())
	require.NoError(t, err)
	attempt := &turn{node: &node{Lifecycle: &Lifecycle{Client: &Client{clock: SystemClock{}}}}, record: &run,
		dialect: dialect{plain: true}}
	var in engine.Turn
	require.Zero(t, testing.AllocsPerRun(100, func() { in = attempt.input(workspace{}, nil) }))
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
