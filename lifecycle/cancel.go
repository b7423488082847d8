package lifecycle

import (
	"context"
	"errors"
	"fmt"

	"github.com/interlude-go/interlude/store"
)

// Cancel ends the run, whatever it is doing (I6). A queued run is never started. A waiting run's
// question is closed. A running turn's context ends, and whatever its engine still returns changes
// nothing. For a run that has ended it returns a *TerminalError and stores no event (I7).
//
// The run is canceled by the commit alone. The turn may execute on another node, which learns of
// the commit in one of three ways, whichever comes first:
//
//  1. The store's hint of the commit reaches that node, which ends the turn at once (handleHint in
//     serve.go). A hint may be lost.
//  2. The node's next heartbeat: the store does not list the run among those that the node holds
//     any more (compareHolds in lease.go). This takes a third of a lease, and as long again for a
//     turn that has only just begun.
//  3. The fence: the store refuses with ErrStaleEpoch whatever the turn still commits (commitLocked
//     in commit.go), so a report or an outcome that comes earlier ends the turn, and is not stored.
func (c *Client) Cancel(ctx context.Context, id, reason string) error {
	for {
		run, err := c.store.Run(ctx, id)
		if err != nil {
			return fmt.Errorf("lifecycle: cancel run %s: %w", id, err)
		}
		if run.State.Terminal() { // the caller may leave it at that, so the end must be durable (J8)
			err := c.store.Confirm(ctx, func(r store.Reader) (err error) {
				run, err = r.Run(ctx, id)
				return err
			})
			if err != nil {
				return fmt.Errorf("lifecycle: cancel run %s: %w", id, err)
			}
			if run.State.Terminal() {
				return &TerminalError{RunID: id, State: run.State}
			}
		}
		cm, err := decideCancel(&run, shortened(reason), commitTime(c.clock))
		if err != nil {
			return err
		}
		if err := c.commit(ctx, cm); !errors.Is(err, store.ErrConflict) {
			if err != nil {
				return fmt.Errorf("lifecycle: cancel run %s: %w", id, err)
			}
			return nil
		}
	}
}
