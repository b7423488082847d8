package policy_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/host/policy"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/lifecycle"
)

func call(tool, arguments string) interaction.Proposal {
	return interaction.Proposal{RunID: "r", Engine: "default", Submitter: "bob",
		Question: interaction.Question{ID: 1, AskedAt: time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC),
			Subject: &interaction.Subject{Tool: tool, Arguments: json.RawMessage(arguments)}},
		Rulings: func(context.Context, string) (int, error) { return 0, nil }}
}

func with(p interaction.Proposal, change func(*interaction.Proposal)) interaction.Proposal {
	change(&p)
	return p
}

// N9: each recipe of the tutorial decides as it says, and asks in every other case.
func TestN9TheRecipesOfTheTutorial(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "tutorials", "rules.md"))
	require.NoError(t, err)
	type example struct {
		of   interaction.Proposal
		want string // the ruling; empty: people are asked
	}
	night := func(p *interaction.Proposal) { p.Question.AskedAt = p.Question.AskedAt.Add(12 * time.Hour) }
	label := func(env string) func(*interaction.Proposal) {
		return func(p *interaction.Proposal) { p.Labels = map[string]string{"env": env} }
	}
	recipes := map[string][]example{
		"Approve small amounts": {{call("refund", `{"amount":50}`), "approve small-refunds"},
			{call("refund", `{"amount":50.01}`), ""}, {call("pay", `{}`), ""}, {call("pay", ``), ""}},
		"Ask two people for large amounts": {{call("refund", `{"amount":1000.5}`), "asks the groups finance, 2"},
			{call("refund", `{"amount":1000}`), ""}},
		"Approve tools that only read": {{call("read_file", ""), "approve reading"}, {call("write_file", ""), ""}},
		"Reject forbidden calls": {{call("sql", `{"query":"DROP TABLE x"}`), "reject no-drop"},
			{call("sql", `{"query":"select dropped"}`), ""}},
		"Keep changes within a folder": {{call("write_file", `{"path":"docs/a.md"}`), "approve docs-only"},
			{call("write_file", `{"path":"docs/../go.mod"}`), ""}, {call("write_file", `{"path":"/docs/a"}`), ""}},
		"Ask the people on call at night": {{with(call("pay", ""), night), "asks the groups on-call, 0"},
			{call("pay", ""), ""}},
		"Approve a few times per run": {{call("send_mail", ""), "approve five-mails"},
			{with(call("send_mail", ""), func(p *interaction.Proposal) {
				p.Rulings = func(context.Context, string) (int, error) { return 5, nil }
			}), ""}},
		"Treat environments differently": {{with(call("deploy", ""), label("staging")), "approve staging"},
			{with(call("deploy", ""), label("production")), "asks the groups operators, 0"},
			{call("deploy", ""), "asks the groups operators, 0"}, {call("pay", ""), ""}},
		"Trust one person's runs": {{with(call("delete_file", `{"path":"home/ada/x"}`),
			func(p *interaction.Proposal) { p.Submitter = "ada" }), "approve ada-deletes-hers"},
			{call("delete_file", `{"path":"home/ada/x"}`), ""}},
		"Ask whenever the agent names a risk": {{with(call("pay", ""),
			func(p *interaction.Proposal) { p.Question.Subject.Risk = "high" }), "risky"}, {call("pay", ""), ""}},
	}
	require.Len(t, recipes, 10)
	seen := 0
	for _, part := range strings.Split(string(page), "\n### ")[1:] {
		title, rest, _ := strings.Cut(part, "\n")
		_, block, ok := strings.Cut(rest, "```yaml\n")
		require.True(t, ok, title)
		block, _, _ = strings.Cut(block, "```")
		rules, err := policy.Parse([]byte("version: \"1\"\nrules:\n" + block))
		require.NoError(t, err, title)
		require.NotEmpty(t, recipes[title], title)
		seen++
		for _, e := range recipes[title] {
			ruling, err := rules.Decide(t.Context(), e.of)
			require.NoError(t, err, title)
			got := strings.TrimSpace(string(ruling.Decision) + " " + ruling.Rule)
			if ruling.To != nil {
				got = "asks " + ruling.To.String() + ", " + string(rune('0'+ruling.Need))
			}
			require.Equal(t, e.want, got, "%s: %+v", title, e.of.Question.Subject)
			require.NoError(t, ruling.Validate())
		}
	}
	require.Equal(t, 10, seen)
}

