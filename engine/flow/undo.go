package flow

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/interaction"
)

type compensation struct {
	path, name string
	f          func(ctx context.Context) error
	policy     []Policy
}

// Defer registers f, a compensation, which is executed if the function fails: if it returns an
// error, if its result is not an output, or if a call fails the run, for example because the
// journal is full. Compensations are executed in reverse order, each as a step: once its result is
// stored, it is not executed again. If one fails, the others are still executed. None is executed
// if the run is canceled, which ends it immediately, or fails for another reason, for example a
// deadline.
//
// The journal reserves room for each registered compensation.
func (c *Ctx) Defer(name string, f func(ctx context.Context) error, policy ...Policy) {
	path, err := c.acquire(typeUndo, name)
	if path == "" { // the Ctx is misplaced
		return
	}
	if err == nil {
		defer c.release()
		if c.checkPlace(path, typeUndo, name) != nil {
			return // the next call returns the error
		}
	}
	c.undo = append(c.undo, compensation{path, name, f, policy})
	if full := c.run.countUndo(path); full != nil && err == nil {
		_ = c.fail(failed(full, "%s at %s", described(typeUndo, name), path)) // the next call returns the error
	}
}

// countUndo counts a compensation. The error matches engine.ErrJournalFull if the journal has no
// room for its entry.
func (r *run) countUndo(path string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.undos++
	var size interaction.JournalSize
	if r.size != nil {
		size = *r.size
	}
	if r.kept[path] == nil && r.lacksRoom(&size) {
		return fmt.Errorf("%w: it has no room for %d compensations", engine.ErrJournalFull, r.undos)
	}
	return nil
}

// lacksRoom reports whether a journal of this size has no room for the possible compensations. The
// caller holds mu.
func (r *run) lacksRoom(size *interaction.JournalSize) bool {
	entries := r.undos + 1 // the function's failure is an entry, too
	return size.Entries+entries > engine.MaxJournalEntries ||
		size.Bytes+int64(entries)*undoRoom > engine.MaxJournalSize
}

const (
	// undoRoom is the journal's reserve for the entry of a compensation, in bytes: its path, name
	// and error, whose text may grow sixfold as JSON.
	undoRoom = 8 << 10
	// maxUndoError limits the stored error of a compensation, in bytes.
	maxUndoError = 1 << 10
)

// reserve counts an entry to be written. The error matches engine.ErrJournalFull if the journal has
// no room for it and for the possible compensations.
func (r *run) reserve(e *engine.JournalEntry) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	next, err := r.size.With([]engine.JournalEntry{*e})
	if err != nil {
		return err
	}
	if r.undos > 0 && e.Type != typeUndo && e.Type != typeFailure && r.lacksRoom(next) {
		return fmt.Errorf("%w: the rest is reserved for %d compensations", engine.ErrJournalFull, r.undos)
	}
	r.size = next
	return nil
}

func (r *run) giveBack(e *engine.JournalEntry) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.size = &interaction.JournalSize{Entries: r.size.Entries - 1, Bytes: r.size.Bytes - int64(e.Size())}
}

// keptFailure is the journal's entry for a failure of a call. The failed call is not in the
// journal, and might succeed in a later turn; but once a compensation was executed, the run must
// fail.
type keptFailure struct {
	Code engine.Code `json:"code,omitempty"`
	Text string      `json:"text"`
}

const failurePath = "u0"

// readFailure reads from the journal whether an earlier turn has begun to compensate a failure.
func (r *run) readFailure() error {
	e := r.kept[failurePath]
	if e == nil {
		return nil
	}
	var k keptFailure
	if err := decode(e.Body, &k); err != nil || e.Type != typeFailure {
		return misfit("the journal has %s at %s, which no function has there", described(e.Type, e.Name), failurePath)
	}
	e.seen, e.dropped, r.undoing = true, true, true
	if r.failure = errors.New(k.Text); k.Code != "" {
		r.failure = &engine.Failure{Code: k.Code, Detail: k.Text}
	}
	return nil
}

// keepFailure stores why a call has failed the run, before any compensation.
func (c *Ctx) keepFailure(failure error) error {
	k := keptFailure{Text: failure.Error()}
	var f *engine.Failure
	if errors.As(failure, &f) {
		k.Code, k.Text = f.Code, f.Detail
		if f.Err != nil {
			k.Text += ": " + f.Err.Error()
		}
	}
	k.Text = bounded(k.Text, maxUndoError)
	e, err := entryOf(c, place{failurePath, typeFailure, ""}, &k)
	if errors.Is(err, engine.ErrJournalFull) {
		c.over = nil // a fork has inherited more than the limit permits: execute compensations nevertheless
		return nil
	}
	if err != nil {
		return err
	}
	return c.write(e)
}

func (r *run) failed() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.failure
}

func (c *Ctx) compensate(failure error) error {
	r := c.run
	c.over = nil
	if err := c.going(); err != nil {
		return err
	}
	if err := r.checkLeft(false, failure); err != nil { // before any compensation
		return err
	}
	if len(c.undo) > 0 && r.failed() != nil && !r.undoing {
		if err := c.keepFailure(failure); err != nil {
			return errors.Join(failure, err)
		}
	}
	all := []error{failure}
	for _, u := range slices.Backward(c.undo) {
		c.use(place{u.path, typeUndo, u.name})
		_, err := step(c, u.path, typeUndo, u.name, func(ctx context.Context) (struct{}, error) {
			return struct{}{}, u.f(ctx)
		}, u.policy)
		c.use(ended("the function"))
		c.over = nil // an error of this one does not stop the others
		if over := c.going(); over != nil {
			return over
		}
		if err != nil {
			all = append(all, fmt.Errorf("compensation: %w", err))
		}
	}
	if err := r.checkLeft(true, failure); err != nil {
		return err
	}
	return errors.Join(all...)
}
