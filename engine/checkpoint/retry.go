package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/interlude-go/interlude/engine"
)

// ErrPermanent is wrapped in a Store's error that must not be retried.
var ErrPermanent = errors.New("checkpoint: a retry cannot succeed")

// The number of tries and the first pause, which doubles: about 11 s in total.
const (
	maxTries     = 8
	firstBackoff = 100 * time.Millisecond
	maxBackoff   = 5 * time.Second
)

// retry repeats a store's call until it succeeds, has failed too often or with ErrPermanent, or ctx
// ends. Otherwise one network error would fail a turn, and lose a person's answer.
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
