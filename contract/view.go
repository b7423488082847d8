package contract

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"
)

// step is one event as the rules see it: its envelope, and of its data what any rule asks for.
type step struct {
	Event
	data stepData
}

// stepData is the union of the payloads; each member means the same in whichever payload has it.
type stepData struct {
	Mode                 string    `json:"mode"`
	Strict               bool      `json:"interactive_require_user_reply"`
	MaxAttempt           int       `json:"max_attempt"`
	MaxAutoDecisions     int       `json:"max_auto_decisions"`
	From                 string    `json:"from"`
	To                   string    `json:"to"`
	Trigger              string    `json:"trigger"`
	PendingInteractionID int       `json:"pending_interaction_id"`
	Terminal             *Terminal `json:"terminal"`
	InteractionID        int       `json:"interaction_id"`
	Profile              string    `json:"profile"`
	OnDeadline           string    `json:"on_deadline"`
	WaitDeadlineAt       time.Time `json:"wait_deadline_at"`
	Code                 string    `json:"code"`
}

// newStep takes an event that was verified: its data has the types that are read here.
func newStep(e Event) *step {
	s := &step{Event: e}
	if e.Type != TypeMessageFinal && e.Type != TypeMessageIntermediate {
		// A number too large for an int stays 0 here, and no rule finds a 0 where it asks for a count.
		_ = json.Unmarshal(e.Data, &s.data)
	}
	s.Data = nil
	return s
}

// encode writes the event as it would stand in a log.
func (e Event) encode() ([]byte, error) {
	body, err := json.Marshal(e)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrEvent, err)
	}
	return body, nil
}

// view is what is known of a run before its next event. It has a fixed size, however long the log is.
type view struct {
	l    *Lifecycle
	line int // of the run's last event

	state         string
	begun         *step   // conversation.started
	prev          *step   // the event before
	loud          *step   // the last event that was no warning
	changed       *step   // the last change of state
	last          []*step // the last event of each type
	open          *step   // user.input.required of the open question
	profile       string  // of the last question
	asked         int     // the last question's number
	autoDecisions int
}

// advance lets the event become part of what is known.
func (v *view) advance(s *step) {
	v.prev = s
	if i := slices.IndexFunc(v.last, func(last *step) bool { return last.Type == s.Type }); i >= 0 {
		v.last[i] = s
	} else {
		v.last = append(v.last, s)
	}
	if s.Type != TypeWarning {
		v.loud = s
	}
	switch s.Type {
	case TypeStarted:
		v.begun = s
	case TypeInputRequired:
		v.open, v.asked, v.profile = s, s.data.InteractionID, s.data.Profile
	case TypeStateChanged:
		v.state, v.changed = s.data.To, s
		if s.data.To != "waiting_user" {
			v.open = nil
		}
		if s.data.Trigger == "interaction.auto_decide.timeout" {
			v.autoDecisions++
		}
	}
}

// autoDecisionLeft reports whether the run may still decide for itself.
func (v *view) autoDecisionLeft() bool {
	return v.begun != nil && v.autoDecisions < v.begun.data.MaxAutoDecisions
}

// facts are those that the log tells for certain; a fact that is not a key is unknown.
func (v *view) facts() Facts {
	known := Facts{"auto_decision_left": v.autoDecisionLeft()}
	if v.begun != nil {
		known["interactive"] = v.begun.data.Mode == "interactive"
		known["strict"] = v.begun.data.Strict
	}
	if v.profile != "" {
		known["sticky"] = v.profile == "sticky_process"
	}
	return known
}

// contradicted reports whether the known facts rule the guard out.
func (g Guard) contradicted(known Facts) bool {
	for _, name := range g.All {
		if holds, ok := known[name]; ok && !holds {
			return true
		}
	}
	for _, name := range g.None {
		if known[name] {
			return true
		}
	}
	return false
}

// candidates are the transitions that a change of state may have been.
func (v *view) candidates(s *step) []Transition {
	var out []Transition
	known := v.facts()
	for _, t := range v.l.Transitions {
		if t.From == s.data.From && t.Event == s.data.Trigger && t.To == s.data.To && t.From != t.To && !t.contradicted(known) {
			out = append(out, t)
		}
	}
	return out
}
