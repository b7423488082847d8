package interaction

import (
	"encoding/json"
	"strings"
	"time"
)

// Kind says what kind of answer a question expects. It is a rendering hint: a reply is free text for
// every kind but Approval, which takes a decision, unless the question has Only.
type Kind string

// The kinds of question.
const (
	ChooseOne  Kind = "choose_one"
	Confirm    Kind = "confirm"
	FillFields Kind = "fill_fields"
	OpenText   Kind = "open_text"
	RiskAck    Kind = "risk_ack"
)

// DecisionPolicy tells the engine how to decide when nobody replies in time.
type DecisionPolicy string

// The decision policies; the zero value stands for EngineJudgement.
const (
	EngineJudgement DecisionPolicy = "engine_judgement"
	SafeDefault     DecisionPolicy = "safe_default"
	Abort           DecisionPolicy = "abort"
)

// Option is one choice that a question offers.
type Option struct {
	Label string `json:"label"`
	Value string `json:"value"`
	// Yes marks the option of a Confirm or RiskAck that means yes, if no value says so
	// (Question.YesOption).
	Yes bool `json:"yes,omitempty"`
}

// Shown returns the option as front ends show it: its label as prose, and its value with each
// character visible. The value is empty where the label shows all of it.
func (o Option) Shown() (label, value string) {
	label, value = VisibleProse(o.Label), Visible(o.Value)
	if label == value && value == strings.TrimSpace(value) {
		value = ""
	}
	return label, value
}

// Question is what an agent asks a person. ID, Attempt and AskedAt are given by the run.
type Question struct {
	// ID is the interaction's number within the run, from 1.
	ID int `json:"interaction_id"`
	// Attempt is the attempt that asked.
	Attempt int `json:"attempt"`

	Kind   Kind   `json:"kind"`
	Prompt string `json:"prompt"`

	Options        []Option       `json:"options,omitempty"`
	RequiredFields []string       `json:"required_fields,omitempty"`
	UIHints        map[string]any `json:"ui_hints,omitempty"` // never used in validating a reply
	Context        string         `json:"context,omitempty"`
	DefaultPolicy  DecisionPolicy `json:"default_decision_policy,omitempty"`
	AskedAt        time.Time      `json:"asked_at"`

	// Schema makes the question a form: the JSON Schema of the reply's Value, or of the edited
	// arguments of an approval; at most MaxSchema bytes. Only engines set it; the text of an agent
	// never does.
	Schema json.RawMessage `json:"schema,omitempty" plain:"exact"`
	// Subject is what an Approval is about; nil for every other kind.
	Subject *Subject `json:"subject,omitempty"`

	// To is who may answer; nil: everybody. Only engines and the run's Spec.Ask set it; the
	// text of an agent never does.
	To *Audience `json:"to,omitempty"`

	// Need is how many people must approve an Approval before it is approved, and Rejects how many
	// must reject it before it is rejected; 0: one. Each is at most MaxNeed, and each person
	// counts once. If either is more than one, people only approve or reject: they edit nothing and
	// claim nothing. Only engines and the run's Spec.Ask set them; the text of an agent never does.
	Need    int `json:"need,omitempty"`
	Rejects int `json:"rejects,omitempty"`
	// Votes are what people have decided of an approval that several decide, in the order in which
	// they came; those on a settled approval include the last one. They are given by the run.
	Votes []Vote `json:"votes,omitempty"`

	// Claim is who works on the open question; nil: nobody, or nobody any more (Claim.Lasts).
	// It is given by the run.
	Claim *Claim `json:"claim,omitempty"`

	// Ref is the engine's own name of what the question is about, such as the id of a tool's call;
	// at most MaxRef bytes. The answer has it too (Answer.Ref). It is neither shown nor part of the
	// Digest, and only engines set it; the text of an agent never does.
	Ref string `json:"ref,omitempty"`

	// Wait is how long the question waits, and what happens meanwhile; nil: as the run's
	// policy says. Only engines and the run's Spec.Ask set it; the text of an agent never does. If
	// one of the questions that are asked together has a Wait, the run gives each of the others one
	// that says what the policy says.
	Wait *Wait `json:"wait,omitempty"`
	// Fired is how many steps of the Wait were carried out, and EndsAt when it ends; zero: never.
	// Both are given by the run. Fired is an int32 for the size of a Record (TestARecordIsSmall).
	EndsAt time.Time `json:"ends_at,omitzero"`
	Fired  int32     `json:"steps_fired,omitempty"`

	// AlsoText: a form or an approval takes a text, too, as any other question does.
	AlsoText bool `json:"also_text,omitempty"`
	// Only: a ChooseOne, Confirm or RiskAck accepts nothing but one of its Choices, by value, label or
	// number; every front end refuses other replies. The answer has a Selection. Only engines set it;
	// the text of an agent never does. A question that cannot have it is not asked (Validate).
	Only bool `json:"only,omitempty"`
}

// Unasked returns the question without what happened to it since it was asked: votes, claim, and
// the steps and end of its wait. It stays for the people who were asked last. It shares memory with
// q.
func (q Question) Unasked() Question {
	q.Votes, q.Claim, q.Fired, q.EndsAt = nil, nil, 0, time.Time{}
	return q
}
