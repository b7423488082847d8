package audit

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/interlude-go/interlude/contract"
	"github.com/interlude-go/interlude/contract/fcmp"
)

// The rule about claimed questions.

type claimed struct {
	by      string
	of      string // the person for whom the claimant acts
	until   time.Time
	unknown bool // claimed, but the log does not say by whom
}

// lasts reports whether the claim lasts at the time of the event.
func (c *claimed) lasts(s *step) bool { return s.TS.Before(c.until) }

// excludes reports whether neither the event's actor nor the person for whom the actor acts has
// claimed the question.
func (c *claimed) excludes(s *step) bool {
	return c.lasts(s) && s.data.Actor != c.by && (c.of == "" || s.data.Actor != c.of) &&
		(s.data.For == "" || s.data.For != c.by)
}

func (q *step) noteClaim(s *step) {
	q.claim = claimed{}
	if s.data.Change == "claim" {
		q.claim = claimed{by: s.data.Actor, of: s.data.For, until: s.data.ClaimedUntil, unknown: s.unknown("actor")}
	}
}

// claims is IV-47: while a claim lasts, no other person claims the question, with an event of the
// type Changed, or answers it, with Replied; Escalated ends the claim.
type claims struct {
	Changed   string   `json:"changed"`
	Escalated string   `json:"escalated"`
	Replied   []string `json:"replied"`
}

func (r *claims) bind(*contract.Lifecycle) error {
	return errors.Join(allKnown("event type of a change", []string{fcmp.TypeChanged}, r.Changed),
		allKnown("event type of an escalation", []string{fcmp.TypeEscalated}, r.Escalated),
		someKnown("event type of a reply", []string{fcmp.TypeReplyAccepted, fcmp.TypeRecorded}, r.Replied...))
}

func (r *claims) judge(v *view, s *step) string {
	replied := slices.Contains(r.Replied, s.Type) && s.byTime() == ""
	if s.Type != r.Changed && !replied {
		return ""
	}
	if s.Type == r.Changed {
		if fault := judgeChange(s); fault != "" {
			return fault
		}
	}
	q := v.question(s)
	switch {
	case v.openUnknown:
		return s.skip()
	case q == nil:
		return "" // namesOpen reports it
	case s.Type == r.Changed && s.data.Change != "claim" && s.data.Change != "release":
		return ""
	case s.data.Change == "release":
		return judgeRelease(s, q)
	case s.unknown("actor") && (s.Type == r.Changed || q.claim.lasts(s)) || q.claim.unknown:
		return s.skip()
	case q.claim.excludes(s):
		return fmt.Sprintf("%s for question %d by %.100q, but %.100q has claimed it until %s", describe(s),
			s.data.InteractionID, s.data.Actor, q.claim.by, fcmp.FormatTime(q.claim.until))
	case replied:
		return ""
	}
	return judgeClaim(s, q)
}

// judgeClaim judges a claim of the open question q that no other person has claimed.
func judgeClaim(s, q *step) string {
	switch {
	case q.several():
		return fmt.Sprintf("question %d is claimed, but several people decide it", s.data.InteractionID)
	case s.data.Actor == "":
		return fmt.Sprintf("question %d is claimed, but the event does not name the claimant", s.data.InteractionID)
	case !s.data.ClaimedUntil.After(s.TS):
		return fmt.Sprintf("question %d is claimed until %s, which is not later", s.data.InteractionID,
			fcmp.FormatTime(s.data.ClaimedUntil))
	}
	return ""
}

// judgeRelease judges an event that gives back a claim of the open question q.
func judgeRelease(s, q *step) string {
	if !q.claim.lasts(s) {
		return fmt.Sprintf("question %d is given back, but it was not claimed", s.data.InteractionID)
	}
	return ""
}

// judgeChange checks that the event has exactly the members that its change requires.
func judgeChange(s *step) string {
	for _, about := range []struct {
		change string
		there  bool
	}{
		{"extend", !s.data.WaitDeadlineAt.IsZero()}, {"claim", !s.data.ClaimedUntil.IsZero()},
		{"reassign", s.putsToOthers},
	} {
		if about.there != (s.data.Change == about.change) {
			return fmt.Sprintf("%s is %q, and has what %q is about: %t", s.Type, s.data.Change, about.change,
				about.there)
		}
	}
	return ""
}
