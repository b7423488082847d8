package interaction

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/internal/schema"
)

// Approval asks for permission to execute the question's Subject. The reply carries a Decision.
const Approval Kind = "approval"

// Subject is the tool call that an Approval asks about. Only engines set it, never the text of an
// agent.
type Subject struct {
	Tool string `json:"tool"`
	// Arguments are executed if approved: one JSON value of at most MaxArguments bytes, stored byte
	// for byte, without duplicate members.
	Arguments json.RawMessage `json:"arguments,omitempty" plain:"exact"`
	// Title and Risk summarise the call's effect and possible damage for people.
	Title string `json:"title,omitempty"`
	Risk  string `json:"risk,omitempty"`
	// Summary distinguishes the call from others of its tool, for lists, subjects of messages and
	// notices: an amount, a path, a recipient. At most MaxSummary bytes. The host's code or the tool
	// sets it.
	Summary string `json:"summary,omitempty"`
	// Changes show people the effect of the call on files or other texts: at most MaxChanges, with at
	// most MaxChangesText bytes in total. Only Arguments are executed.
	Changes []Change `json:"changes,omitempty"`
}

// Decision is a person's decision about an Approval.
type Decision string

// The decisions.
const (
	// Approve: the arguments are executed as they are.
	Approve Decision = "approve"
	// Edit: the reply's Value is executed instead of the arguments.
	Edit Decision = "edit"
	// Reject: nothing is executed. The reply's Text may say why.
	Reject Decision = "reject"
	// Respond: nothing is executed now. The agent receives the reply's Text.
	Respond Decision = "respond"
)

// ErrQuestionChanged is matched by every ChangedError.
var ErrQuestionChanged = errors.New("interaction: the question has changed since the reply's author saw it")

// ChangedError reports that the question has changed since the reply's author saw it: Reply.Seen
// differs from its digest.
type ChangedError struct {
	Seen string
	// Question is the current question.
	Question Question
}

func (e *ChangedError) Error() string {
	return fmt.Sprintf("%v: interaction %d has digest %s, and the reply was made to %.80q", ErrQuestionChanged,
		e.Question.ID, e.Question.Digest(), e.Seen)
}

func (e *ChangedError) Is(target error) bool { return target == ErrQuestionChanged }

// Digest identifies the content of the question: SHA-256, in hexadecimal, over a JSON object with
// the set members of kind, prompt, context, options, only, required_fields, subject, files and
// schema, without blanks, with the members of all objects sorted by name, and numbers as written.
// Number, attempt, time, hints, policy and ref do not count.
func (q Question) Digest() string {
	parts := map[string]any{"kind": q.Kind, "prompt": q.Prompt}
	if q.Context != "" {
		parts["context"] = q.Context
	}
	if len(q.Options) > 0 {
		parts["options"] = q.Options
	}
	if q.Only {
		parts["only"] = true
	}
	if len(q.RequiredFields) > 0 {
		parts["required_fields"] = q.RequiredFields
	}
	if len(q.Schema) > 0 {
		parts["schema"] = digestible(q.Schema)
	}
	if q.Files != nil {
		parts["files"] = q.Files.List
	}
	if s := q.Subject; s != nil {
		subject := map[string]any{"tool": s.Tool}
		if len(s.Arguments) > 0 {
			subject["arguments"] = digestible(s.Arguments)
		}
		if s.Title != "" {
			subject["title"] = s.Title
		}
		if s.Risk != "" {
			subject["risk"] = s.Risk
		}
		if s.Summary != "" {
			subject["summary"] = s.Summary
		}
		if len(s.Changes) > 0 {
			subject["changes"] = s.Changes
		}
		parts["subject"] = subject
	}
	body, err := encodeCanonical(parts)
	if err != nil {
		body = fmt.Appendf(nil, "%#v", parts) // unreachable: texts and valid JSON can be encoded
	}
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:])
}

// digestible returns a JSON value in canonical form. Invalid JSON, which is never asked, is
// returned as a string.
func digestible(raw json.RawMessage) any {
	if validateJSON(raw) == nil {
		if c, err := canonical(raw); err == nil {
			return c
		}
	}
	return string(raw)
}

// plain reports whether the question takes text only.
func (q *Question) plain() bool { return len(q.Schema) == 0 && q.Subject == nil }

// ValidateFor checks the reply against its question. Without Schema and Subject the question takes
// a text, with a Schema a valid Value, and an approval takes a Decision. AlsoText allows a text in
// place of these. A reply that accepts a risk needs AcceptRisk.
//
// The error matches ErrInvalidReply: a *FieldError, or a *ValueError if the schema rejects the
// value. It is a *ChangedError if the question has changed since the author saw it.
func (r Reply) ValidateFor(q Question) error {
	if !q.To.Admits(r.Actor) {
		return &NotAskedError{q.ID, r.Actor, *q.To.Clone()}
	}
	if r.Seen != "" && r.Seen != q.Digest() {
		return &ChangedError{r.Seen, q}
	}
	if err := r.validateAnswer(&q); err != nil {
		return err
	}
	if !r.AcceptRisk && r.AcceptsRisk(q) {
		return &FieldError{"AcceptRisk", "false", "true, since the answer accepts the risk that the question states"}
	}
	return r.validateRememberFor(&q)
}

