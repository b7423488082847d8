package decide

import (
	"cmp"
	"errors"
	"hash/fnv"
	"math"
	"strconv"
	"time"

	"github.com/interlude-go/interlude/interaction"
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

// ErrNoPolicy: the question is not under the host's policy, or no longer: the policy has left it to
// people, or a person has changed it.
var ErrNoPolicy = errors.New("lifecycle: the host's policy does not decide the question")

// Rule carries out a valid ruling about an open question: it settles the question, whatever number
// of people it needs and whoever may answer it, or leaves it to people. A claim by a person ends
// the policy, so no claim is in its way.
func Rule(run *store.Run, number int, r interaction.Ruling, now time.Time) (*store.Commit, error) {
	q := run.OpenQuestion(number)
	if q == nil || q.HiddenFor == 0 {
		return nil, ErrNoPolicy
	}
	now = Later(now, run.UpdatedAt)
	if r.Decision == "" {
		return leaveToPeople(run, q, r, now)
	}
	reply := r.Reply(run.ID, number)
	bare := *q
	bare.To, bare.Need, bare.Rejects = nil, 0, 0 // the policy decides for all
	reply.AcceptRisk = true                      // by the host
	if err := cmp.Or(reply.Validate(), reply.ValidateFor(bare)); err != nil {
		return nil, err
	}
	reply.Actor = r.Actor()
	return settle(run, q, reply, now)
}

// leaveToPeople shows the question to its audience, or to the people whom the rule names.
func leaveToPeople(run *store.Run, q *interaction.Question, r interaction.Ruling, now time.Time,
) (*store.Commit, error) {
	next := *q
	if next.Need = max(q.Need, r.Need); next.DecidedBySeveral() {
		next.AlsoText = false
	} else {
		next.Need = q.Need
	}
	if r.To != nil {
		return Reassign(run, &next, r.Actor(), q.To, *r.To, now)
	}
	if err := interaction.ValidateVoters(next); err != nil {
		return nil, &BadArgument{"need", strconv.Itoa(r.Need), "such that the approval can be decided: " + err.Error()}
	}
	return editQuestion(run, edit{&next, changeAsk, r.Actor()}, now)
}
