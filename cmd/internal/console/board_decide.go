package console

import (
	"crypto/rand"
	"fmt"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/interlude-go/interlude/cmd/internal/command"
	"github.com/interlude-go/interlude/cmd/internal/terminal"
	"github.com/interlude-go/interlude/lifecycle"
)

// The board's decisions, claims and notes.

// decidable reports why the chosen questions cannot be decided with one key; empty: they can.
func (b *board) decidable(all []*lifecycle.InboxQuestion, d lifecycle.Decision) string {
	b.detail() // updates unseen: several keys may arrive between two views
	first := &all[0].Question
	if b.file > 0 {
		return "esc shows the question again; then decide"
	}
	for _, o := range all {
		q := &o.Question
		switch {
		case q.Subject == nil && len(all) > 1:
			return "only approvals are decided together: x removes a mark"
		case q.Subject == nil && optionOf(q, d) == nil:
			return "not to approve or reject (" + kinds[q.Kind] + "): enter answers it"
		case len(all) > 1 && q.Subject.Tool != first.Subject.Tool:
			return "the marked questions are for different tools: x removes a mark"
		case len(all) > 1 && q.Subject.Risk != "":
			return "a marked question has a risk, which is accepted separately: x removes a mark"
		}
	}
	if b.unseen > 0 {
		return terminal.Many(b.unseen, "more line") + ": space shows the rest, then decide"
	}
	return ""
}

// optionOf returns the answer that means yes (Approve) or no to a question without a call, or nil.
func optionOf(q *lifecycle.Question, d lifecycle.Decision) *lifecycle.Option {
	yes := d == lifecycle.Approve
	switch {
	case q.Kind != lifecycle.Confirm && q.Kind != lifecycle.RiskAck || len(q.Schema) > 0:
		return nil
	case len(q.Options) == 0 && yes:
		return &lifecycle.Option{Label: "yes", Value: "yes"}
	case len(q.Options) == 0:
		return &lifecycle.Option{Label: "no", Value: "no"}
	}
	switch i := q.YesOption(); {
	case i >= 0 && yes:
		return &q.Options[i]
	case i >= 0 && len(q.Options) == 2:
		return &q.Options[1-i]
	}
	return nil
}

func (b *board) approve() tea.Cmd {
	all := b.chosen()
	if len(all) == 0 {
		return nil
	}
	if b.note = b.decidable(all, lifecycle.Approve); b.note != "" {
		return nil
	}
	then := func() tea.Cmd { return b.decideChosen(lifecycle.Approve, "") }
	q := &all[0].Question
	switch {
	case q.Subject != nil && q.Subject.Risk != "":
		b.confirm(fmt.Sprintf("Approve %s and accept the risk? y/n  (%s)", terminal.Name(q.Subject.Tool),
			terminal.Line(q.Subject.Risk)), then)
		return nil
	case q.Subject == nil && acceptsRisk(q, optionOf(q, lifecycle.Approve).Value):
		b.confirm("Do you accept the risk? y/n", then)
		return nil
	case len(all) > 1:
		b.confirm(fmt.Sprintf("Approve %d calls of %s? y/n", len(all), terminal.Name(q.Subject.Tool)), then)
		return nil
	}
	return then()
}

func acceptsRisk(q *lifecycle.Question, text string) bool {
	r := lifecycle.Reply{Text: text}
	return r.AcceptsRisk(*q)
}

func (b *board) confirm(title string, then func() tea.Cmd) {
	b.mode, b.note, b.then = confirming, title, then
}

func (b *board) reject() tea.Cmd {
	all := b.chosen()
	if len(all) == 0 {
		return nil
	}
	if b.note = b.decidable(all, lifecycle.Reject); b.note != "" {
		return nil
	}
	if all[0].Question.Subject == nil {
		return b.decideChosen(lifecycle.Reject, "")
	}
	b.startTyping(reasoning)
	return nil
}

// drafted are the modes whose text is kept until it is sent, with the names of their drafts.
var drafted = map[mode]string{reasoning: reasonDraft, noting: "note"}

// startTyping types a text, from its draft on.
func (b *board) startTyping(m mode) {
	b.mode, b.entry = m, b.drafts[b.at][drafted[m]]
}

func (b *board) decideChosen(d lifecycle.Decision, reason string) tea.Cmd {
	all := b.chosen()
	what := string(d)
	decisions := make([]decision, len(all))
	for i, o := range all {
		r := lifecycle.Reply{Decision: d, Text: reason}
		if s := o.Question.Subject; s == nil {
			option := optionOf(&o.Question, d)
			what = terminal.Line(option.Label)
			r = lifecycle.Reply{Text: option.Value, AcceptRisk: acceptsRisk(&o.Question, option.Value)} // confirmed
		} else {
			r.AcceptRisk = d == lifecycle.Approve && s.Risk != "" // confirmed before
		}
		decisions[i] = b.decision(o, r)
	}
	if len(all) == 0 {
		return nil
	}
	answers := terminal.Many(len(all), "answer")
	return b.propose(decisions, fmt.Sprintf("%s: %s, to be sent in %s", what, answers, undoTime))
}

// claimTime is how long a claim lasts, as on the page.
const claimTime = 15 * time.Minute

// claim takes the selected question, or gives it back.
func (b *board) claim() tea.Cmd {
	o := b.current()
	if o == nil {
		return nil
	}
	cl, run, q := b.cl.As(b.actor), o.RunID, o.Question
	return func() tea.Msg {
		var err error
		note := "claimed for 15 minutes"
		if now := b.cl.Now(); q.Claim.Lasts(now) && q.Claim.Actor == b.actor.ID {
			err, note = cl.Release(b.ctx, run, q.ID), "released"
		} else {
			err = cl.Claim(b.ctx, run, q.ID, now.Add(claimTime))
		}
		if err != nil {
			note = command.Words(err)
		}
		return sent{notes: []string{note}}
	}
}

// writeNote stores a note on the selected question. The key makes a repeated request safe.
func (b *board) writeNote(text string) tea.Cmd {
	o := b.current()
	if o == nil {
		return nil
	}
	cl, run, question := b.cl.As(b.actor), o.RunID, o.Question.ID
	return func() tea.Msg {
		message := "the note is stored"
		_, err := cl.Note(b.ctx, run, question, lifecycle.Note{Text: text, Key: "cli-" + rand.Text()})
		if err != nil {
			message = command.Words(err)
		}
		return sent{notes: []string{message}}
	}
}