func (r Reply) validateAnswer(q *Question) error {
	switch {
	case q.Subject != nil:
		return r.validateDecision(q)
	case r.Decision != "":
		return &FieldError{"Decision", string(r.Decision), "none, since the question is not an approval"}
	case len(q.Schema) == 0 && len(r.Value) > 0:
		return &FieldError{"Value", sizeOf(r.Value), "a text in its place, since the question has no schema"}
	case len(q.Schema) == 0:
		return r.checkOnly(q)
	case len(r.Value) == 0 && !q.AlsoText:
		return &FieldError{"Value", "missing", "JSON that the question's schema allows"}
	case r.Text != "" && !q.AlsoText:
		return &FieldError{"Text", sizeOf(r.Text), "none, since the question takes a value"}
	case len(r.Value) == 0:
		return nil
	}
	return validateValue(q.Schema, r.Value)
}

func (r Reply) validateDecision(q *Question) error {
	if q.DecidedBySeveral() {
		return r.validateVote(q)
	}
	switch r.Decision {
	case "":
		if q.AlsoText && len(r.Value) == 0 {
			return nil
		}
		return &FieldError{"Decision", "missing", "approve, edit, reject or respond"}
	case Edit:
		return r.validateEdit(q)
	}
	if len(r.Value) > 0 {
		return &FieldError{"Value", sizeOf(r.Value), "none, unless the arguments are edited"}
	}
	return nil
}

func (r Reply) validateEdit(q *Question) error {
	switch {
	case len(r.Value) == 0:
		return &FieldError{"Value", "missing", "the edited arguments"}
	case len(q.Schema) > 0:
		return validateValue(q.Schema, r.Value)
	case isObject(q.Subject.Arguments) && !isObject(r.Value):
		return &FieldError{"Value", sizeOf(r.Value), "an object, as the arguments are"}
	}
	return nil
}

func isObject(raw json.RawMessage) bool { return bytes.HasPrefix(raw, []byte{'{'}) }

func sizeOf[T ~string | ~[]byte](s T) string { return fmt.Sprintf("%d bytes", len(s)) }

// validateForm checks the fields for forms and approvals, independently of the question.
func (r Reply) validateForm() error {
	switch {
	case len(r.Value) > MaxValue:
		return &FieldError{"Value", sizeOf(r.Value), fmt.Sprintf("at most %d bytes", MaxValue)}
	case len(r.Seen) > maxDigest || !utf8.ValidString(r.Seen):
		return &FieldError{"Seen", sizeOf(r.Seen), "the Digest of the question"}
	}
	if len(r.Value) > 0 {
		err := validateJSON(r.Value)
		if err == nil {
			err = schema.ValidateFinite(r.Value)
		}
		if err != nil {
			return &FieldError{"Value", sizeOf(r.Value), "one JSON value: " + err.Error()}
		}
	}
	switch r.Decision {
	case "", Approve, Edit, Reject:
	case Respond:
		if strings.TrimSpace(r.Text) == "" {
			return &FieldError{"Text", "blank", "the response"}
		}
	default:
		return &FieldError{"Decision", fmt.Sprintf("%.40q", r.Decision), "approve, edit, reject or respond"}
	}
	return r.validateRemember()
}

const maxDigest = 2 * sha256.Size

// AnswerTo converts the reply to the question's answer: with the value of a form, or an approval's
// decision and arguments to execute.
func (r Reply) AnswerTo(q *Question, now time.Time) Answer {
	a := r.Answer(now)
	a.Ref = q.Ref
	if q.HasSelection() {
		if c, ok := q.Select(r.Text); ok {
			a.Selection = &c
		}
	}
	if q.plain() {
		return a
	}
	a.Digest, a.Decision, a.Votes = q.Digest(), r.Decision, q.Votes
	switch r.Decision {
	case Approve:
		a.Arguments = q.Subject.Arguments
	case Edit:
		a.Arguments = r.Value
	default:
		a.Value = r.Value
	}
	return a
}

// Message returns the answer as text for an agent without another source: the reply, the decision,
// or the form as JSON. It marks a default answer as such.
func (a Answer) Message() string {
	if a.Resolution == DefaultAnswer {
		given := a
		given.Resolution = UserReply
		return "Nobody replied in time, so this default answer counts:\n\n" + given.Message()
	}
	note := ""
	if a.Text != "" {
		note = "\n\n" + a.Text
	}
	switch {
	case a.Decision == Approve:
		return "Approved: go on with exactly what was proposed." + note
	case a.Decision == Edit:
		return "Approved with other arguments. Go on with exactly these: " + string(a.Arguments) + note
	case a.Decision == Reject && a.Text != "":
		return "Rejected: do not do it. The reason is:" + note
	case a.Decision == Reject:
		return "Rejected: do not do it."
	case len(a.Value) > 0:
		return string(a.Value) + note
	}
	return a.Text
}

