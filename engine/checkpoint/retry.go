package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/interlude-go/interlude/engine"
)

// ErrPermanent is wrapped in an error of a Store that will not pass: the call is not retried.
var ErrPermanent = errors.New("checkpoint: trying again is of no use")

// How often a call of a Store is tried. The backoff between two tries is doubled each time; all
// together are about 11 s.
const (
	maxTries     = 8
	firstBackoff = 100 * time.Millisecond
	maxBackoff   = 5 * time.Second
)

// retry repeats a call of a store until it succeeds. It gives up when the call has failed too
// often, when its error wraps ErrPermanent, and when ctx ends. Without it, one error of a network
// would fail a turn, and with it an answer that a person has given.
func retry(ctx context.Context, call func() error) error {
	backoff := firstBackoff
	for try := 1; ; try++ {
		err := call()
		switch {
		case err == nil, errors.Is(err, ErrPermanent), errors.Is(err, engine.ErrHandleRefused):
			return err
		case ctx.Err() != nil:
			return errors.Join(context.Cause(ctx), err)
		case try == maxTries:
			return fmt.Errorf("the store failed %d times, last with: %w", try, err)
		}
		wait := time.NewTimer(backoff)
		select {
		case <-wait.C:
		case <-ctx.Done():
			wait.Stop()
			return errors.Join(context.Cause(ctx), err)
		}
		backoff = min(2*backoff, maxBackoff)
	}
}
