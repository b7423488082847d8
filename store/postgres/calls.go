package postgres

import (
	"context"
	"sync"

	"github.com/interlude-go/interlude/store"
)

// calls are those under way, for Close to wait for.
type calls struct {
	mu      sync.Mutex
	pending sync.WaitGroup // added to under mu, while not closed
}

// end closes the channel and waits for the calls that began before.
func (c *calls) end(closed chan struct{}) {
	c.mu.Lock()
	close(closed)
	c.mu.Unlock()
	c.pending.Wait()
}

// begin counts a call; false when it comes too late.
func (c *calls) begin(closed <-chan struct{}) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	select {
	case <-closed:
		return false
	default:
		c.pending.Add(1)
		return true
	}
}

// call begins a call, whose context is bounded by Options.Timeout. Done ends it.
func (s *Store) call(ctx context.Context) (_ context.Context, done func(), _ error) {
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	if !s.calls.begin(s.closed) {
		return nil, nil, store.ErrClosed
	}
	ctx, cancel := context.WithTimeout(ctx, s.o.Timeout)
	return ctx, func() {
		cancel()
		s.calls.pending.Done()
	}, nil
}

// read begins a call of the reader.
func (s *Store) read(ctx context.Context) (querier, context.Context, func(), error) {
	within, done, err := s.call(ctx)
	return heedful{s.pool}, within, done, err
}
