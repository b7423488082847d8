package stories

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/interlude-go/interlude/contract/fcmp"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/slots"
	"github.com/interlude-go/interlude/store"
)

var (
	errKilled  = errors.New("stories: the process has been killed")
	errCut     = errors.New("stories: the store cannot be reached")
	errUnheard = errors.New("stories: the answer got lost")
)

// fate is what becomes of a call that was held.
type fate string

const (
	arrives fate = "arrives"
	unheard fate = "unheard" // the store does it, and the caller gets an error
	fails   fate = "fails"   // the store does not do it, and the caller gets an error
)

// held is a call that is paused before it reaches the store.
type held struct {
	what string
	fate chan fate
}

// connection is a process's connection to the store. The story controls its calls.
type connection struct {
	store.Store

	shared *shared
	name   string // of the process

	mu       sync.Mutex
	gone     bool                     // guarded by mu; the process was killed, or has left
	cut      bool                     // guarded by mu; each call fails
	standby  bool                     // guarded by mu; there is nothing to claim, due or orphaned
	starting bool                     // guarded by mu; nothing to claim or due: a node recovers orphans first
	paused   chan struct{}            // guarded by mu; closed when the process is resumed; nil: it is not paused
	stopAt   string                   // guarded by mu; the kind of call of which the next one is held
	held     *held                    // guarded by mu
	watches  map[int]func(store.Hint) // guarded by mu
	lastID   int                      // guarded by mu; of watches
}

func (c *connection) pause() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.paused == nil {
		c.paused = make(chan struct{})
	}
}

func (c *connection) resume() {
	c.mu.Lock()
	paused := c.paused
	c.paused = nil
	c.mu.Unlock()
	if paused != nil {
		close(paused)
	}
}

func (c *connection) isPaused() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.paused != nil
}

func (c *connection) isGone() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.gone
}

// isIdle reports whether the process is on standby and finds no orphans.
func (c *connection) isIdle() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.standby
}

// claimsNothing reports whether the process finds nothing to claim, and nothing due.
func (c *connection) claimsNothing() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.standby || c.starting
}

// holdNext makes the next call of this kind wait before it reaches the store. An empty kind revokes
// an earlier holdNext.
func (c *connection) holdNext(kind string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stopAt = kind
}

func (c *connection) heldCall() *held {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.held
}

// admit lets a call through to the store, or returns why not.
func (c *connection) admit(ctx context.Context, kind string, what func() string) (fate, error) {
	for {
		c.mu.Lock()
		paused := c.paused
		switch {
		case c.gone:
			c.mu.Unlock()
			return fails, errKilled
		case paused == nil && c.cut:
			c.mu.Unlock()
			return fails, errCut
		case paused == nil && c.stopAt == kind:
			h := &held{what: what(), fate: make(chan fate, 1)}
			c.stopAt, c.held = "", h
			c.mu.Unlock()
			c.shared.addMessage(fmt.Sprintf("%s is about to %s", c.name, h.what))
			return c.awaitRelease(ctx, h)
		case paused == nil:
			c.mu.Unlock()
			return arrives, nil
		}
		c.mu.Unlock()
		select {
		case <-paused:
		case <-ctx.Done():
			return fails, ctx.Err()
		}
	}
}

func (c *connection) awaitRelease(ctx context.Context, h *held) (fate, error) {
	var f fate
	select {
	case f = <-h.fate:
	case <-ctx.Done():
		f = fails
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.held == h {
		c.held = nil
	}
	switch {
	case c.gone && f == fails:
		return f, errKilled
	case f == fails:
		return f, errCut
	}
	return f, nil
}

// lostAnswer returns the caller's error if the answer of an executed call is lost; nil if it
// arrives.
func (c *connection) lostAnswer(f fate) error {
	switch {
	case c.isGone():
		return errKilled
	case f == unheard:
		return errUnheard
	}
	return nil
}

// Watch implements store.Watcher.
func (c *connection) Watch(fn func(store.Hint)) (stop func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lastID++
	id := c.lastID
	c.watches[id] = fn
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.watches, id)
	}
}

