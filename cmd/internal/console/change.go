package console

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"flag"
	"fmt"

	"github.com/interlude-go/interlude/cmd/internal/command"
	"github.com/interlude-go/interlude/cmd/internal/terminal"
	"github.com/interlude-go/interlude/host/web"
	"github.com/interlude-go/interlude/lifecycle"
)

var cancelVerb = command.Verb{
	Name: "cancel", Args: "RUN", Does: "cancel a run in any state",
	Prepare: func(f *flag.FlagSet) command.Action {
		db, asJSON := NewDatabase(f), jsonFlag(f)
		reason := f.String("reason", "", "the reason, as a `text` that is stored with the run")
		return changing(db, asJSON, func(ctx context.Context, cl *client, id string) (string, error) {
			return "is canceled", cl.Cancel(ctx, id, *reason)
		})
	},
}

var noteVerb = command.Verb{
	Name: "note", Args: "RUN", Does: "write a note on an open question",
	More: "A note decides nothing. interlude show prints the notes.",
	Prepare: func(f *flag.FlagSet) command.Action {
		db, asJSON, who := NewDatabase(f), jsonFlag(f), newPerson(f, self())
		number := f.Int("question", 0, "the `number` of the question; optional if only one is open")
		text := f.String("text", "", "the `text` of the note")
		return changing(db, asJSON, func(ctx context.Context, cl *client, id string) (string, error) {
			actor, err := who.actor()
			if err != nil {
				return "", err
			}
			run, err := cl.Get(ctx, id)
			if err != nil {
				return "", err
			}
			question, err := theOnly(*number, id, "open questions", openNumbers(&run))
			if err != nil {
				return "", err
			}
			_, err = cl.As(actor).Note(ctx, id, question, lifecycle.Note{Text: *text, Key: "cli-" + rand.Text()})
			return fmt.Sprintf("has the note on question %d", question), err
		})
	},
}

var resumeVerb = command.Verb{
	Name: "resume", Args: "RUN", Does: "decide about a held run",
	More: "interlude show prints the reason and the choices; interlude runs -held lists held runs.",
	Prepare: func(f *flag.FlagSet) command.Action {
		db, asJSON := NewDatabase(f), jsonFlag(f)
		var r lifecycle.Resume
		f.StringVar((*string)(&r.Choice), "choice", "", "the `word`: repeat, raise or end")
		f.IntVar(&r.Budget.Turns, "turns", 0, "the new limit of turns, for raise; 0 is unlimited")
		f.Int64Var(&r.Budget.Tokens, "tokens", 0, "the new limit of tokens, for raise; 0 is unlimited")
		f.Uint64Var(&r.Version, "version", 0, "the `version` that was seen: refused if the run has changed since")
		return changing(db, asJSON, func(ctx context.Context, cl *client, id string) (string, error) {
			if r.Choice == "" {
				return "", command.Misusef("want a decision: -choice repeat, raise or end; interlude show prints the " +
					"choices")
			}
			done := "is resumed"
			if r.Choice == lifecycle.ChoiceEnd {
				done = "is ended"
			}
			return done, cl.Resume(ctx, id, r)
		})
	},
}

var forkVerb = command.Verb{
	Name: "fork", Args: "RUN", Does: "start a run from a settled question, or the end, of a run",
	More: "Without -question it continues from the end of the run. Approvals, and questions that you could not have\n" +
		"answered, are asked again.",
	Prepare: func(f *flag.FlagSet) command.Action {
		db, asJSON, who := NewDatabase(f), jsonFlag(f), newPerson(f, self())
		var at lifecycle.At
		f.StringVar(&at.ID, "id", "", "the `id` of the fork; default: a generated one")
		f.IntVar(&at.Question, "question", 0, "the `number` of a settled question; default: the end of the run")
		f.StringVar(&at.Answer.Text, "reply", "", "the `text` of the fork's answer, instead of the run's")
		f.BoolVar(&at.Answer.AcceptRisk, "accept-risk", false, "acknowledge the risk that the question states")
		f.StringVar((*string)(&at.Answer.Decision), "decision", "", "the `word` for an approval: approve, edit or reject")
		value := f.String("value", "", "the `JSON` of the fork's answer: a form's value, or edited arguments")
		return func(ctx context.Context, c command.Call) (int, error) {
			args, err := c.Want("RUN")
			if err != nil {
				return command.Misused, err
			}
			if at.Actor, err = who.actor(); err != nil {
				return command.Misused, err
			}
			if *value != "" {
				at.Answer.Value = json.RawMessage(*value)
			}
			p := newPrinter(c.Out, *asJSON)
			return db.with(ctx, once, func(cl *client) error {
				fork, known, err := cl.GetOrFork(ctx, args[0], at)
				if err != nil {
					return err
				}
				switch {
				case p.json:
					p.object(web.ShowRun(&fork, lifecycle.Actor{}, cl.Now()))
				case known:
					p.line(terminal.Green, "✓ run "+fork.ID+" is this fork, and existed before")
				case fork.AsksAgain():
					p.line(terminal.Green, "✓ run "+fork.ID+" is forked from "+args[0]+", and asks again")
				default:
					p.line(terminal.Green, "✓ run "+fork.ID+" is forked from "+args[0])
				}
				return p.err
			})
		}
	},
}

type change func(ctx context.Context, cl *client, id string) (done string, err error)

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
			p.object(web.ShowRun(&run, lifecycle.Actor{}, cl.Now()))
			return p.err
		})
	}
}
