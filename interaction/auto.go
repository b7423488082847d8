package interaction

// AutoDecision is the envelope of an automatic decision (C6).
type AutoDecision struct {
	Source        string         `json:"source"` // auto_decide_timeout
	InteractionID int            `json:"interaction_id"`
	Reason        string         `json:"reason"` // user_no_reply
	Policy        DecisionPolicy `json:"policy"`
	Instruction   string         `json:"instruction"`
}
