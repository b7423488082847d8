package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/interlude-go/interlude/contract/fcmp"
	"github.com/interlude-go/interlude/examples/terminal"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/lifecycle"
)

// conversation shows a run's events and puts its questions to the person. One goroutine has it all.
type conversation struct {
	lc   *lifecycle.Lifecycle
	run  lifecycle.Run // as it was found
	park bool
	in   *person
	out  io.Writer
	open *fcmp.InputRequired // the question that waits for a reply
	done bool                // there are no more answers
}

// told is an event, or why there are no more.
type told struct {
	fcmp.Event
	err error
}

// follow shows events and takes replies until the run has ended, or waits and nobody will answer,
// or the context ends.
func (c *conversation) follow(ctx context.Context) error {
	watching, stop := context.WithCancel(ctx)
	defer stop()
	events := c.watch(watching)
	for {
		if c.open != nil && (c.park || c.done && c.open.OnDeadline == string(fsm.DeadlineKeepWaiting)) {
			return nil
		}
		lines := c.in.lines
		if c.done || c.open == nil && !c.in.types {
			lines = nil // the next line answers the next question
		}
		select {
		case e, more := <-events:
			switch {
			case !more || ctx.Err() != nil:
				return nil
			case e.err != nil:
				return e.err
			}
			if err := c.show(e.Event); err != nil {
				return err
			}
		case line, more := <-lines:
			switch {
			case !more:
				c.done = true
				c.unanswered()
			case c.open != nil: // what is typed before a question is no answer to it
				if err := c.answer(ctx, line); err != nil && ctx.Err() == nil {
					return err
				}
			}
		}
	}
}

// watch follows the run from its first event.
func (c *conversation) watch(ctx context.Context) <-chan told {
	events := make(chan told)
	go func() {
		defer close(events)
		for e, err := range c.lc.Events(ctx, c.run.ID, 0) {
			select {
			case events <- told{e, err}:
			case <-ctx.Done():
				return
			}
		}
	}()
	return events
}

// show shows an event, and asks when it is a question that is open.
func (c *conversation) show(e fcmp.Event) error {
	if c.open != nil { // somebody else has settled it: the deadline, or another program
		fmt.Fprintln(c.out)
		c.open = nil
	}
	fmt.Fprintln(c.out, describe(e))
	if e.Type != fcmp.TypeInputRequired {
		return nil
	}
	var q fcmp.InputRequired
	if err := e.Decode(&q); err != nil {
		return err
	}
	if e.Seq <= c.run.Seq && (c.run.Pending == nil || c.run.Pending.ID != q.InteractionID) {
		return nil // it was settled before this program began
	}
	c.open = &q
	fmt.Fprint(c.out, question(q))
	c.unanswered()
	return nil
}

// unanswered says so when nobody will answer the open question.
func (c *conversation) unanswered() {
	if !c.done || c.open == nil {
		return
	}
	if c.in.err != nil {
		fmt.Fprintln(c.out, "\nthe answer cannot be read:", c.in.err)
	}
	if c.open.OnDeadline == string(fsm.DeadlineKeepWaiting) {
		fmt.Fprintln(c.out, "\nno more answers")
	} else {
		fmt.Fprintln(c.out, "\nno more answers: waiting for the deadline")
	}
}

// answer replies to the open question.
func (c *conversation) answer(ctx context.Context, line string) error {
	if !c.in.types {
		fmt.Fprintln(c.out, terminal.Line(line))
	}
	q := *c.open
	text := choose(q, strings.TrimSpace(line))
	if text == "" {
		fmt.Fprint(c.out, "> ")
		return nil
	}
	_, err := c.lc.Reply(ctx, c.run.ID, interaction.Reply{
		ID: q.InteractionID, Text: text, Key: fmt.Sprintf("quickstart-%d", q.InteractionID), Actor: "quickstart",
	})
	switch {
	case errors.Is(err, lifecycle.ErrInvalidReply):
		fmt.Fprintf(c.out, "%s\n> ", terminal.Text(err.Error()))
		return nil
	case errors.Is(err, lifecycle.ErrSettled), errors.Is(err, lifecycle.ErrTerminal),
		errors.Is(err, lifecycle.ErrKeyConflict):
		fmt.Fprintln(c.out, "too late:", terminal.Text(err.Error())) // somebody else has replied, or the deadline has
	case err != nil:
		return err
	}
	c.open = nil
	return nil
}

// person gives answers, a line each, as they come.
type person struct {
	lines chan string // closed when there are no more
	types bool        // on a terminal, which shows what is typed
	err   error       // why there are no more; set before lines is closed
}

func newPerson(in *os.File) *person {
	p := &person{lines: make(chan string), types: terminal.Is(in)}
	go func() { // lives as long as the program: a read from a terminal cannot be interrupted
		defer close(p.lines)
		s := bufio.NewScanner(in)
		s.Buffer(nil, 2*interaction.MaxReplyText)
		for s.Scan() {
			p.lines <- s.Text()
		}
		if p.err = s.Err(); errors.Is(p.err, bufio.ErrTooLong) {
			p.err = fmt.Errorf("a line is longer than %d bytes", 2*interaction.MaxReplyText)
		}
	}()
	return p
}

// choose turns the number of an option into its value; every other text is the answer as it stands.
func choose(q fcmp.InputRequired, text string) string {
	for i, o := range q.Options {
		if text == fmt.Sprint(i+1) {
			return o.Value
		}
	}
	return text
}
