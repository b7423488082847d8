package claim

import (
	"fmt"
	"slices"

	"github.com/interlude-go/interlude/slots"
)

const (
	maxFailed  = 256 // how many failed runs are left out at a time, since each makes Select look at one more
	leftOutFor = 64  // how many times Select leaves out a run that has failed
)

// Failed returns the error of one run that could not be started, as a claim reports it. The run stays
// ready and is first in its queue, so it could take the only free slot of every claim: Select leaves it
// out for some time, or until there is room for it beside all others.
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

// forgive is called after each Select, with mu held. Room says that slots were left.
func (r *Rotation) forgive(room bool) {
	for id := range r.failed {
		if r.failed[id]--; room || r.failed[id] == 0 {
			delete(r.failed, id)
		}
	}
}

// startable is a queue without the runs that could not be started.
type startable struct {
	slots.Queue

	failed map[string]int
}

// Keys implements slots.Queue: a key of which only failed runs are ready is none.
func (q startable) Keys(priority int, last string, n int) ([]slots.Key, error) {
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
func (q startable) Oldest(priority int, wants []slots.Want) ([][]string, error) {
	more := slices.Clone(wants)
	for i := range more {
		more[i].N += len(q.failed)
	}
	all, err := q.Queue.Oldest(priority, more)
	if err != nil {
		return nil, err
	}
	for i := range all {
		all[i] = slices.DeleteFunc(all[i], func(id string) bool { return q.failed[id] > 0 })
		all[i] = all[i][:min(wants[i].N, len(all[i]))]
	}
	return all, nil
}
