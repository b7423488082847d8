package lifecycletest

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"sync"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/contract/fcmp"
	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/lifecycle"
)

// read follows the run from the cursor to its end.
func (w *world) read(id string, after uint64) []uint64 {
	var seqs []uint64
	for e, err := range w.Events(w.ctx, id, after) {
		if err != nil {
			w.Errorf("events of %s: %v", id, err)
			return seqs
		}
		seqs = append(seqs, e.Seq)
	}
	return seqs
}

// count is from+1, from+2, … to.
func count(from, to uint64) []uint64 {
	var all []uint64
	for i := from + 1; i <= to; i++ {
		all = append(all, i)
	}
	return all
}

var events = []story{
	{"F1/the envelope", inWorld(func(w *world) {
		w.agent.Plan("r", Wonders("?"), Done("ok"))
		w.submit("r")
		w.reply("r", 1, "yes")
		run := w.is("r", fsm.StateSucceeded)
		var attempt, local int
		for i, e := range w.log("r") {
			require.Equal(w, "fcmp/1.0", e.ProtocolVersion)
			require.Equal(w, "r", e.RunID)
			require.Equal(w, uint64(i+1), e.Seq)
			require.Equal(w, lifecycle.DefaultEngine, e.Engine)
			require.False(w, e.TS.IsZero())
			if e.Meta.Attempt != attempt {
				attempt, local = e.Meta.Attempt, 0
			}
			local++
			require.Equal(w, uint64(local), e.Meta.LocalSeq)
		}
		require.Equal(w, 2, attempt)
		require.Equal(w, uint64(len(w.log("r"))), run.Seq)
	})},
	{"F2/the terminal event carries status, error and warnings", inWorld(func(w *world) {
		w.agent.Plan("r", Crashes("", ""))
		w.submit("r")
		w.failedWith("r", fsm.CodeEngineFailed)
		log := w.log("r")
		var told fcmp.StateChanged
		require.NoError(w, log[len(log)-1].Decode(&told))
		require.Equal(w, "failed", told.Terminal.Status)
		require.Equal(w, "ENGINE_FAILED", told.Terminal.Error.Code)
		require.Contains(w, told.Terminal.Error.Message, "exit status 3")
	})},
	{"F3/an accepted reply is told, directly followed by its change of state", inWorld(func(w *world) {
		w.agent.Plan("r", Wonders("?"), Done("ok"))
		w.submit("r")
		receipt := w.reply("r", 1, "yes")
		for i, e := range w.log("r") {
			if e.Type != fcmp.TypeReplyAccepted {
				continue
			}
			var told fcmp.ReplyAccepted
			require.NoError(w, e.Decode(&told))
			require.Equal(w, 1, told.InteractionID)
			require.Equal(w, "user_reply", told.ResolutionMode)
			require.True(w, receipt.AcceptedAt.Equal(told.AcceptedAt))
			require.Equal(w, "waiting_user→queued interaction.reply.accepted", w.types("r")[i+1])
			return
		}
		w.Fatal("no reply was told")
	})},
	{"F6/messages and warnings of a turn come in order", inWorld(func(w *world) {
		w.agent.Plan("r", func(ctx context.Context, t engine.Turn, s engine.Sink) (engine.Outcome, error) {
			for i := range 3 {
				if err := s.Message(ctx, engine.Message{Text: fmt.Sprintf("step %d", i)}); err != nil {
					return engine.Outcome{}, err
				}
			}
			if err := s.Warn(ctx, interaction.Diagnostic{Code: fsm.WarnEngineDiagnostic,
				Detail: "slow network"}); err != nil {
				return engine.Outcome{}, err
			}
			return Done("ok")(ctx, t, s)
		})
		w.submit("r")
		w.is("r", fsm.StateSucceeded)
		require.Equal(w, []string{
			"conversation.started", "queued→running turn.started",
			"assistant.message.intermediate", "assistant.message.intermediate", "assistant.message.intermediate",
			"diagnostic.warning", "assistant.message.final", "running→succeeded turn.succeeded",
		}, w.types("r"))
	})},
	{"F6/an engine's own codes are kept, and what is no code becomes a warning of ours", inWorld(func(w *world) {
		codes := []fsm.Warning{"X_OF_ITS_OWN", "MY_OWN_WARNING", "", "lower", "X_" + fsm.Warning(strings.Repeat("A",
			61)), "\xff"}
		w.agent.Plan("r", func(ctx context.Context, t engine.Turn, s engine.Sink) (engine.Outcome, error) {
			o, err := Done("ok")(ctx, t, s)
			for _, code := range codes {
				if err := s.Warn(ctx, interaction.Diagnostic{Code: code, Detail: "early"}); err != nil {
					return o, err
				}
				o.Diagnostics = append(o.Diagnostics, interaction.Diagnostic{Code: code, Detail: "late"},
					interaction.Diagnostic{Code: code})
			}
			return o, err
		})
		w.submit("r")
		require.Equal(w, []fsm.Warning{"X_OF_ITS_OWN", fsm.WarnEngineDiagnostic},
			w.is("r", fsm.StateSucceeded).Warnings)
		var told []string
		for _, e := range w.log("r") {
			if e.Type == fcmp.TypeWarning && !bytes.Contains(e.Data, []byte("early")) {
				told = append(told, string(e.Data))
			}
		}
		require.Equal(w, []string{
			`{"code":"X_OF_ITS_OWN","detail":"late"}`, `{"code":"X_OF_ITS_OWN"}`,
			`{"code":"ENGINE_DIAGNOSTIC","detail":"MY_OWN_WARNING: late"}`,
			`{"code":"ENGINE_DIAGNOSTIC","detail":"MY_OWN_WARNING"}`,
			`{"code":"ENGINE_DIAGNOSTIC","detail":"late"}`, `{"code":"ENGINE_DIAGNOSTIC"}`,
			`{"code":"ENGINE_DIAGNOSTIC","detail":"lower: late"}`, `{"code":"ENGINE_DIAGNOSTIC","detail":"lower"}`,
			`{"code":"ENGINE_DIAGNOSTIC","detail":"X_` + strings.Repeat("A", 60) + `: late"}`,
			`{"code":"ENGINE_DIAGNOSTIC","detail":"X_` + strings.Repeat("A", 60) + `"}`,
			`{"code":"ENGINE_DIAGNOSTIC","detail":"�: late"}`, `{"code":"ENGINE_DIAGNOSTIC","detail":"�"}`,
		}, told)
	})},
	{"F7/a payload that fails its schema is refused, and nothing of that commit is stored", inWorld(func(w *world) {
		refused := make(chan error, 1)
		w.agent.Plan("r", func(ctx context.Context, t engine.Turn, s engine.Sink) (engine.Outcome, error) {
			refused <- s.Message(ctx, engine.Message{Text: "x", RawRef: &engine.RawRef{File: "t", Offset: -1,
				Length: -1}})
			o, err := Done("ok")(ctx, t, s)
			o.FinalRef = &engine.RawRef{File: "t", Offset: -1, Length: -1}
			return o, err
		})
		w.submit("r")
		var violation *fcmp.SchemaViolation
		require.ErrorAs(w, <-refused, &violation)
		require.Equal(w, "PROTOCOL_SCHEMA_VIOLATION", violation.Code())
		w.failedWith("r", fsm.CodeProtocolSchemaViolation)
		require.Equal(w, []string{"conversation.started", "queued→running turn.started", "running→failed turn.failed"},
			w.types("r"))
	})},
	{"F8 F9 I5/every kind of reader sees every event once, in order", inWorld(func(w *world) {
		w.agent.Plan("r", Wonders("One?"), Wonders("Two?"), Done("ok"))
		w.submit("r", func(s *lifecycle.Spec) { s.NotBefore = time.Now().Add(time.Minute) })
		var all sync.WaitGroup
		seen := make([][]uint64, 6)
		all.Go(func() { seen[0] = w.read("r", 0) }) // from the queue on
		all.Go(func() {                             // lags
			for e, err := range w.Events(w.ctx, "r", 0) {
				if err != nil {
					return
				}
				seen[1] = append(seen[1], e.Seq)
				time.Sleep(5 * time.Minute)
			}
		})
		all.Go(func() { // reconnects after each event
			for last := uint64(0); ; {
				before := last
				for e, err := range w.Events(w.ctx, "r", last) {
					if err != nil {
						return
					}
					seen[2] = append(seen[2], e.Seq)
					last = e.Seq
					break
				}
				if last == before {
					return
				}
			}
		})
		w.advance(time.Minute)
		w.is("r", fsm.StateWaitingUser)
		all.Go(func() { seen[3] = w.read("r", 0) }) // of a parked run
		w.reply("r", 1, "a")
		w.reply("r", 2, "b")
		run := w.is("r", fsm.StateSucceeded)
		all.Go(func() { seen[4] = w.read("r", 0) }) // of a finished run
		all.Go(func() { seen[5] = w.read("r", 4) }) // in the middle
		all.Wait()
		for i, seqs := range seen[:5] {
			require.Equal(w, count(0, run.Seq), seqs, "reader %d", i)
		}
		require.Equal(w, count(4, run.Seq), seen[5])
		require.Empty(w, w.read("r", run.Seq), "a reader at the end of a finished run is done")
		for _, err := range w.Events(w.ctx, "r", run.Seq+1) {
			require.ErrorIs(w, err, lifecycle.ErrCursorBeyondEnd, "one beyond it is told so")
			run.Seq = 0
		}
		require.Zero(w, run.Seq, "and not silently done")
	})},
	{"F9/the cancel of a queued run is told", inWorld(func(w *world) {
		w.submit("r", func(s *lifecycle.Spec) { s.NotBefore = time.Now().Add(time.Hour) })
		var all sync.WaitGroup
		var seqs []uint64
		all.Go(func() { seqs = w.read("r", 0) })
		synctest.Wait()
		require.NoError(w, w.Cancel(w.ctx, "r", "changed my mind"))
		all.Wait()
		require.Equal(w, count(0, 2), seqs)
		require.Equal(w, []string{"conversation.started", "queued→canceled run.canceled"}, w.types("r"))
		require.Empty(w, w.agent.Turns("r"))
	})},
	{"F9/a reader's context ends its sequence with an error", inWorld(func(w *world) {
		w.agent.Plan("r", Wonders("?"))
		w.submit("r")
		ctx, cancel := context.WithTimeout(w.ctx, time.Minute)
		defer cancel()
		var last error
		for _, err := range w.Events(ctx, "r", 0) {
			last = err
		}
		require.ErrorIs(w, last, context.DeadlineExceeded)
		for _, err := range w.Events(w.ctx, "nobody", 0) {
			last = err
		}
		require.ErrorIs(w, last, lifecycle.ErrNotFound)
	})},
	{"I10/status, pending, history and events agree at any moment", inWorld(func(w *world) {
		const rounds = 30
		for range rounds {
			w.agent.Plan("r", Wonders("Again?"))
		}
		w.agent.Plan("r", Done("ok"))
		w.submit("r")
		ctx, stop := context.WithCancel(w.ctx)
		var look sync.WaitGroup
		for range 4 {
			look.Go(func() {
				for ctx.Err() == nil {
					run, records, err := w.store.History(w.ctx, "r")
					if err != nil {
						w.Errorf("history: %v", err)
						return
					}
					if (run.State == fsm.StateWaitingUser) != (run.Pending != nil) {
						w.Errorf("state %s with pending %v", run.State, run.Pending)
					}
					open := 0
					if run.Pending != nil {
						open = 1
					}
					if len(records)+open != run.Interactions {
						w.Errorf("%d settled and %d open of %d asked", len(records), open, run.Interactions)
					}
					page, err := w.store.Events(w.ctx, "r", run.Seq-1, 1)
					if err != nil || len(page) != 1 || page[0].Seq != run.Seq {
						w.Errorf("the last event of the record is not stored: %v", err)
					}
					time.Sleep(time.Millisecond)
				}
			})
		}
		for i := range rounds {
			run, err := w.Get(w.ctx, "r")
			require.NoError(w, err)
			for run.State != fsm.StateWaitingUser || run.Pending.ID != i+1 {
				time.Sleep(time.Millisecond)
				run, err = w.Get(w.ctx, "r")
				require.NoError(w, err)
			}
			_, err = w.Reply(w.ctx, "r", interaction.Reply{ID: i + 1, Text: "again"})
			require.NoError(w, err)
		}
		_, err := w.Wait(w.ctx, "r")
		require.NoError(w, err)
		stop()
		look.Wait()
		w.is("r", fsm.StateSucceeded)
	})},
	{"I11 F6/an oversized message is cut, a flood of messages is bounded, each with a diagnostic",
		inWorld(func(w *world) {
			w.agent.Plan("r", func(ctx context.Context, t engine.Turn, s engine.Sink) (engine.Outcome, error) {
				for range 10_200 {
					if err := s.Message(ctx, engine.Message{Text: "flood"}); err != nil {
						return engine.Outcome{}, err
					}
				}
				return Done(strings.Repeat("é", 1<<20))(ctx, t, s)
			})
			w.submit("r")
			run := w.is("r", fsm.StateSucceeded)
			require.Less(w, run.Seq, uint64(10_100))
			require.Less(w, len(run.FinalText), 1<<20)
			log := w.log("r")
			var final fcmp.MessageFinal
			require.NoError(w, log[len(log)-2].Decode(&final))
			require.True(w, final.Truncated)
		})},
	{"H1 H2 H3/the prompt carries the instructions of its mode and nothing of the other", inWorld(func(w *world) {
		w.agent.Plan("", Done("ok"))
		w.submit("i")
		w.submit("a", auto)
		interactive, automatic := w.agent.Turns("i")[0].Prompt, w.agent.Turns("a")[0].Prompt
		require.Contains(w, interactive, "Do the job.")
		require.Contains(w, automatic, "Do the job.")
		require.Contains(w, interactive, "ask_user")
		require.Contains(w, interactive, "__SKILL_DONE__")
		require.NotContains(w, strings.ToLower(automatic), "ask_user")
	})},
}
