package decide

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/store"
)

// The pure decision: building a commit, its events validated and encoded.
func BenchmarkDecide(b *testing.B) {
	now, run := noon, queuedRun()
	created, err := Submission(&run, []byte(`{"prompt":"Build the release, ask, and ship it."}`))
	require.NoError(b, err)
	claimed := created.Run.Claim("node-1")
	running, err := (&Starts{Now: now}).Start(claimed, nil)
	require.NoError(b, err)
	ask := &effects{
		now: now, facts: fsm.FactProcessOK,
		turn: turnEnd{profile: fsm.ProfileResumable,
			session: &interaction.SessionHandle{Engine: "agent", Data: []byte("session-1")}},
		asks: asking{node: "node-1", question: &interaction.Question{Kind: interaction.Confirm,
			Prompt: "Shall I ship it?", DefaultPolicy: interaction.EngineJudgement}},
	}
	parked, err := transition(&running.Run, fsm.EventTurnNeedsInput, ask)
	require.NoError(b, err)
	answer := interaction.Reply{ID: 1, Text: "yes", Actor: interaction.Actor{ID: "ada"}}.Answer(now)
	record := interaction.Settle(parked.Run.Open[0], answer, "key", "digest")
	for name, c := range map[string]struct {
		run   *store.Run
		event fsm.Event
		ev    *effects
	}{
		"start": {&claimed, fsm.EventTurnStarted, &effects{now: now}},
		"ask":   {&running.Run, fsm.EventTurnNeedsInput, ask},
		"reply": {&parked.Run, fsm.EventInteractionReplyAccepted, &effects{
			facts: fsm.FactPendingMatches | fsm.FactRuleMet, now: now,
			settles: settlement{
				answers: []interaction.Answer{answer}, records: []interaction.Record{record}}}},
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
