package lifecycletest

import (
	"context"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/contract/fcmp"
	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/lifecycle"
)

var waiting = []story{
	{"D1/resumable and strict: waits for ever, its slot goes to others", inWorld(func(w *world) {
		w.agent.Plan("r", Wonders("Go on?"), Done("ok"))
		w.agent.Plan("other", Done("ok"))
		w.submit("r", within(time.Second))
		run := w.is("r", fsm.StateWaitingUser)
		require.False(w, run.Slot)
		require.True(w, run.Deadline.IsZero())
		w.submit("other")
		w.is("other", fsm.StateSucceeded)
		w.advance(time.Hour)
		w.is("r", fsm.StateWaitingUser)
		w.reply("r", 1, "at last")
		w.is("r", fsm.StateSucceeded)
	}, capacity(1))},
	{"D2 F4/resumable and not strict: decides at the deadline and resumes by the session handle",
		inWorld(func(w *world) {
			w.agent.Plan("r", Wonders("Go on?"), Done("ok"))
			w.submit("r", lenient(90*time.Second))
			run := w.is("r", fsm.StateWaitingUser)
			require.False(w, run.Slot)
			require.True(w, run.Pending.AskedAt.Add(90*time.Second).Equal(run.Deadline))
			w.advance(90 * time.Second)
			w.is("r", fsm.StateSucceeded)
			turn := w.agent.Turns("r")[1]
			require.Equal(w, []byte("session-r"), turn.Session.Data)
			require.Equal(w, interaction.AutoDecideTimeout, turn.Answers[0].Resolution)
			for i, e := range w.log("r") {
				if e.Type != fcmp.TypeAutoDecided {
					continue
				}
				var told fcmp.AutoDecided
				require.NoError(w, e.Decode(&told))
				require.Equal(w, 1, told.InteractionID)
				require.Equal(w, 90, told.TimeoutSec)
				require.Equal(w, "engine_judgement", told.Policy)
				require.Equal(w, "waiting_user→queued interaction.auto_decide.timeout", w.types("r")[i+1],
					"directly followed by its change of state")
				return
			}
			w.Fatal("no auto-decision was told")
		})},
	{"D3/sticky and strict: the process and the slot are held, and both end at the deadline", inWorld(func(w *world) {
		w.agent.Plan("r", Wonders("Go on?"), Done("ok"))
		w.agent.Plan("other", Done("ok"))
		w.submit("r", within(time.Minute))
		require.True(w, w.is("r", fsm.StateWaitingUser).Slot)
		require.True(w, w.agent.Lives("r"))
		w.submit("other")
		w.is("other", fsm.StateQueued)
		w.advance(time.Minute)
		w.failedWith("r", fsm.CodeInteractionWaitTimeout)
		require.False(w, w.agent.Lives("r"), "the process is ended")
		w.is("other", fsm.StateSucceeded)
	}, sticky, capacity(1))},
	{"D4 C6/sticky and not strict: the decision goes into the same process", inWorld(func(w *world) {
		w.agent.Plan("r", Wonders("Go on?"), Wonders("And now?"), Done("ok"))
		w.submit("r", lenient(time.Minute))
		require.True(w, w.is("r", fsm.StateWaitingUser).Slot)
		w.advance(time.Minute)
		run := w.is("r", fsm.StateWaitingUser)
		require.True(w, run.Slot)
		require.Equal(w, 2, run.Pending.ID)
		require.True(w, w.agent.Lives("r"))
		require.Equal(w, interaction.AutoDecideTimeout, w.agent.Turns("r")[1].Answers[0].Resolution)
		w.reply("r", 2, "finish")
		w.is("r", fsm.StateSucceeded)
		require.False(w, w.agent.Lives("r"))
	}, sticky)},
	{"D4 D5/a sticky run's next turn comes ahead of others and needs no new capacity", inWorld(func(w *world) {
		w.agent.Plan("r", Wonders("Go on?"), Done("ok"))
		w.agent.Plan("other", Done("ok"))
		w.submit("r")
		w.is("r", fsm.StateWaitingUser)
		w.submit("other", func(s *lifecycle.Spec) { s.Priority = 1000 })
		w.is("other", fsm.StateQueued)
		w.reply("r", 1, "yes")
		w.is("r", fsm.StateSucceeded)
		w.is("other", fsm.StateSucceeded)
	}, sticky, capacity(1))},
	{"D6/a sticky run's process dies while it waits", inWorld(func(w *world) {
		w.agent.Plan("r", Wonders("Go on?"))
		w.agent.Plan("other", Done("ok"))
		w.submit("r")
		w.is("r", fsm.StateWaitingUser)
		w.agent.Kill("r")
		w.failedWith("r", fsm.CodeInteractionProcessLost)
		w.submit("other")
		w.is("other", fsm.StateSucceeded)
	}, sticky, capacity(1))},
	{"D6/a sticky run's process dies right at the end of its turn, before the run waits", inWorld(func(w *world) {
		w.agent.Plan("r", func(ctx context.Context, t engine.Turn, s engine.Sink) (engine.Outcome, error) {
			o, err := Wonders("Go on?")(ctx, t, s)
			w.agent.Kill(t.RunID)
			return o, err
		})
		w.submit("r")
		run := w.failedWith("r", fsm.CodeInteractionProcessLost)
		require.False(w, run.Slot)
	}, sticky)},
	{"D6/a sticky run's process is gone when its answer comes to it", inWorld(func(w *world) {
		hold := make(chan struct{})
		w.agent.Plan("r", Wonders("Go on?"), Done("ok"))
		w.agent.Plan("busy", Until(hold, Done("ok")))
		w.submit("r")
		w.is("r", fsm.StateWaitingUser)
		w.submit("busy")
		w.is("busy", fsm.StateRunning)
		w.reply("r", 1, "yes")
		w.is("r", fsm.StateQueued)
		w.agent.Kill("r")
		close(hold)
		w.failedWith("r", fsm.CodeInteractionProcessLost)
	}, sticky, config(func(c *lifecycle.Config) { c.Concurrency = 1 }))},
	{"D1 D3 I6/cancel ends a waiting run and its process", inWorld(func(w *world) {
		w.agent.Plan("r", Wonders("Go on?"))
		w.submit("r")
		w.is("r", fsm.StateWaitingUser)
		require.NoError(w, w.Cancel(w.ctx, "r", "not needed"))
		run := w.is("r", fsm.StateCanceled)
		require.False(w, run.Slot)
		require.Equal(w, "not needed", run.CancelReason)
		require.False(w, w.agent.Lives("r"))
	}, sticky)},
	{"I8 D2/the deadline of question 1 does nothing once question 2 was asked", inWorld(func(w *world) {
		w.agent.Plan("r", Wonders("One?"), Wonders("Two?"), Done("ok"))
		w.submit("r", lenient(time.Minute))
		w.advance(50 * time.Second)
		w.reply("r", 1, "first")
		run := w.is("r", fsm.StateWaitingUser)
		require.Equal(w, 2, run.Pending.ID)
		w.advance(30 * time.Second) // past the first deadline, before the second
		require.Equal(w, run, w.is("r", fsm.StateWaitingUser))
		w.advance(30 * time.Second)
		w.is("r", fsm.StateSucceeded)
	})},
	{"I12/automatic decisions cannot spin for ever", inWorld(func(w *world) {
		w.agent.Plan("r", Wonders("Again?"))
		w.submit("r", lenient(time.Second), func(s *lifecycle.Spec) { s.MaxAutoDecisions = 3 })
		w.advance(time.Hour)
		run := w.failedWith("r", fsm.CodeInteractiveAutoDecisionLimitExceeded)
		require.Equal(w, 3, run.AutoDecisions)
		require.Len(w, w.agent.Turns("r"), 4)
	})},
	{"I12 B7/max_attempt holds for automatic decisions", inWorld(func(w *world) {
		w.agent.Plan("r", Wonders("Again?"))
		w.submit("r", lenient(time.Second), attempts(3))
		w.advance(time.Hour)
		w.failedWith("r", fsm.CodeInteractiveMaxAttemptExceeded)
		require.Len(w, w.agent.Turns("r"), 3)
	})},
}
