package lifecycle

import (
	"context"
	"errors"
	"fmt"

	"github.com/interlude-go/interlude/store"
)

// Cancel ends the run, whatever it is doing. A queued run is never started; a running turn's engine
// is ended by its worker, and whatever it still returns changes nothing; a waiting run's question
// is closed (I6). For a run that has ended it returns a *TerminalError and tells no event (I7).
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
