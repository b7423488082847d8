package lifecycle

import (
	"context"
	"errors"
	"fmt"

	"github.com/interlude-go/interlude/store"
)

// Stats are the figures of all nodes' queues, waits and pools at one moment.
type Stats = store.Survey

// ErrNoStats: the store cannot count what it keeps. Those of this project can.
var ErrNoStats = fmt.Errorf("lifecycle: the store is no store.Surveyor and has no figures: %w", errors.ErrUnsupported)

// Stats counts what has not ended, for those who operate the host: how much is queued, running and
// waiting, for how long the oldest has been, and how the pools are used. It costs more the more
// runs have not ended, and nothing for those that have: look every ten seconds or so, not for each
// request. ErrNoStats when the store cannot tell.
func (c *Client) Stats(ctx context.Context) (Stats, error) {
	s, ok := c.store.(store.Surveyor)
	if !ok {
		return Stats{}, ErrNoStats
	}
	return s.Survey(ctx, stamp(c.clock))
}
