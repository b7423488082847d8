// Package claim implements the store-independent part of a claim: the order of pools and keys,
// calling and checking the caller's Start, and claims with one transaction per run. Package slots
// decides which ready runs of a pool start next.
package claim

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/interlude-go/interlude/slots"
	"github.com/interlude-go/interlude/store"
)

// Start asks the claim's caller for the commit that starts a picked run, and checks it. After an
// error or a panic of the caller, the claim only skips this run.
func Start(req *store.ClaimRequest, prev *store.Run, spec []byte) (c store.Commit, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: Start panicked: %v", store.ErrInvalid, p)
		}
	}()
	given := prev.Claim(req.Node)
	if c, err = req.Start(given, spec); err != nil {
		return c, err
	}
	return c, c.ValidateClaim(&given, prev)
}

// OneByOne serves a request with one transaction per run, for a store without group commit. Claim
// executes a request in one transaction; failed are the errors of single runs. The next transaction
// may pick the same run first, so after a failed Start the rest of the request is claimed in one
// transaction.
func OneByOne(req store.ClaimRequest,
	claim func(store.ClaimRequest) (claimed []store.Claimed, failed, err error),
) (claimed []store.Claimed, _ error) {
	for left := req.Max; left > 0; left-- {
		req.Max = 1
		started, failed, err := claim(req)
		if failed != nil {
			claimed = append(claimed, started...) // another pool may have had a run that starts
			if req.Max = left - len(started); req.Max == 0 {
				return claimed, failed
			}
			started, failed, err = claim(req)
			return append(claimed, started...), errors.Join(failed, err)
		}
		if err != nil || len(started) == 0 {
			return claimed, err
		}
		claimed = append(claimed, started...)
	}
	return claimed, nil
}

// Rotation remembers where the last claims of this process ended, so that pools and keys take
// turns. It only serves fairness. The zero value is ready, and safe for concurrent use.
type Rotation struct {
	mu   sync.Mutex        // guards the fields below
	pool string            // the pool that the last claim served first
	keys map[string]string // by pool, the key that was served last
	// failed has the runs that recently could not be started, and how many more claims prefer
	// others.
	failed map[string]int
}

// Rotate returns the pools, which are sorted by name, in the order in which a claim serves them:
// each begins with another pool, so that none is always last.
func Rotate[P any](r *Rotation, pools []P, name func(P) string) []P {
	if len(pools) < 2 {
		return pools
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	first := max(0, slices.IndexFunc(pools, func(p P) bool { return name(p) > r.pool }))
	r.pool = name(pools[first])
	return slices.Concat(pools[first:], pools[:first])
}

// Queue is the ready runs of a pool that a claim may pick.
type Queue interface {
	slots.Queue

	// All returns every ready run in start order, if there are at most n. Otherwise complete is false.
	All(n int) (ids []string, complete bool, err error)
}

// Pick chooses up to want ready runs of a pool with this many held slots. Drained reports that
// these are all ready runs; it stays false for a pool with a KeyCapacity and a free slot.
func (r *Rotation) Pick(p slots.Pool, held int, q Queue, want int) (ids []string, drained bool, err error) {
	free := max(0, min(want, p.Capacity-held))
	if p.KeyCapacity == 0 || free == 0 {
		ids, complete, err := q.All(free)
		if err != nil || complete || free == 0 { // all runs fit
			return ids, complete, err
		}
	}
	ids, err = r.Select(p, held, q, want)
	return ids, false, err
}

// SetDrained sets req.Drained, if wanted.
func SetDrained(req *store.ClaimRequest, drained bool) {
	if req.Drained != nil {
		*req.Drained = drained
	}
}

// Select is slots.Select, beginning after the key that the pool served last, without the runs that
// recently could not be started (Failed). If slots stay free, the next claim may pick them.
func (r *Rotation) Select(p slots.Pool, held int, q slots.Queue, want int) ([]string, error) {
	without := &startable{Queue: q}
	r.mu.Lock()
	last := r.keys[p.Name]
	if len(r.failed) > 0 {
		without.failed = maps.Clone(r.failed)
		q = without
	}
	r.mu.Unlock()
	ids, served, err := slots.Select(p, held, q, want, last)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.keys == nil {
		r.keys = make(map[string]string)
	}
	r.keys[p.Name] = served
	if len(ids) < min(want, p.Capacity-held) {
		for _, id := range without.leftOut {
			delete(r.failed, id)
		}
	}
	return ids, nil
}