// hint reaches the process, unless it is gone, cut off or paused.
func (c *connection) hint(h store.Hint) {
	c.mu.Lock()
	var fns []func(store.Hint)
	if !c.gone && !c.cut && c.paused == nil {
		for _, fn := range c.watches {
			fns = append(fns, fn)
		}
	}
	c.mu.Unlock()
	for _, fn := range fns {
		fn(h)
	}
}

func (c *connection) wake() { c.hint(store.Hint{State: fsm.StateQueued}) }

// Commit implements store.Writer.
func (c *connection) Commit(ctx context.Context, batch []store.Commit) []error {
	all := func(err error) []error {
		errs := make([]error, len(batch))
		for i := range errs {
			errs[i] = err
		}
		return errs
	}
	f, err := c.admit(ctx, "commit", func() string { return "store " + describe(batch) })
	if err != nil {
		return all(err)
	}
	errs := c.Store.Commit(ctx, batch)
	for i := range batch {
		if errs[i] == nil {
			c.shared.committed(&batch[i].Run)
		}
	}
	if err := c.lostAnswer(f); err != nil {
		return all(err)
	}
	return errs
}

func describe(batch []store.Commit) string {
	var all []string
	for i := range batch {
		c := &batch[i]
		what := fmt.Sprintf("%s version %d", c.Run.ID, c.Run.Version)
		for _, e := range c.Events {
			event, err := fcmp.Decode(e.Body)
			if err == nil && event.Type == fcmp.TypeStateChanged {
				what += ", " + formatStateChange(event)
			}
		}
		all = append(all, what)
	}
	return strings.Join(all, "; ")
}

// Claim implements store.Writer.
func (c *connection) Claim(ctx context.Context, req store.ClaimRequest) ([]store.Claimed, error) {
	if c.claimsNothing() {
		return nil, nil
	}
	f, err := c.admit(ctx, "claim", func() string { return "claim" })
	if err != nil {
		return nil, err
	}
	claimed, err := c.Store.Claim(ctx, req)
	names := make([]string, len(claimed))
	for i := range claimed {
		names[i] = claimed[i].Run.ID
		c.shared.committed(&claimed[i].Run)
	}
	if len(names) > 1 {
		c.shared.addMessage(fmt.Sprintf("%s claims %s", c.name, strings.Join(names, ", ")))
	}
	if lost := c.lostAnswer(f); lost != nil {
		return nil, lost
	}
	return claimed, err
}

// forward makes any call that is neither a commit nor a claim.
func forward[T any](ctx context.Context, c *connection, kind string, do func() (T, error)) (found T, err error) {
	f, err := c.admit(ctx, kind, func() string { return kind })
	if err != nil {
		return found, err
	}
	found, err = do()
	if lost := c.lostAnswer(f); lost != nil {
		var none T
		return none, lost
	}
	return found, err
}

// Prune implements store.Writer.
func (c *connection) Prune(ctx context.Context, before time.Time, limit int) (int, error) {
	return forward(ctx, c, "prune", func() (int, error) { return c.Store.Prune(ctx, before, limit) })
}

// Run implements store.Reader.
func (c *connection) Run(ctx context.Context, id string) (store.Run, error) {
	return forward(ctx, c, "read", func() (store.Run, error) { return c.Store.Run(ctx, id) })
}

// Interaction implements store.Reader.
func (c *connection) Interaction(ctx context.Context, id string, number int) (interaction.Record, error) {
	return forward(ctx, c, "read", func() (interaction.Record, error) { return c.Store.Interaction(ctx, id, number) })
}

// Journal implements store.Reader.
func (c *connection) Journal(ctx context.Context, id string) ([]interaction.JournalEntry, error) {
	return forward(ctx, c, "read", func() ([]interaction.JournalEntry, error) { return c.Store.Journal(ctx, id) })
}

// Spec implements store.Reader.
func (c *connection) Spec(ctx context.Context, id string) ([]byte, error) {
	return forward(ctx, c, "read", func() ([]byte, error) { return c.Store.Spec(ctx, id) })
}

// Confirm implements store.Confirmer.
func (c *connection) Confirm(ctx context.Context, read func(store.Reader) error) error {
	_, err := forward(ctx, c, "read", func() (struct{}, error) { return struct{}{}, c.Store.Confirm(ctx, read) })
	return err
}

