package store

import "time"

// Timekeeper is implemented by a store with a clock of its own, as a database server's: the one
// that it judges leases by. Those who decide take the time from it, so that the nodes of one store
// agree on when a deadline has passed, however wrong the clocks of their machines are.
type Timekeeper interface {
	// Now returns the store's present time as far as this process knows it, without asking: it
	// never blocks. Between two readings of the store's clock it goes on as time passes here, even
	// when this machine's clock is set. It may be wrong by as long as a reading takes; it may be
	// called from any goroutine.
	Now() time.Time
}
