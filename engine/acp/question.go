package acp

import (
	"fmt"
	"strings"

	"github.com/interlude-go/interlude/engine/approval"
	"github.com/interlude-go/interlude/engine/process"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
)

// ask ends the turn with a question. By default the prompt is canceled, and the request with it.
// What cannot be shown to anybody in whole cannot be approved: it is canceled.
func (t *turn) ask(about subject, options []choice, e envelope) {
	a := t.agent
	q, whole, err := t.question(about, options)
	if err != nil {
		t.diagnose(fsm.WarnEngineDiagnostic, "a permission request was canceled, since what it is for cannot be "+
			"shown in whole: "+err.Error())
		a.decide(e, nil)
		return
	}
	t.asked = &asked{Digest: about.digest(), Title: a.text(about.name()), Options: options, Whole: whole}
	t.out.Questions = []interaction.Question{q}
	t.speaking = false // what it says of the cancel is not its own word
	if t.sticky && t.cfg.HoldPermission > 0 {
		a.held = &held{request: e}
		t.halt(errHeld)
		return
	}
	_ = a.stop()
	a.decide(e, nil)
	t.halt(errAsked)
}

// name says what the subject is, for a person, in one line.
func (s subject) name() string {
	title := strings.Join(strings.Fields(s.Title), " ")
	if title == "" {
		title = s.Kind
	}
	if title == "" {
		title = "something that it does not name"
	}
	return process.Clip(title, maxLabel)
}

// question is the request as a person is asked. whole names the file that has all of a subject that
// is too large for a question.
func (t *turn) question(about subject, options []choice) (q interaction.Question, whole *approval.Document, _ error) {
	visible := func(s string) string { return approval.Visible(t.agent.text(s)) }
	q = interaction.Question{
		Kind: interaction.ChooseOne, Prompt: "The agent asks for permission: " + visible(about.name()),
		DefaultPolicy: interaction.SafeDefault,
	}
	if twoWays(options) {
		q.Kind = interaction.RiskAck
	}
	for _, o := range options {
		q.Options = append(q.Options, interaction.Option{Label: visible(o.Name), Value: o.value()})
	}
	q.Context = about.details(visible, interaction.MaxContext)
	if len(q.Context) <= interaction.MaxContext {
		return q, nil, nil
	}
	whole, err := approval.Keep(t.in.ArtifactDir, fmt.Sprintf("permission-%d", t.in.Attempt), q.Context)
	if err != nil {
		return q, nil, err
	}
	q.Context = whole.Note(len(q.Context)) + about.details(visible, maxPart)
	q.Context, _ = approval.Cut(q.Context, interaction.MaxContext)
	return q, whole, nil
}

// maxPart is how much is shown of each part of a subject that is too large for a question, in
// bytes.
const maxPart = interaction.MaxContext / 6

// twoWays reports whether the options are just one to allow and one to reject.
func twoWays(options []choice) bool {
	return len(options) == 2 && (options[0].allows() && options[1].rejects() || options[0].rejects() &&
		options[1].allows())
}

// details are what the person needs to decide: each part of the subject, where it is longer than
// limit its beginning and its end.
func (s subject) details(visible func(string) string, limit int) string {
	var b strings.Builder
	add := func(what, text string) {
		if text = strings.TrimSpace(text); text != "" && text != "null" && text != "[]" && text != "{}" {
			text = visible(text)
			if limit < interaction.MaxContext {
				text, _ = approval.Cut(text, limit)
			}
			fmt.Fprintf(&b, "%s: %s\n", what, text)
		}
	}
	add("kind", s.Kind)
	if s.name() != s.Title {
		add("title", s.Title)
	}
	add("input", string(s.RawInput))
	add("locations", string(s.Locations))
	add("content", string(s.Content))
	return b.String()
}
