package main

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/lifecycle/rehearsal"
)

// named matches the names of metrics and labels in queries by their common prefixes.
var named = regexp.MustCompile(`\b(interlude|gen_ai)_[a-z_]+`)

// queries returns the queries of the dashboard's panels.
func queries(t *testing.T) (all []string) {
	t.Helper()
	var dashboard struct {
		Panels []struct {
			Type    string
			Targets []struct{ Expr string }
		}
	}
	source, err := os.ReadFile("dashboard.json")
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(source, &dashboard))
	for _, panel := range dashboard.Panels {
		require.Equal(t, panel.Type == "row", len(panel.Targets) == 0)
		for _, target := range panel.Targets {
			require.Regexp(t, named, target.Expr)
			all = append(all, target.Expr)
		}
	}
	return all
}

// scrape returns the names of the series and labels that the program serves.
func scrape(t *testing.T, address string) map[string]bool {
	t.Helper()
	response, err := http.Get("http://" + address + "/metrics")
	require.NoError(t, err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	names := make(map[string]bool)
	for line := range strings.Lines(string(body)) {
		if strings.HasPrefix(line, "#") {
			continue // a metric's description is not a series
		}
		for _, name := range named.FindAllString(line, -1) {
			names[name] = true
		}
	}
	return names
}

// L5: every metric and label in the dashboard is served.
func TestL5TheDashboardShowsWhatIsServed(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- serve(ctx, listener, 10*time.Millisecond) }()
	var missing []string
	require.Eventually(t, func() bool {
		served := scrape(t, listener.Addr().String())
		missing = nil
		for _, query := range queries(t) {
			for _, name := range named.FindAllString(query, -1) {
				if !served[name] && !slices.Contains(missing, name) {
					missing = append(missing, name)
				}
			}
		}
		return len(missing) == 0
	}, 20*time.Second, 50*time.Millisecond, "%v", &missing)
	stop()
	require.NoError(t, <-ended)
}

// N1: a no is not taken for a yes.
func TestN1ANoIsNoYes(t *testing.T) {
	for text, want := range map[string]string{"yes": "shipped", "no": "not shipped"} {
		run := rehearsal.Play(t, rehearsal.Case{Config: lifecycle.Config{Engine: engine.Func(agent), Forgiving: true},
			Spec: lifecycle.Spec{Prompt: "Ship it?"}, Reply: rehearsal.Says(text)})
		require.Equal(t, want, run.FinalText)
	}
}
