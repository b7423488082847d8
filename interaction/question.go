package interaction

import (
	"encoding/json"
	"strings"
	"time"
)

// Kind is the expected kind of answer: a rendering hint, except that an Approval takes a decision,
// and that Only restricts the reply. Otherwise a reply is free text.
type Kind string

// The kinds of question.
const (
	ChooseOne  Kind = "choose_one"
	Confirm    Kind = "confirm"
	FillFields Kind = "fill_fields"
	OpenText   Kind = "open_text"
	RiskAck    Kind = "risk_ack"
)

// DecisionPolicy directs the engine's decision if no one replies in time.
type DecisionPolicy string

// The decision policies; the zero value means EngineJudgement.
const (
	EngineJudgement DecisionPolicy = "engine_judgement"
	SafeDefault     DecisionPolicy = "safe_default"
	Abort           DecisionPolicy = "abort"
)

type Option struct {
	Label string `json:"label"`
	Value string `json:"value"`
	// Yes marks the option of a Confirm or RiskAck that means yes, if no value says so
	// (Question.YesOption).
	Yes bool `json:"yes,omitempty"`
}

// Shown returns the option for display: its label as prose, and its value with each character
// visible, empty if the label already shows it.
func (o Option) Shown() (label, value string) {
	label, value = VisibleProse(o.Label), Visible(o.Value)
	if label == value && value == strings.TrimSpace(value) {
		value = ""
	}
	return label, value
}

// Question is an agent's question to a person. The run sets ID, Attempt and AskedAt. The fields
// below AskedAt never come from an agent's text: unless the run sets them, the engine does or, for
// To, Need, Rejects and Wait, Spec.Ask.
type Question struct {
	// ID is the interaction's number within the run, from 1.
	ID int `json:"interaction_id"`
	// Attempt is the attempt that asked.
	Attempt int `json:"attempt"`

	Kind   Kind   `json:"kind"`
	Prompt string `json:"prompt"`

	Options        []Option       `json:"options,omitempty"`
	RequiredFields []string       `json:"required_fields,omitempty"`
	UIHints        map[string]any `json:"ui_hints,omitempty"` // never used to validate a reply
	Context        string         `json:"context,omitempty"`
	DefaultPolicy  DecisionPolicy `json:"default_decision_policy,omitempty"`
	AskedAt        time.Time      `json:"asked_at"`

	// Schema makes the question a form: the JSON Schema of the reply's Value, or of an approval's
	// edited arguments; at most MaxSchema bytes.
	Schema json.RawMessage `json:"schema,omitempty" plain:"exact"`
	// Subject is the tool call of an Approval; nil for every other kind.
	Subject *Subject `json:"subject,omitempty"`

	// Files are the question's files and pictures; nil: none. A question with invalid ones is not
	// asked (Validate).
	Files *Files `json:"files,omitempty"`

	// To is the audience; nil: everybody.
	To *Audience `json:"to,omitempty"`

	// Notes are people's notes on the question, also once it is settled; nil: none. They are not part
	// of the Digest. The run sets them.
	Notes *Notes `json:"notes,omitempty"`
	// Votes lists the decisions so far on an approval by several people, oldest first; once
	// settled, including the last one. The run sets it.
	Votes []Vote `json:"votes,omitempty"`

	// Claim is the latest claim on the open question, or nil. It may have expired (Claim.Lasts).
	// The run sets it.
	Claim *Claim `json:"claim,omitempty"`

	// Ref is the engine's reference for the question, such as a tool call's id; at most MaxRef
	// bytes. It is copied to Answer.Ref, not shown, and not part of the Digest.
	Ref string `json:"ref,omitempty"`

	// Wait limits how long the question stays open and schedules its steps; nil: the run's policy
	// applies. If only some of a turn's questions have a Wait, the run gives the others a Wait that
	// states the policy.
	Wait *Wait `json:"wait,omitempty"`
	// Fired counts the executed steps of the Wait. EndsAt is its end; zero: never. The run sets
	// both. Fired, Need and Rejects are int8 to keep a Record small (TestARecordIsSmall).
	EndsAt time.Time `json:"ends_at,omitzero"`
	Fired  int8      `json:"steps_fired,omitempty"`

	// Need is the number of people who must approve an Approval, and Rejects the number who must
	// reject it; 0: one. Each is at most MaxNeed, and each person counts once. If either is above
	// one, people can only approve or reject, not edit or claim.
	Need    int8 `json:"need,omitempty"`
	Rejects int8 `json:"rejects,omitempty"`

	// AlsoText lets a form or an approval take text as well.
	AlsoText bool `json:"also_text,omitempty"`
	// Only: a ChooseOne, Confirm or RiskAck accepts only its Choices, by value, label or number;
	// every front end refuses other replies. The answer has a Selection. A question that cannot
	// have it is not asked (Validate).
	Only bool `json:"only,omitempty"`
	// HiddenFor is the number of seconds after AskedAt during which lists and notices leave an open
	// approval out, because the host's policy decides about it (HiddenUntil); 0: it is not hidden, or
	// the policy has left it to people. The run sets it. It is a uint16 to keep a Record small.
	HiddenFor uint16 `json:"hidden_for,omitempty"`
}

// Unasked returns the question without its notes, votes, claim, policy, and the progress and end of
// its wait. It keeps the current audience, and shares memory with q.
func (q Question) Unasked() Question {
	q.Notes = nil
	q.Votes, q.Claim, q.Fired, q.EndsAt, q.HiddenFor = nil, nil, 0, time.Time{}, 0
	return q
}
