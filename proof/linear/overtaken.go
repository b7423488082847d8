package linear

import (
	"fmt"
	"math"
	"strings"

	"github.com/anishathalye/porcupine"
)

// Overtaken searches for a job that was overtaken: it was ready all through a claim, from its call
// to its return, and the claim preferred a younger job of the same key and priority, or a job of
// lower priority. Every claim promises that this does not happen, however many queries it makes.
// Overtaken describes the first overtaken job, or returns an empty text. A job whose key has a
// limit may have been without room, so it is only compared with jobs of the same key.
func Overtaken(history []porcupine.Operation) string {
	spans := spansOf(history)
	for _, op := range history {
		in := op.Input.(PoolInput)    //nolint:forcetypeassert // histories of pools have no other types
		out := op.Output.(PoolOutput) //nolint:forcetypeassert // likewise
		if in.Size != nil || in.Job != nil {
			continue
		}
		started := strings.Fields(out.Started)
		for _, id := range started {
			for _, w := range spans {
				g, ok := latest(spans, id, op)
				if !ok || g.Place != Ready || !w.certain || w.from >= op.Call || w.until <= op.Return {
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

// span is the time for which a job could be claimed: it was ready, or queued with the slot that its
// process holds.
type span struct {
	Job

	called      int64 // when the call began that made it so
	from, until int64 // from that call's return to the start of the call that ended this
	certain     bool  // it was ready all that time
	free        bool  // no key of the pool ever had a bound
}

// spansOf returns the spans of all jobs.
func spansOf(history []porcupine.Operation) (spans []span) {
	type moment struct {
		id      string
		version uint64
	}
	ended := make(map[moment]int64) // the earliest call that may have ended that version
	end := func(id string, version uint64, call int64) {
		if at, ok := ended[moment{id, version}]; !ok || call < at {
			ended[moment{id, version}] = call
		}
	}
	free := true
	claims := make(map[string][]porcupine.Operation) // the claims that started a job
	for _, op := range history {
		in, out := op.Input.(PoolInput), op.Output.(PoolOutput) //nolint:forcetypeassert // likewise
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
		in, out := op.Input.(PoolInput), op.Output.(PoolOutput) //nolint:forcetypeassert // likewise
		if in.Job == nil || in.Job.Place != Ready && in.Job.Place != Sticky || out.Err != "" {
			continue
		}
		s := span{Job: *in.Job, called: op.Call, from: op.Return, until: math.MaxInt64, free: free,
			certain: in.Job.Place == Ready && !out.Unknown}
		if at, ok := ended[moment{s.ID, s.Version}]; ok {
			s.until = at
		}
		for _, claim := range claims[s.ID] { // a claim does not say the version: take the first that may be of this one
			if claim.Return > op.Call {
				s.until = min(s.until, claim.Call)
			}
		}
		spans = append(spans, s)
	}
	return spans
}

// latest returns the job in the state in which the claim started it, if that state is certain.
func latest(spans []span, id string, claim porcupine.Operation) (j Job, ok bool) {
	for _, s := range spans {
		if s.ID == id && s.called < claim.Return && s.until >= claim.Call && s.until <= claim.Return {
			if ok { // two states are possible
				return j, false
			}
			j, ok = s.Job, true
		}
	}
	return j, ok
}