// Events implements store.Reader.
func (c *connection) Events(ctx context.Context, id string, after uint64, limit int) ([]store.Event, error) {
	return forward(ctx, c, "read", func() ([]store.Event, error) { return c.Store.Events(ctx, id, after, limit) })
}

// Settled implements store.Reader.
func (c *connection) Settled(ctx context.Context, id, key string) (interaction.Record, error) {
	return forward(ctx, c, "read", func() (interaction.Record, error) { return c.Store.Settled(ctx, id, key) })
}

// Voted implements store.Reader.
func (c *connection) Voted(ctx context.Context, id, key string) (interaction.Record, error) {
	return forward(ctx, c, "read", func() (interaction.Record, error) { return c.Store.Voted(ctx, id, key) })
}

// Due implements store.Reader.
func (c *connection) Due(ctx context.Context, now time.Time, limit int) (due []store.Run, next time.Time, err error) {
	if c.claimsNothing() {
		// The next time stays true: a node forgets the times that it knew when it asks for them.
		_, next, err = c.Store.Due(ctx, now, limit)
		return nil, next, err
	}
	due, err = forward(ctx, c, "read", func() (due []store.Run, err error) {
		due, next, err = c.Store.Due(ctx, now, limit)
		return due, err
	})
	return due, next, err
}

// Orphans implements store.Reader.
func (c *connection) Orphans(ctx context.Context, skip, limit int) ([]store.Run, error) {
	if c.isIdle() {
		return nil, nil
	}
	return forward(ctx, c, "read", func() ([]store.Run, error) { return c.Store.Orphans(ctx, skip, limit) })
}

// Join implements store.Registry. Leases are judged by the story's time on every store.
func (c *connection) Join(ctx context.Context, n store.Node, now time.Time) error {
	_, err := forward(ctx, c, "join", func() (struct{}, error) {
		c.shared.joined(c.name, n, now)
		n.Lease = storeLease
		return struct{}{}, c.Store.Join(ctx, n, now)
	})
	return err
}

// Renew implements store.Registry.
func (c *connection) Renew(ctx context.Context, id string, now time.Time) ([]store.OwnedRun, error) {
	return forward(ctx, c, "renew", func() ([]store.OwnedRun, error) {
		holds, err := c.Store.Renew(ctx, id, now)
		if err == nil {
			c.shared.renewed(id, now)
		}
		return holds, err
	})
}

// Expire implements store.Registry.
func (c *connection) Expire(ctx context.Context, now time.Time, ids ...string) ([]store.Node, error) {
	return forward(ctx, c, "expire", func() ([]store.Node, error) {
		gone, err := c.Store.Expire(ctx, now, append(c.shared.overdue(now), ids...)...)
		for _, n := range gone {
			c.shared.expired(n.ID)
		}
		return gone, err
	})
}

// Nodes implements store.Registry. A standby node finds all others alive.
func (c *connection) Nodes(ctx context.Context) ([]store.Node, error) {
	if c.isIdle() {
		return nil, nil
	}
	return forward(ctx, c, "read", func() ([]store.Node, error) {
		nodes, err := c.Store.Nodes(ctx)
		return c.shared.withLeases(nodes), err
	})
}

// Departures implements store.Registry. A standby node checks nothing.
func (c *connection) Departures(ctx context.Context) ([]store.Departure, error) {
	if c.isIdle() {
		return nil, nil
	}
	return forward(ctx, c, "read", func() ([]store.Departure, error) { return c.Store.Departures(ctx) })
}

// SetPool implements store.Registry.
func (c *connection) SetPool(ctx context.Context, p slots.Pool) error {
	_, err := forward(ctx, c, "pool", func() (struct{}, error) { return struct{}{}, c.Store.SetPool(ctx, p) })
	return err
}

// ChangePool implements store.Registry.
func (c *connection) ChangePool(ctx context.Context, was, p slots.Pool) error {
	_, err := forward(ctx, c, "pool", func() (struct{}, error) { return struct{}{}, c.Store.ChangePool(ctx, was, p) })
	return err
}
