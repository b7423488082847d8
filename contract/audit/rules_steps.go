package audit

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/interlude-go/interlude/contract"
	"github.com/interlude-go/interlude/contract/fcmp"
)

// The rules about the waits of questions.

// The ways in which a question is settled, and what may have happened at its end.
const (
	settledByDecision = "auto_decide_timeout"
	settledByDefault  = "default_answer"
	takeDefault       = "take_default"
)

func (s *step) waitsOwn() bool { return s.data.Wait != nil }

// byTime is what must happen at the end of a question if the event settles it by time; "" for any
// other event.
func (s *step) byTime() string {
	mode := s.data.ResolutionMode
	switch {
	case s.Type == fcmp.TypeAutoDecided, s.Type == fcmp.TypeRecorded && mode == settledByDecision:
		return "auto_decide"
	case s.Type == fcmp.TypeDefaultTaken, s.Type == fcmp.TypeRecorded && mode == settledByDefault:
		return takeDefault
	}
	return ""
}

// autoDecides reports whether the event counts as an automatic decision. Decisions made by one
// deadline are counted at their change of state.
func (s *step) autoDecides() bool {
	return s.Type == fcmp.TypeRecorded && s.data.ResolutionMode == settledByDecision
}

// question returns the open question that the event names; nil if it is not open.
func (v *view) question(s *step) *step {
	for _, q := range v.open {
		if q.data.InteractionID == s.data.InteractionID {
			return q
		}
	}
	return nil
}

// extends reports whether the event changes the time at which the wait for an answer ends.
func (s *step) extends() bool { return s.Type == fcmp.TypeChanged && s.data.Change == "extend" }

func (s *step) nextStep() *fcmp.OwnWaitStep {
	if !s.waitsOwn() || s.fired >= len(s.data.Wait.Steps) {
		return nil
	}
	return &s.data.Wait.Steps[s.fired]
}

// nextDue returns the time of an open question's next step or end, from its own wait, or zero.
func (s *step) nextDue() time.Time {
	end := s.data.WaitDeadlineAt
	if s.data.OnDeadline == "keep_waiting" {
		end = time.Time{}
	}
	if next := s.nextStep(); next != nil && (end.IsZero() || !next.At.After(end)) {
		return next.At
	}
	return end
}

// noteOwnWait notes that a step of an open question was carried out, or its end moved.
func (v *view) noteOwnWait(s *step) {
	q := v.question(s)
	if q != nil {
		q.notePolicy(s)
	}
	switch {
	case q == nil:
	case s.extends():
		q.data.WaitDeadlineAt = s.data.WaitDeadlineAt
	case s.Type == fcmp.TypeChanged:
		q.noteClaim(s)
	default:
		q.fired = s.data.Step
		if s.Type == fcmp.TypeEscalated {
			q.claim = claimed{}
		}
	}
}

// ownWait is IV-45: time affects a question only as its wait says.
type ownWait struct {
	Reminder  string `json:"reminder"`
	Escalated string `json:"escalated"`
	Defaulted string `json:"defaulted"`
	Recorded  string `json:"recorded"`
	Changed   string `json:"changed"`
}

func (r *ownWait) bind(*contract.Lifecycle) error {
	return errors.Join(allKnown("event type of a reminder", []string{fcmp.TypeReminder}, r.Reminder),
		allKnown("event type of an escalation", []string{fcmp.TypeEscalated}, r.Escalated),
		allKnown("event type of a default answer", []string{fcmp.TypeDefaultTaken}, r.Defaulted),
		allKnown("event type of a question that is settled separately", []string{fcmp.TypeRecorded}, r.Recorded),
		allKnown("event type of an end that is moved", []string{fcmp.TypeChanged}, r.Changed))
}

func (r *ownWait) judge(v *view, s *step) string {
	stepped := s.Type == r.Reminder || s.Type == r.Escalated
	ended := s.Type == r.Defaulted || s.Type == r.Recorded && s.byTime() != "" || s.Type == fcmp.TypeAutoDecided
	if !stepped && !ended && !s.extends() {
		return ""
	}
	q := v.question(s)
	switch {
	case v.openUnknown:
		return s.skip()
	case q == nil:
		return "" // namesOpen reports it
	case !q.waitsOwn() && s.Type == fcmp.TypeAutoDecided:
		return "" // by the policy of the run
	case !q.waitsOwn():
		return fmt.Sprintf("%s for question %d, which has no wait", s.Type, s.data.InteractionID)
	case stepped:
		return r.judgeStep(v, s, q)
	case s.extends():
		return judgeExtension(s, q)
	case q.data.OnDeadline == "":
		return s.skip()
	case q.data.OnDeadline != s.byTime():
		return fmt.Sprintf("%s for question %d, whose wait says %s", s.Type, s.data.InteractionID, q.data.OnDeadline)
	}
	return judgeOrder(v, s, q)
}

