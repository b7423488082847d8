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

// Policy says how often and how long a step is tried. The zero Policy tries it once, without a
// limit of time.
type Policy struct {
	// Retries is how often the step is tried again after an error, within the turn. The run keeps
	// its slot meanwhile: for a long pause, the step returns engine.Later instead.
	Retries int
	// Backoff is the pause before the first retry, a second unless it is positive. It doubles with
	// each retry, up to MaxBackoff, a minute unless that is positive.
	Backoff, MaxBackoff time.Duration
	// Timeout limits each try, whose context then ends with context.DeadlineExceeded; 0: no limit.
	Timeout time.Duration
}

// StepError is the error of a step that failed, in the turn in which it did and in all later ones.
// It has the text of the error that the step returned, and not the error itself, which no journal
// could keep: a function that must tell errors apart returns them as part of the step's result.
type StepError struct {
	Step string
	Text string
}

func (e *StepError) Error() string { return fmt.Sprintf("step %s: %s", e.Step, e.Text) }

// result is the journal's entry about a step.
type result[T any] struct {
	Value T      `json:"value"`
	Error string `json:"error,omitempty"`
}

// onlyError is the entry about a step that failed with a result that has no JSON, or that cannot be
// decoded. It is another form of result.
type onlyError struct {
	Error string `json:"error"`
}

// failedResult is implemented by the results of steps, whatever their type.
type failedResult interface {
	failure() string
	setFailure(text string)
}

func (r *result[T]) failure() string { return r.Error }

func (r *result[T]) setFailure(text string) { *r = result[T]{Error: text} }

// isFailed reports whether the body is the entry about a step that failed, and into a result, which
// then is that error. The value of such an entry does not matter.
func isFailed(body []byte, into any) bool {
	r, ok := into.(failedResult)
	var e onlyError
	if !ok || json.Unmarshal(body, &e) != nil || e.Error == "" {
		return false
	}
	r.setFailure(e.Error)
	return true
}

// Step executes f and stores its result in the journal. From then on f is never executed again:
// Step returns the stored result. What it returns is decoded from the JSON that is stored, also in
// the turn that executes f, so that unexported fields, for instance, are never there. A result that
// cannot be decoded strictly, or has more than engine.MaxJournalBody bytes, fails the run.
//
// If f fails, its last error is stored too, as a StepError, and the function decides what to do
// about it. After three kinds of errors nothing is stored; the turn ends, and another turn tries
// the step again: the error of a context that was canceled, engine.Later, and engine.Hold.
//
// At most one Policy is given.
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

// storedResult returns the result of a step. If the journal has none yet, produce makes it; it is
// stored here, unless produce reports that it has stored it. An error of produce ends the turn.
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

// execute tries a step as often as its policy says. An error of the last try is part of the result;
// the error that execute returns ends the turn.
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
	ctx := context.WithValue(c.run.ctx, inStep{}, &stepInfo{c.run, c.run.id + "/" + at.path + "/" + at.name})
	for try := 0; ; try++ {
		v, err := guarded(func() (T, error) {
			ctx, cancel := c.limited(ctx, p.Timeout)
			defer cancel()
			return f(ctx)
		})
		switch {
		case c.run.untainted() != nil:
			return r, c.going()
		case c.over != nil: // its record does not fit
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
		case try >= p.Retries:
			r.Error = cmp.Or(bounded(err.Error(), most), "failed")
			return r, nil
		}
		if err := c.pause(p.pause(try)); err != nil {
			return r, err
		}
	}
}

// maxError is how many bytes of an error's text are stored.
const maxError = 16 << 10

// bounded cuts a text to so many bytes, and replaces what is not valid UTF-8, so that the journal
// returns just this text.
func bounded(text string, most int) string {
	cut := strings.ToValidUTF8(text[:min(len(text), most)], "\ufffd")
	if len(text) > most {
		cut = strings.TrimSuffix(cut, "\ufffd")
	}
	return cut
}

// pause is the length of the pause after so many retries.
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

// pause waits by the run's clock.
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

// limitedContext is the context of a try whose time is limited on the run's clock. It has a Done
// channel of its own, so that contexts derived from it end with its Err, too.
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

// limited returns a context that ends when d has passed on the run's clock. If d is 0, it has no
// time limit.
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

// stepInfo is the value in the context of a step.
type stepInfo struct {
	run *run
	key string
}

type inStep struct{}

// Key is the key of the step that is executed with this context: the same in each try, in each turn
// and on each node, and another one for every other step and run. Pass it as an idempotency key to
// whoever causes the step's effect. It is empty outside a step.
func Key(ctx context.Context) string {
	if s, ok := ctx.Value(inStep{}).(*stepInfo); ok {
		return s.key
	}
	return ""
}

// AddUsage adds to what the turn has cost, from the step that is executed with this context. It is
// stored with the end of the turn, in which the step was executed, and counts for the budget of the
// run (lifecycle.Spec.Budget). A step that is executed again adds its usage again.
func AddUsage(ctx context.Context, u engine.Usage) error {
	s, ok := ctx.Value(inStep{}).(*stepInfo)
	if !ok {
		return errors.New("flow: AddUsage is for steps")
	}
	s.run.mu.Lock()
	defer s.run.mu.Unlock()
	s.run.usage = s.run.usage.Add(u)
	return nil
}

// Progress stores a message of the step that is executed with this context, as an event of the run.
// If the step is executed again, there is another event.
func Progress(ctx context.Context, text string) error {
	s, ok := ctx.Value(inStep{}).(*stepInfo)
	if !ok {
		return errors.New("flow: Progress is for steps; outside, there is Ctx.Say")
	}
	return s.run.sink.Message(ctx, engine.Message{Text: text})
}
