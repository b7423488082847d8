package console

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

// asker asks a person on a terminal, with the control that suits the question, which was printed
// before.
type asker struct {
	ctx     context.Context //nolint:containedctx // of the one call that asks
	in, out *os.File
	columns int  // in which an edit is shown side by side; 0: one below the other
	edits   bool // begins with the arguments of an approval that may be edited
	// drafts are the typed texts of controls that the person left, by control; nil: they are dropped.
	drafts map[string]string
}

// write shows a field for a text, which begins with its draft.
func (a asker) write(name string, text *string, field func() huh.Field) error {
	if draft, kept := a.drafts[name]; kept {
		*text = draft
		delete(a.drafts, name)
	}
	err := a.run(field())
	a.retain(err, name, *text)
	return err
}

// retain stores a draft if the person leaves a control.
func (a asker) retain(err error, name, text string) {
	if errors.Is(err, errLeft) && a.drafts != nil && text != "" {
		a.drafts[name] = text
	}
}

// ask returns the person's answer, and asks again if the question does not accept it.
func (a asker) ask(q *lifecycle.Question) (lifecycle.Reply, error) {
	for {
		r := lifecycle.Reply{ID: q.ID, Seen: q.Digest()}
		if err := a.fill(q, &r); err != nil {
			return r, err
		}
		a.edits = false
		if r.AcceptsRisk(*q) && !r.AcceptRisk {
			sure, err := a.pick("Do you accept the risk?", []string{"Yes, I accept it", "No, back"}, unpicked, "yn")
			if err != nil {
				return r, err
			}
			if sure != 0 {
				continue
			}
			r.AcceptRisk = true
		}
		err := r.ValidateFor(*q)
		if err == nil {
			err = r.Validate()
		}
		if err == nil {
			return r, nil
		}
		a.print("! " + command.Words(err))
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
	return a.words(&r.Text)
}

// print writes lines above the controls, where they stay.
func (a asker) print(text string) { fmt.Fprintln(a.out, terminal.Text(text)) }

// run shows fields one after another. Esc and Ctrl-C leave without an answer. $ACCESSIBLE selects
// plain prompts for screen readers.
func (a asker) run(fields ...huh.Field) error {
	form := huh.NewForm(huh.NewGroup(fields...)).WithInput(a.in).WithOutput(a.out).WithShowHelp(true).
		WithTheme(theme()).WithWidth(terminal.Width).WithKeyMap(keyMap())
	var err error
	if os.Getenv("ACCESSIBLE") != "" {
		err = form.WithAccessible(true).RunWithContext(a.ctx)
	} else {
		// The form itself would end at Ctrl-C while the terminal is still being read.
		form.SubmitCmd, form.CancelCmd = tea.Quit, tea.Quit
		_, err = tea.NewProgram(form, tea.WithInput(a.in), tea.WithOutput(a.out), tea.WithContext(a.ctx),
			tea.WithReportFocus()).Run()
	}
	if form.State == huh.StateAborted || errors.Is(err, huh.ErrUserAborted) || errors.Is(err, tea.ErrInterrupted) ||
		a.ctx.Err() != nil {
		return errLeft
	}
	return err
}

// keyMap is huh's keys, and Esc, which leaves. The help line below a field shows it.
func keyMap() *huh.KeyMap {
	keys := huh.NewDefaultKeyMap()
	keys.Quit.SetKeys("ctrl+c", "esc")
	keys.Text.Submit.SetHelp("enter", "submit • esc leave")
	keys.Text.Next.SetHelp("enter", "next • esc leave")
	keys.Input.Submit.SetHelp("enter", "submit • esc leave")
	keys.Input.Next.SetHelp("enter", "next • esc leave")
	return keys
}

func theme() *huh.Theme {
	if os.Getenv("NO_COLOR") != "" {
		return huh.ThemeBase()
	}
	return huh.ThemeBase16()
}

// words asks for an answer as a text.
func (a asker) words(into *string) error {
	return a.write("words", into, func() huh.Field {
		return huh.NewText().Title("Your answer").Value(into).Lines(4).CharLimit(lifecycle.MaxReplyText).
			Validate(notEmpty)
	})
}

func notEmpty(text string) error {
	if strings.TrimSpace(text) == "" {
		return errors.New("enter a text first")
	}
	return nil
}

func (a asker) choice(q *lifecycle.Question, r *lifecycle.Reply) error {
	labels := make([]string, 0, len(q.Options)+1)
	for _, o := range q.Options {
		labels = append(labels, terminal.Option(o.Label, o.Value))
	}
	if !q.Only {
		labels = append(labels, "In my own words …")
	}
	picked, err := a.pick("Choose", labels, unpicked, "")
	if err != nil {
		return err
	}
	if picked == len(q.Options) {
		return a.words(&r.Text)
	}
	r.Text = q.Options[picked].Value
	return nil
}

func (a asker) yesOrNo(q *lifecycle.Question, r *lifecycle.Reply) error {
	title := "Yes or no?"
	if q.Kind == lifecycle.RiskAck {
		title = "Do you accept the risk?"
	}
	answers := []string{"yes", "no"}
	picked, err := a.pick(title, []string{"Yes", "No"}, unpicked, "yn")
	if err == nil {
		r.Text, r.AcceptRisk = answers[picked], picked == 0 // the title names the risk
	}
	return err
}

func (a asker) named(q *lifecycle.Question, r *lifecycle.Reply) error {
	texts := make([]string, len(q.RequiredFields))
	fields := make([]huh.Field, len(texts))
	for i, name := range q.RequiredFields {
		texts[i] = a.drafts[name]
		fields[i] = huh.NewInput().Title(terminal.Name(name)).Value(&texts[i]).Validate(notEmpty)
	}
	if err := a.run(fields...); err != nil {
		for i, name := range q.RequiredFields {
			a.retain(err, name, texts[i])
		}
		return err
	}
	for i, name := range q.RequiredFields {
		texts[i] = name + ": " + texts[i]
	}
	r.Text = strings.Join(texts, "\n")
	return nil
}

func (a asker) approval(q *lifecycle.Question, r *lifecycle.Reply) error {
	labels, decisions := []string{"Approve"}, []lifecycle.Decision{lifecycle.Approve}
	if !q.DecidedBySeveral() && string(q.Schema) != "false" { // false permits no other arguments
		labels, decisions = append(labels, "Edit the arguments, and approve"), append(decisions, lifecycle.Edit)
	}
	labels, decisions = append(labels, "Reject, with a reason"), append(decisions, lifecycle.Reject)
	if q.AlsoText {
		labels, decisions = append(labels, "Answer in my own words"), append(decisions, lifecycle.Respond)
	}
	for {
		picked, err := slices.Index(decisions, lifecycle.Edit), error(nil)
		if !a.edits || picked < 0 {
			picked, err = a.pick("Decide", labels, unpicked, "")
		}
		if a.edits = false; err != nil {
			return err
		}
		r.Decision, r.Value = decisions[picked], nil
		switch r.Decision {
		case lifecycle.Reject:
			return a.write(reasonDraft, &r.Text, func() huh.Field {
				return huh.NewText().Title("Why? (optional)").Value(&r.Text).Lines(3)
			})
		case lifecycle.Respond:
			return a.words(&r.Text)
		case lifecycle.Edit:
			if err := a.edit(q, r); err != nil {
				return err
			}
		case lifecycle.Approve:
		}
		if r.AcceptRisk, err = a.confirm(q, r.Value); r.AcceptRisk || err != nil {
			return err
		}
	}
}

// edit lets the person edit an approval's arguments until the question accepts them.
func (a asker) edit(q *lifecycle.Question, r *lifecycle.Reply) error {
	r.Value = q.Subject.Arguments
	for {
		var err error
		if r.Value, err = a.json("arguments", "Arguments, as JSON", r.Value); err != nil {
			return err
		}
		checked := *r
		checked.AcceptRisk = true // it is confirmed afterwards
		if err = checked.ValidateFor(*q); err == nil {
			return nil
		}
		a.print("! " + command.Words(err))
	}
}

// confirm asks again before a call is approved. It names the call and shows the end of its
// arguments, which may have scrolled away.
func (a asker) confirm(q *lifecycle.Question, edited json.RawMessage) (bool, error) {
	arguments := q.Subject.Arguments
	if edited != nil {
		arguments = edited
	}
	if len(arguments) > 0 {
		a.print(ending(terminal.Value(arguments, ""), maxEnding))
	}
	if edited != nil {
		a.print("the change:")
		fmt.Fprintln(a.out, terminal.Diff(terminal.Value(q.Subject.Arguments, "")+"\n", terminal.Value(edited, "")+"\n",
			terminal.Layout{Columns: a.columns}))
	}
	title, yes := "Approve this call of "+terminal.Name(q.Subject.Tool)+"?", "Yes, approve it"
	if risk := q.Subject.Risk; risk != "" {
		a.print("risk: " + risk)
		yes = "Yes, approve it and accept the risk"
	}
	picked, err := a.pick(title, []string{yes, "No, back"}, unpicked, "yn")
	return picked == 0, err
}

// reasonDraft names the draft of the reason of a rejection.
const reasonDraft = "reason"

// maxEnding is the number of lines of arguments in a confirmation.
const maxEnding = 12

func ending(text string, most int) string {
	var lines []string
	for line := range strings.Lines(text) {
		r := []rune(strings.TrimRight(line, "\n"))
		for len(r) > terminal.Width {
			lines, r = append(lines, string(r[:terminal.Width])), r[terminal.Width:]
		}
		lines = append(lines, string(r))
	}
	if above := len(lines) - most; above > 0 {
		lines = append([]string{fmt.Sprintf("… %d lines above; the arguments end with:", above)}, lines[above:]...)
	}
	return strings.Join(lines, "\n")
}

func isJSON(text string) error {
	if !json.Valid([]byte(text)) {
		return errors.New("this is not yet valid JSON")
	}
	return nil
}
