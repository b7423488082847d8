package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"

	"github.com/interlude-go/interlude/cmd/internal/command"
	"github.com/interlude-go/interlude/cmd/internal/console"
	"github.com/interlude-go/interlude/cmd/internal/terminal"
	"github.com/interlude-go/interlude/host/policy"
	"github.com/interlude-go/interlude/lifecycle"
)

// loadPolicy reads the file of rules; nil without one.
func (h *hostFile) loadPolicy() (lifecycle.Policy, error) {
	if h.Policy == "" {
		return nil, nil //nolint:nilnil // people decide
	}
	rules, err := policy.Load(h.Policy)
	if err != nil {
		return nil, misusef("%w", err)
	}
	return rules.Decide, nil
}

var policyVerb = command.Verb{
	Name: "policy", Args: "test FILE", Does: "evaluate rules for recorded approvals",
	More: "It prints for each approval in the database who decided what, and what the rules would have decided. It " +
		"changes nothing.",
	Prepare: func(f *flag.FlagSet) command.Action {
		t := &policyTest{db: console.NewDatabase(f)}
		f.BoolVar(&t.json, "json", false, "print JSON, one object per line")
		f.StringVar(&t.pool, "pool", "", "only runs in the `pool`")
		return t.run
	},
}

type policyTest struct {
	db   *console.Database
	json bool
	pool string
}

// verdict is a recorded approval with the rules' decision.
type verdict struct {
	Run      string             `json:"run"`
	Question int                `json:"question"`
	Tool     string             `json:"tool"`
	Decided  lifecycle.Decision `json:"decided,omitempty"` // empty: open, or settled without a decision
	Actor    string             `json:"actor,omitempty"`
	Would    string             `json:"would"` // approve, reject or ask
	Rule     string             `json:"rule,omitempty"`
	Error    string             `json:"error,omitempty"`
}

func (t *policyTest) run(ctx context.Context, c command.Call) (status int, err error) {
	if len(c.Args) != 2 || c.Args[0] != "test" {
		return misused, misusef("want policy test FILE")
	}
	rules, err := policy.Load(c.Args[1])
	if err != nil {
		return misused, misusef("%w", err)
	}
	st, err := t.db.OpenExisting(ctx)
	if err != nil {
		return failed, err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	client, err := lifecycle.NewClient(lifecycle.ClientConfig{Store: st})
	if err != nil {
		return failed, err
	}
	defer client.Close()
	for q := (lifecycle.Query{Pool: t.pool}); ; {
		page, err := client.Runs(ctx, q)
		if err != nil {
			return failed, err
		}
		for i := range page.Runs {
			if err := t.testRun(ctx, c, client, rules, &page.Runs[i]); err != nil {
				return failed, err
			}
		}
		if q.After = page.Next; page.Next == "" {
			return succeeded, nil
		}
	}
}

// testRun evaluates the rules for the approvals of a run, in order. Rules that count their rulings
// count these decisions.
func (t *policyTest) testRun(ctx context.Context, c command.Call, client *lifecycle.Client, rules *policy.Rules,
	run *lifecycle.Run) error {
	history, err := client.History(ctx, run.ID)
	if err != nil {
		return err
	}
	counts := make(map[string]int)
	for i := range history {
		r := &history[i]
		if r.Question.Subject == nil {
			continue
		}
		p, err := client.Proposal(ctx, run.ID, r.Question.ID)
		if errors.Is(err, lifecycle.ErrNotFound) {
			return nil // it was pruned
		}
		if err != nil {
			return err
		}
		p.Rulings = func(_ context.Context, rule string) (int, error) { return counts[rule], nil }
		ruling, err := rules.Decide(ctx, p)
		v := verdict{Run: run.ID, Question: r.Question.ID, Tool: r.Question.Subject.Tool, Decided: r.Decision,
			Actor: r.Actor, Would: string(cmp.Or(ruling.Decision, "ask")), Rule: ruling.Rule}
		if err != nil {
			v.Error = err.Error()
		}
		if ruling.Decision != "" {
			counts[ruling.Rule]++
		}
		if err := t.print(c, &v); err != nil {
			return err
		}
	}
	return nil
}

func (t *policyTest) print(c command.Call, v *verdict) error {
	if t.json {
		line, _ := json.Marshal(v)
		_, err := fmt.Fprintln(c.Out, terminal.JSON(line))
		return err
	}
	decided := "is undecided"
	if v.Decided != "" {
		decided = fmt.Sprintf("%s by %s", v.Decided, terminal.Name(cmp.Or(v.Actor, "the host")))
	}
	would := v.Would
	if v.Rule != "" {
		would += " by " + v.Rule
	}
	if v.Error != "" {
		would += " (" + terminal.Name(v.Error) + ")"
	}
	_, err := fmt.Fprintf(c.Out, "%s question %d, %s: %s; the rules: %s\n", terminal.Name(v.Run), v.Question,
		terminal.Name(v.Tool), decided, would)
	return err
}
