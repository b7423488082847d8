package groupcommit_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/store/internal/groupcommit"
)

// ending is a context that ends when its caller has submitted the job and begins to wait for it.
type ending struct {
	context.Context

	end   context.CancelFunc
	calls int
}

func (c *ending) Done() <-chan struct{} {
	if c.calls++; c.calls == 2 {
		c.end()
	}
	return c.Context.Done()
}

// A caller whose context ends gets the outcome of its job if the outcome is known.
func TestAKnownOutcomeIsReturnedToACanceledCaller(t *testing.T) {
	for range 100 { // a select with two cases that are ready takes either
		q := groupcommit.New[struct{}]("test", 1, true)
		ctx, cancel := context.WithCancel(t.Context())
		j := groupcommit.NewJob(struct{}{}, 1)
		j.Start()
		j.Finish(nil)
		require.NoError(t, q.Submit(&ending{Context: ctx, end: cancel}, j))
	}
}
