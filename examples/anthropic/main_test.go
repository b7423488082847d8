package main

import (
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"
	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine/modeltest"
)

// M1 N1: the clerk pays only after an approval, is informed of a rejection, and retries after a rate
// limit.
func TestN1TheClerkPaysOnlyAfterAYes(t *testing.T) {
	limited := false
	server, err := modeltest.Start(modeltest.Config{Answer: func(c modeltest.Conversation) modeltest.Answer {
		switch results := c.Results(); {
		case len(results) > 0:
			return modeltest.Text("The result: " + results[0])
		case !limited:
			limited = true
			return modeltest.Answer{Failure: &modeltest.Failure{Status: 429, Message: "too many requests"}}
		}
		return modeltest.Answer{Pieces: modeltest.Text("I pay.").Pieces,
			Call: &modeltest.Call{Tool: c.Tools[0], Args: map[string]any{"to": "Ada", "eur": 12}}}
	}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, server.Close()) })
	for reply, want := range map[string]string{
		"y\n": `succeeded: The result: paid {"eur":12,"to":"Ada"}`,
		"n\n": "succeeded: The result: The call was rejected and not executed.",
	} {
		agent := clerk(anthropic.NewClient(option.WithAPIKey("key"), option.WithMaxRetries(0),
			option.WithBaseURL(server.URL)))
		var out strings.Builder
		require.NoError(t, serve(t.Context(), agent, "Pay 12 euro to Ada.", strings.NewReader(reply), &out))
		require.Contains(t, out.String(), `Allow this call? pay {"eur":12,"to":"Ada"} [y/n] `)
		require.Contains(t, out.String(), want)
	}
}
