package interaction

import "time"

// Resolution says how an interaction was settled (C7).
type Resolution string

// The ways to settle an interaction. Abandoned closes the record of a question whose run ended
// without an answer.
const (
	UserReply         Resolution = "user_reply"
	AutoDecideTimeout Resolution = "auto_decide_timeout"
	Abandoned         Resolution = "abandoned"
)

// Reply is a person's answer to one question: free text whatever the question's kind (C3).
type Reply struct {
	// ID names the interaction that is answered (C4).
	ID int
	// Text is the answer; at most MaxReplyText bytes of valid UTF-8, and not empty.
	Text string
	// Key makes the reply idempotent within the run: the same key and body is accepted again with
	// the first receipt, the same key with another body is a conflict (C5). Empty: no idempotency.
	Key string
	// Actor says who answered, for the history (C7). Optional.
	Actor string
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
// entry (C6).
type Answer struct {
	ID         int        `json:"interaction_id"`
	Resolution Resolution `json:"resolution_mode"`
	// Text is handed to the agent: the reply, or the instruction of the automatic decision.
	Text       string    `json:"text"`
	Actor      string    `json:"actor,omitempty"`
	AcceptedAt time.Time `json:"accepted_at"`
	// Auto is set for an automatic decision only.
	Auto *AutoDecision `json:"auto,omitempty"`
}

// Record is one entry of a run's history: a question and how it was settled (C7). The open question
// is an entry without Resolution.
type Record struct {
	Question   Question   `json:"question"`
	Resolution Resolution `json:"resolution_mode,omitempty"`
	// Response is the text that the agent was given.
	Response         string    `json:"response,omitempty"`
	Actor            string    `json:"actor,omitempty"`
	ResolvedAt       time.Time `json:"resolved_at,omitzero"`
	AutoDecideReason string    `json:"auto_decide_reason,omitempty"`

	// Key and Digest are the idempotency key of the accepted reply and the digest of its body (C5).
	Key    string `json:"key,omitempty"`
	Digest string `json:"digest,omitempty"`

	// Session is the session in which the question was asked, so that a fork can go on from there
	// (J6). Earlier releases did not keep it.
	Session *SessionHandle `json:"session,omitempty"`
}
