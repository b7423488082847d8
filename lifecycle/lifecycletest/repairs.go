package lifecycletest

import (
	"context"
	"strings"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/lifecycle"
)

// rounds lets the agent repair its output so often.
func rounds(n int) func(*lifecycle.Spec) { return func(s *lifecycle.Spec) { s.RepairRounds = n } }

// repairs: an output that is not valid is given again, within the attempt, where the spec allows
// it.
var repairs = []story{
	{"B3/by default an output that is not valid is not given again", inWorld(func(w *world) {
		w.agent.Plan("r", Says(`{"answer":"x"}`), Says(`{"answer":42}`))
		w.submit("r", auto, withSchema)
		w.failedWith("r", fsm.CodeOutputInvalid)
		require.Len(w, w.agent.Turns("r"), 1)
	})},
	{"B3/an output is repaired in the same attempt and session, and the log tells of it", inWorld(func(w *world) {
		w.agent.Plan("r", Says(`{"answer":"x"}`), Says("I do not know."), Says(`{"answer":42}`))
		w.submit("r", auto, withSchema, rounds(2))
		run := w.is("r", fsm.StateSucceeded)
		require.JSONEq(w, `{"answer":42}`, string(run.Output))
		require.Equal(w, 1, run.Attempt)
		require.Equal(w, []fsm.Warning{fsm.WarnOutputRepairRequested}, run.Warnings)
		turns := w.agent.Turns("r")
		require.Len(w, turns, 3)
		require.Empty(w, turns[0].Repair)
		for _, t := range turns[1:] {
			require.Equal(w, t.Repair, t.Input())
			require.True(w, t.GoesOn())
			require.Equal(w, "session-r", string(t.Session.Data))
			require.Equal(w, turns[0].Epoch, t.Epoch)
			require.Equal(w, 1, t.Attempt)
		}
		require.Contains(w, turns[1].Repair, "integer", "the agent is told what is wrong")
		require.Contains(w, turns[2].Repair, "no JSON output was found")
		require.NotContains(w, turns[1].Repair, "__SKILL_DONE__", "an agent that works alone needs no marker (H1)")
		require.Equal(w, []string{
			"conversation.started", "queued→running turn.started",
			"assistant.message.intermediate", "diagnostic.warning", "assistant.message.intermediate",
			"diagnostic.warning",
			"assistant.message.final", "running→succeeded turn.succeeded",
		}, w.types("r"))
	})},
	{"B5/a marked output that is not valid is repaired; after the last round the run fails and never waits",
		inWorld(func(w *world) {
			w.agent.Plan("r", Done(`{"answer":"x"}`), Done(`{"answer":42}`))
			w.submit("r", withSchema, rounds(1))
			require.JSONEq(w, `{"answer":42}`, string(w.is("r", fsm.StateSucceeded).Output))
			require.Contains(w, w.agent.Turns("r")[1].Repair, "__SKILL_DONE__")

			w.agent.Plan("s", Done(`{"answer":"x"}`))
			w.submit("s", withSchema, rounds(3))
			w.failedWith("s", fsm.CodeOutputInvalid)
			require.Len(w, w.agent.Turns("s"), 4)
		})},
	{"B10/a round of repair may end with a question, and the answer goes on as ever", inWorld(func(w *world) {
		w.agent.Plan("r", Done(`{"answer":"x"}`), Wonders("Which answer?"), Done(`{"answer":42}`))
		w.submit("r", withSchema, rounds(1))
		require.Equal(w, 1, w.is("r", fsm.StateWaitingUser).Pending.ID)
		w.reply("r", 1, "42")
		run := w.is("r", fsm.StateSucceeded)
		require.Equal(w, 2, run.Attempt)
		require.Empty(w, w.agent.Turns("r")[2].Repair)
	})},
	{"B1/a failure in a round of repair fails the turn by its own code", inWorld(func(w *world) {
		w.agent.Plan("r", Done(`{"answer":"x"}`), Crashes(fsm.CodeEngineUnavailable, ""))
		w.submit("r", withSchema, rounds(5))
		w.failedWith("r", fsm.CodeEngineUnavailable)
		require.Len(w, w.agent.Turns("r"), 2)
	})},
	{"B11/an agent that gave no session cannot be asked again", inWorld(func(w *world) {
		w.agent.Plan("r", Forgets(Done(`{"answer":"x"}`)), Done(`{"answer":42}`))
		w.submit("r", withSchema, rounds(5))
		w.failedWith("r", fsm.CodeOutputInvalid)
		require.Len(w, w.agent.Turns("r"), 1)
	})},
	{"D4/a resident process repairs its output", inWorld(func(w *world) {
		w.agent.Plan("r", Forgets(Done(`{"answer":"x"}`)), Done(`{"answer":42}`))
		w.submit("r", withSchema, rounds(1))
		w.is("r", fsm.StateSucceeded)
		require.Equal(w, []string{"r"}, w.agent.ended)
	}, sticky)},
	{"I6/a run that is canceled between the rounds is not asked again", inWorld(func(w *world) {
		begun, hold := make(chan struct{}), make(chan struct{})
		w.agent.Plan("r", func(ctx context.Context, t engine.Turn, s engine.Sink) (engine.Outcome, error) {
			close(begun)
			<-hold // an agent that does not listen
			return Done(`{"answer":"x"}`)(ctx, t, s)
		}, Done(`{"answer":42}`))
		w.submit("r", withSchema, rounds(5))
		<-begun
		require.NoError(w, w.Cancel(w.ctx, "r", ""))
		close(hold)
		w.is("r", fsm.StateCanceled)
		require.Len(w, w.agent.Turns("r"), 1)
	})},
	{"B1/all rounds together have the time of one turn", inWorld(func(w *world) {
		slow := func(ctx context.Context, t engine.Turn, s engine.Sink) (engine.Outcome, error) {
			select {
			case <-time.After(40 * time.Second):
				return Done(`{"answer":"x"}`)(ctx, t, s)
			case <-ctx.Done():
				return engine.Outcome{Process: engine.Process{Status: engine.Interrupted}}, nil
			}
		}
		w.agent.Plan("r", slow)
		w.submit("r", withSchema, rounds(10), func(s *lifecycle.Spec) { s.TurnTimeout = time.Minute })
		w.advance(2 * time.Minute)
		w.failedWith("r", fsm.CodeTurnTimeout)
		require.Len(w, w.agent.Turns("r"), 2)
	})},
	{"I10/a long text of an earlier round is bounded like any message", inWorld(func(w *world) {
		w.agent.Plan("r", Says(strings.Repeat("long ", 1<<20)), Says(`{"answer":42}`))
		w.submit("r", auto, withSchema, rounds(1))
		w.is("r", fsm.StateSucceeded)
		for _, e := range w.log("r") {
			require.Less(w, len(e.Data), 1<<20)
		}
	})},
}
