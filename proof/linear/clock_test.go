package linear_test

import (
	"context"
	"time"
)

// quick is a clock that runs so much faster than this machine's, so that leases and deadlines take
// part in races that last milliseconds.
type quick struct{ begun time.Time }

const haste = 200

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func (c quick) Now() time.Time { return noon.Add(haste * time.Since(c.begun)) }

func (quick) Timer(d time.Duration) (<-chan time.Time, func()) {
	t := time.NewTimer(d / haste)
	return t.C, func() { t.Stop() }
}

// ponder passes some time, as people and agents do; it is no wait for anything.
func (c quick) ponder(ctx context.Context, d time.Duration) {
	tick, stop := c.Timer(d)
	defer stop()
	select {
	case <-tick:
	case <-ctx.Done():
	}
}
