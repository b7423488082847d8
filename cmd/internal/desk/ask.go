package desk

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/huh"

	"github.com/interlude-go/interlude/cmd/internal/command"
	"github.com/interlude-go/interlude/cmd/internal/terminal"
	"github.com/interlude-go/interlude/lifecycle"
)

// asker asks a person on a terminal, with the control that suits the question. The question itself
// was printed before.
type asker struct {
	ctx     context.Context //nolint:containedctx // of the one call that asks
	in, out *os.File
}

// ask returns the answer that a person gives on the terminal. If the question does not take it, it
// asks again.
func ask(ctx context.Context, q *lifecycle.Question, in, out *os.File) (lifecycle.Reply, error) {
	a := asker{ctx, in, out}
	for {
		r := lifecycle.Reply{ID: q.ID, Seen: q.Digest()}
		if err := a.fill(q, &r); err != nil {
			return r, err
		}
		err := r.CheckFor(*q)
		if err == nil {
			err = r.Validate()
		}
		if err == nil {
			return r, nil
		}
		fmt.Fprintln(out, terminal.Line("! "+err.Error()))
	}
}

func (a asker) fill(q *lifecycle.Question, r *lifecycle.Reply) error {
	switch {
	case q.Subject != nil:
		return a.approval(q, r)
	case len(q.Schema) > 0:
		return a.form(q, r)
	case len(q.Options) > 0:
		return a.choice(q, r)
	case q.Kind == lifecycle.Confirm, q.Kind == lifecycle.RiskAck:
		return a.yesOrNo(q, r)
	case len(q.RequiredFields) > 0:
		return a.named(q, r)
	}
	return a.run(words("Your answer", &r.Text))
}

// run shows fields, one after the other. Esc and Ctrl-C leave without an answer. The plain prompts
// of $ACCESSIBLE are for screen readers.
func (a asker) run(fields ...huh.Field) error {
	form := huh.NewForm(huh.NewGroup(fields...)).WithInput(a.in).WithOutput(a.out).WithShowHelp(true).
		WithTheme(theme()).WithWidth(terminal.Width)
	var err error
	if os.Getenv("ACCESSIBLE") != "" {
		err = form.WithAccessible(true).RunWithContext(a.ctx)
	} else {
		// The form itself would end at Ctrl-C while the terminal is still read.
		form.SubmitCmd, form.CancelCmd = tea.Quit, tea.Quit
		_, err = tea.NewProgram(form, tea.WithInput(a.in), tea.WithOutput(a.out), tea.WithContext(a.ctx),
			tea.WithReportFocus()).Run()
	}
	if form.State == huh.StateAborted || errors.Is(err, huh.ErrUserAborted) || errors.Is(err, tea.ErrInterrupted) ||
		a.ctx.Err() != nil {
		return command.Refusef("nothing was answered: the question still waits")
	}
	return err
}

func theme() *huh.Theme {
	if os.Getenv("NO_COLOR") != "" {
		return huh.ThemeBase()
	}
	return huh.ThemeBase16()
}

// words is a field for a text that must not be empty.
func words(title string, into *string) *huh.Text {
	return huh.NewText().Title(title).Value(into).Lines(4).CharLimit(lifecycle.MaxReplyText).Validate(notEmpty)
}

func notEmpty(text string) error {
	if strings.TrimSpace(text) == "" {
		return errors.New("write something first")
	}
	return nil
}

// ownWords stands for an answer that is none of the options.
const ownWords = -1

func (a asker) choice(q *lifecycle.Question, r *lifecycle.Reply) error {
	options := make([]huh.Option[int], 0, len(q.Options)+1)
	for i, o := range q.Options {
		options = append(options, huh.NewOption(terminal.Line(o.Label), i))
	}
	options = append(options, huh.NewOption("In my own words …", ownWords))
	picked := 0
	if err := a.run(huh.NewSelect[int]().Title("Choose").Options(options...).Value(&picked)); err != nil {
		return err
	}
	if picked == ownWords {
		return a.run(words("Your answer", &r.Text))
	}
	r.Text = q.Options[picked].Value
	return nil
}

func (a asker) yesOrNo(q *lifecycle.Question, r *lifecycle.Reply) error {
	title, yes := "Yes or no?", false
	if q.Kind == lifecycle.RiskAck {
		title = "Do you accept the risk?"
	}
	if err := a.run(huh.NewConfirm().Title(title).Affirmative("Yes").Negative("No").Value(&yes)); err != nil {
		return err
	}
	if r.Text = "no"; yes {
		r.Text = "yes"
	}
	return nil
}

// named asks for the parts of a text that the question requires by name.
func (a asker) named(q *lifecycle.Question, r *lifecycle.Reply) error {
	texts := make([]string, len(q.RequiredFields))
	fields := make([]huh.Field, len(texts))
	for i, name := range q.RequiredFields {
		fields[i] = huh.NewInput().Title(terminal.Line(name)).Value(&texts[i]).Validate(notEmpty)
	}
	if err := a.run(fields...); err != nil {
		return err
	}
	for i, name := range q.RequiredFields {
		texts[i] = name + ": " + texts[i]
	}
	r.Text = strings.Join(texts, "\n")
	return nil
}

func (a asker) approval(q *lifecycle.Question, r *lifecycle.Reply) error {
	options := []huh.Option[lifecycle.Decision]{huh.NewOption("Approve", lifecycle.Approve),
		huh.NewOption("Reject, with a reason", lifecycle.Reject)}
	if !q.DecidedBySeveral() {
		options = slices.Insert(options, 1, huh.NewOption("Edit the arguments, and approve", lifecycle.Edit))
	}
	if q.AlsoText {
		options = append(options, huh.NewOption("Answer in my own words", lifecycle.Respond))
	}
	r.Decision = lifecycle.Reject
	err := a.run(huh.NewSelect[lifecycle.Decision]().Title("Decide").Options(options...).Value(&r.Decision))
	if err != nil {
		return err
	}
	switch r.Decision {
	case lifecycle.Edit:
		text := terminal.JSON(indented(q.Subject.Arguments, ""))
		if err := a.run(huh.NewText().Title("Arguments, as JSON").Value(&text).Lines(12).Validate(isJSON)); err != nil {
			return err
		}
		r.Value = json.RawMessage(text)
	case lifecycle.Reject:
		return a.run(huh.NewText().Title("Why? (may stay empty)").Value(&r.Text).Lines(3))
	case lifecycle.Respond:
		return a.run(words("Your answer", &r.Text))
	case lifecycle.Approve:
	}
	return nil
}

func isJSON(text string) error {
	if !json.Valid([]byte(text)) {
		return errors.New("this is no JSON yet")
	}
	return nil
}
