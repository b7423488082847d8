package postgres

import (
	"context"
	"sync/atomic"
	"time"
)

// clock is the server's clock as this process knows it: a look at it, and the time that has passed since.
type clock struct{ seen atomic.Pointer[sight] }

// sight is what the server's clock said.
type sight struct {
	server time.Time
	here   time.Time // with the monotonic reading of this process
}

var clockText = sql(`SELECT ` + micros)

// Now implements store.Timekeeper.
func (s *Store) Now() time.Time {
	seen := s.clock.seen.Load()
	return seen.server.Add(time.Since(seen.here))
}

// lookAtClock reads the server's clock; the reading is taken to be of the middle of the exchange.
func (s *Store) lookAtClock(ctx context.Context) error {
	before := time.Now()
	var now int64
	if err := s.pool.QueryRow(ctx, s.texts[clockText]).Scan(&now); err != nil {
		return err
	}
	s.clock.seen.Store(&sight{server: timeOf(now), here: before.Add(time.Since(before) / 2)})
	return nil
}

// clockLooks is how often the server's clock is looked at again: clocks that run freely part by some milliseconds in that time.
const clockLooks = time.Minute

// keepTime looks at the clock until the store is closed. A look that fails is made again at the next turn.
func (s *Store) keepTime() {
	tick := time.NewTicker(clockLooks)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-s.live.Done():
			return
		}
		ctx, cancel := context.WithTimeout(s.live, s.o.Timeout)
		_ = s.lookAtClock(ctx) // the time goes on as before
		cancel()
	}
}
