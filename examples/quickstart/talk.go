package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/interlude-go/interlude/contract"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/lifecycle"
)

// conversation shows a run's events and puts its questions to the person.
type conversation struct {
	lc   *lifecycle.Lifecycle
	id   string
	park bool
	in   *person
	out  io.Writer
}

// follow shows events until the run has ended, or waits and nobody will answer.
func (c *conversation) follow(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	current, err := c.lc.Get(ctx, c.id)
	if err != nil {
		return err
	}
	asked := make(chan contract.InputRequired)
	shown := make(chan error, 1)
	go func() { shown <- c.show(ctx, current.Seq, asked) }()
	for {
		select {
		case err := <-shown:
			return err
		case q := <-asked:
			if c.park {
				fmt.Fprintln(c.out, "parked; go on with -resume")
				return nil
			}
			if answered, err := c.answer(ctx, q); err != nil || !answered {
				return err
			}
		}
	}
}

// show prints every event, and passes on the questions that are open.
func (c *conversation) show(ctx context.Context, past uint64, asked chan<- contract.InputRequired) error {
	for e, err := range c.lc.Events(ctx, c.id, 0) {
		if err != nil {
			return err
		}
		fmt.Fprintln(c.out, describe(e))
		if e.Type != contract.TypeInputRequired {
			continue
		}
		var q contract.InputRequired
		if err := e.Decode(&q); err != nil {
			return err
		}
		if e.Seq <= past { // replayed: it may be settled by now
			open, err := c.lc.Pending(ctx, c.id)
			if err != nil {
				return err
			}
			if open == nil || open.ID != q.InteractionID {
				continue
			}
		}
		select {
		case asked <- q:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// answer asks the person and replies. It reports false when nobody will ever answer.
func (c *conversation) answer(ctx context.Context, q contract.InputRequired) (bool, error) {
	fmt.Fprint(c.out, question(q))
	settled, stop := c.settled(ctx, q.InteractionID)
	defer stop()
	for {
		select {
		case line, ok := <-c.in.lines:
			if !ok {
				if q.OnDeadline == string(fsm.DeadlineKeepWaiting) {
					fmt.Fprintln(c.out, "\nno more answers: the run stays parked")
					return false, nil
				}
				fmt.Fprintln(c.out, "\nno more answers: waiting for the deadline")
				<-settled
				return true, nil
			}
			if !c.in.shown {
				fmt.Fprintln(c.out, line)
			}
			text := choose(q, strings.TrimSpace(line))
			if text == "" {
				fmt.Fprint(c.out, "> ")
				continue
			}
			_, err := c.lc.Reply(ctx, c.id, interaction.Reply{
				ID: q.InteractionID, Text: text, Key: fmt.Sprintf("quickstart-%d", q.InteractionID), Actor: "quickstart",
			})
			if errors.Is(err, lifecycle.ErrSettled) {
				fmt.Fprintln(c.out, "too late:", err)
				return true, nil
			}
			return true, err
		case <-settled:
			return true, nil
		}
	}
}

// settled is closed when the question is no longer open, whoever settled it.
func (c *conversation) settled(ctx context.Context, id int) (<-chan struct{}, func()) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for e, err := range c.lc.Events(ctx, c.id, 0) {
			if err != nil {
				return
			}
			var resolved struct {
				ID int `json:"interaction_id"`
			}
			if (e.Type == contract.TypeReplyAccepted || e.Type == contract.TypeAutoDecided) && e.Decode(&resolved) == nil && resolved.ID == id {
				return
			}
		}
	}()
	return done, func() { cancel(); <-done }
}

// person reads answers, a line each, as they come.
type person struct {
	lines chan string
	shown bool // a terminal shows what is typed
}

func newPerson(in *os.File) *person {
	p := &person{lines: make(chan string)}
	if info, err := in.Stat(); err == nil {
		p.shown = info.Mode()&os.ModeCharDevice != 0
	}
	go func() { // lives as long as the program: a read from a terminal cannot be interrupted
		defer close(p.lines)
		s := bufio.NewScanner(in)
		s.Buffer(nil, interaction.MaxReplyText)
		for s.Scan() {
			p.lines <- s.Text()
		}
	}()
	return p
}

// question shows a question to a person.
func question(q contract.InputRequired) string {
	var b strings.Builder
	fmt.Fprintf(&b, "\n  ? [%s] %s\n", q.Kind, q.Prompt)
	if q.Context != "" {
		fmt.Fprintf(&b, "    %s\n", q.Context)
	}
	for i, o := range q.Options {
		fmt.Fprintf(&b, "    %d) %s\n", i+1, o.Label)
	}
	if len(q.RequiredFields) > 0 {
		fmt.Fprintf(&b, "    please give: %s\n", strings.Join(q.RequiredFields, ", "))
	}
	if !q.WaitDeadlineAt.IsZero() {
		fmt.Fprintf(&b, "    (until %s, then: %s)\n", q.WaitDeadlineAt.Local().Format("15:04:05"), strings.ReplaceAll(q.OnDeadline, "_", " "))
	}
	b.WriteString("> ")
	return b.String()
}

// choose turns the number of an option into its value; every other text is the answer as it stands.
func choose(q contract.InputRequired, text string) string {
	for i, o := range q.Options {
		if text == fmt.Sprint(i+1) {
			return o.Value
		}
	}
	return text
}

// describe is an event on one line.
func describe(e contract.Event) string {
	what := ""
	switch e.Type {
	case contract.TypeStateChanged:
		var c contract.StateChanged
		if e.Decode(&c) == nil {
			what = fmt.Sprintf("%s → %s (%s)", c.From, c.To, c.Trigger)
			if c.Terminal != nil && c.Terminal.Error != nil {
				what += fmt.Sprintf(": %s: %s", c.Terminal.Error.Code, c.Terminal.Error.Message)
			}
		}
	case contract.TypeMessageFinal, contract.TypeMessageIntermediate:
		var m contract.MessageFinal
		if e.Decode(&m) == nil {
			what = firstLine(m.Text)
		}
	default:
		what = firstLine(string(e.Data))
	}
	return fmt.Sprintf("%4d  attempt %d  %-30s  %s", e.Seq, e.Meta.Attempt, e.Type, what)
}

func firstLine(s string) string {
	s, _, cut := strings.Cut(strings.TrimSpace(s), "\n")
	if r := []rune(s); len(r) > 72 {
		s, cut = string(r[:72]), true
	}
	if cut {
		s += " …"
	}
	return s
}

// summary prints the last line.
func summary(ctx context.Context, lc *lifecycle.Lifecycle, id, db string, out io.Writer) error {
	r, err := lc.Get(ctx, id)
	if err != nil {
		return err
	}
	if r.Output != nil {
		fmt.Fprintf(out, "\noutput: %s\n", r.Output)
	}
	warnings := make([]string, 0, len(r.Warnings))
	for _, w := range r.Warnings {
		warnings = append(warnings, string(w))
	}
	return json.NewEncoder(out).Encode(struct {
		RunID        string    `json:"run_id"`
		State        fsm.State `json:"state"`
		Attempts     int       `json:"attempts"`
		Events       uint64    `json:"events"`
		Interactions int       `json:"interactions"`
		Warnings     []string  `json:"warnings"`
		DB           string    `json:"db"`
	}{r.ID, r.State, r.Attempt, r.Seq, r.Interactions, warnings, db})
}
