package linear

import (
	"fmt"
	"math"
	"strings"

	"github.com/anishathalye/porcupine"
)

// Overtaken looks for a job that was ready all through a claim, from its call to its return, and
// that a younger one of its key and priority, or one of lower priority, was preferred to. That is
// promised of every claim, however many looks it takes. It describes the first; empty when there is
// none. Keys that have a bound of their own may have been without room, so they are compared among
// themselves only.
func Overtaken(history []porcupine.Operation) string {
	spans := readiness(history)
	for _, op := range history {
		in := op.Input.(PoolInput)    //nolint:forcetypeassert // histories of pools have no others
		out := op.Output.(PoolOutput) //nolint:forcetypeassert // as above
		if in.Size != nil || in.Job != nil {
			continue
		}
		started := strings.Fields(out.Started)
		for _, id := range started {
			for _, w := range spans {
				g, ok := latest(spans, id, op)
				if !ok || w.from >= op.Call || w.until <= op.Return {
					continue
				}
				if w.Priority > g.Priority && (w.free || w.Key == "") || w.Priority == g.Priority && w.Key == g.Key &&
					older(w.Job, g) < 0 {
					return fmt.Sprintf("%s was ready from %d to %d, and the claim from %d to %d preferred %s", w.Job,
						w.from, w.until, op.Call, op.Return, g)
				}
			}
		}
	}
	return ""
}

// span is for how long a job was certainly ready: from the return of what made it so to the call of
// what ended it.
type span struct {
	Job

	from, until int64
	free        bool // no key of the pool had a bound of its own, ever
}

// readiness are the spans of all jobs.
func readiness(history []porcupine.Operation) (spans []span) {
	type moment struct {
		id      string
		version uint64
	}
	ended := make(map[moment]int64) // the earliest call of something that may have ended that version
	end := func(id string, version uint64, call int64) {
		if at, ok := ended[moment{id, version}]; !ok || call < at {
			ended[moment{id, version}] = call
		}
	}
	free := true
	claims := make(map[string][]porcupine.Operation) // that started a job
	for _, op := range history {
		in, out := op.Input.(PoolInput), op.Output.(PoolOutput) //nolint:forcetypeassert // as above
		switch {
		case in.Size != nil:
			free = free && in.Size.KeyCapacity == 0
		case in.Job != nil && out.Err == "":
			end(in.Job.ID, in.Job.Version-1, op.Call)
		case in.Job == nil:
			for _, id := range strings.Fields(out.Started) {
				claims[id] = append(claims[id], op)
			}
		}
	}
	for _, op := range history {
		in, out := op.Input.(PoolInput), op.Output.(PoolOutput) //nolint:forcetypeassert // as above
		if in.Job == nil || in.Job.Place != Ready || out.Unknown || out.Err != "" {
			continue
		}
		s := span{Job: *in.Job, from: op.Return, until: math.MaxInt64, free: free}
		if at, ok := ended[moment{s.ID, s.Version}]; ok {
			s.until = at
		}
		for _, claim := range claims[s.ID] { // they carry no version: the first one that may have been of this
			if claim.Return > op.Call {
				s.until = min(s.until, claim.Call)
			}
		}
		spans = append(spans, s)
	}
	return spans
}

// latest is the job as it was when the claim started it, if that is certain.
func latest(spans []span, id string, claim porcupine.Operation) (j Job, ok bool) {
	for _, s := range spans {
		if s.ID == id && s.from < claim.Return && s.until >= claim.Call && s.until <= claim.Return {
			if ok { // which one?
				return j, false
			}
			j, ok = s.Job, true
		}
	}
	return j, ok
}
