package interaction

import (
	"encoding/json"
	"time"
)

// Resolution says how an interaction was settled.
type Resolution string

// The resolutions. Abandoned: the run ended without an answer. Superseded: the answers to other
// questions of the turn were sufficient. DefaultAnswer: no one replied in time, and the question's
// Wait has a default.
const (
	UserReply         Resolution = "user_reply"
	AutoDecideTimeout Resolution = "auto_decide_timeout"
	DefaultAnswer     Resolution = "default_answer"
	Abandoned         Resolution = "abandoned"
	Superseded        Resolution = "superseded"
)

// Reply is a person's answer to one question: free text, unless the question has a Schema or is an
// Approval.
type Reply struct {
	// ID names the answered interaction.
	ID int
	// Text is the answer; at most MaxReplyText bytes of valid UTF-8, not empty unless there is a
	// Value or a Decision.
	Text string
	// Key makes the reply idempotent within the run: with the same body it returns the first
	// receipt, with another body it is a conflict. Empty: no idempotency.
	Key string
	// Actor is the author, for the history and the audience check. Optional.
	Actor Actor

	// Value answers a question with a Schema, which must accept it: one JSON value of at most
	// MaxValue bytes, with numbers finite as float64. With the decision Edit it holds the arguments
	// to execute.
	Value json.RawMessage
	// Decision decides an Approval; empty for every other question.
	Decision Decision
	// Seen is the Digest of the question that the author saw: a changed question fails the reply
	// with a ChangedError. Empty: not checked.
	Seen string
	// AcceptRisk says that the author has acknowledged the question's risk. A reply that accepts
	// the risk (AcceptsRisk) is refused without it. A front end sets it if the person has confirmed
	// the risk apart from the answer, or pressed a control that names it. It is not compared by
	// Key, and not stored.
	AcceptRisk bool
	// Remember extends an approval to later calls of this run, if the host allows it. Nil: this call
	// only. Replies with the same Key may differ in Remember.Until.
	Remember *Remember
}

// AcceptsRisk reports whether the reply accepts a risk of the question: it approves a call whose
// Subject has a Risk, edited or not, or answers a RiskAck with yes. If it is unclear which option
// of a RiskAck means yes (Question.YesOption), each accepts the risk.
func (r Reply) AcceptsRisk(q Question) bool {
	switch {
	case q.Subject != nil:
		return q.Subject.Risk != "" && (r.Decision == Approve || r.Decision == Edit)
	case q.Kind != RiskAck || r.Text == "":
		return false
	}
	if selected, ok := q.Select(r.Text); ok {
		return selected.Means != MeansNo
	}
	return agrees(r.Text)
}

// Receipt acknowledges an accepted reply.
type Receipt struct {
	RunID      string    `json:"run_id"`
	ID         int       `json:"interaction_id"`
	Key        string    `json:"key,omitempty"`
	AcceptedAt time.Time `json:"accepted_at"`
	// Replayed reports that an earlier call got the receipt; this call had no effect.
	Replayed bool `json:"replayed,omitempty"`
}

// Answer resumes a turn: a person's reply or an automatic decision.
type Answer struct {
	ID         int        `json:"interaction_id"`
	Resolution Resolution `json:"resolution_mode"`
	// Text is the agent's input: the reply, or the automatic decision's instruction.
	Text       string    `json:"text"`
	Actor      string    `json:"actor,omitempty"`
	AcceptedAt time.Time `json:"accepted_at"`
	// Via is the front end of the Actor.
	Via string `json:"via,omitempty"`
	// Selection is the selected option, if the question has Only or an option with Yes. Yes and
	// Option read it.
	Selection *Selection    `json:"selection,omitempty"`
	Auto      *AutoDecision `json:"auto,omitempty"`

	// Value is the submitted form, or nil; As decodes it.
	Value json.RawMessage `json:"value,omitempty" plain:"exact"`
	// Decision is the decision about an Approval; empty for an automatic decision, and for a text
	// instead of a decision.
	Decision Decision `json:"decision,omitempty"`
	// Digest is the question's digest, for forms and approvals.
	Digest string `json:"question_digest,omitempty"`
	// Arguments may be executed, byte for byte: the Subject's, or the edited ones. Nil unless the
	// decision is Approve or Edit.
	Arguments json.RawMessage `json:"arguments,omitempty" plain:"exact"`
	// Votes lists all votes on an approval by several people. Actor is the last voter.
	Votes []Vote `json:"votes,omitempty"`
	// Ref is copied from the question, to identify it among several.
	Ref string `json:"ref,omitempty"`
	// For is the person for whom the Actor, a deputy, has answered.
	For string `json:"for,omitempty"`
}

// Record is one entry of a run's history: a question and its resolution, if settled.
type Record struct {
	Question   Question   `json:"question"`
	Resolution Resolution `json:"resolution_mode,omitempty"`
	// Response is the text that the agent received.
	Response         string    `json:"response,omitempty"`
	Actor            string    `json:"actor,omitempty"`
	ResolvedAt       time.Time `json:"resolved_at,omitzero"`
	AutoDecideReason string    `json:"auto_decide_reason,omitempty"`

	// Key and Digest are the accepted reply's idempotency key and body digest.
	Key    string `json:"key,omitempty"`
	Digest string `json:"digest,omitempty"`

	// Session is the session that asked the question, from which a fork continues. Earlier releases
	// did not store it.
	Session *SessionHandle `json:"session,omitempty"`
	// Journal is the number of entries in the run's journal at that time, which a fork inherits.
	Journal int `json:"journal,omitempty"`

	// Value, Decision and Seen are copied from the accepted reply.
	Value    json.RawMessage `json:"value,omitempty" plain:"exact"`
	Decision Decision        `json:"decision,omitempty"`
	Seen     string          `json:"seen,omitempty"`
	// Via is the front end of the Actor, if known.
	Via string `json:"via,omitempty"`
}
