package adk_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"google.golang.org/adk/v2/agent"

	"github.com/interlude-go/interlude/engine/adk"
	"github.com/interlude-go/interlude/interaction"
)

func TestAskMakesAQuestionOfAnInterrupt(t *testing.T) {
	q := interaction.Question{Kind: interaction.Confirm, Prompt: "Pay?"}
	for name, c := range map[string]struct {
		waits adk.Interrupt
		want  string
	}{
		"a question":       {adk.Interrupt{Kind: adk.Input, Payload: q}, "confirm Pay?"},
		"a pointer to one": {adk.Interrupt{Kind: adk.Confirmation, Payload: &q}, "confirm Pay?"},
		"the shape of one": {adk.Interrupt{Kind: adk.Input, Payload: map[string]any{"kind": "confirm",
			"prompt": "Pay?"}}, "confirm Pay?"},
		"a prompt alone": {adk.Interrupt{Kind: adk.Result, Args: map[string]any{"prompt": "Which?"}},
			"open_text Which?"},
		"another payload": {adk.Interrupt{Kind: adk.Input, Message: "How much?",
			Payload: map[string]any{"sum": 5}}, "open_text How much?"},
		"a payload that is text": {adk.Interrupt{Kind: adk.Input, Message: "How much?", Payload: "at most 5"},
			"open_text How much?"},
		"a hint": {adk.Interrupt{Kind: adk.Confirmation, Tool: "pay", Message: "Pay 5?"},
			"approval Pay 5?"},
		"a confirmation": {adk.Interrupt{Kind: adk.Confirmation, Tool: "pay"},
			"approval May the tool pay run?"},
		"a result": {adk.Interrupt{Kind: adk.Result, Tool: "approve"},
			"open_text The tool approve waits for its result."},
		"nothing": {adk.Interrupt{Kind: adk.Input}, "open_text " + interaction.Baseline("").Prompt},
		"a pointer to no question": {adk.Interrupt{Kind: adk.Input, Payload: (*interaction.Question)(nil)},
			"open_text " + interaction.Baseline("").Prompt},
	} {
		got := adk.Ask(c.waits)
		require.Equal(t, c.want, string(got.Kind)+" "+got.Prompt, name)
	}
}

func TestRespondNeedsAPlainYesToConfirm(t *testing.T) {
	waits := adk.Interrupt{Kind: adk.Confirmation, Tool: "pay"}
	for text, want := range map[string]any{
		"yes": true, " Yes. ": true, "OK": true, "approved": true,
		"no": false, "No!": false, "reject": false,
		"yes, but not today": nil, "not yet": nil, "": nil, "why?": nil,
	} {
		got, err := adk.Respond(waits, interaction.Answer{Text: text})
		if want == nil {
			var unclear *adk.Unclear
			require.ErrorAs(t, err, &unclear, text)
			continue
		}
		require.NoError(t, err, text)
		require.Equal(t, map[string]any{"confirmed": want, "payload": text}, got)
	}
}

// The host's Reply interprets answers, and the host makes the agent.
func TestConfigReplyReadsTheAnswer(t *testing.T) {
	var shop till
	read := func(_ context.Context, i adk.Interrupt, a interaction.Answer) (map[string]any, error) {
		switch a.Text {
		case "ja":
			return map[string]any{"confirmed": true}, nil
		case "wie bitte":
			return nil, &adk.Unclear{Need: "Ja oder nein?"}
		}
		return nil, errors.New("not a word of " + i.Tool)
	}
	s := newTalk(t, newClerk(&shop), adk.Config{Reply: read})
	s.Do("pay 5EUR")
	require.Contains(t, s.asks("wie bitte"), "Ja oder nein?")
	require.Contains(t, s.says("ja"), "paid 5EUR")

	s = newTalk(t, newClerk(&shop), adk.Config{Reply: read})
	s.Do("pay 5EUR")
	require.ErrorContains(t, s.Fails("si"), "not a word of pay")

	s = newTalk(t, func(context.Context) (agent.Agent, error) { return nil, errors.New("no key") }, adk.Config{})
	require.ErrorContains(t, s.Fails("hello"), "no key")
}

func TestWrongUseIsAnError(t *testing.T) {
	_, err := adk.New(nil, adk.Config{})
	require.ErrorContains(t, err, "nil")
	_, err = adk.New(scriptedAgent, adk.Config{Ends: 7})
	require.ErrorContains(t, err, "Config.Ends is 7")
	require.ErrorContains(t, adk.Say(t.Context(), "hello"), "no turn")
	_, ok := adk.Turn(t.Context())
	require.False(t, ok)

	var shop till
	s := newTalk(t, newClerk(&shop), adk.Config{})
	s.Do("pay 5EUR")
	turn := s.Next("")
	turn.Answers = nil
	_, err = s.Engine.RunTurn(t.Context(), turn, s)
	require.ErrorContains(t, err, "waits for an answer")
}
