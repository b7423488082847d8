package console

import (
	"context"
	"flag"
	"slices"
	"strconv"
	"strings"

	"github.com/interlude-go/interlude/cmd/internal/command"
	"github.com/interlude-go/interlude/cmd/internal/terminal"
	"github.com/interlude-go/interlude/host/web"
	"github.com/interlude-go/interlude/lifecycle"
)

var runsVerb = command.Verb{
	Name: "runs", Does: "list runs, the newest first",
	Prepare: func(f *flag.FlagSet) command.Action {
		db, asJSON := NewDatabase(f), jsonFlag(f)
		q := lifecycle.Query{Newest: true}
		f.Func("state", "only runs in the `state` (repeatable)", func(state string) error {
			q.States = append(q.States, lifecycle.State(state))
			return nil
		})
		f.BoolVar(&q.Held, "held", false, "only held runs, which wait for a decision")
		f.StringVar(&q.Pool, "pool", "", "only runs in the `pool`")
		f.StringVar(&q.Key, "key", "", "only runs with the `key`")
		f.StringVar(&q.ForkedFrom, "forked-from", "", "only forks of the `run`")
		labels, limit := labelFlag(f), limitFlag(f)
		return func(ctx context.Context, c command.Call) (int, error) {
			if _, err := c.Want(""); err != nil {
				return command.Misused, err
			}
			q.Labels = *labels
			p := newPrinter(c.Out, *asJSON)
			return db.with(ctx, once, func(cl *client) error { return listRuns(ctx, cl, p, q, *limit) })
		}
	},
}

func listRuns(ctx context.Context, cl *client, p *printer, q lifecycle.Query, limit int) error {
	head := []string{"RUN", "STATE", "FOR", "TURN", "ENGINE", ""}
	return p.pagedTable(limit, head, "there are no such runs", func(size int) (rows [][]string, more bool, _ error) {
		q.Limit = size
		page, err := cl.Runs(ctx, q)
		for i := range page.Runs {
			r := &page.Runs[i]
			rows = append(rows, []string{r.ID, string(r.State), ago(r.UpdatedAt), strconv.Itoa(r.Attempt), r.Engine,
				titled(r.Title, what(r))})
			if p.json {
				r.Output, r.FinalText = nil, "" // may be large; show prints them
				p.object(web.ShowRun(r, lifecycle.Actor{}, cl.Now()))
			}
		}
		q.After = page.Next
		return rows, page.Next != "", err
	})
}

func titled(title, text string) string {
	if title == "" {
		return text
	}
	return terminal.Line(title) + ": " + text
}

// listed is a question in a list: what distinguishes its call from others comes first.
func listed(q *lifecycle.Question) string {
	if q.Subject == nil || q.Subject.Summary == "" {
		return q.Prompt
	}
	return terminal.Name(q.Subject.Summary) + ": " + q.Prompt
}

// what returns the most important fact about a run in its state.
func what(r *lifecycle.Run) string {
	switch {
	case r.Held():
		return strings.TrimSuffix("held: "+r.Block.Reason, ": ")
	case len(r.Open) > 0:
		return "? " + listed(&r.Open[0])
	case r.Error != nil:
		return string(r.Error.Code)
	case len(r.Warnings) > 0:
		return "! " + string(slices.Max(r.Warnings))
	}
	return r.FinalText
}
