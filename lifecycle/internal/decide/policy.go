package decide

import (
	"cmp"
	"hash/fnv"
	"math"
	"strconv"
	"time"

	"github.com/interlude-go/interlude/store"
)

// HostPolicy has the configured defaults for runs whose specification does not set these fields.
type HostPolicy struct {
	OnInterrupt store.OnInterrupt
	Hold        store.HoldPolicy
	Retry       *store.Retry
	// HideFor is how long approvals are hidden while the host's policy decides; 0: no policy.
	HideFor time.Duration
}

func (p HostPolicy) onInterruptOf(run *store.Run) store.OnInterrupt {
	if run.Repeatable {
		return store.InterruptRepeat
	}
	return cmp.Or(run.OnInterrupt, p.OnInterrupt, store.InterruptFail)
}

func (p HostPolicy) Holds(run *store.Run) bool { return cmp.Or(run.Hold, p.Hold) == store.HoldOn }

// pauseBefore returns the pause before a retry, numbered from 1. The jitter is computed from the
// run's id and the number, so that a repeated decision has the same result.
func pauseBefore(retry int, r *store.Retry, runID string, atLeast time.Duration) time.Duration {
	first := cmp.Or(r.Backoff, store.DefaultRetryBackoff)
	longest := max(first, cmp.Or(r.MaxBackoff, store.DefaultRetryMaxBackoff))
	pause := time.Duration(min(float64(longest), math.Ldexp(float64(first), retry-1)))
	h := fnv.New64a()
	_, _ = h.Write([]byte(runID + " " + strconv.Itoa(retry))) // a hash never returns an error
	jitter := time.Duration(h.Sum64() % uint64(r.Jitter+1))
	return (max(pause, min(atLeast, store.MaxRetryPause)) + jitter).Truncate(time.Microsecond)
}

// repeatBackoff is the delay of a turn that lost its worker: one second after the first consecutive
// loss, doubling up to a minute.
func repeatBackoff(repeats int) time.Duration {
	return min(time.Second<<min(repeats-1, 6), time.Minute)
}

// Limits of the pause before a held run is tried again automatically. It doubles with each
// consecutive hold.
const (
	firstHoldPause = time.Minute
	maxHoldPause   = time.Hour
)

// HoldPause returns the pause of a consecutive hold, numbered from 1.
func HoldPause(hold int) time.Duration {
	return min(firstHoldPause<<min(hold-1, 6), maxHoldPause)
}

// The choices for a run with a repairable cause, and for one that has used up its budget.
var (
	repairChoices = []store.Choice{store.ChoiceRepeat, store.ChoiceEnd}
	budgetChoices = []store.Choice{store.ChoiceRaise, store.ChoiceEnd}
)
