package claim

import (
	"fmt"
	"slices"

	"github.com/interlude-go/interlude/slots"
)

const (
	maxFailed  = 256 // limit of remembered failed runs; a claim reads one more run for each
	leftOutFor = 64  // how many claims prefer others to a run that has failed
)

// Failed returns the claim's error for a run that could not be started. The run stays first in its
// queue, so it could take the only free slot of every claim, or the only place on its node. For
// leftOutFor claims, others are preferred: Select skips the run, and Defer puts it last, until
// there is room for all.
func (r *Rotation) Failed(id string, err error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.failed == nil {
		r.failed = make(map[string]int)
	}
	if len(r.failed) < maxFailed {
		r.failed[id] = leftOutFor
	}
	return fmt.Errorf("store: claim run %s: %w", id, err)
}

// StartClaim is called first in each claim. It returns the number of runs with a slot of the node
// to load for a claim of up to most runs: enough that Defer finds most runs that have not failed
// recently, and another one if any is left.
func (r *Rotation) StartClaim(most int) (load int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for id := range r.failed {
		if r.failed[id]--; r.failed[id] == 0 {
			delete(r.failed, id)
		}
	}
	return most + len(r.failed) + 1
}

// Defer partitions runs: last are the runs that recently failed to start, which the claim starts
// after the others, if there is room. Both parts keep their order.
func Defer[R any](r *Rotation, runs []R, id func(R) string) (first, last []R) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.failed) == 0 {
		return runs, nil
	}
	for _, run := range runs {
		if r.failed[id(run)] > 0 {
			last = append(last, run)
		} else {
			first = append(first, run)
		}
	}
	return first, last
}

type startable struct {
	slots.Queue

	failed  map[string]int
	leftOut []string // members of failed seen in the queue so far
}

// Keys implements slots.Queue. It skips a key if all its ready runs have failed.
func (q *startable) Keys(priority int, last string, n int) ([]slots.Key, error) {
	keys, err := q.Queue.Keys(priority, last, n+len(q.failed))
	if err != nil || len(keys) == 0 {
		return nil, err
	}
	wants := make([]slots.Want, len(keys))
	for i, k := range keys {
		wants[i] = slots.Want{Key: k.Name, N: 1}
	}
	oldest, err := q.Oldest(priority, wants)
	if err != nil {
		return nil, err
	}
	var found []slots.Key
	for i, k := range keys {
		if len(oldest[i]) > 0 && len(found) < n {
			found = append(found, k)
		}
	}
	return found, nil
}

func (q *startable) Oldest(priority int, wants []slots.Want) ([][]string, error) {
	more := slices.Clone(wants)
	for i := range more {
		more[i].N += len(q.failed)
	}
	all, err := q.Queue.Oldest(priority, more)
	if err != nil {
		return nil, err
	}
	for i := range all {
		all[i] = slices.DeleteFunc(all[i], func(id string) bool {
			failed := q.failed[id] > 0
			if failed {
				q.leftOut = append(q.leftOut, id)
			}
			return failed
		})
		all[i] = all[i][:min(wants[i].N, len(all[i]))]
	}
	return all, nil
}
