package flow

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"runtime/debug"
	"slices"
	"time"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/internal/schema"
)

// Agent is a function as an engine. It is safe for concurrent use.
type Agent[In, Out any] struct {
	name string
	call func(c *Ctx, in In) (Out, error)
}

// New makes an engine of a function. The name is stored with each run, so that only this function
// continues it. In is decoded from the run's input (Spec.Input), or is its prompt if In is a string
// and there is no input. Out is the run's output: a string is its final text, and any other type
// must encode as a JSON object.
//
// It panics if the name is empty, or Out cannot be an output.
func New[In, Out any](name string, f func(c *Ctx, in In) (Out, error)) *Agent[In, Out] {
	var zero Out
	if name == "" || len(name) > maxName || f == nil {
		panic(fmt.Sprintf("flow: a function needs a name of 1 to %d bytes, not %.200q", maxName, name))
	}
	if _, err := outcomeOf(zero); err != nil {
		panic(fmt.Sprintf("flow: function %s returns a %s, which cannot be an output: "+
			"%v", name, reflect.TypeFor[Out](), err))
	}
	return &Agent[In, Out]{name, f}
}

// Profile is resumable and plain.
func (a *Agent[In, Out]) Profile(context.Context) (engine.Profile, error) {
	return engine.Profile{Kind: engine.Resumable, Reason: "a function continues from its run's " +
		"journal", Plain: true}, nil
}

// CanBranch implements engine.Brancher. A session has only the function's name, and a fork inherits
// the journal as of the question, so there is nothing to copy.
func (a *Agent[In, Out]) CanBranch(_ context.Context, p engine.BranchPoint) error {
	switch {
	case p.Session.Engine != sessionEngine || string(p.Session.Data) != a.name:
		return a.foreign(&p.Session)
	case p.Message:
		return fmt.Errorf("function %s accepts no message after its end; name a settled question", a.name)
	}
	return nil
}

func (a *Agent[In, Out]) Branch(ctx context.Context, p engine.BranchPoint, _ engine.Turn) (
	engine.SessionHandle, error) {
	return p.Session, a.CanBranch(ctx, p)
}

// foreign is the error for another engine's or function's session. It holds the run.
func (a *Agent[In, Out]) foreign(h *engine.SessionHandle) error {
	return engine.Hold(engine.CodeSessionResumeFailed, fmt.Sprintf(
		"the run belongs to %s %.100q, and the engine is function %q", h.Engine, h.Data, a.name))
}

// RunTurn calls the function, which continues from the end of its journal.
func (a *Agent[In, Out]) RunTurn(ctx context.Context, t engine.Turn, s engine.Sink) (engine.Outcome, error) {
	if h := t.Session; h != nil && (h.Engine != sessionEngine || string(h.Data) != a.name) {
		return engine.Outcome{}, a.foreign(h)
	}
	r, err := newRun(ctx, t, s)
	if err != nil {
		return engine.Outcome{}, err
	}
	c := &Ctx{run: r}
	called := false
	out, err := guarded(func() (none Out, _ error) {
		in, err := inputOf[In](t)
		if err != nil {
			return none, err
		}
		called = true
		return a.call(c, in)
	})
	if !called {
		return engine.Outcome{}, misfit("the run's input does not fit function %s: %v", a.name, err)
	}
	c.end("the function")
	o, err := c.outcome(err, func() (engine.Outcome, error) {
		if t.Repair != "" {
			return engine.Outcome{}, &engine.Failure{Code: engine.CodeOutputInvalid,
				Detail: "a function returns the same invalid output again: " + t.Repair}
		}
		o, err := outcomeOf(out)
		if err == nil && len(c.undo) > 0 && len(t.OutputSchema) > 0 { // otherwise the run checks it
			err = checkOutput(t.OutputSchema, o.Output)
		}
		return o, err
	})
	o.Usage = r.spent()
	if err == nil && t.Session == nil {
		o.Session = &engine.SessionHandle{Engine: sessionEngine, Data: []byte(a.name)}
	}
	return o, err
}

// sessionEngine names the sessions of functions, whose data is the function's name.
const sessionEngine = "flow"

const maxName = 128

func inputOf[In any](t engine.Turn) (in In, err error) {
	if text, ok := any(&in).(*string); ok && len(t.InputJSON) == 0 {
		*text = t.Prompt
		return in, nil
	}
	if len(t.InputJSON) == 0 {
		if reflect.TypeFor[In]() == reflect.TypeFor[struct{}]() {
			return in, nil
		}
		return in, errors.New("the run has no input")
	}
	err = decode(t.InputJSON, &in)
	return in, err
}

