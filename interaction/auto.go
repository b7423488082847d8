package interaction

import "time"

// The fixed values of AutoDecision.
const (
	SourceAutoDecide  = "auto_decide_timeout"
	ReasonUserNoReply = "user_no_reply"
)

// AutoDecision is the envelope of an automatic decision, which an engine receives if no one replied
// in time.
type AutoDecision struct {
	Source        string         `json:"source" plain:"word"` // SourceAutoDecide
	InteractionID int            `json:"interaction_id"`
	Reason        string         `json:"reason" plain:"word"` // ReasonUserNoReply
	Policy        DecisionPolicy `json:"policy"`
	Instruction   string         `json:"instruction"`
}

var instructions = map[DecisionPolicy]string{
	EngineJudgement: "The user did not respond in time. Decide by your own best judgement and continue; say which " +
		"decision you took.",
	SafeDefault: "The user did not respond in time. Take the safest option, the one that changes least and can " +
		"be undone, and continue; say which decision you took.",
	Abort: "The user did not respond in time. Do not decide in their place: undo what is half done, change " +
		"nothing further, and finish with a report of where things stand.",
}

// NewAutoDecision returns the automatic decision on a question by its default policy;
// engine_judgement if it has none.
func NewAutoDecision(q Question) AutoDecision {
	policy := q.DefaultPolicy
	if instructions[policy] == "" {
		policy = EngineJudgement
	}
	return AutoDecision{
		Source: SourceAutoDecide, InteractionID: q.ID, Reason: ReasonUserNoReply, Policy: policy,
		Instruction: instructions[policy],
	}
}

// Answer converts the decision to the answer for the next turn.
func (a AutoDecision) Answer(now time.Time) Answer {
	return Answer{ID: a.InteractionID, Resolution: AutoDecideTimeout, Text: a.Instruction, AcceptedAt: now, Auto: &a}
}
