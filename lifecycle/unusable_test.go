package lifecycle

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
)

// N2: code of the host that asks with a schema that cannot be used is refused before a person is
// asked, with the reason: the run fails, or is held where the host holds runs.
func TestN2AnUnusableSchemaIsRefusedBeforeItIsAsked(t *testing.T) {
	for name, schema := range map[string]string{
		"no schema":            `{"type":"objekt"}`,
		"too large":            `{"title":"` + strings.Repeat("x", interaction.MaxSchema) + `"}`,
		"elsewhere":            `{"$ref":"https://example.com/order.json"}`,
		"too many sub-schemas": `{"anyOf":[` + strings.Repeat(`{},`, 6000) + `true]}`,
		"lookahead in oneOf":   `{"oneOf":[{"pattern":"(?!a)"},{"type":"null"}]}`,
	} {
		for _, several := range []bool{false, true} {
			for _, forgiving := range []bool{false, true} {
				synctest.Test(t, func(t *testing.T) {
					good := engine.Question{Prompt: "fine?"}
					bad := engine.Question{Prompt: "How many?", Schema: json.RawMessage(schema)}
					asks := func(context.Context, engine.Turn, engine.Sink) (engine.Outcome, error) {
						if several {
							return engine.AskAll(good, bad), nil
						}
						return engine.Ask(bad), nil
					}
					lc, stop := serve(t, Config{Forgiving: forgiving, Engine: engine.Func(asks)})
					defer stop()
					submit(t, lc, "r")
					synctest.Wait()
					if !forgiving {
						run := in(t, lc.Client, "r", fsm.StateFailed)
						require.Equal(t, fsm.CodeEngineFailed, run.Error.Code, name)
						require.Contains(t, run.Error.Message, `the question "How many?" cannot be asked`, name)
						require.Nil(t, run.FirstOpen(), name)
						return
					}
					run := in(t, lc.Client, "r", fsm.StateQueued)
					require.True(t, run.Held(), name)
					require.Contains(t, run.Block.Reason, `the question "How many?" cannot be asked`, name)
					require.Equal(t, run.UpdatedAt.Add(time.Minute), run.Block.Until, name)
				})
			}
		}
	}
}

// N2: where the schema without it accepts more, a pattern outside Go's syntax is left out with a
// warning. An approval with an unusable schema is asked, and offers no editing.
func TestN2WhatCanBeAskedIsAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		approval, err := engine.ApprovalOf("Pay?", "pay", map[string]any{"amount": 5})
		require.NoError(t, err)
		approval.Schema = json.RawMessage(`{"type":"objekt"}`)
		form := engine.Question{Prompt: "Your address?", Schema: json.RawMessage(
			"{\"type\":\"string\",\"format\":\"email\",\"pattern\":\"^(?!\\\\.)[a-z@.]+$\"}\n")}
		lc, stop := serve(t, Config{Engine: engine.Func(func(context.Context, engine.Turn, engine.Sink) (engine.Outcome,
			error) {
			return engine.AskAll(form, approval), nil
		})})
		defer stop()
		submit(t, lc, "r")
		synctest.Wait()
		run := in(t, lc.Client, "r", fsm.StateWaitingUser)
		require.Contains(t, run.Warnings, fsm.WarnAskUserMalformed)
		require.JSONEq(t, `{"type":"string","format":"email"}`, string(run.Open[0].Schema))
		require.Equal(t, "false", string(run.Open[1].Schema))
		_, err = lc.Reply(t.Context(), "r", Reply{ID: 2, Decision: interaction.Edit,
			Value: json.RawMessage(`{"amount":6}`)})
		require.ErrorIs(t, err, interaction.ErrInvalidReply)
		_, err = lc.Reply(t.Context(), "r", Reply{ID: 1, Value: json.RawMessage(`"a@example.com"`)})
		require.NoError(t, err)
	})
}
