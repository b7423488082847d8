package console

import (
	"cmp"
	"context"
	"flag"
	"os"
	"strconv"

	"github.com/interlude-go/interlude/cmd/internal/command"
	"github.com/interlude-go/interlude/cmd/internal/terminal"
	"github.com/interlude-go/interlude/host/web"
	"github.com/interlude-go/interlude/lifecycle"
)

var inboxVerb = command.Verb{
	Name: "inbox", Does: "list the open questions, the oldest first",
	More: "All open questions, or with -as the questions that a person may answer. On a terminal it is a list to " +
		"move through and decide in; the key ? lists the keys.",
	Prepare: func(f *flag.FlagSet) command.Action {
		db, asJSON, who := NewDatabase(f).withDirectory(f), jsonFlag(f), newPerson(f, "")
		labels := labelFlag(f)
		var q lifecycle.InboxQuery
		f.StringVar(&q.Pool, "pool", "", "only questions of runs in the `pool`")
		f.StringVar(&q.Key, "key", "", "only questions of runs with the `key`")
		f.Func("kind", "only questions of the `kind` (repeatable)", func(kind string) error {
			q.Kinds = append(q.Kinds, lifecycle.Kind(kind))
			return nil
		})
		f.StringVar(&db.dir, "dir", "", "the `folder` of the runs, as in serve's configuration: the key o opens files in it")
		limit := limitFlag(f)
		list := f.Bool("list", false, "print the list on a terminal, too")
		return func(ctx context.Context, c command.Call) (int, error) {
			if _, err := c.Want(""); err != nil {
				return command.Misused, err
			}
			q.Labels = *labels
			if who.id != "" || len(who.groups) > 0 {
				q.For = lifecycle.Actor{ID: who.id, Groups: who.groups, Via: via}
			}
			p := newPrinter(c.Out, *asJSON)
			if terminal.Is(c.In) && terminal.Live(c.Out) && !p.json && !*list && os.Getenv("ACCESSIBLE") == "" {
				actor := lifecycle.Actor{ID: cmp.Or(who.id, self()), Groups: who.groups, Via: via}
				return db.with(ctx, watch, func(cl *client) error { return decide(ctx, cl, c, q, actor) })
			}
			return db.with(ctx, once, func(cl *client) error { return listInbox(ctx, cl, p, q, *limit) })
		}
	},
}

func listInbox(ctx context.Context, cl *client, p *printer, q lifecycle.InboxQuery, limit int) error {
	head := []string{"RUN", "NO", "KIND", "WAITS", "DUE", "QUESTION"}
	return p.pagedTable(limit, head, "no open questions", func(size int) (rows [][]string, more bool, _ error) {
		q.Limit = size
		page, err := cl.Inbox(ctx, q)
		for i := range page.Questions {
			o := &page.Questions[i]
			if p.json {
				p.object(web.ShowQuestion(o, q.For, cl.Now()))
			}
			rows = append(rows, []string{o.RunID, strconv.Itoa(o.Question.ID), string(o.Question.Kind),
				ago(o.Question.AskedAt), until(o.EndsAt), titled(o.Title, listed(&o.Question))})
		}
		q.After = page.Next
		return rows, page.Next != "", err
	})
}
