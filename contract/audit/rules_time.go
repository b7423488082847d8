package audit

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/interlude-go/interlude/contract"
	"github.com/interlude-go/interlude/contract/fcmp"
)

// The rules about times: all times of an event equal the commit's, and timeouts equal the
// submission's.

// differs returns an explanation if a time is not the wanted one, and "" otherwise.
func differs(member string, got, want time.Time, wanted string) string {
	if got.Equal(want) {
		return ""
	}
	return fmt.Sprintf("%s is %s, but %s is %s", member, fcmp.FormatTime(got), wanted, fcmp.FormatTime(want))
}

// sameTime is IV-35: the member is the event's own time.
type sameTime struct {
	Members []struct {
		Type   string `json:"type"`
		Member string `json:"member"`
	} `json:"members"`
}

func (r *sameTime) bind(l *contract.Lifecycle) error {
	if len(r.Members) == 0 {
		return errors.New("no member is named")
	}
	var faults []error
	for _, m := range r.Members {
		faults = append(faults, allKnown("event type", l.PayloadTypes(), m.Type), allKnown("time", instants, m.Member))
	}
	return errors.Join(faults...)
}

func (r *sameTime) judge(_ *view, s *step) string {
	for _, m := range r.Members {
		if m.Type != s.Type {
			continue
		}
		at := s.instant(m.Member)
		if at.IsZero() {
			return s.skip()
		}
		if wrong := differs(m.Member, at, s.TS, "the event's ts"); wrong != "" {
			return wrong
		}
	}
	return ""
}

var instants = []string{"updated_at", "accepted_at", "asked_at", "wait_deadline_at", "closed_at"}

func (s *step) instant(member string) time.Time {
	switch member {
	case "updated_at":
		return s.data.UpdatedAt
	case "accepted_at":
		return s.data.AcceptedAt
	case "asked_at":
		return s.data.AskedAt
	case "wait_deadline_at":
		return s.data.WaitDeadlineAt
	case "closed_at":
		return s.data.ClosedAt
	}
	return time.Time{}
}

// asSubmitted is IV-36: the number equals the submitted one.
type asSubmitted struct {
	Type   string `json:"type"`
	Member string `json:"member"`
	Limit  string `json:"limit"`
}

func (r *asSubmitted) bind(*contract.Lifecycle) error {
	return errors.Join(allKnown("event type", []string{fcmp.TypeAutoDecided}, r.Type),
		allKnown("number", []string{"timeout_sec"}, r.Member),
		allKnown("limit", []string{"session_timeout_sec"}, r.Limit))
}

func (r *asSubmitted) judge(v *view, s *step) string {
	switch {
	case s.Type != r.Type:
		return ""
	case v.started == nil || v.started.data.SessionTimeoutSec == 0 || s.data.TimeoutSec == 0:
		return s.skip()
	case v.group.own:
		return v.judgeOwnTimeout(s)
	case s.data.TimeoutSec != v.started.data.SessionTimeoutSec:
		return fmt.Sprintf("%s is %d, but the run was submitted with %s %d", r.Member, s.data.TimeoutSec, r.Limit,
			v.started.data.SessionTimeoutSec)
	}
	return ""
}

// judgeOwnTimeout checks that the event's timeout_sec is the length of its question's wait.
func (v *view) judgeOwnTimeout(s *step) string {
	q := v.question(s)
	if q == nil || q.data.AskedAt.IsZero() || q.data.WaitDeadlineAt.IsZero() {
		return s.skip()
	}
	if span := int(q.data.WaitDeadlineAt.Sub(q.data.AskedAt) / time.Second); s.data.TimeoutSec != span {
		return fmt.Sprintf("timeout_sec is %d, but question %d waited for %d s", s.data.TimeoutSec,
			s.data.InteractionID, span)
	}
	return ""
}

// waitsFor is IV-37: a deadline, if there is one, is the time From plus the timeout of the
// submission.
type waitsFor struct {
	Type     string `json:"type"`
	From     string `json:"from"`
	Deadline string `json:"deadline"`
	Limit    string `json:"limit"`
}

func (r *waitsFor) bind(*contract.Lifecycle) error {
	return errors.Join(allKnown("event type", []string{fcmp.TypeInputRequired}, r.Type),
		allKnown("time", []string{"asked_at"}, r.From), allKnown("time", []string{"wait_deadline_at"}, r.Deadline),
		allKnown("limit", []string{"session_timeout_sec"}, r.Limit))
}

func (r *waitsFor) judge(v *view, s *step) string {
	deadline := s.instant(r.Deadline)
	if s.Type != r.Type || deadline.IsZero() || s.waitsOwn() {
		return "" // implies reports a deadline that is missing
	}
	from := s.instant(r.From)
	if v.started == nil || v.started.data.SessionTimeoutSec == 0 || from.IsZero() {
		return s.skip()
	}
	span := min(int64(v.started.data.SessionTimeoutSec), maxSpanSec)
	due := from.Add(time.Duration(span) * time.Second)
	s.data.WaitDeadlineAt = due // a wrong deadline is reported only here, and not also by notBefore
	return differs(r.Deadline, deadline, due, fmt.Sprintf("%s plus %s (%d s)", r.From, r.Limit,
		v.started.data.SessionTimeoutSec))
}

// maxSpanSec is the longest span in seconds that a time.Duration holds.
const maxSpanSec = math.MaxInt64 / int64(time.Second)
