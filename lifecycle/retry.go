package lifecycle

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"math"
	"strconv"
	"time"

	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/store"
)

// Defaults of a Retry, and the longest pause that it or an engine may ask for.
const (
	DefaultRetries         = 8 // of a host that is Forgiving
	DefaultRetryBackoff    = time.Second
	DefaultRetryMaxBackoff = 5 * time.Minute
	MaxRetryPause          = 30 * 24 * time.Hour
)

// Retry says how a turn that failed for a passing reason is tried again (J2): a rate limit, an
// overloaded model, a broken connection, or whatever else the engine calls passing
// (engine.Failure.Transient, engine.Later). Meanwhile the run is queued, with its answer and
// session, and holds neither a slot nor a goroutine. Each try is an attempt of its own, which
// counts neither as a round nor towards MaxAttempts.
//
// A turn may have done something before it failed: set it where turns may be executed again. Runs
// of the profile sticky_process are not retried: their process cannot give its slot away.
type Retry struct {
	// Max is how often in a row turns are executed again. The next passing failure fails the run
	// with its own code. A turn that ends well starts the count again. Repeats after lost workers
	// count too, and retries count towards MaxRepeats. 0: never.
	Max int `json:"max"`
	// Backoff is the pause before the first retry, which doubles with each further one up to
	// MaxBackoff. 0 stands for DefaultRetryBackoff and DefaultRetryMaxBackoff. A pause is longer
	// where the engine asks for that.
	Backoff    time.Duration `json:"backoff,omitempty"`
	MaxBackoff time.Duration `json:"max_backoff,omitempty"`
	// Jitter is the most that is added to a pause, so that runs which failed together do not all
	// come back together.
	Jitter time.Duration `json:"jitter,omitempty"`
}

// findFault says which field is wrong; nil if none is.
func (r *Retry) findFault() *SpecError {
	if r == nil {
		return nil
	}
	if r.Max < 0 {
		return &SpecError{"Retry", fmt.Sprintf("with Max %d", r.Max), "an integer of at least 0", nil}
	}
	for _, pause := range []time.Duration{r.Backoff, r.MaxBackoff, r.Jitter} {
		if pause < 0 || pause > MaxRetryPause {
			return &SpecError{"Retry", "with a pause of " + pause.String(), "0s to " + MaxRetryPause.String(), nil}
		}
	}
	return nil
}

// pause is how long the run waits before the given retry, which is at least 1. The jitter follows
// from the run and the number of the retry, so a decision that is made again is the same.
func (r *Retry) pause(runID string, retry int, atLeast time.Duration) time.Duration {
	first := cmp.Or(r.Backoff, DefaultRetryBackoff)
	longest := max(first, cmp.Or(r.MaxBackoff, DefaultRetryMaxBackoff))
	pause := time.Duration(min(float64(longest), math.Ldexp(float64(first), retry-1)))
	h := fnv.New64a()
	_, _ = h.Write([]byte(runID + " " + strconv.Itoa(retry))) // it never fails
	jitter := time.Duration(h.Sum64() % uint64(r.Jitter+1))
	return (max(pause, min(atLeast, MaxRetryPause)) + jitter).Truncate(time.Microsecond)
}

// passingFailure is a failure of a turn after which the run is tried again.
type passingFailure struct {
	retry   *Retry
	after   time.Duration // at the earliest, as the engine says
	code    fsm.Code
	message string
}

// decidePassingFailure puts off a turn that failed for a passing reason. Where the contract does
// not allow that, because the retries are used up or the engine is sticky, it is decided as one
// that failed for any other reason.
func decidePassingFailure(run *store.Run, turn *turnEvidence, node string, now time.Time) (*store.Commit, error) {
	yielded, err := transition(run, fsm.EventTurnYielded, &details{
		now: now, node: node, facts: fsm.FactPassing, profile: turn.profile, session: turn.session,
		warnings: turn.warnings, passing: turn.passingFailure(),
	})
	if isRefusal(err) {
		return decideFailedTurn(run, turn, node, now)
	}
	return yielded, err
}

// passingFailure describes the failure by a code that an event may have.
func (t *turnEvidence) passingFailure() *passingFailure {
	code, message := cmp.Or(t.process.Code, fsm.CodeEngineFailed), t.processFault()
	if code.Source() != "engine" {
		code, message = fsm.CodeEngineFailed, shortened(string(code)+": "+message)
	}
	return &passingFailure{retry: t.retry, after: t.process.After, code: code, message: message}
}

// putOff notes that the run's turn has failed for a passing reason, and when it is tried again.
func putOff(next *store.Run, failure *passingFailure, now time.Time) {
	next.Repeats++
	next.Yielded++
	next.NotBefore = notEarlier(now.Add(failure.retry.pause(next.ID, next.Repeats, failure.after)), next.NotBefore)
	next.Block = &store.Block{
		Kind: store.BlockRetry, Until: next.NotBefore, Code: failure.code, Reason: utf8Text(failure.message),
	}
}
