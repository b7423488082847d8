package acp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	sdk "github.com/coder/acp-go-sdk"

	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
)

// Why a turn stops that asks: its prompt is canceled, or stays open.
var (
	errAsked = errors.New("acp: the agent asks for a permission")
	errHeld  = errors.New("acp: the agent asks for a permission, and waits")
)

// permissionRequest is the parameters of session/request_permission. It is read here, because what is asked for must be known exactly.
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

// permission decides about a request, under a.hear: by what a person has decided on the same subject, by the mode, or by asking.
func (a *agent) permission(ctx context.Context, t *turn, e envelope) {
	var r permissionRequest
	if err := json.Unmarshal(e.Params, &r); err != nil {
		_ = a.refuse(ctx, e.ID, sdk.NewInvalidParams(clip(err.Error(), 200)))
		return
	}
	if a.held != nil { // the person sees one at a time
		a.held.wait(ctx, a, e)
		return
	}
	if t == nil || !t.speaking || r.SessionID != a.session || t.asked != nil || t.ctx.Err() != nil {
		a.decide(ctx, e, nil)
		return
	}
	if err := t.messages.end(t.say); err != nil {
		t.halt(err)
		a.decide(ctx, e, nil)
		return
	}
	about := t.tools.subject(r.ToolCall.toolCall, r.ToolCall.Content)
	options := r.choices()
	switch decided, err := t.granted(about.digest(), options); {
	case err != nil: // it is not known to be used up
		t.halt(err)
		a.decide(ctx, e, nil)
	case decided != nil:
		a.decide(ctx, e, decided)
	case t.in.Mode == fsm.ModeAuto:
		a.decide(ctx, e, t.automatic(about, options))
	case len(options) == 0:
		t.diagnose(fsm.WarnEngineDiagnostic, "a permission request without options was canceled")
		a.decide(ctx, e, nil)
	default:
		t.ask(ctx, about, options, e)
	}
}

// decide answers a request with an option; nil is a cancel.
func (a *agent) decide(ctx context.Context, e envelope, option *choice) {
	outcome := sdk.NewRequestPermissionOutcomeCancelled()
	if option != nil {
		outcome = sdk.NewRequestPermissionOutcomeSelected(sdk.PermissionOptionId(option.ID))
	}
	_ = a.reply(ctx, e.ID, sdk.RequestPermissionResponse{Outcome: outcome}) // an agent that has ended needs no answer
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
		all = append(all, choice{ID: o.ID, Name: clip(o.Name, maxLabel), Kind: clip(o.Kind, maxLabel)})
	}
	return all
}

// allows and lasts read an option's kind: allow_once, allow_always, reject_once, reject_always.
func (c choice) allows() bool  { return strings.HasPrefix(c.Kind, "allow") }
func (c choice) rejects() bool { return strings.HasPrefix(c.Kind, "reject") }
func (c choice) lasts() bool   { return strings.HasSuffix(c.Kind, "_always") }

// granted finds what a person decided on the subject. A decision for once is used up, and that is stored, before it is applied.
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

// among finds the same option in another request: by its id, or where ids are new in each request by its name; of the same kind in
// any case.
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
		t.diagnose(fsm.WarnEngineDiagnostic, "a permission was refused, since nobody can be asked in auto mode: "+t.agent.text(about.name()))
	}
	return found
}

// ask ends the turn with a question. By default the prompt is canceled, and the request with it.
func (t *turn) ask(ctx context.Context, about subject, options []choice, e envelope) {
	a := t.agent
	t.asked = &asked{Digest: about.digest(), Title: a.text(about.name()), Options: options}
	t.out.Questions = []interaction.Question{t.question(about, options)}
	t.speaking = false // what it says of the cancel is not its own word
	if t.sticky && t.cfg.HoldPermission > 0 {
		a.held = &held{request: e}
		t.halt(errHeld)
		return
	}
	_ = a.stop(ctx)
	a.decide(ctx, e, nil)
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
	return clip(title, maxLabel)
}

// Bounds of what a question shows of its subject, in bytes.
const (
	maxSubject = 8 << 10
	maxDetail  = 2 << 10
)

// question is the request as a person is asked.
func (t *turn) question(about subject, options []choice) interaction.Question {
	text := t.agent.text
	q := interaction.Question{
		Kind: interaction.ChooseOne, Prompt: "The agent asks for permission: " + text(about.name()),
		Context: text(about.details()), DefaultPolicy: interaction.SafeDefault,
	}
	if twoWays(options) {
		q.Kind = interaction.RiskAck
	}
	for _, o := range options {
		q.Options = append(q.Options, interaction.Option{Label: text(o.Name), Value: o.ID})
	}
	return q
}

// twoWays reports whether the options are just one to allow and one to reject.
func twoWays(options []choice) bool {
	return len(options) == 2 && (options[0].allows() && options[1].rejects() || options[0].rejects() && options[1].allows())
}

// details are what the person needs to decide.
func (s subject) details() string {
	var b strings.Builder
	add := func(what, text string, limit int) {
		if text = strings.TrimSpace(text); text != "" && text != "null" && text != "[]" && text != "{}" {
			fmt.Fprintf(&b, "%s: %s\n", what, clip(text, limit))
		}
	}
	add("kind", s.Kind, maxLabel)
	if len(s.Title) > maxLabel {
		add("title", s.Title, maxDetail)
	}
	add("input", string(s.RawInput), maxSubject)
	add("locations", string(s.Locations), maxDetail)
	add("content", string(s.Content), maxSubject)
	return b.String()
}
