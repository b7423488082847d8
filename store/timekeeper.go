package store

import "time"

// Timekeeper is implemented by a store with its own clock, such as a database server's, which
// judges leases. Deciders use that clock, so that all nodes of a store agree on passed deadlines,
// however wrong their machines' clocks are.
type Timekeeper interface {
	// Now returns this process's estimate of the store's time, without blocking. Between readings of
	// the store's clock it advances with elapsed time, even if this machine's clock is set. Its error
	// is bounded by the duration of a reading; it may be called from any goroutine.
	Now() time.Time
}
