package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/interlude-go/interlude/engine"
)

// ErrPermanent is wrapped by a Store in an error that does not pass: the call is not tried again.
var ErrPermanent = errors.New("checkpoint: trying again is of no use")

// How often a call of a Store is tried, and how long is waited in between: 100 ms at first, twice
// as long each time, 11 s together.
const (
	maxTries     = 8
	firstBackoff = 100 * time.Millisecond
	maxBackoff   = 5 * time.Second
)

// retry calls a store until it does what it is asked, and gives up when it has failed too often,
// when it says that its error does not pass, and when ctx ends. A turn that fails for the store's
// error has spent its run's answer, so that one error of a network must not do it.
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
