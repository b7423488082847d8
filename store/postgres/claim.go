package postgres

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/jackc/pgx/v5"

	"github.com/interlude-go/interlude/store"
)

// fair is where the last claims of this process came to: hints for fairness, and no more.
type fair struct {
	mu     sync.Mutex
	served map[string]string // guarded by mu; by pool: the key served last
	first  string            // guarded by mu; the pool at which the last claim began
}

// Claim implements store.Writer. It is a transaction of its own, which holds the rows of the pools
// that it claims from, so that those of all nodes come one after the other.
func (s *Store) Claim(ctx context.Context, req store.ClaimRequest) ([]store.Claimed, error) {
	if err := req.Check(); err != nil {
		return nil, err
	}
	if !storable(req.Node) {
		return nil, fmt.Errorf("%w: node %+.128q is not registered", store.ErrStaleEpoch, req.Node)
	}
	if s.o.NoGroupCommit {
		return s.claimOneByOne(ctx, req)
	}
	claimed, failed, err := s.claim(ctx, req)
	return claimed, errors.Join(failed, err)
}

// claimOneByOne gives each run a transaction of its own. One that Start fails for would be the next
// again: what is left then goes together, so that it holds up no other.
func (s *Store) claimOneByOne(ctx context.Context, req store.ClaimRequest) (claimed []store.Claimed, _ error) {
	for left := req.Max; left > 0; left-- {
		req.Max = 1
		some, failed, err := s.claim(ctx, req)
		if failed != nil {
			req.Max = left - len(some) // some of another pool, perhaps
			claimed = append(claimed, some...)
			if req.Max == 0 {
				return claimed, failed
			}
			some, failed, err = s.claim(ctx, req)
			return append(claimed, some...), errors.Join(failed, err)
		}
		if err != nil || len(some) == 0 {
			return claimed, err
		}
		claimed = append(claimed, some...)
	}
	return claimed, nil
}

// claim makes one transaction. Failed are the errors of single runs.
func (s *Store) claim(ctx context.Context, req store.ClaimRequest) (_ []store.Claimed, failed, _ error) {
	ctx, done, err := s.call(ctx)
	if err != nil {
		return nil, nil, err
	}
	defer done()
	for try := 0; ; try++ {
		c := &claim{Store: s, req: req, engines: manyBytes(req.Engines)}
		err := c.run(ctx)
		switch {
		case err == nil:
			return c.claimed, errors.Join(c.failures...), nil
		case errors.Is(err, store.ErrStaleEpoch):
			return nil, nil, err
		case !again(err) || try == maxTries:
			return nil, nil, fmt.Errorf("postgres: claim: %w", explain(err))
		}
	}
}

// claim is one Claim inside its transaction.
type claim struct {
	*Store
	req      store.ClaimRequest
	engines  [][]byte // whose runs may be picked
	conn     *pgx.Conn
	picks    []pick
	entries  []*entry
	specs    [][]byte // by entry
	claimed  []store.Claimed
	failures []error // of single runs
}

// pick is a run that is to be started.
type pick struct {
	n       int64
	id      string
	version uint64
	locked  bool // its row is
}

func (c *claim) run(ctx context.Context) error {
	if !c.req.Told || c.req.Engines == nil { // which engines there are is for peek to find
		if some, err := c.peek(ctx); err != nil || !some {
			return err
		}
	}
	conn, err := c.acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	c.conn = conn.Conn()
	err = c.take(ctx)
	if err == nil {
		err = c.start(ctx)
	}
	if err == nil {
		err = c.store(ctx)
	}
	if err != nil {
		c.recent.doubt(err)
		rollBack(ctx, c.conn)
	}
	return err
}
