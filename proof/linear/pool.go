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
// (section D, I13).
//
// Strict says that a claim is one step, as where one lock or one transaction at a time makes it: no
// slot is left free that a ready run could have, and what is picked is picked in order. Where the
// queue is a network away (slots.Queue) its looks answer each for their own moment: then no more is
// promised of one step than that the capacity is kept and that each run was ready; Overtaken says
// what else is.
type Pool struct{ Strict bool }

// Place is where a run stands, as far as the pool is concerned.
type Place string

// The places: waiting for a slot; holding one, in a turn or with its process parked; queued with
// the slot that its process holds; parked without a slot; ended.
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
	Queued   int64 // its age there
	Place    Place
	Owner    string
}

// PoolInput is what somebody asked for: a pool's size, a job as it shall stand (made on the version
// before), or a claim.
type PoolInput struct {
	Size *slots.Pool
	Job  *Job
	Node string // of a claim
	Max  int
	// Alone says that nothing else happened during the claim, so that it is strict on every store.
	Alone bool
}

// PoolOutput is the answer.
type PoolOutput struct {
	Unknown bool
	Err     string
	Started string // of a claim: the ids, in order, a line each
}

// pool is the pool at one moment.
type pool struct {
	size slots.Pool
	jobs []Job // that have not ended, by id
}

// Spec is the pool in the form in which histories are decided.
func (p Pool) Spec() Spec {
	seed := maphash.MakeSeed()
	step := func(state, input, output any) (bool, any) {
		//nolint:forcetypeassert // the model makes no others
		next, wrong := p.do(state.(*pool), input.(PoolInput), output.(PoolOutput))
		return wrong == "", next
	}
	return Spec{porcupine.Model{
		Init: func() any { return &pool{} },
		Step: step,
		Equal: func(a, b any) bool {
			x, y := a.(*pool), b.(*pool) //nolint:forcetypeassert // as above
			return x.size == y.size && slices.Equal(x.jobs, y.jobs)
		},
		Hash: func(state any) (sum uint64) {
			for _, j := range state.(*pool).jobs { //nolint:forcetypeassert // as above
				sum = sum*31 + maphash.Comparable(seed, j)
			}
			return sum
		},
		DescribeOperation: func(in, out any) string {
			return describePool(in.(PoolInput), out.(PoolOutput)) //nolint:forcetypeassert // as above
		},
		DescribeState: func(state any) string {
			return state.(*pool).String() //nolint:forcetypeassert // as above
		},
	}, func(state, in, out any) string {
		_, wrong := p.do(state.(*pool), in.(PoolInput), out.(PoolOutput)) //nolint:forcetypeassert // as above
		return cmp.Or(wrong, "ok")
	}}
}

// do is what becomes of the pool, and what is wrong with the answer.
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

// change compares and sets one job.
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

// with is the pool with the job as it now stands; the old one is not changed.
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

// String shows who is where.
func (now *pool) String() string {
	text := fmt.Sprintf("%d slots, %d a key:", now.size.Capacity, now.size.KeyCapacity)
	for _, j := range now.jobs {
		text += " " + j.String()
	}
	return text
}

// String shows a job.
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
