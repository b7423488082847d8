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

// Defaults of a Retry, and the longest pause that a Retry or an engine may ask for.
const (
	DefaultRetries         = 8 // of a host with Config.Forgiving
	DefaultRetryBackoff    = time.Second
	DefaultRetryMaxBackoff = 5 * time.Minute
	MaxRetryPause          = 30 * 24 * time.Hour
)

// Retry says how a turn that failed for a passing reason is tried again (J2): a rate limit, an
// overloaded model, a broken connection, or whatever else the engine calls passing
// (engine.Failure.Transient, engine.Later). Meanwhile the run is queued, with its answer and
// session, and holds neither a slot nor a goroutine. Each retry is an attempt of its own, but
// does not count towards MaxAttempts.
//
// A turn may have had effects before it failed, so set Retry only for runs whose turns may be
// executed again. Runs of the profile sticky_process are not retried, because their resident
// process cannot release its slot.
type Retry struct {
	// Max is how often in a row turns are executed again. The next passing failure fails the run
	// with its own code. A turn that ends without a failure resets the count, and so does one that
	// adds to the run's journal (engine.Journal). Repeats after lost workers count towards Max too,
	// and retries count towards MaxRepeats. 0 means no retries.
	Max int `json:"max"`
	// Backoff is the pause before the first retry, which doubles with each further one up to
	// MaxBackoff. 0 stands for DefaultRetryBackoff and DefaultRetryMaxBackoff. The pause is longer
	// if the engine asks for a longer one.
	Backoff    time.Duration `json:"backoff,omitempty"`
	MaxBackoff time.Duration `json:"max_backoff,omitempty"`
	// Jitter is the largest pseudo-random time that is added to a pause, so that runs which failed
	// at the same time are not all retried at the same time.
	Jitter time.Duration `json:"jitter,omitempty"`
}

// validate returns an error for the first invalid field; nil if all are valid.
func (r *Retry) validate() *SpecError {
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

// pause returns how long the run waits before the given retry; the first retry has the number 1.
// The jitter is computed from the run's id and the number of the retry, so that a decision that is
// computed twice has the same result.
func (r *Retry) pause(runID string, retry int, atLeast time.Duration) time.Duration {
	first := cmp.Or(r.Backoff, DefaultRetryBackoff)
	longest := max(first, cmp.Or(r.MaxBackoff, DefaultRetryMaxBackoff))
	pause := time.Duration(min(float64(longest), math.Ldexp(float64(first), retry-1)))
	h := fnv.New64a()
	_, _ = h.Write([]byte(runID + " " + strconv.Itoa(retry))) // a hash never returns an error
	jitter := time.Duration(h.Sum64() % uint64(r.Jitter+1))
	return (max(pause, min(atLeast, MaxRetryPause)) + jitter).Truncate(time.Microsecond)
}

// passingFailure is a failure of a turn after which the turn is retried.
type passingFailure struct {
	retry   *Retry
	after   time.Duration // the least pause that the engine asks for
	code    fsm.Code
	message string
}

// decidePassingFailure schedules the retry of a turn that failed for a passing reason. If the
// contract does not allow a retry, because the retries are used up or the run is sticky, the
// failure is decided like one with any other reason.
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

// passingFailure describes the failure, with a code that is valid in an event.
func (t *turnEvidence) passingFailure() *passingFailure {
	code, message := cmp.Or(t.process.Code, fsm.CodeEngineFailed), t.processFault()
	if code.Source() != "engine" {
		code, message = fsm.CodeEngineFailed, shortened(string(code)+": "+message)
	}
	return &passingFailure{retry: t.retry, after: t.process.After, code: code, message: message}
}

// putOff records in next that its turn failed for a passing reason, and when the turn is retried.
func putOff(next *store.Run, failure *passingFailure, now time.Time) {
	next.Repeats++
	next.Yielded++
	next.NotBefore = notEarlier(now.Add(failure.retry.pause(next.ID, next.Repeats, failure.after)), next.NotBefore)
	next.Block = &store.Block{
		Kind: store.BlockRetry, Until: next.NotBefore, Code: failure.code, Reason: utf8Text(failure.message),
	}
}