// form limits the question's schema and subject. A malformed one is omitted with a diagnostic and
// the question takes text instead, so that no approval covers arguments that were not shown.
func (n *normalizer) form(q *Question) {
	if len(q.Schema) > 0 {
		usable, dropped, err := usableSchema(q.Schema)
		for _, pattern := range dropped {
			n.diagnose(fsm.WarnAskUserMalformed, fmt.Sprintf("pattern %.80q is left out: it is outside the "+
				"syntax of Go's package regexp", pattern))
		}
		switch {
		case err == nil:
			q.Schema = usable
		case q.Subject != nil:
			n.diagnose(fsm.WarnAskUserMalformed, fmt.Sprintf("the arguments cannot be edited: schema: %v", err))
			q.Schema = json.RawMessage("false")
		default:
			n.diagnose(fsm.WarnAskUserMalformed, fmt.Sprintf("schema is left out: %v", err))
			q.Schema = nil
		}
	}
	if q.Subject != nil {
		subject, err := n.subject(*q.Subject)
		if err != nil {
			n.diagnose(fsm.WarnAskUserMalformed, fmt.Sprintf("subject is left out: %v", err))
			q.Schema = nil // it described the arguments
		}
		q.Subject = subject
	}
	if q.Subject != nil && q.Kind != Approval {
		if q.Kind != "" {
			n.diagnose(fsm.WarnAskUserMalformed, fmt.Sprintf("a question of kind %.40q with a subject is asked as %s",
				q.Kind, Approval))
		}
		q.Kind = Approval
	}
	if q.Kind == "" && len(q.Schema) > 0 {
		q.Kind = FillFields
	}
	q.Schema = bytes.Clone(q.Schema)
	if len(q.Schema) == 0 {
		q.Schema = nil
	}
	q.AlsoText = q.AlsoText && !q.plain()
}

// Validate checks the tool's name, the arguments and the changes. The arguments must be one JSON value
// within MaxArguments, without duplicate members, and with finite float64 numbers. A question with an
// invalid subject takes text instead, with a warning.
func (s Subject) Validate() error {
	if len(s.Arguments) > MaxArguments {
		return fmt.Errorf("arguments have %d bytes, at most %d", len(s.Arguments), MaxArguments)
	}
	if len(s.Arguments) > 0 {
		err := validateJSON(s.Arguments)
		if err == nil {
			err = schema.ValidateFinite(s.Arguments)
		}
		if err != nil {
			return fmt.Errorf("arguments: %w", err)
		}
	}
	if tool, short := cut(s.Tool, MaxLabel); short || tool != s.Tool || strings.TrimSpace(tool) == "" {
		return fmt.Errorf("tool is %.40q, want a text of at most %d bytes", s.Tool, MaxLabel)
	}
	return validateChanges(s.Changes)
}

// subject returns a limited copy of the subject, or an error if it cannot be stored.
func (n *normalizer) subject(s Subject) (*Subject, error) {
	if err := s.Validate(); err != nil {
		return nil, err
	}
	s.Arguments = bytes.Clone(s.Arguments)
	s.Title, s.Risk = n.cut("title", s.Title, MaxLabel), n.cut("risk", s.Risk, MaxLabel)
	s.Summary = n.cut("summary", s.Summary, MaxSummary)
	s.Changes = cloneChanges(s.Changes)
	return &s, nil
}

// ErrNotApproved is matched by every NotApprovedError.
var ErrNotApproved = errors.New("interaction: not approved")

// NotApprovedError reports that nothing may be executed.
type NotApprovedError struct {
	// Answer is the answer instead of an approval; zero if unanswered.
	Answer Answer
	// Changed reports that the answer is to other arguments or another call.
	Changed bool
}

func (e *NotApprovedError) Error() string {
	switch {
	case e.Changed:
		return fmt.Sprintf("%v: the answer is not about the call to be executed now", ErrNotApproved)
	case e.Answer.Decision != "":
		return fmt.Sprintf("%v: question %d: %s: %.400q", ErrNotApproved, e.Answer.ID, e.Answer.Decision, e.Answer.Text)
	}
	return fmt.Sprintf("%v: there is no decision", ErrNotApproved)
}

func (e *NotApprovedError) Is(target error) bool { return target == ErrNotApproved }

// Approved returns the arguments to execute. Pass the question as the engine would ask it now; the
// answer must approve a question with the same digest and Ref. Execute the returned bytes, not
// arguments computed again. The error is a *NotApprovedError if there is no approval, or if the
// question has changed.
func (a Answer) Approved(q Question) (json.RawMessage, error) {
	q, _ = Normalize(q)
	switch {
	case a.Ref != q.Ref || a.Digest != "" && a.Digest != q.Digest():
		return nil, &NotApprovedError{Answer: a, Changed: true}
	case a.Decision != Approve && a.Decision != Edit:
		return nil, &NotApprovedError{Answer: a}
	}
	return a.Arguments, nil
}
