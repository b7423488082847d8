package flow

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/interlude-go/interlude/engine"
)

// Policy configures the tries of a step. The zero Policy is one try without a time limit.
type Policy struct {
	// Retries is the number of retries after an error, within the turn. The run keeps its slot
	// during the pauses: for long ones, the step should return engine.Later instead.
	Retries int
	// Backoff is the pause before the first retry; 0 or less: 1 s. It doubles with each retry, up
	// to MaxBackoff; 0 or less: 1 min.
	Backoff, MaxBackoff time.Duration
	// Retryable, if set, reports whether to retry after an error; other errors are final.
	Retryable func(error) bool
	// Timeout limits each try, whose context then ends with context.DeadlineExceeded; 0: unlimited.
	Timeout time.Duration
}

// StepError is the error of a step that failed, in the turn of the failure and in all later ones.
// It has only the text of the step's error, because a journal cannot store error values: a function
// that must distinguish errors returns them in the step's result.
type StepError struct {
	Step string
	Text string
}

func (e *StepError) Error() string { return fmt.Sprintf("step %s: %s", e.Step, e.Text) }

type result[T any] struct {
	Value T      `json:"value"`
	Error string `json:"error,omitempty"`
}

// onlyError is the entry for a step that failed with a result that cannot be encoded or decoded. It
// is another form of result.
type onlyError struct {
	Error string `json:"error"`
}

type failedResult interface {
	failure() string
	setFailure(text string)
}

func (r *result[T]) failure() string { return r.Error }

func (r *result[T]) setFailure(text string) { *r = result[T]{Error: text} }

// isFailed reports whether the body is the journal entry of a failed step, and into accepts such
// an entry. Then it sets the error of into.
func isFailed(body []byte, into any) bool {
	r, ok := into.(failedResult)
	var e onlyError
	if !ok || json.Unmarshal(body, &e) != nil || e.Error == "" {
		return false
	}
	r.setFailure(e.Error)
	return true
}

// Step executes f and stores its result in the journal. After that, f is never executed again: Step
// returns the stored result. Even in the turn that executes f, the returned value is decoded from
// the stored JSON, so unexported fields, for example, are always missing. A result that cannot be
// decoded strictly, or has more than engine.MaxJournalBody bytes, fails the run.
//
// If f fails, its last error is stored too, as a StepError, and the function decides how to react.
// Three kinds of errors are not stored and end the turn, and a later turn tries the step again: the
// error of a canceled context, engine.Later, and engine.Hold.
//
// Pass at most one Policy.
func Step[T any](c *Ctx, name string, f func(ctx context.Context) (T, error), policy ...Policy) (T, error) {
	path, err := c.acquire(typeStep, name)
	if err != nil {
		var none T
		return none, err
	}
	defer c.release()
	return step(c, path, typeStep, name, f, policy)
}

func step[T any](c *Ctx, path, kind, name string, f func(ctx context.Context) (T, error), policy []Policy) (T, error) {
	at := place{path, kind, name}
	return storedResult(c, at, func() (r result[T], stored bool, err error) {
		if err = c.writeDue(); err == nil {
			r, err = execute(c, at, f, policy)
		}
		return r, false, err
	})
}

// storedResult returns the result of a step. If the journal has none yet, produce makes it, and it
// is stored here unless produce has stored it. An error of produce ends the turn.
func storedResult[T any](c *Ctx, at place, produce func() (r result[T], stored bool, err error)) (T, error) {
	var r result[T]
	found, err := c.lookUp(at.path, at.kind, at.name, &r)
	if err == nil && !found {
		var stored bool
		r, stored, err = produce()
		c.run.open.forget()
		if err == nil && !stored {
			err = storeEntry(c, at, &r)
		}
	}
	if err != nil {
		var none T
		return none, err
	}
	if r.Error != "" {
		return r.Value, &StepError{at.name, r.Error}
	}
	return r.Value, nil
}