func outcomeOf(out any) (engine.Outcome, error) {
	body, err := json.Marshal(out)
	if err != nil {
		return engine.Outcome{}, failed(err, "the result cannot be encoded as JSON")
	}
	var text string
	if json.Unmarshal(body, &text) == nil && !bytes.Equal(body, []byte("null")) {
		return engine.Done(text), nil
	}
	return engine.Output(json.RawMessage(body))
}

var errExited = errors.New("flow: ended by runtime.Goexit")

func checkOutput(declared, output []byte) error {
	s, err := schema.Compile(declared)
	switch {
	case err != nil: // never, because the run was submitted with it
	case output == nil:
		err = errors.New("the function returned a text")
	default:
		err = s.ValidateJSON(output)
	}
	if err != nil {
		return &engine.Failure{Code: engine.CodeOutputInvalid, Detail: fmt.Sprintf("the output is not valid: %v", err)}
	}
	return nil
}

// guarded calls code of the host, and returns its panic as an error. The code has a separate
// goroutine, so runtime.Goexit ends only that.
func guarded[T any](f func() (T, error)) (v T, err error) {
	returned := make(chan struct{})
	err = errExited
	go func() {
		defer close(returned)
		defer func() {
			if p := recover(); p != nil {
				err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
			}
		}()
		if v, err = f(); err != nil {
			_ = err.Error() // a method of the host, which may panic for a nil pointer
		}
	}()
	<-returned
	return v, err
}

// misfit is the error of a turn whose code does not match the run's journal, input or session. It
// holds the run.
func misfit(format string, args ...any) error {
	return engine.Hold(engine.CodeEngineFailed, fmt.Sprintf(format, args...))
}

// failed is the error of a turn that can never succeed. cause may be nil.
func failed(cause error, format string, args ...any) error {
	return &engine.Failure{Code: engine.CodeEngineFailed, Detail: fmt.Sprintf(format, args...), Err: cause}
}

// putsOff reports whether an error of the host's code is not final: engine.Later delays the turn,
// and engine.Hold holds the run.
func putsOff(err error) bool {
	var f *engine.Failure
	return errors.As(err, &f) && (f.Transient || f.Held)
}

// decode decodes a JSON value strictly: an unknown member belongs to a different type.
func decode(body []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	return d.Decode(into)
}

// outcome makes the turn's outcome, after the function has returned err. If the run fails, the
// compensations are executed first. success makes the outcome of a successful function.
func (c *Ctx) outcome(err error, success func() (engine.Outcome, error)) (o engine.Outcome, _ error) {
	r := c.run
	failure := r.failed()
	if failure == nil && c.over == nil {
		if failure = err; err == nil && r.checkLeft(true, nil) == nil {
			o, failure = guarded(success) // calls methods of the host's types
		}
	}
	if failure != nil && !putsOff(failure) {
		failure = c.compensate(failure)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.ctx.Err() != nil:
		return engine.Outcome{}, context.Cause(r.ctx)
	case r.fatal != nil:
		return engine.Outcome{}, r.fatal
	case failure != nil:
		return engine.Outcome{}, failure
	case c.over == nil:
		return o, nil
	}
	if err := r.keepAnswers(); err != nil {
		return engine.Outcome{}, err
	}
	if len(r.asking) > 0 {
		return r.park(), nil
	}
	o = engine.SleepUntil(r.wake)
	for _, a := range r.await {
		o.Children = append(o.Children, a.runs...)
		o.AnyChild = a.any || len(r.await) > 1 // the first end may let its branch continue
	}
	o.Journal = r.drainPending()
	return o, nil
}

// park makes the outcome of a turn that asks. Branches' questions are asked together up to the
// limits, and the run continues when all are answered. Questions with a rule are asked separately;
// a later turn asks the rest.
func (r *run) park() engine.Outcome {
	slices.SortFunc(r.asking, func(a, b *asking) int { return comparePaths(a.path, b.path) })
	first := r.asking[0]
	questions, rule, size := first.questions, first.rule, first.size
	for _, a := range r.asking[1:] {
		if first.rule == (engine.Rule{}) && a.rule == (engine.Rule{}) &&
			len(questions)+len(a.questions) <= engine.MaxQuestions && size+a.size <= engine.MaxTogether {
			size += a.size
			questions = append(slices.Clip(questions), a.questions...)
		}
	}
	o := engine.AskAll(questions...)
	o.Rule, o.Journal = rule, r.drainPending()
	return o
}

func (r *run) spent() engine.Usage {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.usage
}

func (r *run) drainPending() []engine.JournalEntry {
	pending := r.pending
	r.pending, r.due = nil, false
	return pending
}

type machineClock struct{}

func (machineClock) Now() time.Time { return time.Now() }

func (machineClock) Timer(d time.Duration) (<-chan time.Time, func()) {
	t := time.NewTimer(d)
	return t.C, func() { t.Stop() }
}
