package audit

import (
	"errors"
	"fmt"
	"slices"

	"github.com/interlude-go/interlude/contract"
	"github.com/interlude-go/interlude/contract/fcmp"
)

// The rules about waiting: questions, deadlines and the waiting policy.

// namesOpen is IV-25: an event that settles a question names an open one.
type namesOpen struct {
	Types []string `json:"types"`
}

func (r *namesOpen) bind(l *contract.Lifecycle) error {
	return someKnown("event type", l.PayloadTypes(), r.Types...)
}

func (r *namesOpen) judge(v *view, s *step) string {
	switch {
	case !slices.Contains(r.Types, s.Type):
		return ""
	case v.openUnknown:
		return s.skip()
	case len(v.open) == 0:
		return fmt.Sprintf("%s names question %d, but none is open", s.Type, s.data.InteractionID)
	case len(v.open) == 1 && !v.isOpen(s.data.InteractionID):
		return fmt.Sprintf("%s names question %d, but question %d is open", s.Type, s.data.InteractionID,
			v.open[0].data.InteractionID)
	case !v.isOpen(s.data.InteractionID):
		return fmt.Sprintf("%s names question %d, but questions %v are open", s.Type, s.data.InteractionID,
			v.openNumbers())
	}
	return ""
}

// condition is a condition for leaving a wait. Empty members mean nothing.
type condition struct {
	Profile          string `json:"profile,omitempty"`
	OnDeadline       string `json:"on_deadline,omitempty"`
	AutoDecisionLeft *bool  `json:"auto_decision_left,omitempty"`
}

// holds reports whether the condition holds. Known is false if the log has too little to decide
// that.
func (c condition) holds(v *view, q *step) (holds, known bool) {
	holds, known = true, true
	asks := func(asked, stated, is bool) {
		holds = holds && (!asked || is)
		known = known && (!asked || stated)
	}
	left, ok := v.autoDecisionLeft()
	asks(c.Profile != "", q.data.Profile != "", c.Profile == q.data.Profile)
	asks(c.OnDeadline != "", q.data.OnDeadline != "", c.OnDeadline == q.data.OnDeadline)
	asks(c.AutoDecisionLeft != nil, ok, c.AutoDecisionLeft != nil && *c.AutoDecisionLeft == left)
	return holds, known
}

// waitingAllows is IV-13, IV-14: a change of state with the trigger needs any of the conditions.
type waitingAllows struct {
	Trigger string      `json:"trigger"`
	Any     []condition `json:"any"`
}

func (r *waitingAllows) bind(l *contract.Lifecycle) error {
	faults := []error{allKnown("event", contract.Names(l.Events), r.Trigger)}
	if len(r.Any) == 0 {
		faults = append(faults, errors.New("no condition is given"))
	}
	for _, c := range r.Any {
		if c.Profile != "" {
			faults = append(faults, allKnown("profile", contract.Names(l.Profiles), c.Profile))
		}
		if c.OnDeadline != "" {
			faults = append(faults, allKnown("deadline action", deadlineActions, c.OnDeadline))
		}
	}
	return errors.Join(faults...)
}

func (r *waitingAllows) judge(v *view, s *step) string {
	if s.Type != fcmp.TypeStateChanged || s.data.Trigger != r.Trigger {
		return ""
	}
	if len(v.open) == 0 {
		if v.openUnknown {
			return s.skip()
		}
		return ""
	}
	allKnown := true
	for _, q := range v.questionsDue(s) {
		for _, c := range r.Any {
			holds, known := c.holds(v, q)
			if holds && known {
				return ""
			}
			allKnown = allKnown && known
		}
	}
	if !allKnown {
		return s.skip()
	}
	return fmt.Sprintf("%s, but question %d waits with profile %s, %s at the deadline, %d automatic decisions made",
		r.Trigger,
		v.open[0].data.InteractionID, v.open[0].data.Profile, v.open[0].data.OnDeadline, v.autoDecisions)
}

var deadlineActions = []string{"keep_waiting", "auto_decide", "fail", takeDefault}

// policyRow is IV-32: the action at the deadline follows the waiting policy.
type policyRow struct {
	Type string `json:"type"`
}

func (r *policyRow) bind(*contract.Lifecycle) error {
	return allKnown("event type", []string{fcmp.TypeInputRequired}, r.Type)
}

func (r *policyRow) judge(v *view, s *step) string {
	if s.Type != r.Type || s.waitsOwn() {
		return ""
	}
	if v.started == nil || v.started.data.Strict == nil || s.data.Profile == "" || s.data.OnDeadline == "" {
		return s.skip()
	}
	strict := *v.started.data.Strict
	row, ok := v.l.Wait(s.data.Profile, strict)
	if !ok || row.OnDeadline != s.data.OnDeadline {
		return fmt.Sprintf("on_deadline is %s; for profile %s, strict %t the policy (%s) says %s", s.data.OnDeadline,
			s.data.Profile, strict, row.ID, row.OnDeadline)
	}
	return ""
}

// implies is IV-33: a question with any of the actions at the deadline has the member.
type implies struct {
	Type       string   `json:"type"`
	OnDeadline []string `json:"on_deadline"`
	Present    string   `json:"present"`
}

func (r *implies) bind(l *contract.Lifecycle) error {
	return errors.Join(allKnown("event type", l.PayloadTypes(), r.Type), someKnown("deadline action", deadlineActions,
		r.OnDeadline...),
		allKnown("optional member", optionalMembers, r.Present))
}

func (r *implies) judge(v *view, s *step) string {
	switch {
	case s.Type != r.Type:
		return ""
	case s.data.OnDeadline == "":
		return s.skip()
	case slices.Contains(r.OnDeadline, s.data.OnDeadline) && !s.has(r.Present):
		if s.unknown(r.Present) {
			return s.skip()
		}
		return fmt.Sprintf("on_deadline is %s, but %s is missing", s.data.OnDeadline, r.Present)
	}
	return ""
}

// notBefore is IV-34: the events do not happen before the deadline of the open question.
type notBefore struct {
	Events []pattern `json:"events"`
}

func (r *notBefore) bind(l *contract.Lifecycle) error {
	if len(r.Events) == 0 {
		return errors.New("no event is named")
	}
	var faults []error
	for _, p := range r.Events {
		faults = append(faults, p.bind(l))
	}
	return errors.Join(faults...)
}

func (r *notBefore) judge(v *view, s *step) string {
	if !slices.ContainsFunc(r.Events, func(p pattern) bool { return p.matches(s) }) &&
		(s.Type != fcmp.TypeRecorded || s.byTime() == "") {
		return ""
	}
	switch {
	case v.openUnknown:
		return s.skip()
	case len(v.open) == 0:
		return ""
	case v.open[0].unknown("wait_deadline_at"):
		return s.skip()
	}
	if v.group.own {
		return v.endedEarly(s)
	}
	if due := v.open[0].data.WaitDeadlineAt; s.TS.Before(due) {
		return fmt.Sprintf("%s comes %s before the deadline of question %d", describe(s), due.Sub(s.TS),
			v.open[0].data.InteractionID)
	}
	return ""
}