func (r *ownWait) judgeStep(v *view, s, q *step) string {
	next := q.nextStep()
	action := map[string]string{r.Reminder: "remind", r.Escalated: "escalate"}[s.Type]
	switch {
	case next == nil:
		return fmt.Sprintf("%s for question %d, all of whose %d steps were carried out", s.Type, s.data.InteractionID,
			len(q.data.Wait.Steps))
	case s.data.Step != q.fired+1:
		return fmt.Sprintf("step %d of question %d, but step %d is next", s.data.Step, s.data.InteractionID, q.fired+1)
	case next.Action != action:
		return fmt.Sprintf("%s for question %d, but its step %d is: %s", s.Type, s.data.InteractionID, s.data.Step,
			next.Action)
	case !s.data.DueAt.Equal(next.At):
		return fmt.Sprintf("step %d of question %d is %s, not %s", s.data.Step, s.data.InteractionID,
			fcmp.FormatTime(next.At), fcmp.FormatTime(s.data.DueAt))
	case s.TS.Before(next.At):
		return fmt.Sprintf("step %d of question %d comes %s before its time", s.data.Step, s.data.InteractionID,
			next.At.Sub(s.TS))
	}
	return judgeOrder(v, s, q)
}

// judgeOrder checks that no other step or end was due before the next step or the end of q.
func judgeOrder(v *view, s, q *step) string {
	due := q.nextDue()
	for _, other := range v.open {
		at := other.nextDue()
		if other == q || !other.waitsOwn() || at.IsZero() || !at.Before(due) &&
			(!at.Equal(due) || other.data.InteractionID > q.data.InteractionID) {
			continue
		}
		return fmt.Sprintf("%s for question %d, but question %d is next", s.Type, s.data.InteractionID,
			other.data.InteractionID)
	}
	if q.nextStep() != nil && s.byTime() != "" && q.nextStep().At.Equal(due) {
		return fmt.Sprintf("%s for question %d, but its step %d is next", s.Type, s.data.InteractionID, q.fired+1)
	}
	return ""
}

// judgeExtension judges an event that moves the end of the open question q.
func judgeExtension(s, q *step) string {
	switch before := q.data.WaitDeadlineAt; {
	case q.unknown("wait_deadline_at"):
		return s.skip()
	case before.IsZero():
		return fmt.Sprintf("%s for question %d, which waits without an end", s.Type, s.data.InteractionID)
	case !s.data.WaitDeadlineAt.After(before) || !s.data.WaitDeadlineAt.After(s.TS):
		return fmt.Sprintf("the end of question %d moves from %s to %s, which is not later", s.data.InteractionID,
			fcmp.FormatTime(before), fcmp.FormatTime(s.data.WaitDeadlineAt))
	}
	return ""
}

// questionsDue returns the open questions that a change of state without a reply may concern: the
// first one; of several with waits, those that have ended.
func (v *view) questionsDue(s *step) []*step {
	if !v.group.own || s.data.Trigger != "interaction.wait.timeout" {
		return v.open[:1]
	}
	return slices.DeleteFunc(slices.Clone(v.open), func(q *step) bool {
		return q.data.WaitDeadlineAt.IsZero() && !q.unknown("wait_deadline_at") || q.data.WaitDeadlineAt.After(s.TS)
	})
}

// endedEarly reports an event before the end of its question.
func (v *view) endedEarly(s *step) string {
	due := v.endsAt("fail", "auto_decide")
	if q := v.question(s); q != nil {
		due = q.data.WaitDeadlineAt
	}
	if s.TS.Before(due) {
		return fmt.Sprintf("%s comes %s before the end of its question", describe(s), due.Sub(s.TS))
	}
	return ""
}

// endsAt is the first time at which an open question may end in this way; zero if it is unknown or
// never.
func (v *view) endsAt(onDeadline ...string) (at time.Time) {
	for _, q := range v.open {
		end := q.data.WaitDeadlineAt
		if slices.Contains(onDeadline, q.data.OnDeadline) && !end.IsZero() && (at.IsZero() || end.Before(at)) {
			at = end
		}
	}
	return at
}
