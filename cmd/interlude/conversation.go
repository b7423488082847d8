package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/interlude-go/interlude/cmd/internal/command"
	"github.com/interlude-go/interlude/cmd/internal/console"
	"github.com/interlude-go/interlude/cmd/internal/terminal"
	"github.com/interlude-go/interlude/lifecycle"
)

// conversation shows a run's events and asks the person its questions. Only one goroutine uses it.
type conversation struct {
	lc     *lifecycle.Lifecycle
	run    lifecycle.Run // when the program started
	past   uint64        // the number of events at that time
	in     *person
	screen *screen
	death  *death
	dir    string       // the folder of the runs
	resume string       // the command that continues the run
	served <-chan error // receives the result of serving once, then closed
	leave  func()       // ends the serving

	open  *lifecycle.InputRequired // the open question
	quiet bool                     // there are no more replies
	turn  int                      // the running turn; 0: none
	here  bool                     // the turn began in this program

	warned map[lifecycle.Warning]bool // warnings that were shown
	times
}

type times struct {
	turnBegan, asked time.Time
	work, waits      time.Duration
}

// follow shows events and reads replies until the run has ended or there are no more replies. It
// returns the program's exit status.
func (c *conversation) follow(ctx context.Context) (int, error) {
	watching, stop := context.WithCancel(ctx)
	defer stop()
	events := c.watch(watching)
	tick := time.NewTicker(time.Second / 2)
	defer tick.Stop()
	for {
		lines := c.in.lines
		switch {
		case c.open != nil && c.quiet && c.open.OnDeadline == string(lifecycle.DeadlineKeepWaiting):
			c.screen.line(plain, "")
			return c.end(ctx)
		case c.quiet, c.open == nil && !c.in.types():
			lines = nil // keep it for the next question
		}
		death := c.death.now
		if c.turn == 0 || !c.here {
			death = nil // the turn has begun, and is shown first
		}
		select {
		case next, more := <-events:
			if !more || ctx.Err() != nil {
				return c.end(ctx)
			}
			if next.err != nil {
				return failed, next.err
			}
			if err := c.show(next.Event); err != nil {
				return failed, err
			}
		case text, more := <-lines:
			if !more {
				c.quiet = true
				c.unanswered()
				continue
			}
			if c.open == nil {
				continue // text typed before a question is not an answer
			}
			if err := c.reply(ctx, text); err != nil && ctx.Err() == nil {
				return failed, err
			}
		case <-death:
			c.kill(fmt.Sprintf("in the middle of turn %d", c.turn))
		case <-tick.C:
			if c.turn > 0 {
				c.screen.now(fmt.Sprintf("  … turn %d, %.0f s", c.turn, time.Since(c.turnBegan).Seconds()))
			}
		case err := <-c.served:
			if err == nil && ctx.Err() != nil {
				return c.end(ctx)
			}
			return failed, errors.Join(errors.New("the run is no longer served"), err)
		}
	}
}

type followed struct {
	lifecycle.Event
	err error
}

func (c *conversation) watch(ctx context.Context) <-chan followed {
	events := make(chan followed)
	go func() {
		defer close(events)
		for e, err := range c.lc.Events(ctx, c.run.ID, 0) {
			select {
			case events <- followed{e, err}:
			case <-ctx.Done():
				return
			}
		}
	}()
	return events
}

func (c *conversation) reply(ctx context.Context, text string) error {
	text = strings.TrimSpace(text)
	if !c.in.consumeLine() {
		fmt.Fprintln(c.screen.to, terminal.Text(text))
	}
	if text == "" {
		c.screen.prompt()
		return nil
	}
	reply, err := replyTo(c.open, text)
	if err != nil {
		c.screen.line(amber, "! "+err.Error())
		c.screen.prompt()
		return nil
	}
	reply.Actor = lifecycle.Actor{ID: "terminal"}
	_, err = c.lc.Reply(ctx, c.run.ID, reply)
	switch {
	case errors.Is(err, lifecycle.ErrSettled), errors.Is(err, lifecycle.ErrTerminal):
		c.screen.line(amber, "! too late: "+command.Words(err))
	case errors.Is(err, lifecycle.ErrInvalidReply):
		c.screen.line(amber, "! "+command.Words(err))
		c.screen.prompt()
		return nil
	case err != nil:
		return err
	}
	c.open = nil
	return nil
}

func (c *conversation) unanswered() {
	if c.quiet && c.open != nil && c.in.err != nil {
		c.screen.line(amber, "\n! the reply cannot be read: "+c.in.err.Error())
	}
	if c.quiet && c.open != nil && c.open.OnDeadline != string(lifecycle.DeadlineKeepWaiting) {
		c.screen.line(dim, "\n  no more replies: waiting for the deadline")
	}
}

// replyTo parses a reply: JSON is a value if the question accepts one, yes and no decide an
// approval, everything else is a text.
func replyTo(q *lifecycle.InputRequired, text string) (lifecycle.Reply, error) {
	chosen, err := choose(q, text)
	risky := q.Kind == string(lifecycle.RiskAck) || q.Subject != nil && q.Subject.Risk != ""
	r := lifecycle.Reply{ID: q.InteractionID, Text: chosen, Seen: q.Digest, AcceptRisk: risky} // as the hint says
	isJSON := json.Valid([]byte(text))
	switch word := strings.ToLower(text); {
	case q.Subject != nil && (word == "yes" || word == "y"):
		r.Decision, r.Text = lifecycle.Approve, ""
	case q.Subject != nil && (word == "no" || word == "n"):
		r.Decision, r.Text = lifecycle.Reject, ""
	case q.Subject != nil && isJSON && text[0] == '{':
		r.Decision, r.Value, r.Text = lifecycle.Edit, json.RawMessage(text), ""
	case q.Subject != nil && !q.AlsoText:
		r.Decision = lifecycle.Respond
	case q.Subject == nil && q.Schema != "" && isJSON:
		r.Value, r.Text = json.RawMessage(text), ""
	}
	return r, err
}

// choose replaces the number of an option by its value, as the verb reply does.
func choose(q *lifecycle.InputRequired, text string) (string, error) {
	options := make([]lifecycle.Option, len(q.Options))
	for i, o := range q.Options {
		options[i] = lifecycle.Option{Label: o.Label, Value: o.Value}
	}
	return console.Option(options, text)
}

func (c *conversation) kill(when string) {
	c.screen.line(red, "✗ kill -9 "+when)
	c.screen.line(plain, "  continue: "+c.resume)
	die()
}
