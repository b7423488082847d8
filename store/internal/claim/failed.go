package claim

import (
	"fmt"
	"slices"

	"github.com/interlude-go/interlude/slots"
)

const (
	maxFailed  = 256 // how many failed runs are remembered, since for each of them a claim looks at one more
	leftOutFor = 64  // how many claims prefer others to a run that has failed
)

// Failed returns the error of one run that could not be started, as a claim reports it. The run
// stays queued and is first in its queue, so it could take the only free slot of every claim, or
// the only place on its node. The next claims prefer others: Select leaves the run out, and Defer
// puts it last, until there is room for it beside all others, or for leftOutFor claims.
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

// StartClaim is called once for each claim, before everything else. It returns how many runs that
// hold a slot of the node already are to be loaded for a claim of up to most runs: so many that
// Defer finds most of them that have not failed lately, and another one if any is left behind.
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

// Defer divides runs that there is room for: last are those that could not be started lately, which
// the claim starts after all others, if room is left then. Both parts keep their order.
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

// startable is a queue without the runs that could not be started.
type startable struct {
	slots.Queue

	failed  map[string]int
	leftOut []string // those of failed that the queue has, as far as it was asked
}

// Keys implements slots.Queue. It leaves out a key if all ready runs that it has have failed.
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

// Oldest implements slots.Queue.
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
