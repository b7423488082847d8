package console

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"strings"

	"github.com/interlude-go/interlude/cmd/internal/command"
	"github.com/interlude-go/interlude/cmd/internal/terminal"
	"github.com/interlude-go/interlude/lifecycle"
)

var eventsVerb = command.Verb{
	Name: "events", Args: "RUN", Does: "print the events of a run, and with -f new ones as they come",
	More: "With -json they are printed as stored: a log for interlude check.",
	Prepare: func(f *flag.FlagSet) command.Action {
		db, asJSON := NewDatabase(f), jsonFlag(f)
		follow := f.Bool("f", false, "follow the run until it ends; Ctrl-C stops")
		after := f.Uint64("after", 0, "start after the event with this `number`")
		return func(ctx context.Context, c command.Call) (int, error) {
			args, err := c.Want("RUN")
			if err != nil {
				return command.Misused, err
			}
			p, how := newPrinter(c.Out, *asJSON), once
			if *follow {
				how = watch
			}
			return db.with(ctx, how, func(cl *client) error { return events(ctx, cl, p, args[0], *after, *follow) })
		}
	},
}

func events(ctx context.Context, cl *client, p *printer, id string, after uint64, follow bool) error {
	run, err := cl.Get(ctx, id)
	if err != nil {
		return err
	}
	if after > run.Seq {
		return command.Refusef("run %s has only %d events, and none after %d: leave -after out, or give a lower number",
			id, run.Seq, after)
	}
	if !follow && after == run.Seq {
		return nil
	}
	for e, err := range cl.Events(ctx, id, after) {
		if err != nil {
			if ctx.Err() != nil {
				return nil // stopped by the person
			}
			return err
		}
		if p.event(e); p.err != nil || !follow && e.Seq >= run.Seq {
			break
		}
	}
	return p.err
}

func (p *printer) event(e lifecycle.Event) {
	body, err := json.Marshal(e)
	if err != nil {
		p.err = err
		return
	}
	if p.json {
		p.write(terminal.JSON(body))
		return
	}
	text := fmt.Sprintf("%4d  %s  %-30s  %s", e.Seq, e.TS.Local().Format("15:04:05.000"), e.Type,
		terminal.Line(summary(e)))
	text = strings.TrimRight(text, " ")
	if p.narrow {
		text = cut(text, terminal.Width)
	}
	p.write(p.paint(eventStyles[e.Type], text))
}

var eventStyles = map[string]terminal.Style{
	lifecycle.TypeStateChanged: terminal.Bold, lifecycle.TypeInputRequired: terminal.Amber,
	lifecycle.TypeReplyAccepted: terminal.Green, lifecycle.TypeWarning: terminal.Amber,
}

func summary(e lifecycle.Event) string {
	switch e.Type {
	case lifecycle.TypeStateChanged:
		return summaryOf(e, func(s lifecycle.StateChanged) string { return s.From + " → " + s.To + "  " + s.Trigger })
	case lifecycle.TypeInputRequired:
		return summaryOf(e, func(q lifecycle.InputRequired) string {
			return fmt.Sprint(q.InteractionID, " ", q.Prompt)
		})
	case lifecycle.TypeReplyAccepted:
		return summaryOf(e, func(r lifecycle.ReplyAccepted) string {
			return terminal.Name(fmt.Sprint(r.InteractionID, " ", r.Decision, " ", r.Actor, " ", r.Via))
		})
	case lifecycle.TypeMessageIntermediate, lifecycle.TypeMessageFinal:
		return summaryOf(e, func(m lifecycle.MessageFinal) string { return m.Text })
	case lifecycle.TypeWarning:
		return summaryOf(e, func(w lifecycle.Warning) string { return terminal.Name(w.Code) + ": " + w.Detail })
	}
	return terminal.Inline(e.Data)
}

func summaryOf[T any](e lifecycle.Event, say func(T) string) string {
	var data T
	if e.Decode(&data) != nil {
		return terminal.Inline(e.Data)
	}
	return say(data)
}
