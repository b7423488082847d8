package audit

import (
	"errors"
	"fmt"
	"slices"

	"github.com/interlude-go/interlude/contract"
	"github.com/interlude-go/interlude/contract/fcmp"
)

// The rules about questions that were asked together.

// group has the questions of one turn. A single question has no rule.
type group struct {
	rule    *fcmp.Together // nil: a single question, or unknown
	first   int            // the lowest number
	toShow  int            // how many questions must still be shown, directly after the event before
	settled []*step        // the events that settled questions of a group with a rule
	replies int            // how many people have answered
	closing []int          // the questions that must be closed now, in order
	// unsure: it is unknown which questions must be closed now.
	unsure bool
	// ruleless: another producer's log has several questions without their rule.
	ruleless bool
	own      bool // the questions have waits
}

// has reports whether the question is, or may be, in the group.
func (g *group) has(question int) bool { return (g.rule != nil || g.ruleless) && question >= g.first }

// decides reports whether the event decides a question because of its deadline.
func (s *step) decides() bool { return s != nil && s.Type == fcmp.TypeAutoDecided }

// noteAsked adds a question that is shown after the step prev.
func (v *view) noteAsked(prev, s *step) {
	if v.group.toShow > 0 {
		v.group.toShow--
		v.open = append(v.open, s)
		return
	}
	if v.showsRuleless(prev, s) {
		v.group.ruleless = true
		v.open = append(v.open, s)
		return
	}
	v.open = []*step{s}
	v.group = group{rule: s.data.Together, first: s.data.InteractionID, own: s.waitsOwn()}
	if surplus := s.misplaced && prev != nil && prev.Type == s.Type; s.data.Together != nil && !surplus {
		v.group.toShow = min(s.data.Together.Questions, maxGroup) - 1
	}
}

// showsRuleless reports whether the event shows one more question directly after the one before,
// with unknown rule of the two.
func (v *view) showsRuleless(prev, s *step) bool {
	return s.Type == fcmp.TypeInputRequired && s.unknown("together") && v.group.rule == nil &&
		prev != nil && prev.Type == s.Type && v.state == "waiting_user" && len(v.open) > 0 && len(v.open) < maxGroup
}

// maxGroup limits the memory for a group of wrong size.
const maxGroup = 1000

func (v *view) noteSettled(s *step) {
	if s.Type == fcmp.TypeClosed {
		v.group.closing = slices.DeleteFunc(v.group.closing, func(n int) bool { return n == s.data.InteractionID })
	}
	if !v.group.has(s.data.InteractionID) || s.Type != fcmp.TypeClosed && !v.isOpen(s.data.InteractionID) {
		return
	}
	if len(v.group.settled) < maxGroup {
		v.group.settled = append(v.group.settled, s)
	}
	if s.Type == fcmp.TypeReplyAccepted || s.Type == fcmp.TypeRecorded && s.byTime() == "" {
		v.group.replies++
	}
	v.open = slices.DeleteFunc(v.open, func(q *step) bool { return q.data.InteractionID == s.data.InteractionID })
}

// noteGoesOn notes which questions have to be closed after a change of state that follows the step
// prev.
func (v *view) noteGoesOn(prev, s *step) {
	v.group.closing, v.group.unsure = nil, len(v.group.closing) > 0 // they may follow, too late
	switch {
	case s.data.Trigger != fcmp.TypeReplyAccepted:
	case v.openUnknown || v.group.ruleless || prev == nil || prev.misplaced:
		v.group.unsure = true
	case v.group.rule != nil:
		v.group.closing = v.openNumbers()
	}
}

func (v *view) openNumbers() (numbers []int) {
	for _, q := range v.open {
		numbers = append(numbers, q.data.InteractionID)
	}
	return numbers
}

func (v *view) isOpen(question int) bool {
	return slices.ContainsFunc(v.open, func(q *step) bool { return q.data.InteractionID == question })
}

// met reports whether this reply satisfies the rule of the open questions. A resolution by time
// does so only for the last open question, whatever its default answer.
func (v *view) met(reply *step) bool {
	rule := v.group.rule
	if rule == nil || len(v.open) <= 1 {
		return true
	}
	stops := rule.StopOnReject && reply.data.Decision == "reject"
	return reply.byTime() == "" && (stops || v.group.replies+1 >= rule.Answers)
}

// mayStop reports whether the reply may be a rejection that continues the run: its decision is
// unknown, or whether the rule stops at a rejection.
func (v *view) mayStop(reply *step) bool {
	if v.group.rule.StopOnReject {
		return reply.unknown("decision")
	}
	return v.open[0].unknown("together.stop_on_reject") && reply.data.Decision == "reject"
}

// ruleDecides is IV-41: the rule of the questions is not met after an event of the type Recorded,
// is met after Completed, and no question is open after a change of state that Decided explains.
type ruleDecides struct {
	Recorded  string   `json:"recorded"`
	Completed string   `json:"completed"`
	Decided   []string `json:"decided"`
}

