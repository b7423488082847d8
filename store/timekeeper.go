package store

import "time"

// Timekeeper is a store with its own clock, such as a database server's, which judges leases.
// Decisions use that clock, so that all nodes agree on passed deadlines, however wrong their
// machines' clocks are.
type Timekeeper interface {
	// Now estimates the store's time, without blocking. Between readings of the store's clock it
	// advances with elapsed time, even if this machine's clock is set. Its error is bounded by the
	// duration of a reading. It is safe for concurrent use.
	Now() time.Time
}
