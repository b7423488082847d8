package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/interlude-go/interlude/contract/fcmp"
	"github.com/interlude-go/interlude/examples/terminal"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/lifecycle"
)

// question shows a question to a person.
func question(q fcmp.InputRequired) string {
	var b strings.Builder
	line := func(text string) { b.WriteString(terminal.Wrap(terminal.Text(text), "    ") + "\n") }
	b.WriteString("\n  ? " + strings.TrimLeft(terminal.Wrap(terminal.Text(q.Prompt), "    "), " ") + "\n")
	if q.Context != "" {
		line(q.Context)
	}
	for i, o := range q.Options {
		line(fmt.Sprintf("%d) %s", i+1, terminal.Line(o.Label)))
	}
	if len(q.RequiredFields) > 0 {
		line("please give: " + strings.Join(q.RequiredFields, ", "))
	}
	if !q.WaitDeadlineAt.IsZero() {
		line(fmt.Sprintf("(until %s, then: %s)", q.WaitDeadlineAt.Local().Format("15:04:05"),
			strings.ReplaceAll(q.OnDeadline, "_", " ")))
	}
	b.WriteString("> ")
	return b.String()
}

// describe is an event: its number, its type, and what it says.
func describe(e fcmp.Event) string {
	head := fmt.Sprintf("%3d  %-31s  ", e.Seq, e.Type)
	text := terminal.Wrap(terminal.Line(content(e)), strings.Repeat(" ", len(head)))
	return strings.TrimRight(head+strings.TrimLeft(text, " "), " ")
}

// content is what an event says, in words.
func content(e fcmp.Event) string {
	switch e.Type {
	case fcmp.TypeStarted:
		return read(e, func(s fcmp.Started) string {
			who := "a person decides"
			if !s.InteractiveRequireUserReply {
				who = "the agent may decide"
			}
			return fmt.Sprintf("%s; %s", s.Mode, who)
		})
	case fcmp.TypeStateChanged:
		return read(e, func(c fcmp.StateChanged) string {
			text := fmt.Sprintf("%s → %s", c.From, c.To)
			if fsm.State(c.To) == fsm.StateRunning {
				text += fmt.Sprintf(", attempt %d", e.Meta.Attempt)
			}
			if text += " (" + c.Trigger + ")"; c.Terminal != nil && c.Terminal.Error != nil {
				text += fmt.Sprintf(": %s: %s", c.Terminal.Error.Code, c.Terminal.Error.Message)
			}
			return text
		})
	case fcmp.TypeMessageFinal, fcmp.TypeMessageIntermediate:
		return read(e, func(m fcmp.MessageFinal) string { return brief(m.Text) })
	case fcmp.TypeInputRequired:
		return read(e, func(q fcmp.InputRequired) string {
			return fmt.Sprintf("question %d: %s", q.InteractionID, q.Kind)
		})
	case fcmp.TypeReplyAccepted:
		return read(e, func(r fcmp.ReplyAccepted) string {
			return fmt.Sprintf("question %d: by %s", r.InteractionID, r.Actor)
		})
	case fcmp.TypeAutoDecided:
		return read(e, func(a fcmp.AutoDecided) string {
			return fmt.Sprintf("question %d: by itself (%s)", a.InteractionID, a.Policy)
		})
	case fcmp.TypeWarning:
		return read(e, func(w fcmp.Warning) string { return w.Code + " " + w.Detail })
	default:
		return string(e.Data)
	}
}

// read is what an event says; its data as they are when they cannot be read.
func read[T any](e fcmp.Event, say func(T) string) string {
	var data T
	if e.Decode(&data) != nil {
		return string(e.Data)
	}
	return say(data)
}

// brief is the beginning of a long text; all of it is in the events.
func brief(text string) string {
	text, _, cut := strings.Cut(strings.TrimSpace(text), "\n")
	if r := []rune(text); len(r) > 120 {
		text, cut = string(r[:120]), true
	}
	if cut {
		text += " …"
	}
	return text
}

// summary says how the run stands. Its last line is for programs.
func (o *options) summary(ctx context.Context, lc *lifecycle.Lifecycle, id string, out io.Writer) error {
	r, err := lc.Get(context.WithoutCancel(ctx), id)
	if err != nil {
		return err
	}
	if ctx.Err() != nil {
		fmt.Fprintln(out) // after ^C
	}
	o.goesOn = !r.State.Terminal()
	switch {
	case r.State == fsm.StateWaitingUser:
		fmt.Fprintf(out, "\nparked; go on with:\n  %s\n", o.again())
	case o.goesOn:
		fmt.Fprintf(out, "\ninterrupted, the turn will be repeated; go on with:\n  %s\n", o.again())
	case r.Output != nil:
		var pretty bytes.Buffer
		if err := json.Indent(&pretty, r.Output, "", "  "); err != nil {
			return err
		}
		fmt.Fprintf(out, "\noutput: %s\n", terminal.JSON(pretty.Bytes()))
	}
	db := o.db
	if o.temporary && !o.goesOn {
		fmt.Fprintln(out, "its files were temporary: with -db FILE they are kept")
		db = ""
	}
	warnings := make([]string, 0, len(r.Warnings))
	for _, w := range r.Warnings {
		warnings = append(warnings, string(w))
	}
	line, err := json.Marshal(struct {
		RunID        string    `json:"run_id"`
		State        fsm.State `json:"state"`
		Attempts     int       `json:"attempts"`
		Events       uint64    `json:"events"`
		Interactions int       `json:"interactions"`
		Warnings     []string  `json:"warnings"`
		DB           string    `json:"db"`
	}{r.ID, r.State, r.Attempt, r.Seq, r.Interactions, warnings, db})
	if err != nil {
		return err
	}
	fmt.Fprintln(out, terminal.JSON(line))
	if r.Error != nil {
		return fmt.Errorf("the run has failed: %s: %s", r.Error.Code, strings.TrimPrefix(r.Error.Message,
			string(r.Error.Code)+": "))
	}
	return nil
}

// again is the command that goes on with the run.
func (o *options) again() string {
	program := os.Args[0]
	if strings.Contains(program, string(filepath.Separator)+"go-build") {
		program = "go run ./examples/quickstart"
	}
	words := program + " -db " + quoted(o.db) + " -resume"
	if o.profile != fsm.ProfileResumable {
		words += " -profile " + string(o.profile)
	}
	return words
}

// quoted is a word for a shell.
func quoted(word string) string {
	if strings.Trim(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:,+@%") == "" {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
