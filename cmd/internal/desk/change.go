package desk

import (
	"context"
	"flag"

	"github.com/interlude-go/interlude/cmd/internal/command"
	"github.com/interlude-go/interlude/cmd/internal/terminal"
	"github.com/interlude-go/interlude/host/web"
	"github.com/interlude-go/interlude/lifecycle"
)

var cancelVerb = command.Verb{
	Name: "cancel", Args: "RUN", Does: "end a run, whatever it does",
	Prepare: func(f *flag.FlagSet) command.Action {
		db, asJSON := NewDatabase(f), jsonFlag(f)
		reason := f.String("reason", "", "why, as a `text` that is stored with the run")
		return changing(db, asJSON, func(ctx context.Context, cl *client, id string) (string, error) {
			return "is canceled", cl.Cancel(ctx, id, *reason)
		})
	},
}

// change changes a run, and says in a word what was done.
type change func(ctx context.Context, cl *client, id string) (done string, err error)

// changing changes the run that the argument names, and prints it.
func changing(db *Database, asJSON *bool, change change) command.Action {
	return func(ctx context.Context, c command.Call) (int, error) {
		args, err := c.Want("RUN")
		if err != nil {
			return command.Misused, err
		}
		return db.with(ctx, once, func(cl *client) error {
			done, err := change(ctx, cl, args[0])
			if err != nil {
				return err
			}
			p := newPrinter(c.Out, *asJSON)
			if !p.json {
				p.line(terminal.Green, "✓ run "+args[0]+" "+done)
				return p.err
			}
			run, err := cl.Get(ctx, args[0])
			if err != nil {
				return err
			}
			p.object(web.ShowRun(&run, lifecycle.Actor{}))
			return p.err
		})
	}
}