// N9: a call that cannot be judged is an error, after which people decide, even if a later rule would
// approve.
func TestN9WhatCannotBeJudgedIsAsked(t *testing.T) {
	rules, err := policy.Parse([]byte(`version: "7"
rules:
- {rule: first, when: 'arguments.amount > 100', do: reject, reason: too much}
- {rule: all, when: 'true', do: approve}
`))
	require.NoError(t, err)
	require.Equal(t, "7", rules.Version())
	require.Equal(t, []string{"first", "all"}, rules.Names())
	for arguments, fault := range map[string]string{
		`{}`: "rule first: no such key", ``: "rule first", `{"amount":"5"}`: "no such overload",
		`{"amount":100.000000000000000001}`: "exactly", `{"amount":1e-999}`: "exactly", `{"amount":1e999}`: "exactly",
		`{"amount":9223372036854775809}`: "exactly", `{"amount":5,"Amount":500}`: "differ only in case",
		`{"amount":5,"of":[{"k":1,"\u212a":2}]}`: "differ only in case",
	} {
		ruling, err := rules.Decide(t.Context(), call("pay", arguments))
		require.ErrorContains(t, err, fault, arguments)
		require.Zero(t, ruling)
	}
	for arguments, rule := range map[string]string{
		`{"amount":100}`: "all", `{"amount":100.5}`: "first", `{"amount":101}`: "first", `{"amount":0.1}`: "all",
		`{"amount":9007199254740993}`: "first", `{"amount":1e2}`: "all",
	} {
		ruling, err := rules.Decide(t.Context(), call("pay", arguments))
		require.NoError(t, err, arguments)
		require.Equal(t, rule, ruling.Rule, arguments)
	}

	costly, err := policy.Parse([]byte(`version: "1"
rules:
- rule: costly
  when: arguments.list.all(a, arguments.list.all(b, arguments.list.all(c, a <= 9 && b <= 9 && c <= 9)))
  do: approve
`))
	require.NoError(t, err)
	_, err = costly.Decide(t.Context(), call("pay", `{"list":[`+strings.Repeat("1,", 500)+`1]}`))
	require.ErrorContains(t, err, "cost limit")

	counts, err := policy.Parse([]byte("version: \"1\"\nrules: [{rule: r, when: rulings < 5, do: approve}]"))
	require.NoError(t, err)
	_, err = counts.Decide(t.Context(), with(call("pay", ""), func(p *interaction.Proposal) {
		p.Rulings = func(context.Context, string) (int, error) { return 0, errors.New("away") }
	}))
	require.ErrorContains(t, err, "away")
}

// N9: a faulty file is refused as a whole, with the line.
func TestN9AFaultyFileIsRefused(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", "line 1: the file is empty"},
		{"version: \"1\"", "rules are missing"},
		{"rules: []", "version is missing"},
		{"version: 1\nrules: []", "line 1: version is 1, want a text in quotation marks"},
		{"version: \"1\"\nrule: []", `line 2: the field "rule" is unknown`},
		{"version: \"1\"\nversion: \"1\"\nrules: []", "line 2: the field version is given twice"},
		{"a: [", "line"},
		{rule("when: tool == \"a\"", "do: maybe"), `line 5: rule x: do is "maybe"`},
		{rule("when: tool == 5", "do: approve"), "line 4: rule x: when: found no matching overload"},
		{rule("when: tools == \"a\"", "do: approve"), "line 4: rule x: when: undeclared reference"},
		{rule("when: tool", "do: approve"), "line 4: rule x: when is of type string, want bool"},
		{rule("when: arguments.ok", "do: approve"), "line 4: rule x: when is of type dyn, want bool"},
		{rule("when: |", "  true &&", "  tol == 1", "do: approve"), "line 6: rule x: when: undeclared reference"},
		{rule("when: 'true'", "do: approve", "then: 5"), `line 6: the field "then" is unknown`},
		{rule("do: approve"), "when is missing"},
		{rule("when: 'true'"), "do is missing"},
		{rule("when: 'true'", "do: ask", "need: 99"), "99 people"},
		{rule("when: 'true'", "do: ask", "need: two"), `line 6: rule x: need is "two"`},
		{rule("when: 'true'", "do: ask", "to: {}"), "to admits no one"},
		{rule("when: 'true'", "do: ask", "to: {users: 5}"), "to.users has another type"},
		{rule("when: 'true'", "do: ask", "reason: no"), "only approve and reject"},
		{rule("when: 'true'", "do: approve", "need: 2"), "asks people"},
		{rule("when: 'true'", "do: approve") + "- {rule: x, when: 'true', do: ask}",
			"line 6: rule x: the name is also that of the rule in line 3"},
		{"version: \"1\"\nrules: [{rule: \"a b\", when: 'true', do: approve}]", "letters, digits"},
	} {
		_, err := policy.Parse([]byte(c.text))
		require.ErrorContains(t, err, c.want, c.text)
		var fault *policy.Error
		require.ErrorAs(t, err, &fault, c.text)
		require.Positive(t, fault.Line)
	}
	_, err := policy.Load(filepath.Join(t.TempDir(), "none.yaml"))
	require.ErrorIs(t, err, os.ErrNotExist)
}

// rule is a file with one rule.
func rule(lines ...string) string {
	return "version: \"1\"\nrules:\n- rule: x\n  " + strings.Join(lines, "\n  ") + "\n"
}

// The tutorial's host reads its rules from a file.
func TestTheHostOfTheTutorial(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "tutorials", "rules.md"))
	require.NoError(t, err)
	_, file, _ := strings.Cut(string(page), "```yaml\n")
	file, _, _ = strings.Cut(file, "```")
	t.Chdir(t.TempDir())
	require.NoError(t, os.WriteFile("rules.yaml", []byte(file), 0o600))
	var agent engine.Engine = engine.Func(func(context.Context, engine.Turn, engine.Sink) (engine.Outcome, error) {
		return engine.Done("done"), nil
	})
	host := func() error {
		rules, err := policy.Load("rules.yaml")
		if err != nil {
			return err
		}
		lc, err := lifecycle.New(lifecycle.Config{Engine: agent, Policy: rules.Decide})
		if err != nil {
			return err
		}
		lc.Close()
		return nil
	}
	require.NoError(t, host())
}
