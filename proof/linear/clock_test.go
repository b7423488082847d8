package linear_test

import (
	"context"
	"time"

	"github.com/interlude-go/interlude/proof/cast"
)

// quick is the clock of a world. It is so fast that leases and deadlines take part in races that
// last milliseconds.
type quick struct{ cast.Clock }

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// newClock returns a clock that shows noon now.
func newClock() quick {
	return quick{cast.Clock{Start: time.Now(), First: noon, Factor: 200}}
}

// ponder lets some time pass, as people and agents do. It waits for nothing else.
func (c quick) ponder(ctx context.Context, d time.Duration) {
	tick, stop := c.Timer(d)
	defer stop()
	select {
	case <-tick:
	case <-ctx.Done():
	}
}
