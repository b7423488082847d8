package linear

import (
	"cmp"
	"fmt"
	"hash/maphash"
	"slices"
	"strings"

	"github.com/anishathalye/porcupine"

	"github.com/interlude-go/interlude/slots"
)

// Pool is the sequential specification of one pool: who may hold its slots, and who is next
// (section D, I13). Strict: a claim is one step, as in a store with one lock, or with one
// transaction at a time: it leaves no slot free that a ready run could have, and it picks the runs
// in order. If the queue is in a database server (slots.Queue), a claim makes several queries, each
// with its own snapshot. That claim is one step only for the capacity and for the readiness of each
// run; Overtaken checks its other promises.
type Pool struct{ Strict bool }

// Place is the state of a run, as far as the pool is concerned.
type Place string

// The places. A run is Ready if it waits for a slot; Holds if it has one, in a turn or with its
// process parked; Sticky if it is queued with the slot that its process holds; Parked if it is
// parked without a slot; and Over if it has ended.
const (
	Ready  Place = "ready"
	Holds  Place = "holds"
	Sticky Place = "sticky"
	Parked Place = "parked"
	Over   Place = "over"
)

// Job is a run, as far as the pool is concerned.
type Job struct {
	ID       string
	Version  uint64
	Key      string
	Priority int
	Queued   int64 // the time since which it is queued
	Place    Place
	Owner    string
}

// PoolInput is one call: a new size of the pool, the new state of a job (based on the version
// before), or a claim.
type PoolInput struct {
	Size *slots.Pool
	Job  *Job
	Node string // for a claim
	Max  int
	// Alone: no other call overlapped the claim, so that it is strict on every store.
	Alone bool
}

// PoolOutput is the answer of a call.
type PoolOutput struct {
	Unknown bool
	Err     string
	Started string // for a claim: the ids, in order, one on each line
}

// pool is the state of the model: the pool at one moment.
type pool struct {
	size slots.Pool
	jobs []Job // the jobs that have not ended, by id
}

// Spec returns the model in the form that Decide needs.
func (p Pool) Spec() Spec {
	seed := maphash.MakeSeed()
	step := func(state, input, output any) (bool, any) {
		//nolint:forcetypeassert // the model and histories of pools have no other types
		next, wrong := p.do(state.(*pool), input.(PoolInput), output.(PoolOutput))
		return wrong == "", next
	}
	return Spec{porcupine.Model{
		Init: func() any { return &pool{} },
		Step: step,
		Equal: func(a, b any) bool {
			x, y := a.(*pool), b.(*pool) //nolint:forcetypeassert // likewise
			return x.size == y.size && slices.Equal(x.jobs, y.jobs)
		},
		Hash: func(state any) (sum uint64) {
			for _, j := range state.(*pool).jobs { //nolint:forcetypeassert // likewise
				sum = sum*31 + maphash.Comparable(seed, j)
			}
			return sum
		},
		DescribeOperation: func(in, out any) string {
			return describePool(in.(PoolInput), out.(PoolOutput)) //nolint:forcetypeassert // likewise
		},
		DescribeState: func(state any) string {
			return state.(*pool).String() //nolint:forcetypeassert // likewise
		},
	}, func(state, in, out any) string {
		_, wrong := p.do(state.(*pool), in.(PoolInput), out.(PoolOutput)) //nolint:forcetypeassert // likewise
		return cmp.Or(wrong, "ok")
	}}
}

// do is one step of the specification: it returns the pool after the call, and the fault of the
// answer.
func (p Pool) do(now *pool, in PoolInput, out PoolOutput) (next *pool, wrong string) {
	switch {
	case in.Size != nil:
		return &pool{*in.Size, now.jobs}, ""
	case in.Job != nil:
		return now.change(*in.Job, out)
	}
	picks := &picks{pool: now, in: in, strict: p.Strict || in.Alone}
	if wrong = picks.checkChoice(strings.Fields(out.Started)); wrong != "" {
		return now, wrong
	}
	next = now
	for _, id := range picks.ids {
		j := *now.find(id)
		j.Version, j.Place, j.Owner = j.Version+1, Holds, in.Node
		next = next.with(j)
	}
	return next, ""
}

// change compares the version of one job and sets its state.
func (now *pool) change(j Job, out PoolOutput) (*pool, string) {
	had := uint64(0)
	if old := now.find(j.ID); old != nil {
		had = old.Version
	}
	want := ""
	if had+1 != j.Version {
		want = Conflict
	}
	switch {
	case !out.Unknown && out.Err != want:
		return now, fmt.Sprintf("version %d is made on %d: %q", j.Version, had, want)
	case want != "":
		return now, ""
	}
	return now.with(j), ""
}

func (now *pool) find(id string) *Job {
	i, ok := slices.BinarySearchFunc(now.jobs, id, func(j Job, id string) int { return strings.Compare(j.ID, id) })
	if !ok {
		return nil
	}
	return &now.jobs[i]
}

// with returns a pool with the job's new state. The old pool is not changed.
func (now *pool) with(j Job) *pool {
	jobs := make([]Job, 0, len(now.jobs)+1)
	for _, old := range now.jobs {
		if old.ID != j.ID {
			jobs = append(jobs, old)
		}
	}
	if j.Place != Over {
		jobs = append(jobs, j)
	}
	slices.SortFunc(jobs, func(a, b Job) int { return strings.Compare(a.ID, b.ID) })
	return &pool{now.size, jobs}
}

// String lists the jobs with their places.
func (now *pool) String() string {
	text := fmt.Sprintf("%d slots, %d a key:", now.size.Capacity, now.size.KeyCapacity)
	for _, j := range now.jobs {
		text += " " + j.String()
	}
	return text
}

// String describes a job.
func (j Job) String() string {
	return fmt.Sprintf("%s(v%d %s %s%q p%d @%d)", j.ID, j.Version, j.Place, j.Owner, j.Key, j.Priority, j.Queued)
}

func describePool(in PoolInput, out PoolOutput) string {
	answer := cmp.Or(out.Err, "ok")
	if out.Unknown {
		answer = "?"
	}
	switch {
	case in.Size != nil:
		return fmt.Sprintf("size %d, %d a key -> %s", in.Size.Capacity, in.Size.KeyCapacity, answer)
	case in.Job != nil:
		return fmt.Sprintf("%s -> %s", in.Job, answer)
	}
	return fmt.Sprintf("claim by %s, at most %d -> %v", in.Node, in.Max, strings.Fields(out.Started))
}
