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
