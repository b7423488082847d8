// Package refuse decides which commits a store refuses, and words every refusal, so that all stores
// answer alike. Each function returns an error that matches a sentinel of package store.
package refuse

import (
	"fmt"
	"time"

	"github.com/interlude-go/interlude/store"
)

// Facts are the inputs of Change in addition to the run.
type Facts struct {
	Registered func(node string) (bool, error)      // whether the node of the commit's fence is registered
	KeyUsed    func(key string) (bool, error)       // whether an earlier reply had the idempotency key
	Departed   func(node string) (time.Time, error) // departure of the node that parked the run; zero:
	// it has not gone
}

// Change returns why a commit of an existing run is rejected, or nil. Prev is the stored record. A
// fact is looked up only if the result depends on it; err is the error of the look-up.
//
// The fence is compared before the version: a worker must learn that it lost its run, instead of
// retrying with a fresh load.
func Change(c *store.Commit, prev *store.Run, known Facts) (refused, err error) {
	if f := c.Fence; f != nil {
		owns := prev.Owner == f.Node && prev.Epoch == f.Epoch
		if owns {
			if owns, err = known.Registered(f.Node); err != nil {
				return nil, err
			}
		}
		if !owns {
			return fmt.Errorf("%w: run %s", store.ErrStaleEpoch, c.Run.ID), nil
		}
	}
	if prev.Version != c.Expect {
		return fmt.Errorf("%w: run %s is at version %d, not %d", store.ErrConflict, c.Run.ID, prev.Version,
			c.Expect), nil
	}
	if prev.Incarnation != c.Run.Incarnation {
		return fmt.Errorf("%w: run %s was read before the store was restored or failed over", store.ErrConflict,
			c.Run.ID), nil
	}
	if prev.Parked() {
		gone, err := known.Departed(prev.Owner)
		if err != nil {
			return nil, err
		}
		if c.Run.MissesDeparture(prev, gone) {
			return fmt.Errorf("%w: run %s was parked by node %s, which has gone since", store.ErrConflict, c.Run.ID,
				prev.Owner), nil
		}
	}
	if err := c.ValidateNext(prev, false); err != nil {
		return err, nil
	}
	if keyed := c.Keyed(); keyed != nil {
		used, err := known.KeyUsed(keyed.Key)
		if err != nil {
			return nil, err
		}
		if used {
			return fmt.Errorf("%w: run %s: the idempotency key is taken", store.ErrInvalid, c.Run.ID), nil
		}
	}
	return nil, nil
}

func Exists(id string) error { return fmt.Errorf("%w: run %s", store.ErrExists, id) }

func UnknownPool(name string) error { return fmt.Errorf("%w: %s", store.ErrUnknownPool, name) }

func NotFound(id string) error { return fmt.Errorf("%w: run %.128s", store.ErrNotFound, id) }

func NoReply(id string) error {
	return fmt.Errorf("%w: no reply of run %s has the key", store.ErrNotFound, id)
}

// NoInteraction reports that the run is unknown or has not settled the interaction with this
// number.
func NoInteraction(id string, number int) error {
	return fmt.Errorf("%w: run %.128s has settled no interaction %d", store.ErrNotFound, id, number)
}

func NodeExists(id string) error { return fmt.Errorf("%w: node %s", store.ErrExists, id) }

// NotRegistered rejects a claim or renewal of an unregistered node.
func NotRegistered(node string) error {
	return fmt.Errorf("%w: node %+.128q is not registered", store.ErrStaleEpoch, node)
}
