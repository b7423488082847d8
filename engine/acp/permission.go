package acp

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	sdk "github.com/coder/acp-go-sdk"

	"github.com/interlude-go/interlude/engine/approval"
	"github.com/interlude-go/interlude/engine/process"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
)

// Why a turn stops to ask for a permission: errAsked if its prompt is canceled, errWaiting if the
// prompt stays open.
var (
	errAsked   = errors.New("acp: the agent asks for a permission")
	errWaiting = errors.New("acp: the agent asks for a permission, and waits")
)

// permissionRequest has the parameters of session/request_permission. The SDK's type does not
// keep the subject byte for byte.
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

// handlePermission handles a permission request, under a.handling: it is answered by an earlier
// decision on the same subject or by the mode, or a person is asked.
func (a *agent) handlePermission(t *turn, e envelope) {
	var r permissionRequest
	if err := json.Unmarshal(e.Params, &r); err != nil {
		_ = a.refuse(e.ID, sdk.NewInvalidParams(process.Clip(err.Error(), 200)))
		return
	}
	if a.waiting != nil {
		a.waiting.enqueue(a, e)
		return
	}
	if t == nil || !t.live || r.SessionID != a.session || t.ctx.Err() != nil {
		a.answerPermission(e, nil)
		return
	}
	if err := t.messages.end(t.storeMessage); err != nil {
		t.halt(err)
		a.answerPermission(e, nil)
		return
	}
	about := t.tools.subject(r.ToolCall.toolCall, r.ToolCall.Content)
	options := r.choices()
	switch decided, err := t.granted(about.digest(), options); {
	case err != nil: // the decision may not be stored as used
		t.halt(err)
		a.answerPermission(e, nil)
	case decided != nil:
		a.answerPermission(e, decided)
	case t.in.Mode == fsm.ModeAuto:
		a.answerPermission(e, t.automaticChoice(about, options))
	case len(options) == 0:
		t.diagnose(fsm.WarnEngineDiagnostic, "a permission request without options was canceled")
		a.answerPermission(e, nil)
	default:
		t.ask(about, options, e)
	}
}

// answerPermission answers a request with an option, or as canceled for nil.
func (a *agent) answerPermission(e envelope, option *choice) {
	outcome := sdk.NewRequestPermissionOutcomeCancelled()
	if option != nil {
		outcome = sdk.NewRequestPermissionOutcomeSelected(sdk.PermissionOptionId(option.ID))
	}
	_ = a.reply(e.ID, sdk.RequestPermissionResponse{Outcome: outcome}) // an agent that has ended needs no answer
}

// choices are the options to show. Options without an id are dropped.
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

// distinct reports whether no option's id is the label, id or list number of another: a person may
// answer with any of these.
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

// allows, rejects and isAlways read an option's kind: allow_once, allow_always, reject_once,
// reject_always.
func (c choice) allows() bool   { return strings.HasPrefix(c.Kind, "allow") }
func (c choice) rejects() bool  { return strings.HasPrefix(c.Kind, "reject") }
func (c choice) isAlways() bool { return strings.HasSuffix(c.Kind, "_always") }

// granted returns the option that a person chose earlier for the subject, or nil. A decision that
// applies once is removed, and its removal stored, before it is applied.
func (t *turn) granted(digest string, options []choice) (*choice, error) {
	if digest == "" {
		return nil, nil //nolint:nilnil // no decision, no error
	}
	for i, g := range t.state.Grants {
		option := g.Choice.matchIn(options)
		if g.Digest != digest || option == nil {
			continue
		}
		if g.Choice.isAlways() {
			return option, nil
		}
		rest := append([]grant(nil), t.state.Grants[:i]...)
		t.state.Grants = append(rest, t.state.Grants[i+1:]...)
		return option, t.store()
	}
	return nil, nil //nolint:nilnil // no decision, no error
}

