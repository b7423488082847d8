package lifecycletest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/contract/fcmp"
	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/lifecycle"
)

// limits are cases of values that are too large, too many, or not text.
var limits = append([]testCase{
	{"F6/an engine's own codes are kept, and an invalid code becomes a warning", inWorld(func(w *world) {
		codes := []fsm.Warning{"X_OF_ITS_OWN", "MY_OWN_WARNING", "", "lower", "X_" + fsm.Warning(strings.Repeat("A",
			61)), "\xff"}
		w.agent.Plan("r", func(ctx context.Context, t engine.Turn, s engine.Sink) (engine.Outcome, error) {
			o, err := completes("ok")(ctx, t, s)
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
		var warnings []string
		for _, e := range w.log("r") {
			if e.Type == fcmp.TypeWarning && !bytes.Contains(e.Data, []byte("early")) {
				warnings = append(warnings, string(e.Data))
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
		}, warnings)
	})},
	{"I13/ids that the library makes are unique and sort by time", inWorld(func(w *world) {
		w.agent.Plan("", completes("ok"))
		last := ""
		for range 50 {
			run := w.submit("")
			require.Greater(w, run.ID, last)
			last = run.ID
			w.advance(time.Millisecond)
		}
	})},
}, outputCases()...)

// volumes are cases of limits with thousands of commits.
var volumes = []testCase{
	{"I11 F6/an oversized message is cut, a flood of messages is bounded, each with a diagnostic",
		inWorld(func(w *world) {
			w.agent.Plan("r", func(ctx context.Context, t engine.Turn, s engine.Sink) (engine.Outcome, error) {
				for range 10_200 {
					if err := s.Message(ctx, engine.Message{Text: "flood"}); err != nil {
						return engine.Outcome{}, err
					}
				}
				return completes(strings.Repeat("é", 1<<20))(ctx, t, s)
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
	{"I13/thousands of parked runs do not slow others down", inWorld(func(w *world) {
		w.agent.Plan("", asksOne("?"))
		for i := range 2000 {
			run, err := w.Submit(w.ctx, lifecycle.Spec{ID: fmt.Sprintf("p%d", i), Prompt: "x"})
			require.NoError(w, err)
			require.Equal(w, fsm.StateQueued, run.State)
		}
		w.is("p1999", fsm.StateWaitingUser)
		w.agent.Plan("r", completes("ok"))
		w.submit("r")
		w.is("r", fsm.StateSucceeded)
		page, err := w.Inbox(w.ctx, lifecycle.InboxQuery{Limit: 1000})
		require.NoError(w, err)
		require.Len(w, page.Questions, 1000)
		require.NotEmpty(w, page.Next)
	})},
}

// outputCases are about an output above the limit. Every reader of the run is informed: by a
// warning, and by its error or question.
func outputCases() (all []testCase) {
	text := strings.Repeat("x", interaction.MaxOutput)
	output, err := json.Marshal(map[string]any{"answer": text})
	if err != nil {
		panic(err)
	}
	auto := func(s *lifecycle.Spec) { s.Mode = lifecycle.Auto }
	anySchema := func(s *lifecycle.Spec) { s.OutputSchema = json.RawMessage(`{}`) }
	for _, c := range []struct {
		name   string
		change []func(*lifecycle.Spec)
		turn   turnStep
		state  fsm.State
	}{
		{"B2 I11/an output that is too large is left out of an automatic run without a schema",
			[]func(*lifecycle.Spec){auto}, returnsOutput(output), fsm.StateSucceeded},
		{"B3 I11/an output that is too large fails a schema",
			[]func(*lifecycle.Spec){auto, anySchema}, returnsOutput(output), fsm.StateFailed},
		{"B4 I11/an output that is too large is left out beside a marker without a schema",
			nil, completes(string(output)), fsm.StateSucceeded},
		{"B8 I11/a person is asked about an output that is too large",
			[]func(*lifecycle.Spec){anySchema}, returnsOutput(output), fsm.StateWaitingUser},
	} {
		all = append(all, testCase{c.name, inWorld(func(w *world) {
			w.agent.Plan("r", c.turn)
			w.submit("r", c.change...)
			run := w.is("r", c.state)
			require.Equal(w, []fsm.Warning{fsm.WarnEngineOutputTruncated}, run.Warnings)
			require.Empty(w, run.Output)
			const limit = "output has 1048589 bytes, at most 1048576 are accepted"
			require.True(w, slices.ContainsFunc(w.log("r"), func(e fcmp.Event) bool {
				return e.Type == fcmp.TypeWarning && strings.Contains(string(e.Data), limit)
			}))
			if c.state == fsm.StateFailed {
				require.Equal(w, fsm.CodeOutputInvalid, run.Error.Code)
				require.Contains(w, run.Error.Message, limit)
			}
			if c.state == fsm.StateWaitingUser {
				require.Contains(w, run.Open[0].Prompt, limit)
			}
		})})
	}
	return all
}
