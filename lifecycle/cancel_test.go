package lifecycle

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/store"
)

// withoutHints is a store that sends no hints, as if all of them were lost.
type withoutHints struct{ store.Store }

// TestCancelOfATurnOnAnotherNode: I6, the node that executes the turn learns of the cancel from a
// hint, from its next heartbeat, or from the fence of its commit, whichever comes first.
func TestCancelOfATurnOnAnotherNode(t *testing.T) {
	for name, c := range map[string]struct {
		hints  bool
		report time.Duration // when the engine reports, counted from the start of the turn, which takes a poll
		cause  error
		after  time.Duration // counted from the cancel
	}{
		"the hint ends it at once": {hints: true, report: time.Hour, cause: engine.ErrCanceled},
		"without it the next heartbeat does": {report: time.Hour, cause: engine.ErrStale,
			after: 2 * time.Second},
		"or the fence of an earlier report": {report: 6 * time.Second, cause: engine.ErrStale,
			after: time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				shared := newStore(t)
				ended := make(chan error, 1)
				agent := sinking(func(ctx context.Context, _ engine.Turn, s engine.Sink) (engine.Outcome, error) {
					select {
					case <-ctx.Done():
					case <-time.After(c.report):
						err := s.Message(ctx, engine.Message{Text: "half done"})
						require.ErrorIs(t, err, engine.ErrStale)
					}
					ended <- context.Cause(ctx)
					return finished(), nil
				})
				var seen store.Store = withoutHints{shared}
				if c.hints {
					seen = shared
				}
				lc, stop := serve(t, Config{Store: seen, Engine: agent, Lease: 12 * time.Second})
				submit(t, lc, "r")
				pass(6 * time.Second)
				elsewhere, err := NewClient(ClientConfig{Store: shared, Logger: slog.New(slog.DiscardHandler)})
				require.NoError(t, err)
				defer elsewhere.Close()

				canceled := time.Now()
				require.NoError(t, elsewhere.Cancel(t.Context(), "r", "not needed"))
				require.ErrorIs(t, <-ended, c.cause)
				require.Equal(t, c.after, time.Since(canceled))

				stop()
				in(t, elsewhere, "r", fsm.StateCanceled)
			})
		})
	}
}
