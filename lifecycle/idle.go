package lifecycle

import (
	"context"
	"time"
)

// idle waits for a wake-up, but never longer than d without a look. It keeps its timer from wake-up
// to wake-up.
type idle struct {
	clock Clock
	wake  <-chan struct{}
	d     time.Duration
	tick  <-chan time.Time
	stop  func()
}

func (i *idle) wait(ctx context.Context) error {
	if i.tick == nil {
		i.tick, i.stop = i.clock.Timer(i.d)
	}
	select {
	case <-i.wake:
	case <-i.tick:
		i.end()
	case <-ctx.Done():
	}
	return ctx.Err()
}

// end releases the timer.
func (i *idle) end() {
	if i.tick != nil {
		i.stop()
		i.tick = nil
	}
}

// rest waits for as long as d; its error says that ctx ended.
func (c *Client) rest(ctx context.Context, d time.Duration) error {
	tick, stop := c.clock.Timer(d)
	defer stop()
	select {
	case <-tick:
	case <-ctx.Done():
	}
	return ctx.Err()
}
