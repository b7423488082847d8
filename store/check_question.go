package store

import "time"

// checkQuestion follows the run's questions: they are numbered without a gap, and each stays until
// it is settled (I8). So no interaction is ever settled twice.
func (r *Run) checkQuestion(prev *Run) error {
	asked := 0
	if prev.Pending == nil && r.Pending != nil {
		asked = 1
	}
	switch {
	case r.Interactions != prev.Interactions+asked:
		return invalid(r, "interactions is %d, want %d", r.Interactions, prev.Interactions+asked)
	case prev.Pending != nil && r.Pending != nil && r.Pending.ID != prev.Pending.ID:
		return invalid(r, "interaction %d takes the place of %d, which is not settled", r.Pending.ID, prev.Pending.ID)
	}
	return nil
}

// checkSettled says whether the settled interaction is one.
func (c *Commit) checkSettled() error {
	s := c.Settled
	switch {
	case s == nil:
		return nil
	case c.Run.Pending != nil:
		return invalid(&c.Run, "interaction %d is settled and still pending", s.Question.ID)
	case s.Question.AskedAt.IsZero() || !kept(s.Question.AskedAt):
		return invalid(&c.Run, "interaction %d is settled with asked_at %s, want a time in UTC in microseconds",
			s.Question.ID, s.Question.AskedAt)
	case s.Resolution == "" || s.ResolvedAt.IsZero() || !kept(s.ResolvedAt):
		return invalid(&c.Run, "interaction %d is settled with resolution %q at %s, want a resolution and a time in "+
			"UTC in microseconds",
			s.Question.ID, s.Resolution, s.ResolvedAt)
	}
	return nil
}

// kept says whether a store keeps the time as it is: in UTC, without nanoseconds, and with a year
// that RFC 3339 has.
func kept(t time.Time) bool {
	return t.Location() == time.UTC && t.Nanosecond()%1000 == 0 && t.Year() >= 0 && t.Year() <= 9999
}
