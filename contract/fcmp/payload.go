package fcmp

import "time"

// Started is the data of conversation.started, the first event of every run.
type Started struct {
	Mode                        string `json:"mode"`
	InteractiveRequireUserReply bool   `json:"interactive_require_user_reply"`
	SessionTimeoutSec           int    `json:"session_timeout_sec"`
	MaxAttempt                  int    `json:"max_attempt,omitempty"` // 0: not declared
	MaxAutoDecisions            int    `json:"max_auto_decisions"`
	Pool                        string `json:"pool"`
	ContractVersion             string `json:"contract_version"`
}

// StateChanged is the data of conversation.state.changed (F2).
type StateChanged struct {
	From      string    `json:"from"`
	To        string    `json:"to"`
	Trigger   string    `json:"trigger"`
	UpdatedAt time.Time `json:"updated_at"`
	// PendingInteractionID is the open question's, 0 when there is none.
	PendingInteractionID int `json:"pending_interaction_id,omitempty"`
	// Terminal is set exactly when To is a terminal state.
	Terminal *Terminal `json:"terminal,omitempty"`
}

// Terminal is how a run ended.
type Terminal struct {
	Status   string   `json:"status"`
	Error    *Failure `json:"error,omitempty"`
	Warnings []string `json:"warnings"`
}

// Failure is why a run did not succeed.
type Failure struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// ReplyAccepted is the data of interaction.reply.accepted (F3).
type ReplyAccepted struct {
	InteractionID  int       `json:"interaction_id"`
	ResolutionMode string    `json:"resolution_mode"`
	AcceptedAt     time.Time `json:"accepted_at"`
	Actor          string    `json:"actor,omitempty"`
}

// AutoDecided is the data of interaction.auto_decide.timeout (F4).
type AutoDecided struct {
	InteractionID  int       `json:"interaction_id"`
	ResolutionMode string    `json:"resolution_mode"`
	Policy         string    `json:"policy"`
	AcceptedAt     time.Time `json:"accepted_at"`
	TimeoutSec     int       `json:"timeout_sec"`
}

// InputRequired is the data of user.input.required: the question and what happens when nobody
// answers (F5).
type InputRequired struct {
	InteractionID         int            `json:"interaction_id"`
	Kind                  string         `json:"kind"`
	Prompt                string         `json:"prompt"`
	Options               []Option       `json:"options,omitempty"`
	RequiredFields        []string       `json:"required_fields,omitempty"`
	UIHints               map[string]any `json:"ui_hints,omitempty"`
	Context               string         `json:"context,omitempty"`
	DefaultDecisionPolicy string         `json:"default_decision_policy"`
	AskedAt               time.Time      `json:"asked_at"`
	Profile               string         `json:"profile"`
	OnDeadline            string         `json:"on_deadline"`
	// WaitDeadlineAt is zero when the question waits without end.
	WaitDeadlineAt time.Time `json:"wait_deadline_at,omitzero"`
}

// Option is one choice that a question offers.
type Option struct {
	Label string `json:"label"`
	Value string `json:"value"`
}

// MessageFinal is the data of assistant.message.final (F6).
type MessageFinal struct {
	Text      string  `json:"text"`
	Truncated bool    `json:"truncated,omitempty"`
	RawRef    *RawRef `json:"raw_ref,omitempty"`
}

// MessageIntermediate is the data of assistant.message.intermediate.
type MessageIntermediate MessageFinal

// RawRef points into an attempt's transcript file, in bytes.
type RawRef struct {
	File   string `json:"file"`
	Offset int64  `json:"offset"`
	Length int64  `json:"length"`
}

// Warning is the data of diagnostic.warning (F6).
type Warning struct {
	Code   string `json:"code"`
	Detail string `json:"detail,omitempty"`
}
