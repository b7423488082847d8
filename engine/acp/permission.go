package acp

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	sdk "github.com/coder/acp-go-sdk"

	"github.com/interlude-go/interlude/engine/approval"
	"github.com/interlude-go/interlude/engine/process"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
)

// Why a turn stops that asks: its prompt is canceled, or stays open.
var (
	errAsked = errors.New("acp: the agent asks for a permission")
	errHeld  = errors.New("acp: the agent asks for a permission, and waits")
)

// permissionRequest is the parameters of session/request_permission. It is read here, because what
// is asked for must be known exactly.
//
//nolint:tagliatelle // the protocol's words
type permissionRequest struct {
	SessionID string `json:"sessionId"`
	ToolCall  struct {
		toolCall

		Content json.RawMessage `json:"content"`
	} `json:"toolCall"`
	Options []struct {
		ID   string `json:"optionId"`
		Name string `json:"name"`
		Kind string `json:"kind"`
	} `json:"options"`
}

// permission decides about a request, under a.hear: by what a person has decided on the same
// subject, by the mode, or by asking.
func (a *agent) permission(t *turn, e envelope) {
	var r permissionRequest
	if err := json.Unmarshal(e.Params, &r); err != nil {
		_ = a.refuse(e.ID, sdk.NewInvalidParams(process.Clip(err.Error(), 200)))
		return
	}
	if a.held != nil { // the person sees one at a time
		a.held.wait(a, e)
		return
	}
	if t == nil || !t.speaking || r.SessionID != a.session || t.asked != nil || t.ctx.Err() != nil {
		a.decide(e, nil)
		return
	}
	if err := t.messages.end(t.say); err != nil {
		t.halt(err)
		a.decide(e, nil)
		return
	}
	about := t.tools.subject(r.ToolCall.toolCall, r.ToolCall.Content)
	options := r.choices()
	switch decided, err := t.granted(about.digest(), options); {
	case err != nil: // it is not known to be used up
		t.halt(err)
		a.decide(e, nil)
	case decided != nil:
		a.decide(e, decided)
	case t.in.Mode == fsm.ModeAuto:
		a.decide(e, t.automatic(about, options))
	case len(options) == 0:
		t.diagnose(fsm.WarnEngineDiagnostic, "a permission request without options was canceled")
		a.decide(e, nil)
	default:
		t.ask(about, options, e)
	}
}

// decide answers a request with an option; nil is a cancel.
func (a *agent) decide(e envelope, option *choice) {
	outcome := sdk.NewRequestPermissionOutcomeCancelled()
	if option != nil {
		outcome = sdk.NewRequestPermissionOutcomeSelected(sdk.PermissionOptionId(option.ID))
	}
	_ = a.reply(e.ID, sdk.RequestPermissionResponse{Outcome: outcome}) // an agent that has ended needs no answer
}

// choices are the options that can be offered: each has an id of its own.
func (r permissionRequest) choices() []choice {
	var all []choice
	seen := make(map[string]bool)
	for _, o := range r.Options {
		if o.ID == "" || len(o.ID) > maxOptionID || seen[o.ID] || len(all) == maxOptions {
			continue
		}
		seen[o.ID] = true
		all = append(all, choice{ID: o.ID, Name: process.Clip(o.Name, maxLabel), Kind: process.Clip(o.Kind, maxLabel)})
	}
	if !distinct(all) {
		for i := range all {
			all[i].Value = fmt.Sprintf("option-%d", i+1)
		}
	}
	return all
}

// distinct reports whether each id means its own option, also where a person answers with a label
// or a number of the list.
func distinct(all []choice) bool {
	for i, o := range all {
		for j, other := range all {
			if i != j && (o.ID == strconv.Itoa(j+1) || strings.EqualFold(o.ID, other.ID) || strings.EqualFold(o.ID,
				other.Name)) {
				return false
			}
		}
	}
	return true
}

// allows and lasts read an option's kind: allow_once, allow_always, reject_once, reject_always.
func (c choice) allows() bool  { return strings.HasPrefix(c.Kind, "allow") }
func (c choice) rejects() bool { return strings.HasPrefix(c.Kind, "reject") }
func (c choice) lasts() bool   { return strings.HasSuffix(c.Kind, "_always") }

// granted finds what a person decided on the subject. A decision for once is used up, and that is
// stored, before it is applied.
func (t *turn) granted(digest string, options []choice) (*choice, error) {
	if digest == "" {
		return nil, nil //nolint:nilnil // no decision, no error
	}
	for i, g := range t.state.Grants {
		option := g.Choice.among(options)
		if g.Digest != digest || option == nil {
			continue
		}
		if g.Choice.lasts() {
			return option, nil
		}
		rest := append([]grant(nil), t.state.Grants[:i]...)
		t.state.Grants = append(rest, t.state.Grants[i+1:]...)
		return option, t.store()
	}
	return nil, nil //nolint:nilnil // no decision, no error
}

// among finds the same option in another request: by its id, or where ids are new in each request
// by its name; of the same kind in any case.
func (c choice) among(options []choice) *choice {
	for _, same := range []func(o choice) bool{
		func(o choice) bool { return o.ID == c.ID },
		func(o choice) bool { return o.Name == c.Name },
	} {
		for i, o := range options {
			if o.Kind == c.Kind && same(o) {
				return &options[i]
			}
		}
	}
	return nil
}

// automatic answers where nobody is to be asked (H4).
func (t *turn) automatic(about subject, options []choice) *choice {
	wanted := choice.rejects
	if t.cfg.AutoPermission == Allow {
		wanted = choice.allows
	}
	var found *choice
	for i, o := range options {
		if wanted(o) && (found == nil || found.lasts() && !o.lasts()) {
			found = &options[i]
		}
	}
	if found == nil || !found.allows() {
		t.diagnose(fsm.WarnEngineDiagnostic, "a permission was refused, since nobody can be asked in auto mode: "+
			t.agent.text(about.name()))
	}
	return found
}

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
