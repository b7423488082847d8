package main

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine/flow"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/lifecycle/rehearsal"
)

// P4: a message starts the flow, the next one answers its question, and the person is asked to
// approve. proof/page drives the page in Chromium.
func TestP4ThePageIsAsked(t *testing.T) {
	lc, err := lifecycle.New(lifecycle.Config{Engine: flow.New("refund", refund)})
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- lc.Serve(ctx) }()
	handler := chats(lc.Client)
	say := func(id, text string) string {
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/chat/", strings.NewReader(
			`{"id":"c","messages":[{"id":"`+id+`","role":"user","parts":[{"type":"text","text":"`+text+`"}]}]}`)))
		return w.Body.String()
	}
	require.Contains(t, say("1", "Refund, please."), "Which order?")
	require.Contains(t, say("2", "A-1"), "tool-approval-request")
	stop()
	require.NoError(t, <-served)
}

// N1: a rejected call is not executed.
func TestN1ARejectedRefundIsNotPaid(t *testing.T) {
	for want, decide := range map[string]func(lifecycle.Question) lifecycle.Reply{
		"Order A-1 is paid back.": rehearsal.Approves, "Nothing was paid.": rehearsal.Rejects("too much")} {
		run := rehearsal.Play(t, rehearsal.Case{Config: lifecycle.Config{Engine: flow.New("refund", refund)},
			Spec: lifecycle.Spec{Input: []byte(`"Refund, please."`)},
			Reply: func(q lifecycle.Question) lifecycle.Reply {
				if q.Subject == nil {
					return lifecycle.Reply{Text: "A-1"}
				}
				r := decide(q)
				r.AcceptRisk = r.Decision == lifecycle.Approve
				return r
			}})
		require.Equal(t, want, run.FinalText)
	}
}
