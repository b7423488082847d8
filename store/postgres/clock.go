package postgres

import (
	"context"
	"sync/atomic"
	"time"
)

// clock is the server's clock: its last reading, and the time passed here since.
type clock struct{ reading atomic.Pointer[clockReading] }

type clockReading struct {
	server      time.Time
	here        time.Time     // with this process's monotonic reading
	uncertainty time.Duration // the possible error of server
}

// drift is the assumed drift between free-running clocks: one ten-thousandth, ten times the usual.
const drift = 10_000

// at is the server's time at a moment of this process.
func (r clockReading) at(here time.Time) time.Time { return r.server.Add(here.Sub(r.here)) }

func (r clockReading) uncertaintyAt(here time.Time) time.Duration {
	return r.uncertainty + here.Sub(r.here)/drift
}

// replacedBy reports whether a new reading replaces this one: it is more precise, or contradicts
// it, because a clock was set or stopped.
func (r clockReading) replacedBy(next clockReading) bool {
	uncertainty := r.uncertaintyAt(next.here)
	return next.uncertainty <= uncertainty ||
		r.at(next.here).Sub(next.server).Abs() > uncertainty+next.uncertainty
}

var clockText = sql(`SELECT ` + serverMicros)

func (s *Store) Now() time.Time { return s.clock.reading.Load().at(time.Now()) }

// clockSamples is the number of queries per reading. The fastest answer counts: the connection may
// be new, or the server busy.
const clockSamples = 3

// readClock reads the server's clock, assuming the middle of the exchange.
func (s *Store) readClock(ctx context.Context) error {
	conn, err := s.acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	var best clockReading
	for i := range clockSamples {
		before := time.Now()
		var now int64
		if err := conn.QueryRow(ctx, s.texts[clockText]).Scan(&now); err != nil {
			return err
		}
		if half := time.Since(before) / 2; i == 0 || half < best.uncertainty {
			best = clockReading{server: timeOf(now), here: before.Add(half), uncertainty: half}
		}
	}
	if last := s.clock.reading.Load(); last == nil || last.replacedBy(best) {
		s.clock.reading.Store(&best)
	}
	return nil
}

const clockInterval = time.Minute

// pollClock reads the clock until the store is closed. A failed reading is repeated at the next tick.
func (s *Store) pollClock() {
	tick := time.NewTicker(s.o.ClockInterval)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-s.live.Done():
			return
		}
		ctx, cancel := context.WithTimeout(s.live, s.o.Timeout)
		_ = s.readClock(ctx) // time continues from the last reading
		cancel()
	}
}
