package decide

import (
	"cmp"
	"hash/fnv"
	"math"
	"strconv"
	"time"

	"github.com/interlude-go/interlude/store"
)

// HostDefaults are the host's settings for runs whose specification does not set them.
type HostDefaults struct {
	OnInterrupt store.OnInterrupt
	Hold        store.HoldPolicy
	Retry       *store.Retry
	// HideFor is how long approvals are hidden from people while the host's interaction.Policy
	// decides; 0 without one.
	HideFor time.Duration
	// Recall is the maximum age of a remembered decision (Config.Remember). If it is positive, a covered
	// approval is hidden from people until the decision is used, for at most RecallTime.
	Recall time.Duration
}

func (d HostDefaults) onInterruptOf(run *store.Run) store.OnInterrupt {
	if run.Repeatable {
		return store.InterruptRepeat
	}
	return cmp.Or(run.OnInterrupt, d.OnInterrupt, store.InterruptFail)
}

func (d HostDefaults) Holds(run *store.Run) bool { return cmp.Or(run.Hold, d.Hold) == store.HoldOn }

// pauseBefore returns the pause before a retry, numbered from 1. A repeated decision gets the same
// jitter.
func pauseBefore(retry int, r *store.Retry, runID string, atLeast time.Duration) time.Duration {
	first := cmp.Or(r.Backoff, store.DefaultRetryBackoff)
	longest := max(first, cmp.Or(r.MaxBackoff, store.DefaultRetryMaxBackoff))
	pause := time.Duration(min(float64(longest), math.Ldexp(float64(first), retry-1)))
	h := fnv.New64a()
	_, _ = h.Write([]byte(runID + " " + strconv.Itoa(retry))) // a hash never returns an error
	jitter := time.Duration(h.Sum64() % uint64(r.Jitter+1))
	return (max(pause, min(atLeast, store.MaxRetryPause)) + jitter).Truncate(time.Microsecond)
}

// repeatBackoff is the pause before a lost turn is repeated: a second, doubling up to a minute.
func repeatBackoff(repeats int) time.Duration {
	return min(time.Second<<min(repeats-1, 6), time.Minute)
}

const (
	firstHoldPause = time.Minute
	maxHoldPause   = time.Hour
)

// HoldPause returns the pause before a held run is tried again automatically. It doubles with each
// consecutive hold, numbered from 1.
func HoldPause(hold int) time.Duration {
	return min(firstHoldPause<<min(hold-1, 6), maxHoldPause)
}

// The choices of a person for a run held for a repairable cause, and for a run held for its
// budget.
var (
	repairChoices = []store.Choice{store.ChoiceRepeat, store.ChoiceEnd}
	budgetChoices = []store.Choice{store.ChoiceRaise, store.ChoiceEnd}
)
