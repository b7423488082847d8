package crash

import "time"

// Quick is a clock that runs so much faster than the machine's, from one moment on that all
// processes of a case know.
type Quick struct{ Base time.Time }

// Haste is how much faster: a lease runs out, and a deadline passes, while a test can wait for it.
const Haste = 20

// Now is Base and so much of what has passed since.
func (q Quick) Now() time.Time { return q.Base.Add(Haste * time.Since(q.Base)) }

// Timer waits that much less.
func (Quick) Timer(d time.Duration) (<-chan time.Time, func()) {
	t := time.NewTimer(d / Haste)
	return t.C, func() { t.Stop() }
}