// execute tries a step as its policy says. An error of the last try is part of the result; the
// error that execute returns ends the turn.
func execute[T any](c *Ctx, at place, f func(ctx context.Context) (T, error), policy []Policy) (
	r result[T], _ error) {
	most := maxError
	if at.kind == typeUndo {
		most = maxUndoError
	}
	var p Policy
	if len(policy) > 0 {
		p = policy[0]
	}
	ctx := context.WithValue(c.run.ctx, inStep{}, &stepInfo{c.run, at})
	for try := 0; ; try++ {
		v, err := guarded(func() (T, error) {
			ctx, cancel := c.limited(ctx, p.Timeout)
			defer cancel()
			return f(ctx)
		})
		switch {
		case c.run.untainted() != nil:
			return r, c.going()
		case c.over != nil: // its record is too large
			return r, c.over
		case err == nil:
			r.Value = v
			return r, nil
		case c.run.ctx.Err() != nil:
			return r, c.going()
		case errors.As(err, new(journalError)):
			return r, c.endWith(errors.Unwrap(err))
		case putsOff(err):
			return r, c.stop(err)
		case try >= p.Retries || p.Retryable != nil && !p.Retryable(err):
			r.Error = cmp.Or(bounded(err.Error(), most), "failed")
			return r, nil
		}
		if err := c.pause(p.pause(try)); err != nil {
			return r, err
		}
	}
}

const maxError = 16 << 10

// bounded cuts a text to at most that many bytes, and replaces invalid UTF-8, so that the journal
// returns exactly this text.
func bounded(text string, most int) string {
	cut := strings.ToValidUTF8(text[:min(len(text), most)], "\ufffd")
	if len(text) > most {
		cut = strings.TrimSuffix(cut, "\ufffd")
	}
	return cut
}

func (p Policy) pause(retries int) time.Duration {
	first, longest := p.Backoff, p.MaxBackoff
	if first <= 0 {
		first = time.Second
	}
	if longest <= 0 {
		longest = time.Minute
	}
	for longest = max(first, longest); retries > 0 && first <= longest/2; retries-- {
		first *= 2
	}
	if retries > 0 {
		return longest
	}
	return first
}

func (c *Ctx) pause(d time.Duration) error {
	tick, stop := c.run.clock.Timer(d)
	defer stop()
	select {
	case <-tick:
		return nil
	case <-c.run.ctx.Done():
		return c.going()
	}
}

// limitedContext is the context of a try with a time limit by the run's clock. It has its own Done
// channel, so that derived contexts end with its Err.
type limitedContext struct {
	context.Context // ends first, with the cause

	done chan struct{}
}

func (l *limitedContext) Done() <-chan struct{} { return l.done }

func (l *limitedContext) Err() error {
	select {
	case <-l.done:
	default:
		return nil
	}
	if errors.Is(context.Cause(l.Context), context.DeadlineExceeded) {
		return context.DeadlineExceeded
	}
	return l.Context.Err()
}

// limited returns a context that ends when d has passed on the run's clock; 0 is unlimited.
func (c *Ctx) limited(ctx context.Context, d time.Duration) (context.Context, func()) {
	if d <= 0 {
		return ctx, func() {}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	tick, stop := c.run.clock.Timer(d)
	limited := &limitedContext{ctx, make(chan struct{})}
	go func() { // until cancel is called
		select {
		case <-tick:
			cancel(context.DeadlineExceeded)
		case <-ctx.Done():
		}
		close(limited.done)
	}()
	return limited, func() {
		cancel(context.Canceled)
		<-limited.done
		stop()
	}
}

type stepInfo struct {
	run *run
	at  place
}

type inStep struct{}

// Key is the key of the step executed with this context: the same in each try, turn and node, and
// different for every other step and run. Pass it as an idempotency key to the service that causes
// the effect. It is empty outside a step.
func Key(ctx context.Context) string {
	if s, ok := ctx.Value(inStep{}).(*stepInfo); ok {
		return s.run.id + "/" + s.at.path + "/" + s.at.name
	}
	return ""
}

// AddUsage adds usage from the step executed with this context. It is stored at the end of the turn
// that executed the step, and counts for the run's budget (lifecycle.Spec.Budget). A step that is
// executed again adds its usage again.
func AddUsage(ctx context.Context, u engine.Usage) error {
	s, ok := ctx.Value(inStep{}).(*stepInfo)
	if !ok {
		return errors.New("flow: AddUsage needs the context of a step")
	}
	s.run.mu.Lock()
	defer s.run.mu.Unlock()
	s.run.usage = s.run.usage.Add(u)
	return nil
}

// Progress stores a message of the step executed with this context, as an event of the run. If the
// step is executed again, there is another event.
func Progress(ctx context.Context, text string) error {
	s, ok := ctx.Value(inStep{}).(*stepInfo)
	if !ok {
		return errors.New("flow: Progress needs the context of a step; elsewhere use Ctx.Say")
	}
	return s.run.sink.Message(ctx, engine.Message{Text: text})
}
