package lifecycletest

import (
	"errors"
	"strings"
	"sync"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/contract/fcmp"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/lifecycle"
)

var replies = []story{
	{"C1 F5/the whole question reaches the front end", inWorld(func(w *world) {
		asked := interaction.Question{
			Kind: interaction.ChooseOne, Prompt: "Which region?", Context: "The data must stay in Europe.",
			Options:        []interaction.Option{{Label: "Frankfurt", Value: "fra"}, {Label: "Dublin", Value: "dub"}},
			RequiredFields: []string{"region"}, UIHints: map[string]any{"widget": "radio"},
			DefaultPolicy: interaction.SafeDefault,
		}
		w.agent.Plan("r", Asks(asked))
		w.submit("r")
		pending, err := w.Pending(w.ctx, "r")
		require.NoError(w, err)
		require.Equal(w, 1, pending.ID)
		require.Equal(w, 1, pending.Attempt)
		log := w.log("r")
		var told fcmp.InputRequired
		require.NoError(w, log[len(log)-1].Decode(&told))
		require.Equal(w, fcmp.TypeInputRequired, log[len(log)-1].Type)
		require.Equal(w, "choose_one", told.Kind)
		require.Equal(w, "Which region?", told.Prompt)
		require.Equal(w, []fcmp.Option{{Label: "Frankfurt", Value: "fra"}, {Label: "Dublin", Value: "dub"}},
			told.Options)
		require.Equal(w, []string{"region"}, told.RequiredFields)
		require.Equal(w, map[string]any{"widget": "radio"}, told.UIHints)
		require.Equal(w, "The data must stay in Europe.", told.Context)
		require.Equal(w, "safe_default", told.DefaultDecisionPolicy)
	})},
	{"C2/a malformed question becomes a baseline question with a diagnostic", inWorld(func(w *world) {
		w.agent.Plan("r", Says("<ASK_USER_YAML>\nkind: [choose_one\n</ASK_USER_YAML>\nWhich one do you want?"))
		w.submit("r")
		run := w.is("r", fsm.StateWaitingUser)
		require.Equal(w, interaction.OpenText, run.Pending.Kind)
		require.NotEmpty(w, run.Pending.Prompt)
		require.Contains(w, run.Warnings, fsm.WarnAskUserMalformed)
		require.Contains(w, w.types("r"), fcmp.TypeWarning)
	})},
	{"C2/an unknown kind becomes open_text", inWorld(func(w *world) {
		w.agent.Plan("r", Asks(interaction.Question{Kind: "dance", Prompt: "Shall we?"}))
		w.submit("r")
		run := w.is("r", fsm.StateWaitingUser)
		require.Equal(w, interaction.OpenText, run.Pending.Kind)
		require.Contains(w, run.Warnings, fsm.WarnAskUserUnknownKind)
	})},
	{"C3/a reply is free text for every kind", inWorld(func(w *world) {
		for _, kind := range []interaction.Kind{interaction.ChooseOne, interaction.Confirm, interaction.FillFields,
			interaction.OpenText, interaction.RiskAck} {
			id := "r-" + strings.ReplaceAll(string(kind), "_", "-")
			w.agent.Plan(id, Asks(interaction.Question{Kind: kind, Prompt: "?",
				Options: []interaction.Option{{Label: "A", Value: "a"}}}), Done("ok"))
			w.submit(id)
			w.reply(id, 1, "none of those: let me explain …")
			w.is(id, fsm.StateSucceeded)
			require.Equal(w, "none of those: let me explain …", w.agent.Turns(id)[1].Answers[0].Text)
		}
	})},
	{"C4/each wrong reply has its own error and writes nothing", inWorld(func(w *world) {
		hold := make(chan struct{})
		defer close(hold)
		w.agent.Plan("r", Wonders("One?"), Wonders("Two?"))
		w.agent.Plan("busy", Until(hold, Done("")))
		w.submit("busy")
		w.submit("r")
		w.reply("r", 1, "first")
		before := w.is("r", fsm.StateWaitingUser)
		_, err := w.Reply(w.ctx, "nobody", interaction.Reply{ID: 1, Text: "x"})
		require.ErrorIs(w, err, lifecycle.ErrNotFound)
		_, err = w.Reply(w.ctx, "busy", interaction.Reply{ID: 1, Text: "x"})
		require.ErrorIs(w, err, lifecycle.ErrNotWaiting)
		_, err = w.Reply(w.ctx, "r", interaction.Reply{ID: 1, Text: "stale"})
		var settled *lifecycle.SettledError
		require.ErrorAs(w, err, &settled)
		require.Equal(w, interaction.UserReply, settled.Resolution)
		_, err = w.Reply(w.ctx, "r", interaction.Reply{ID: 3, Text: "future"})
		var waitErr *lifecycle.WaitError
		require.ErrorAs(w, err, &waitErr)
		require.Equal(w, 2, waitErr.Pending)
		for _, bad := range []interaction.Reply{
			{ID: 0, Text: "x"},
			{ID: 2, Text: "  "},
			{ID: 2, Text: "\xff"},
			{ID: 2, Text: strings.Repeat("x", interaction.MaxReplyText+1)},
			{ID: 2, Text: "x", Key: strings.Repeat("k", 300)},
		} {
			_, err = w.Reply(w.ctx, "r", bad)
			require.ErrorIs(w, err, lifecycle.ErrInvalidReply)
		}
		require.Equal(w, before, w.is("r", fsm.StateWaitingUser))
	})},
	{"C5/the same key and body is answered with the first receipt in every later state", inWorld(func(w *world) {
		w.agent.Plan("r", Wonders("One?"), Wonders("Two?"), Done("ok"))
		w.submit("r")
		reply := interaction.Reply{ID: 1, Text: "yes", Key: "msg-1"}
		first, err := w.Reply(w.ctx, "r", reply)
		require.NoError(w, err)
		require.False(w, first.Replayed)
		again := func() {
			w.Helper()
			receipt, err := w.Reply(w.ctx, "r", reply)
			require.NoError(w, err)
			require.True(w, receipt.Replayed)
			require.Equal(w, first.AcceptedAt, receipt.AcceptedAt)
			_, err = w.Reply(w.ctx, "r", interaction.Reply{ID: 1, Text: "no", Key: "msg-1"})
			require.ErrorIs(w, err, lifecycle.ErrKeyConflict)
			_, err = w.Reply(w.ctx, "r", interaction.Reply{ID: 2, Text: "yes", Key: "msg-1"})
			require.ErrorIs(w, err, lifecycle.ErrKeyConflict)
		}
		again()
		w.is("r", fsm.StateWaitingUser)
		again()
		w.reply("r", 2, "fine")
		w.is("r", fsm.StateSucceeded)
		again()
		require.Len(w, w.agent.Turns("r"), 3, "no second effect")
	})},
	{"C5 C8 I1/of many racing replies exactly one is accepted and the others are told", inWorld(func(w *world) {
		w.agent.Plan("r", Wonders("Who is first?"), Done("ok"))
		w.submit("r")
		w.is("r", fsm.StateWaitingUser)
		const callers = 32
		errs := make([]error, callers)
		var all sync.WaitGroup
		for i := range callers {
			all.Go(func() {
				_, errs[i] = w.Reply(w.ctx, "r", interaction.Reply{ID: 1, Text: "me", Key: string(rune('A' + i))})
			})
		}
		all.Wait()
		accepted := 0
		for _, err := range errs {
			if err == nil {
				accepted++
				continue
			}
			require.ErrorIs(w, err, lifecycle.ErrSettled)
		}
		require.Equal(w, 1, accepted)
		w.is("r", fsm.StateSucceeded)
		require.Len(w, w.agent.Turns("r"), 2)
	})},
	{"C8 I1/reply, deadline and cancel race and exactly one wins", inWorld(func(w *world) {
		for i := range 25 {
			id := "r" + string(rune('a'+i))
			w.agent.Plan(id, Wonders("?"), Done("ok"))
			w.submit(id, lenient(time.Second))
			w.is(id, fsm.StateWaitingUser)
			var all sync.WaitGroup
			var replied, canceled error
			all.Go(func() {
				time.Sleep(time.Second) // the bubble's time: both fall on the deadline
				_, replied = w.Reply(w.ctx, id, interaction.Reply{ID: 1, Text: "me"})
			})
			all.Go(func() {
				time.Sleep(time.Second)
				canceled = w.Cancel(w.ctx, id, "no")
			})
			all.Wait()
			synctest.Wait()
			run, err := w.Get(w.ctx, id)
			require.NoError(w, err)
			history, err := w.History(w.ctx, id)
			require.NoError(w, err)
			require.Len(w, history, 1)
			switch history[0].Resolution {
			case interaction.UserReply:
				require.NoError(w, replied)
			case interaction.AutoDecideTimeout:
				require.ErrorIs(w, replied, lifecycle.ErrSettled)
			default:
				require.ErrorIs(w, replied, lifecycle.ErrSettled)
				require.NoError(w, canceled)
				require.Equal(w, fsm.StateCanceled, run.State)
				require.Len(w, w.agent.Turns(id), 1)
			}
			require.True(w, canceled == nil || errors.Is(canceled, lifecycle.ErrTerminal), "%v", canceled)
			w.checkLog(id)
		}
	})},
	{"C6 C7/history keeps every question and how it was settled", inWorld(func(w *world) {
		w.agent.Plan("r", Wonders("One?"), Asks(interaction.Question{Kind: interaction.Confirm, Prompt: "Two?",
			DefaultPolicy: interaction.SafeDefault}), Wonders("Three?"))
		w.submit("r", lenient(time.Minute))
		_, err := w.Reply(w.ctx, "r", interaction.Reply{ID: 1, Text: "first", Actor: "ada"})
		require.NoError(w, err)
		w.is("r", fsm.StateWaitingUser)
		asked := time.Now()
		w.advance(time.Minute)
		run := w.is("r", fsm.StateWaitingUser)
		require.Equal(w, 1, run.AutoDecisions)
		require.True(w, asked.Add(time.Minute).Equal(run.LastAutoDecisionAt))
		history, err := w.History(w.ctx, "r")
		require.NoError(w, err)
		require.Len(w, history, 3)
		require.Equal(w, "One?", history[0].Question.Prompt)
		require.Equal(w, 1, history[0].Question.Attempt)
		require.Equal(w, interaction.UserReply, history[0].Resolution)
		require.Equal(w, "first", history[0].Response)
		require.Equal(w, "ada", history[0].Actor)
		require.False(w, history[0].ResolvedAt.Before(history[0].Question.AskedAt))
		require.Equal(w, interaction.AutoDecideTimeout, history[1].Resolution)
		require.Equal(w, "user_no_reply", history[1].AutoDecideReason)
		require.Equal(w, "Three?", history[2].Question.Prompt)
		require.Empty(w, history[2].Resolution, "the open question comes last")

		auto := w.agent.Turns("r")[2].Answers[0].Auto
		require.NotNil(w, auto)
		require.Equal(w, "auto_decide_timeout", auto.Source)
		require.Equal(w, 2, auto.InteractionID)
		require.Equal(w, "user_no_reply", auto.Reason)
		require.Equal(w, interaction.SafeDefault, auto.Policy)
		require.Equal(w, auto.Instruction, history[1].Response)
	})},
}
