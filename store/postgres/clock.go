package postgres

import (
	"context"
	"sync/atomic"
	"time"
)

// clock is the server's clock as this process knows it: a look at it, and the time that has passed
// since.
type clock struct{ seen atomic.Pointer[sight] }

// sight is what the server's clock said.
type sight struct {
	server time.Time
	here   time.Time     // with the monotonic reading of this process
	doubt  time.Duration // it may be wrong by so much
}

// drift is how fast clocks that run freely may part: one ten-thousandth, ten times what is usual.
const drift = 10_000

// at is the server's time at a moment of this process's.
func (s sight) at(here time.Time) time.Time { return s.server.Add(here.Sub(s.here)) }

// doubtAt grows as time passes.
func (s sight) doubtAt(here time.Time) time.Duration { return s.doubt + here.Sub(s.here)/drift }

// yields reports whether a new look is to count: it is surer, or says that one of the two clocks
// was set, or stood.
func (s sight) yields(to sight) bool {
	doubt := s.doubtAt(to.here)
	return to.doubt <= doubt || s.at(to.here).Sub(to.server).Abs() > doubt+to.doubt
}

var clockText = sql(`SELECT ` + micros)

// Now implements store.Timekeeper.
func (s *Store) Now() time.Time { return s.clock.seen.Load().at(time.Now()) }

// looks is how often the server is asked in one look, of which the quickest answer counts: the
// first ones may find the connection new, or the server busy.
const looks = 3

// lookAtClock reads the server's clock; the reading is taken to be of the middle of the exchange.
func (s *Store) lookAtClock(ctx context.Context) error {
	conn, err := s.acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	var best sight
	for i := range looks {
		before := time.Now()
		var now int64
		if err := conn.QueryRow(ctx, s.texts[clockText]).Scan(&now); err != nil {
			return err
		}
		if half := time.Since(before) / 2; i == 0 || half < best.doubt {
			best = sight{server: timeOf(now), here: before.Add(half), doubt: half}
		}
	}
	if known := s.clock.seen.Load(); known == nil || known.yields(best) {
		s.clock.seen.Store(&best)
	}
	return nil
}

// clockLooks is how often the server's clock is looked at again.
const clockLooks = time.Minute

// keepTime looks at the clock until the store is closed. A look that fails is made again at the
// next turn.
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
