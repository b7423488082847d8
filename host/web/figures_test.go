package web_test

import (
	"context"
	"net/http"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/host/web"
	"github.com/interlude-go/interlude/lifecycle"
)

// Operators see the same figures as the client.
func TestL1OperatorsSeeUsageForksAndFeeds(t *testing.T) {
	var spender engine.Func = func(_ context.Context, turn engine.Turn, _ engine.Sink) (engine.Outcome, error) {
		o := engine.Ask(engine.Question{Kind: engine.OpenText, Prompt: "More?"})
		if len(turn.Answers) > 0 {
			o = engine.Done("enough")
		}
		o.Usage = engine.Usage{InputTokens: 30, OutputTokens: 4, CostUSD: 0.5}
		return o, nil
	}
	w := open(t, lifecycle.Config{Engines: map[string]engine.Engine{"spender": spender}},
		web.Options{Identify: identify})
	a := w.send("POST", "/runs", "ada", `{"id":"r","prompt":"x","engine":"spender"}`)
	require.Equal(t, http.StatusCreated, a.status, "%s", a.body)
	w.untilAsked("r")
	var stats web.Stats
	w.send("GET", "/stats", "ada", "").into(t, &stats)
	require.EqualValues(t, 30, stats.Usage.InputTokens)
	require.Equal(t, 1, stats.Nodes)
	var nodes web.Nodes
	w.send("GET", "/nodes", "ada", "").into(t, &nodes)
	require.Len(t, nodes.Nodes, 1)
	require.Equal(t, []string{"default", "spender"}, nodes.Nodes[0].Engines)
	require.Positive(t, nodes.Nodes[0].LeaseSec)
	require.Equal(t, os.Getpid(), nodes.Nodes[0].Process)
	require.Equal(t, 201, w.send("POST", "/runs/r/questions/1/reply", "ada", `{"text":"no"}`).status)
	_, err := w.lc.Wait(t.Context(), "r")
	require.NoError(t, err)

	var usage web.RunUsage
	w.send("GET", "/runs/r/usage", "ada", "").into(t, &usage)
	require.Len(t, usage.Turns, 2)
	require.Equal(t, 1, usage.Turns[0].Attempt)
	require.InEpsilon(t, 0.5, usage.Turns[1].Usage.CostUSD, 1e-9)
	require.EqualValues(t, 8, usage.Total.OutputTokens)
	require.Equal(t, "NOT_FOUND", w.send("GET", "/runs/nobodys/usage", "ada", "").code(t))

	require.Equal(t, 201, w.send("POST", "/runs/r/fork", "ada", `{"question":1,"reply":"yes"}`, "Idempotency-Key",
		"fork").status)
	var inherited web.History
	w.send("GET", "/runs/fork/inherited", "ada", "").into(t, &inherited)
	require.Len(t, inherited.Records, 1)
	require.Equal(t, "yes", inherited.Records[0].Text)
	w.send("GET", "/runs/r/inherited", "ada", "").into(t, &inherited)
	require.Empty(t, inherited.Records, "the run is not a fork")

	_, err = w.lc.CreateFeed(t.Context(), "audit", lifecycle.DefaultFeedLag)
	require.NoError(t, err)
	w.send("POST", "/runs", "ada", `{"id":"another","prompt":"x","not_before":"2040-01-01T00:00:00Z"}`)
	var feeds web.Feeds
	w.send("GET", "/feeds", "ada", "").into(t, &feeds)
	require.Len(t, feeds.Feeds, 1)
	require.Equal(t, "audit", feeds.Feeds[0].Name)
	require.Positive(t, feeds.Feeds[0].Unacked)
	require.False(t, feeds.Feeds[0].Oldest.IsZero())
}
