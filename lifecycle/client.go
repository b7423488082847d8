package lifecycle

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/store"
)

// Run is the stored record of a run.
type Run = store.Run

// Query filters and pages a listing of runs.
type Query = store.Query

// Page is one page of a listing.
type Page = store.Page

// Client has all calls of a Lifecycle but Serve, for processes that execute no runs: web front
// ends, command lines. It is safe for concurrent use. Close ends its watch on the store; the store
// stays open.
type Client struct {
	store   store.Store
	clock   Clock
	log     *slog.Logger
	poll    time.Duration
	engines map[string]engine.Engine // empty for a mere client
	hub     *hub
	alarm   *alarm // tells Serve of a deadline that this process has just stored
	stuck   *stuckCalls
}

// ClientConfig configures a Client. Only Store is required.
type ClientConfig struct {
	// Store keeps the runs.
	Store store.Store
	// Clock is the time. Nil: the store's, when it is a store.Timekeeper; otherwise SystemClock.
	// See Clock.
	Clock Clock
	// Logger is slog.Default when nil.
	Logger *slog.Logger
	// Poll is how long a follower waits for a hint before it looks by itself; 1 s when zero.
	Poll time.Duration
}

// NewClient returns a client of the store. It starts nothing, and does not ask the store anything.
func NewClient(cfg ClientConfig) (*Client, error) {
	if cfg.Store == nil {
		return nil, errors.New("lifecycle: ClientConfig.Store is nil: give the store that the executing processes use")
	}
	if cfg.Clock == nil {
		cfg.Clock = clockOf(cfg.Store)
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.Default()
	}
	if cfg.Poll <= 0 {
		cfg.Poll = time.Second
	}
	c := &Client{store: cfg.Store, clock: cfg.Clock, log: cfg.Logger, poll: cfg.Poll, alarm: newAlarm(),
		stuck: new(stuckCalls)}
	c.hub = newHub(cfg.Store)
	return c, nil
}

// Close ends the client's watch on its store. Followers go on by polling.
func (c *Client) Close() { c.hub.close() }

// Get returns the run, or ErrNotFound. Its state, question, deadline, output and error are of one
// moment (I10).
func (c *Client) Get(ctx context.Context, id string) (Run, error) {
	return c.store.Run(ctx, id)
}

// Runs lists runs in the order of their creation.
func (c *Client) Runs(ctx context.Context, q Query) (Page, error) { return c.store.Runs(ctx, q) }

// Inbox lists the runs that wait for a person, the oldest question first; each has its question in
// Pending.
func (c *Client) Inbox(ctx context.Context, q Query) (Page, error) { return c.store.Inbox(ctx, q) }

// Pending returns the question that the run waits with, nil when it waits for nobody.
func (c *Client) Pending(ctx context.Context, id string) (*interaction.Question, error) {
	r, err := c.store.Run(ctx, id)
	return r.Pending, err
}

// History returns every question of the run and how it was settled, in order; the open one, without
// a resolution, comes last (C7).
func (c *Client) History(ctx context.Context, id string) ([]interaction.Record, error) {
	run, records, err := c.store.History(ctx, id)
	if err == nil && run.Pending != nil {
		records = append(records, interaction.Record{Question: *run.Pending})
	}
	return records, err
}

// Prune deletes runs that ended before the given time, with their events and history, and returns
// how many. It works in batches, so that it never holds up others for long; their folders stay.
func (c *Client) Prune(ctx context.Context, before time.Time) (int, error) {
	const batch = 500
	total := 0
	for {
		n, err := c.store.Prune(ctx, before, batch)
		total += n
		if err != nil || n < batch {
			return total, err
		}
	}
}

// Wait returns the run once it has ended.
func (c *Client) Wait(ctx context.Context, id string) (Run, error) {
	f := c.hub.await(id)
	defer f.close()
	p := c.pause(f)
	defer p.end()
	for {
		r, err := c.store.Run(ctx, id)
		if err != nil || r.State.Terminal() {
			return r, err
		}
		if err := p.wait(ctx); err != nil {
			return Run{}, err
		}
		if r, ended := f.end(); ended {
			return r, nil
		}
	}
}

// pause is how a follower waits: for hints, but never longer than a poll without a look at the
// store.
func (c *Client) pause(f *follower) idle { return idle{clock: c.clock, wake: f.hints, d: c.poll} }

// single holds batches of one commit, one after the other: a store keeps nothing of a batch.
var single = sync.Pool{New: func() any { return new([1]store.Commit) }}

// commit stores one commit.
func (c *Client) commit(ctx context.Context, cm store.Commit) error {
	batch := single.Get().(*[1]store.Commit) //nolint:forcetypeassert // there is nothing else in it
	batch[0] = cm
	err := c.store.Commit(ctx, batch[:])[0]
	batch[0] = store.Commit{}
	single.Put(batch)
	return err
}
