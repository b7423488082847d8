package main

import (
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/store/sqlite"
)

const refundRules = `version: "1"
rules:
- {rule: small, when: 'tool == "refund" && arguments.amount <= 50 && rulings < 1', do: approve}
- {rule: never, when: 'tool == "refund" && arguments.amount > 1000', do: reject, reason: too much}
`

// N9: the rules of a file are evaluated for recorded approvals, open and settled, and change
// nothing; a faulty file is refused before anything is opened or served.
func TestN9PolicyTestShowsWhatRulesWouldDecide(t *testing.T) {
	dir := t.TempDir()
	db, rules := filepath.Join(dir, "runs.db"), filepath.Join(dir, "rules.yaml")
	require.NoError(t, os.WriteFile(rules, []byte(refundRules), 0o600))
	refunds := func(amounts ...string) engine.Outcome {
		var all []engine.Question
		for _, amount := range amounts {
			all = append(all, engine.Question{Kind: lifecycle.Approval, Prompt: "Refund?",
				Subject: &interaction.Subject{Tool: "refund", Arguments: json.RawMessage(`{"amount":` + amount + `}`)}})
		}
		return engine.AskAll(all...)
	}
	st, err := sqlite.Open(t.Context(), db, sqlite.Options{})
	require.NoError(t, err)
	lc, err := lifecycle.New(lifecycle.Config{Store: st, Logger: slog.New(slog.DiscardHandler),
		Engine: engine.Func(func(_ context.Context, t engine.Turn, _ engine.Sink) (engine.Outcome, error) {
			return refunds("20", "30", "2000", "null"), nil
		})})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- lc.Serve(ctx) }()
	_, err = lc.Submit(ctx, lifecycle.Spec{ID: "r", Prompt: "x"})
	require.NoError(t, err)
	for e, err := range lc.Events(ctx, "r", 0) {
		require.NoError(t, err)
		if e.Type == lifecycle.TypeInputRequired && e.Seq == 7 {
			break
		}
	}
	_, err = lc.As(lifecycle.Actor{ID: "ada"}).Reply(ctx, "r", lifecycle.Reply{ID: 1, Decision: lifecycle.Reject})
	require.NoError(t, err)
	cancel()
	require.NoError(t, <-served)
	lc.Close()
	require.NoError(t, st.Close())

	tested := called(t, "", "policy", "test", "-db", db, rules)
	require.Zero(t, tested.status, tested.side)
	require.Equal(t, `r question 1, refund: reject by ada; the rules: approve by small
r question 2, refund: is undecided; the rules: ask
r question 3, refund: is undecided; the rules: reject by never
r question 4, refund: is undecided; the rules: ask (policy: rule never: no such overload: _>_)
`, tested.out)
	asJSON := called(t, "", "policy", "test", "-db", db, "-json", rules)
	require.Contains(t, asJSON.out, `{"run":"r","question":1,"tool":"refund","decided":"reject","actor":"ada","would":`+
		`"approve","rule":"small"}`)

	require.NoError(t, os.WriteFile(rules, []byte(refundRules+"- {}\n"), 0o600))
	wrong := called(t, "", "policy", "test", "-db", db, rules)
	require.Equal(t, misused, wrong.status)
	require.Contains(t, wrong.side, "line 5")
	host := filepath.Join(dir, "host.json")
	require.NoError(t, os.WriteFile(host, []byte(`{"agents":{"a":{"agent":"demo"}},"policy":`+quoted(rules)+`}`),
		0o600))
	refused := called(t, "", "serve", "-db", db, "-config", host)
	require.NotZero(t, refused.status)
	require.Contains(t, refused.side, "policy: ")
	require.Equal(t, misused, called(t, "", "policy", "-db", db).status)
}

func quoted(text string) string {
	body, _ := json.Marshal(text)
	return string(body)
}