func (r *ruleDecides) bind(l *contract.Lifecycle) error {
	return errors.Join(
		allKnown("event type of a reply after which the run waits on", []string{fcmp.TypeRecorded}, r.Recorded),
		allKnown("event type of a reply that continues the run", []string{fcmp.TypeReplyAccepted}, r.Completed),
		someKnown("event type of a decision without a reply", []string{fcmp.TypeAutoDecided, fcmp.TypeDefaultTaken},
			r.Decided...))
}

func (r *ruleDecides) judge(v *view, s *step) string {
	decided := s.Type == fcmp.TypeStateChanged && slices.Contains(r.Decided, s.data.Trigger)
	switch {
	case s.Type != r.Recorded && s.Type != r.Completed && !decided, s.votes():
		return ""
	case v.openUnknown || v.group.ruleless:
		return s.skip()
	case decided && v.group.rule != nil && len(v.open) > 0 && !v.prev.misplaced:
		return fmt.Sprintf("%s, but questions %v are open", describe(s), v.openNumbers())
	case decided:
		return ""
	case s.Type == r.Recorded && v.met(s):
		return fmt.Sprintf("%s for question %d, but that reply must continue the run", s.Type, s.data.InteractionID)
	case s.Type == r.Completed && !v.met(s) && v.mayStop(s):
		return s.skip()
	case s.Type == r.Completed && !v.met(s):
		return fmt.Sprintf("%s for question %d, but that is reply %d, and %d are needed", s.Type, s.data.InteractionID,
			v.group.replies+1, v.group.rule.Answers)
	}
	return ""
}

// closesOpen is IV-42: directly after a change of state that matches After, and only there, comes
// one event of Type for each open question, in order.
type closesOpen struct {
	Type  string  `json:"type"`
	After pattern `json:"after"`
}

func (r *closesOpen) bind(l *contract.Lifecycle) error {
	fault := errors.Join(allKnown("event type that closes a question", []string{fcmp.TypeClosed}, r.Type),
		r.After.bind(l))
	if !slices.Equal(r.After.Trigger, []string{fcmp.TypeReplyAccepted}) || len(r.After.To) > 0 {
		fault = errors.Join(fault, fmt.Errorf("questions are closed after %s, not after %s", fcmp.TypeReplyAccepted,
			r.After))
	}
	return fault
}

func (r *closesOpen) judge(v *view, s *step) string {
	switch due := v.group.closing; {
	case len(due) > 0 && s.Type != r.Type:
		return fmt.Sprintf("%s, but question %d of the same turn is still open and must be closed", s.Type,
			due[0])
	case len(due) > 0 && s.data.InteractionID != due[0]:
		return fmt.Sprintf("%s for question %d, but question %d is next", s.Type, s.data.InteractionID, due[0])
	case len(due) == 0 && s.Type == r.Type && (v.gap || v.group.unsure):
		return s.skip()
	case len(due) == 0 && s.Type == r.Type:
		return fmt.Sprintf("%s for question %d, but nothing has made it superfluous", s.Type, s.data.InteractionID)
	}
	return ""
}

func (r *closesOpen) unfinished(v *view) string {
	if len(v.group.closing) > 0 {
		return fmt.Sprintf("the log ends, but %s must follow for questions %v", r.Type, v.group.closing)
	}
	return ""
}

// askedTogether is IV-43: questions that are asked together directly follow each other and agree on
// their rule.
type askedTogether struct {
	Type string `json:"type"`
	Most int    `json:"most"` // questions that are asked together
}

func (r *askedTogether) bind(*contract.Lifecycle) error {
	if r.Most < 2 || r.Most > maxGroup {
		return fmt.Errorf("most is %d, want 2 to %d", r.Most, maxGroup)
	}
	return allKnown("event type", []string{fcmp.TypeInputRequired}, r.Type)
}

func (r *askedTogether) judge(v *view, s *step) string {
	rule, next := s.data.Together, v.group.toShow > 0
	switch {
	case next && s.Type != r.Type:
		return fmt.Sprintf("%s, but %d more questions must be shown", s.Type, v.group.toShow)
	case s.Type != r.Type:
		return ""
	case v.showsRuleless(v.prev, s):
		return s.skip()
	case next && (rule == nil || *rule != *v.group.rule):
		return fmt.Sprintf("question %d describes its group as %s; the question before it as %s",
			s.data.InteractionID, describeRule(rule), describeRule(v.group.rule))
	case !next && rule != nil && (rule.Questions > r.Most || rule.Answers > rule.Questions):
		return fmt.Sprintf("question %d says: %s; at most %d are asked together", s.data.InteractionID,
			describeRule(rule), r.Most)
	}
	return ""
}

func (r *askedTogether) unfinished(v *view) string {
	if v.group.toShow > 0 {
		return fmt.Sprintf("the log ends, but %d more questions must be shown", v.group.toShow)
	}
	return ""
}

func describeRule(r *fcmp.Together) string {
	if r == nil {
		return "asked alone"
	}
	return fmt.Sprintf("%d questions, %d answers, stop_on_reject %t", r.Questions, r.Answers, r.StopOnReject)
}
