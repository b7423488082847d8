package lifecycletest

import (
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/lifecycle"
)

var states = []story{
	{"A1 A2 F2 F6/a run goes through question and reply to its end", inWorld(func(w *world) {
		w.agent.Plan("r", Wonders("Which colour?"), Done("Painted it."))
		w.submit("r")
		run := w.is("r", fsm.StateWaitingUser)
		require.Equal(w, "Which colour?", run.Pending.Prompt)
		require.False(w, run.Slot, "a parked resumable run gives its slot up")
		w.reply("r", 1, "blue")
		run = w.is("r", fsm.StateSucceeded)
		require.Equal(w, 2, run.Attempt)
		require.Equal(w, []string{
			"conversation.started",
			"queued→running turn.started",
			"assistant.message.final",
			"running→waiting_user turn.needs_input", "user.input.required",
			"interaction.reply.accepted", "waiting_user→queued interaction.reply.accepted",
			"queued→running turn.started",
			"assistant.message.final",
			"running→succeeded turn.succeeded",
		}, w.types("r"))
		turns := w.agent.Turns("r")
		require.Len(w, turns, 2)
		require.Empty(w, turns[0].Answers)
		require.Equal(w, "blue", turns[1].Answers[0].Text)
		require.Equal(w, []byte("session-r"), turns[1].Session.Data, "resumed by the session handle")
	})},
	{"A1 A7 I7/a terminal state absorbs every command", inWorld(func(w *world) {
		w.agent.Plan("r", Wonders("Go on?"), Done("Done."))
		w.submit("r")
		w.reply("r", 1, "yes")
		before := w.is("r", fsm.StateSucceeded)
		var ended *lifecycle.TerminalError
		require.ErrorAs(w, w.Cancel(w.ctx, "r", "too late"), &ended)
		require.Equal(w, fsm.StateSucceeded, ended.State)
		_, err := w.Reply(w.ctx, "r", interaction.Reply{ID: 1, Text: "again"})
		require.ErrorIs(w, err, lifecycle.ErrSettled)
		w.advance(lifecycle.DefaultSessionTimeout * 2)
		require.Equal(w, before, w.is("r", fsm.StateSucceeded), "nothing is written")
	})},
	{"A4 D1 D5/a reply puts a waiting run back into the queue, where it needs a slot again", inWorld(func(w *world) {
		free := make(chan struct{})
		w.agent.Plan("r", Wonders("Go on?"), Done("Done."))
		w.agent.Plan("other", Until(free, Done("Done.")))
		w.submit("r")
		w.is("r", fsm.StateWaitingUser)
		w.submit("other")
		require.True(w, w.is("other", fsm.StateRunning).Slot, "the parked run's slot went to another")
		w.reply("r", 1, "yes")
		run := w.is("r", fsm.StateQueued)
		require.False(w, run.Slot)
		require.Equal(w, "yes", run.Answer.Text)
		close(free)
		w.is("other", fsm.StateSucceeded)
		w.is("r", fsm.StateSucceeded)
	}, capacity(1))},
	{"A5/a passed deadline decides automatically when the run is not strict", inWorld(func(w *world) {
		w.agent.Plan("r", Wonders("Which?"), Done("Chose one."))
		w.submit("r", lenient(60*time.Second))
		w.is("r", fsm.StateWaitingUser)
		w.advance(59 * time.Second)
		w.is("r", fsm.StateWaitingUser)
		w.advance(2 * time.Second)
		w.is("r", fsm.StateSucceeded)
		require.Contains(w, w.types("r"), "waiting_user→queued interaction.auto_decide.timeout")
	})},
	{"A6/auto mode uses the same machine and never waits", inWorld(func(w *world) {
		w.agent.Plan("ok", Wonders("May I?"))
		w.agent.Plan("bad", Crashes("", "Done."))
		auto := func(s *lifecycle.Spec) { s.Mode = lifecycle.Auto }
		w.submit("ok", auto)
		w.is("ok", fsm.StateSucceeded)
		w.submit("bad", auto)
		w.failedWith("bad", fsm.CodeEngineFailed)
		for _, id := range []string{"ok", "bad"} {
			for _, e := range w.types(id) {
				require.NotContains(w, e, "waiting_user")
			}
		}
	})},
}
