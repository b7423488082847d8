package lifecycle

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/contract"
	"github.com/interlude-go/interlude/contract/fcmp"
	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
)

// eventLines are the types and data of the run's events.
func eventLines(tb testing.TB, c *Client, id string) (lines []string) {
	tb.Helper()
	for event, err := range c.Events(tb.Context(), id, 0) {
		require.NoError(tb, err)
		lines = append(lines, event.Type+" "+string(event.Data))
	}
	return lines
}

// requireEvents compares events with the expected ones: a type and data for each.
func requireEvents(tb testing.TB, want [][2]string, got []string) {
	tb.Helper()
	require.Len(tb, got, len(want), "%q", got)
	for i, w := range want {
		kind := got[i][:min(len(w[0]), len(got[i]))]
		require.Equal(tb, w[0], kind)
		require.JSONEq(tb, w[1], got[i][len(kind):], kind)
	}
}

// TestEventPayloadsOfARun: F2 F3 F5 F6, each member of each event, with minimal and with full
// content.
func TestEventPayloadsOfARun(t *testing.T) {
	const start = `"2000-01-01T00:00:00Z"`
	for name, c := range map[string]struct {
		spec     Spec
		question interaction.Question
		reply    interaction.Reply
		warnings []interaction.Diagnostic
		ref      *engine.RawRef
		want     [][2]string
	}{
		"little": {
			spec:     Spec{ID: "r", Prompt: "x"},
			question: interaction.Question{Kind: interaction.OpenText, Prompt: "Go on?"},
			reply:    interaction.Reply{ID: 1, Text: "yes"},
			want: [][2]string{
				{fcmp.TypeStarted,
					`{"mode":"interactive","interactive_require_user_reply":true,"session_timeout_sec":1200,"max_auto_decisions":20,"pool":"default","contract_version":"` + contract.Version() + `"}`},
				{fcmp.TypeStateChanged, `{"from":"queued","to":"running","trigger":"turn.started","updated_at":` +
					start + `}`},
				{fcmp.TypeStateChanged,
					`{"from":"running","to":"waiting_user","trigger":"turn.needs_input","updated_at":` + start +
						`,"pending_interaction_id":1}`},
				{fcmp.TypeInputRequired, `{"interaction_id":1,"kind":"open_text","prompt":"Go on?","asked_at":` +
					start + `,"default_decision_policy":"engine_judgement","profile":"resumable","on_deadline":"keep_waiting"}`},
				{fcmp.TypeReplyAccepted,
					`{"interaction_id":1,"resolution_mode":"user_reply","accepted_at":"2000-01-01T00:00:01.5Z"}`},
				{fcmp.TypeStateChanged,
					`{"from":"waiting_user","to":"queued","trigger":"interaction.reply.accepted","updated_at":"2000-01-01T00:00:01.5Z"}`},
				{fcmp.TypeStateChanged,
					`{"from":"queued","to":"running","trigger":"turn.started","updated_at":"2000-01-01T00:00:01.5Z"}`},
				{fcmp.TypeMessageFinal, `{"text":"ok"}`},
				{fcmp.TypeStateChanged,
					`{"from":"running","to":"succeeded","trigger":"turn.succeeded","updated_at":"2000-01-01T00:00:01.5Z","terminal":{"status":"succeeded","warnings":[]}}`},
			},
		},
		"much": {
			spec: Spec{ID: "r", Prompt: "x", AutoDecide: true, MaxAttempts: 9, MaxAutoDecisions: 3,
				SessionTimeout: time.Minute},
			question: interaction.Question{
				Kind: interaction.FillFields, Prompt: "Which?", Options: []interaction.Option{{Label: "One",
					Value: "1"}, {Label: "Two", Value: "2"}},
				RequiredFields: []string{"name", "date"}, UIHints: map[string]any{"wide": true},
				Context: "There are two.", DefaultPolicy: interaction.SafeDefault,
			},
			reply: interaction.Reply{ID: 1, Text: "1", Actor: Actor{ID: "ada"}},
			warnings: []interaction.Diagnostic{
				{Code: fsm.WarnEngineDiagnostic, Detail: "slow"}, {Code: fsm.WarnEngineOutputTruncated},
				{Code: fsm.WarnEngineDiagnostic, Detail: "slower"},
				{Code: fsm.WarnEngineDiagnostic}, {Code: fsm.WarnEngineDiagnostic, Detail: "slowest"},
				{Code: fsm.WarnEngineDiagnostic, Detail: "stuck"},
			},
			ref: &engine.RawRef{File: "log", Offset: 7, Length: 5},
			want: [][2]string{
				{fcmp.TypeStarted,
					`{"mode":"interactive","interactive_require_user_reply":false,"session_timeout_sec":60,"max_auto_decisions":3,"max_attempt":9,"pool":"default","contract_version":"` + contract.Version() + `"}`},
				{fcmp.TypeStateChanged, `{"from":"queued","to":"running","trigger":"turn.started","updated_at":` +
					start + `}`},
				{fcmp.TypeStateChanged,
					`{"from":"running","to":"waiting_user","trigger":"turn.needs_input","updated_at":` + start +
						`,"pending_interaction_id":1}`},
				{fcmp.TypeInputRequired, `{"interaction_id":1,"kind":"fill_fields","prompt":"Which?","asked_at":` +
					start + `,"default_decision_policy":"safe_default","profile":"resumable","on_deadline":"auto_decide",
					"options":[{"label":"One","value":"1"},{"label":"Two","value":"2"}],"required_fields":["name","date"],"ui_hints":{"wide":true},"context":"There are two.","wait_deadline_at":"2000-01-01T00:01:00Z"}`},
				{fcmp.TypeReplyAccepted,
					`{"interaction_id":1,"resolution_mode":"user_reply","accepted_at":"2000-01-01T00:00:01.5Z","actor":"ada"}`},
				{fcmp.TypeStateChanged,
					`{"from":"waiting_user","to":"queued","trigger":"interaction.reply.accepted","updated_at":"2000-01-01T00:00:01.5Z"}`},
				{fcmp.TypeStateChanged,
					`{"from":"queued","to":"running","trigger":"turn.started","updated_at":"2000-01-01T00:00:01.5Z"}`},
				{fcmp.TypeMessageFinal, `{"text":"ok","raw_ref":{"file":"log","offset":7,"length":5}}`},
				{fcmp.TypeWarning, `{"code":"ENGINE_DIAGNOSTIC","detail":"slow"}`},
				{fcmp.TypeWarning, `{"code":"ENGINE_OUTPUT_TRUNCATED"}`},
				{fcmp.TypeWarning, `{"code":"ENGINE_DIAGNOSTIC","detail":"slower"}`},
				{fcmp.TypeWarning, `{"code":"ENGINE_DIAGNOSTIC"}`},
				{fcmp.TypeWarning, `{"code":"ENGINE_DIAGNOSTIC","detail":"slowest"}`},
				{fcmp.TypeWarning, `{"code":"ENGINE_DIAGNOSTIC","detail":"stuck"}`},
				{fcmp.TypeStateChanged,
					`{"from":"running","to":"succeeded","trigger":"turn.succeeded","updated_at":"2000-01-01T00:00:01.5Z","terminal":{"status":"succeeded","warnings":["ENGINE_DIAGNOSTIC","ENGINE_OUTPUT_TRUNCATED"]}}`},
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e := agent{turn: func(_ context.Context, turn engine.Turn) (engine.Outcome, error) {
					if len(turn.Answers) == 0 {
						o := engine.Ask(c.question)
						o.Session = &engine.SessionHandle{Engine: "agent", Data: []byte("s")}
						return o, nil
					}
					o := finished()
					o.Diagnostics, o.FinalRef = c.warnings, c.ref
					return o, nil
				}}
				lc, stop := serve(t, Config{Store: newStore(t), Engine: e})
				_, err := lc.Submit(t.Context(), c.spec)
				require.NoError(t, err)
				pass(1500 * time.Millisecond)
				_, err = lc.Reply(t.Context(), "r", c.reply)
				require.NoError(t, err)
				synctest.Wait()
				requireEvents(t, c.want, eventLines(t, lc.Client, "r"))
				stop()
			})
		})
	}
}

// TestOutcomeDiagnosticsAreBounded: F6, an outcome brings a thousand diagnostics at most, and the
// record lists as many codes as a run's end may have.
func TestOutcomeDiagnosticsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		given := make([]interaction.Diagnostic, 1001)
		for i := range given {
			given[i].Code = fsm.Warning(fmt.Sprintf("X_%d", i))
		}
		lc, stop := serve(t, Config{Store: newStore(t), Engine: agent{turn: func(context.Context,
			engine.Turn) (engine.Outcome, error) {
			o := finished()
			o.Diagnostics = given
			return o, nil
		}}})
		submit(t, lc, "r")
		synctest.Wait()
		run := in(t, lc.Client, "r", fsm.StateSucceeded)
		require.Len(t, run.Warnings, 51)
		require.Equal(t, fsm.WarnEngineOutputTruncated, run.Warnings[50])
		all := eventLines(t, lc.Client, "r")
		require.Len(t, all, 1005, "submitted, started, what was said, the warnings and the end")
		require.Contains(t, fmt.Sprint(all[1003]), "1001 diagnostics in one outcome; the first 1000 are kept")
		stop()
	})
}