// matchIn finds the same option in another request: by kind and id, or by kind and name, since some
// agents choose new ids.
func (c choice) matchIn(options []choice) *choice {
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

func (t *turn) automaticChoice(about subject, options []choice) *choice {
	wanted := choice.rejects
	if t.cfg.AutoPermission == Allow {
		wanted = choice.allows
	}
	found := firstOnce(options, wanted)
	if found == nil || !found.allows() {
		t.diagnose(fsm.WarnEngineDiagnostic, "a permission was refused, since nobody can be asked in auto mode: "+
			t.agent.redacted(about.name()))
	}
	return found
}

// firstOnce returns the first option of the kind that applies once, else the first that applies
// always, or nil.
func firstOnce(options []choice, wanted func(choice) bool) (found *choice) {
	for i, o := range options {
		if wanted(o) && (found == nil || found.isAlways() && !o.isAlways()) {
			found = &options[i]
		}
	}
	return found
}

// ask ends the turn with a question. Requests within Config.Gather are asked together. Then the
// prompt and the requests are canceled. With Config.PermissionWait the turn ends immediately and
// the prompt stays open. A request that cannot be shown completely is canceled without a question,
// since no one should approve unseen content; so are indistinguishable and surplus requests, which
// the agent may repeat.
func (t *turn) ask(about subject, options []choice, e envelope) {
	a := t.agent
	q, document, err := t.question(about, options)
	if err != nil {
		t.diagnose(fsm.WarnEngineDiagnostic, "a permission request was canceled, since what it is for cannot be "+
			"shown in whole: "+err.Error())
		a.answerPermission(e, nil)
		return
	}
	q, _ = interaction.Normalize(q)
	asked := append(slices.Clone(t.asked), permissionQuestion{Digest: about.digest(), Title: a.redacted(about.name()),
		Options: options, Document: document, Seen: q.Digest()})
	if !t.fits(asked) {
		a.answerPermission(e, nil)
		return
	}
	t.asked, t.out.Questions = asked, append(t.out.Questions, q)
	if t.sticky && t.cfg.PermissionWait > 0 {
		t.live = false
		t.nameQuestions()
		a.waiting = &waitingRequest{request: e}
		t.halt(errWaiting)
		return
	}
	if t.requests = append(t.requests, e); len(asked) == 1 {
		time.AfterFunc(t.cfg.Gather, func() {
			a.handling.Lock()
			defer a.handling.Unlock()
			if a.turn == t && t.live && t.ctx.Err() == nil {
				t.park()
				t.halt(errAsked)
			}
		})
	}
}

func (t *turn) fits(asked []permissionQuestion) bool {
	others, last := asked[:len(asked)-1], asked[len(asked)-1]
	body, err := json.Marshal(asked)
	return len(others) == 0 || err == nil && len(body) <= maxAsked && len(asked) <= interaction.MaxQuestions &&
		!slices.ContainsFunc(others, func(q permissionQuestion) bool { return q.Digest == last.Digest })
}

func (t *turn) park() {
	t.live = false // its text about the cancel is not a message of the turn
	t.nameQuestions()
	_ = t.agent.stop()
	for _, e := range t.requests {
		t.agent.answerPermission(e, nil)
	}
	t.requests = nil
}

func (t *turn) parkAsked() bool {
	t.agent.handling.Lock()
	defer t.agent.handling.Unlock()
	if len(t.asked) > 0 && t.live {
		t.park()
	}
	return len(t.asked) > 0
}

// nameQuestions sets the questions' Refs to their subjects' digests, because a repeated proposal
// has new call ids.
func (t *turn) nameQuestions() {
	for i := range t.out.Questions {
		if q := &t.out.Questions[i]; len(t.asked) > 1 || q.Subject != nil {
			q.Ref = t.asked[i].Digest
		}
	}
}

func (s subject) name() string {
	title := strings.Join(strings.Fields(interaction.Visible(s.Title)), " ") // long white space is counted first
	if title == "" {
		title = s.Kind
	}
	if title == "" {
		title = "something that it does not name"
	}
	return process.Clip(title, maxLabel)
}

// question makes the question for a person. document has a subject that is too large for a
// question, else nil.
func (t *turn) question(about subject, options []choice) (q interaction.Question, document *approval.Document,
	_ error) {
	visible := func(s string) string { return interaction.Visible(t.agent.redacted(s)) }
	q = interaction.Question{
		Kind: interaction.ChooseOne, Prompt: "The agent asks for permission: " + visible(about.name()),
		DefaultPolicy: interaction.SafeDefault,
	}
	if twoWays(options) {
		q.Kind = interaction.RiskAck
	}
	if s := t.approvable(about); s != nil {
		// The agent executes its own proposal and cannot receive other arguments.
		q.Kind, q.Subject, q.Schema, q.AlsoText = interaction.Approval, s, json.RawMessage("false"), true
	}
	for _, o := range options {
		q.Options = append(q.Options, interaction.Option{Label: visible(o.Name), Value: o.value()})
	}
	if q.Subject != nil && len(q.Subject.Changes) > 0 {
		about.Content = about.withoutDiffs() // the question shows the diffs as changes
	}
	q.Context = about.details(visible, interaction.MaxContext)
	if len(q.Context) <= interaction.MaxContext {
		return q, nil, nil
	}
	document, err := approval.Write(t.in.ArtifactDir, fmt.Sprintf("permission-%d", t.in.Attempt), q.Context)
	if err != nil {
		return q, nil, err
	}
	q.Context = document.Note(len(q.Context)) + about.details(visible, maxPart)
	q.Context, _ = approval.Cut(q.Context, interaction.MaxContext)
	return q, document, nil
}

// approvable is the subject as a person approves it; nil if it cannot be shown exactly.
func (t *turn) approvable(about subject) *interaction.Subject {
	s := &interaction.Subject{Tool: about.Kind, Title: interaction.Visible(t.agent.redacted(about.name()))}
	if s.Tool == "" {
		s.Tool = "other" // the protocol's word
	}
	if canonical(about.RawInput) != nil {
		s.Arguments = json.RawMessage(t.agent.redacted(string(about.RawInput)))
	}
	if s.Validate() != nil || interaction.Visible(s.Tool) != s.Tool {
		return nil
	}
	if s.Changes = about.changes(t.agent.redacted); s.Validate() != nil {
		s.Changes = nil // the content is in the question's context
	}
	return s
}

// maxPart is how many bytes of each part of a large subject are shown.
const maxPart = interaction.MaxContext / 6

func twoWays(options []choice) bool {
	return len(options) == 2 && (options[0].allows() && options[1].rejects() || options[0].rejects() &&
		options[1].allows())
}

// details returns the parts of the subject as text for the person. A part over the limit is
// shortened to its beginning and end.
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
	add("input", interaction.VisibleJSON(s.RawInput, ""))
	add("locations", interaction.VisibleJSON(s.Locations, ""))
	add("content", interaction.VisibleJSON(s.Content, ""))
	return b.String()
}
