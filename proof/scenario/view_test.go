package scenario_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/interlude-go/interlude/contract/fcmp"
	"github.com/interlude-go/interlude/store"
)

// What a process is told by a store that it cannot reach.
var (
	errGone    = errors.New("scenario: the process has been killed")
	errCut     = errors.New("scenario: the store cannot be reached")
	errUnheard = errors.New("scenario: the answer got lost")
)

// fate is what becomes of a call that was held.
type fate string

const (
	arrives fate = "arrives"
	unheard fate = "unheard" // the store does it, and the caller gets an error
	fails   fate = "fails"   // the store does not do it, and the caller gets an error
)

// held is a call that stands just before the store.
type held struct {
	what string
	goes chan fate
}

// view is the store as one process has it: a node or a client. The story says what becomes of its
// calls.
type view struct {
	store.Store

	board *board
	name  string

	mu      sync.Mutex
	gone    bool          // guarded by mu; killed
	cut     bool          // guarded by mu; each call fails
	standby bool          // guarded by mu; there is nothing to claim, due or left behind
	begins  bool          // guarded by mu; there is nothing to claim or due: what dead nodes left comes first
	awake   chan struct{} // guarded by mu; nil: awake; otherwise closed when it is again
	stop    string        // guarded by mu; the kind of call of which the next one is held
	held    *held         // guarded by mu
	watches map[int]func(store.Hint)
	next    int
}

// arrive lets a call through to the store, or says why not. Most calls just go through.
func (v *view) arrive(ctx context.Context, kind string, what func() string) (fate, error) {
	for {
		v.mu.Lock()
		awake := v.awake
		switch {
		case v.gone:
			v.mu.Unlock()
			return fails, errGone
		case awake == nil && v.cut:
			v.mu.Unlock()
			return fails, errCut
		case awake == nil && v.stop == kind:
			h := &held{what: what(), goes: make(chan fate, 1)}
			v.stop, v.held = "", h
			v.mu.Unlock()
			v.board.say(fmt.Sprintf("%s is about to %s", v.name, h.what))
			return v.release(ctx, h)
		case awake == nil:
			v.mu.Unlock()
			return arrives, nil
		}
		v.mu.Unlock()
		select {
		case <-awake:
		case <-ctx.Done():
			return fails, ctx.Err()
		}
	}
}

func (v *view) release(ctx context.Context, h *held) (fate, error) {
	var f fate
	select {
	case f = <-h.goes:
	case <-ctx.Done():
		f = fails
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.held == h {
		v.held = nil
	}
	switch {
	case v.gone && f == fails:
		return f, errGone
	case f == fails:
		return f, errCut
	}
	return f, nil
}

// answer is what the caller hears of a call that the store did.
func (v *view) answer(f fate) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	switch {
	case v.gone:
		return errGone
	case f == unheard:
		return errUnheard
	}
	return nil
}

// idles reports whether the node stands by.
func (v *view) idles() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.standby
}

// begun reports whether the node has just begun.
func (v *view) begun() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.begins
}

func every(n int, err error) []error {
	all := make([]error, n)
	for i := range all {
		all[i] = err
	}
	return all
}

// Commit implements store.Writer.
func (v *view) Commit(ctx context.Context, batch []store.Commit) []error {
	f, err := v.arrive(ctx, "commit", func() string { return "store " + describe(batch) })
	if err != nil {
		return every(len(batch), err)
	}
	done := v.Store.Commit(ctx, batch)
	for i := range batch {
		if done[i] == nil {
			v.board.stored(&batch[i].Run)
		}
	}
	if err := v.answer(f); err != nil {
		return every(len(batch), err)
	}
	return done
}

// describe says what commits would do.
func describe(batch []store.Commit) string {
	var all []string
	for i := range batch {
		c := &batch[i]
		what := fmt.Sprintf("%s version %d", c.Run.ID, c.Run.Version)
		for _, e := range c.Events {
			event, err := fcmp.Decode(e.Body)
			if err == nil && event.Type == fcmp.TypeStateChanged {
				what += ", " + changed(event)
			}
		}
		all = append(all, what)
	}
	return strings.Join(all, "; ")
}

// Claim implements store.Writer.
func (v *view) Claim(ctx context.Context, req store.ClaimRequest) ([]store.Claimed, error) {
	if v.idles() || v.begun() {
		return nil, nil
	}
	f, err := v.arrive(ctx, "claim", func() string { return "claim" })
	if err != nil {
		return nil, err
	}
	claimed, err := v.Store.Claim(ctx, req)
	names := make([]string, len(claimed))
	for i := range claimed {
		names[i] = claimed[i].Run.ID
		v.board.stored(&claimed[i].Run)
	}
	if len(names) > 1 {
		v.board.say(fmt.Sprintf("%s claims %s", v.name, strings.Join(names, ", ")))
	}
	if lost := v.answer(f); lost != nil {
		return nil, lost
	}
	return claimed, err
}
