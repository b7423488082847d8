package interaction

import (
	"encoding/json"
	"time"
)

// Resolution says how an interaction was settled.
type Resolution string

// The ways to settle an interaction. Abandoned closes the record of a question whose run ended
// without an answer, and Superseded that of a question which others that were asked with it have
// made superfluous. DefaultAnswer is the answer that a question's Wait has for the case that nobody
// replies in time.
const (
	UserReply         Resolution = "user_reply"
	AutoDecideTimeout Resolution = "auto_decide_timeout"
	DefaultAnswer     Resolution = "default_answer"
	Abandoned         Resolution = "abandoned"
	Superseded        Resolution = "superseded"
)

// Reply is a person's answer to one question: free text whatever the question's kind, unless
// the question has a Schema or is an Approval.
type Reply struct {
	// ID names the interaction that is answered.
	ID int
	// Text is the answer; at most MaxReplyText bytes of valid UTF-8, and not empty unless there is
	// a Value or a Decision.
	Text string
	// Key makes the reply idempotent within the run: the same key and body is accepted again with
	// the first receipt, the same key with another body is a conflict. Empty: no idempotency.
	Key string
	// Actor says who answers, for the history and for whoever may answer. Optional.
	Actor Actor

	// Value is the answer to a question with a Schema, which it must fit: one JSON value of at
	// most MaxValue bytes, whose numbers are finite as float64. With the decision Edit it has the arguments to execute.
	Value json.RawMessage
	// Decision is what was decided about an Approval; empty for every other question.
	Decision Decision
	// Seen is the Digest of the question that the author saw. If the question has changed since,
	// the reply is refused with a ChangedError. If Seen is empty, this is not checked.
	Seen string
}

// Receipt acknowledges an accepted reply.
type Receipt struct {
	RunID      string    `json:"run_id"`
	ID         int       `json:"interaction_id"`
	Key        string    `json:"key,omitempty"`
	AcceptedAt time.Time `json:"accepted_at"`
	// Replayed is true when this receipt was given before: the call had no effect of its own.
	Replayed bool `json:"replayed,omitempty"`
}

// Answer is what a turn is resumed with: a person's reply or an automatic decision, through one
// entry.
type Answer struct {
	ID         int        `json:"interaction_id"`
	Resolution Resolution `json:"resolution_mode"`
	// Text is handed to the agent: the reply, or the instruction of the automatic decision.
	Text       string    `json:"text"`
	Actor      string    `json:"actor,omitempty"`
	AcceptedAt time.Time `json:"accepted_at"`
	// Via is the door that the Actor came through.
	Via string `json:"via,omitempty"`
	// Selection is the selected option, if the question has Only or an option with Yes. Yes and Option
	// read it.
	Selection *Selection `json:"selection,omitempty"`
	// Auto is set for an automatic decision only.
	Auto *AutoDecision `json:"auto,omitempty"`

	// Value is the form that was filled in, nil if there is none; As decodes it.
	Value json.RawMessage `json:"value,omitempty" plain:"exact"`
	// Decision is what was decided about an Approval. It is empty if nobody has decided: for
	// an automatic decision, and for a text in place of a decision.
	Decision Decision `json:"decision,omitempty"`
	// Digest is that of the question, if it was a form or an approval.
	Digest string `json:"question_digest,omitempty"`
	// Arguments are what may be executed, byte for byte: those of the Subject, or the edited ones.
	// They are nil unless the decision is Approve or Edit.
	Arguments json.RawMessage `json:"arguments,omitempty" plain:"exact"`
	// Votes are those of all who have decided about an approval that several people decide.
	// The Actor is the one whose vote came last.
	Votes []Vote `json:"votes,omitempty"`
	// Ref is that of the question. Of questions that were asked together it says which one this
	// answers, whatever their order.
	Ref string `json:"ref,omitempty"`
}

// Record is one entry of a run's history: a question and how it was settled. The open question
// is an entry without Resolution.
type Record struct {
	Question   Question   `json:"question"`
	Resolution Resolution `json:"resolution_mode,omitempty"`
	// Response is the text that the agent was given.
	Response         string    `json:"response,omitempty"`
	Actor            string    `json:"actor,omitempty"`
	ResolvedAt       time.Time `json:"resolved_at,omitzero"`
	AutoDecideReason string    `json:"auto_decide_reason,omitempty"`

	// Key and Digest are the idempotency key of the accepted reply and the digest of its body.
	Key    string `json:"key,omitempty"`
	Digest string `json:"digest,omitempty"`

	// Session is the session in which the question was asked, so that a fork can go on from there.
	// Earlier releases did not keep it.
	Session *SessionHandle `json:"session,omitempty"`
	// Journal is how many entries the journal of the run had then. A fork inherits these.
	Journal int `json:"journal,omitempty"`

	// Value is that of the accepted reply: the form, or the edited arguments. Decision is what was
	// decided about an approval, and Seen the digest that the reply's author saw, if the reply said
	// so.
	Value    json.RawMessage `json:"value,omitempty" plain:"exact"`
	Decision Decision        `json:"decision,omitempty"`
	Seen     string          `json:"seen,omitempty"`
	// Via is the door that the Actor came through, if the reply said so.
	Via string `json:"via,omitempty"`
}
