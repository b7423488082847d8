package lifecycle

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/interlude-go/interlude/lifecycle/internal/decide"
	"github.com/interlude-go/interlude/lifecycle/internal/node"
	"github.com/interlude-go/interlude/store"
)

// Client has all calls of a Lifecycle except Serve, for processes that execute no runs: web front
// ends, command lines. It is safe for concurrent use. Close does not close the store.
//
// Front ends for several people use a client for each: see As.
type Client struct {
	proc    node.Process // without Engines unless it belongs to a Lifecycle
	poll    time.Duration
	hub     *hub
	ownNode *atomic.Pointer[node.Node] // this process's node; nil: it does not serve
	notices *notices                   // nil without an observer
	inboxes *inboxWatches
	folders node.Folders // of the runs, for their questions' files

	authorize Authorize // nil: everything is allowed
	deputies  deputies
	remember  time.Duration // Config.Remember
	actor     Actor         // the actor of its calls; see As
}

// ClientConfig configures a Client. Only Store is required.
type ClientConfig struct {
	// Store keeps the runs.
	Store store.Store
	// Clock, Logger and Poll are as in Config.
	Clock  Clock
	Logger *slog.Logger
	Poll   time.Duration
	// OnInterrupt is Recover's policy for interrupted turns of runs whose spec has none: the value of
	// the executing processes' Config; with Config.Forgiving, Ask. Config.Hold has no counterpart
	// here: only a process with the engine detects a refused session.
	OnInterrupt OnInterrupt
	// Observer gets notices of the changes by this client.
	Observer Observer
	// Authorize decides about each call that reads or changes runs, except Recover: after the run was
	// read and before anything is stored or returned, once per call or stream, and again after a
	// lost race or a stale cache hit. Lists are checked once, by their query. It runs on the caller's
	// goroutine and context, outside the store's transactions, so it may call this client's store. A
	// panic refuses the call.
	//
	// Nil: every caller may do everything with every run.
	Authorize Authorize
	// Directory names the people for whom an actor may act (Actor.For). Nil: there are no deputies.
	Directory Directory
	// Remember is Config.Remember of the executing processes.
	Remember time.Duration
	// Dir is Config.Dir of the executing processes, for ReadFile. Empty: it returns ErrFileMissing.
	Dir string
}

// NewClient returns a client of the store, without calling it or starting anything.
func NewClient(cfg ClientConfig) (*Client, error) {
	if isNil(cfg.Store) {
		return nil, &ArgumentError{"ClientConfig.Store", "nil", "the store that the executing processes use", nil}
	}
	if !knownOnInterrupt(cfg.OnInterrupt) {
		return nil, &ArgumentError{"ClientConfig.OnInterrupt", quote(string(cfg.OnInterrupt)), wantOnInterrupt, nil}
	}
	if cfg.Remember < 0 {
		return nil, &ArgumentError{"ClientConfig.Remember", cfg.Remember.String(), "at least 0s", nil}
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
	queue := newNotices(cfg.Observer, cfg.Logger)
	c := &Client{
		proc: node.Process{Store: cfg.Store, Clock: cfg.Clock, Log: node.LogRepeatedOnce(cfg.Logger),
			Due:  node.NewDueHint(),
			Host: decide.HostDefaults{OnInterrupt: cfg.OnInterrupt}, Stuck: new(node.StuckCalls), Notices: queue,
			Journals: semaphore.NewWeighted(node.MaxJournalsRead)},
		poll: cfg.Poll, hub: newHub(cfg.Store), ownNode: new(atomic.Pointer[node.Node]), notices: queue,
		authorize: cfg.Authorize, deputies: deputies{cfg.Directory, cfg.Logger}, inboxes: new(inboxWatches),
		folders: node.Folders{Dir: cfg.Dir}, remember: cfg.Remember,
	}
	return c, nil
}

// Close ends the client's watch on its store; followers continue by polling. It waits at most a
// second until the Observer has received all notices.
func (c *Client) Close() {
	c.hub.stopWatching()
	c.notices.flush()
}

// WithPrincipals returns the actor with the people for whom the directory lets them act now
// (Question.Represents). Without a readable directory there are none.
func (c *Client) WithPrincipals(ctx context.Context, actor Actor) Actor {
	c.deputies.findForList(ctx, &actor, c.proc.Now())
	return actor
}

// On returns the same client on another view of its store, for example inside the caller's
// transaction, if the store is in the caller's database. Its submissions, answers and cancels
// commit or roll back with that transaction.
//
// Make a client for each transaction: the call is cheap, and the client needs no Close. Without
// hints, Wait and Events read the view once per poll. The Observer gets no notices of its commits.
func (c *Client) On(view store.Store) *Client {
	// The shared due hint may wake Serve for a deadline before the transaction commits; Serve finds
	// it one poll later.
	on := *c
	on.hub, on.notices, on.inboxes = newHub(nil), nil, new(inboxWatches)
	on.proc.Store, on.proc.Notices = view, on.notices
	return &on
}

// Submit stores a new run in state queued and returns it. With a Spec.ID it is idempotent: a
// repeated call with the same id and spec returns the run's current record; with another spec,
// ErrSpecConflict. An invalid spec is a *SpecError, an unknown pool ErrUnknownPool.
//
// Two specs are the same if all fields except Meta are equal after defaults are applied. So compute
// NotBefore from a constant, such as the time of the order, not from the time of the call.
func (c *Client) Submit(ctx context.Context, spec Spec) (Run, error) {
	run, _, err := c.GetOrSubmit(ctx, spec)
	return run, err
}

// GetOrSubmit is Submit, and also reports whether the run existed before: of several calls with the
// same id and spec, one creates the run and returns known as false, unless its outcome is unknown.
func (c *Client) GetOrSubmit(ctx context.Context, spec Spec) (run Run, known bool, err error) {
	if err := c.check(ctx); err != nil {
		return Run{}, false, err
	}
	if spec.WorkDir, err = node.Absolute(spec.WorkDir); err != nil {
		return Run{}, false, &SpecError{"WorkDir", quote(spec.WorkDir), "an absolute folder: the process's own is " +
			"not known",
			err}
	}
	if err := spec.Validate(); err != nil {
		return Run{}, false, err
	}
	now := c.proc.Now()
	run, body, err := spec.record(now)
	if err != nil {
		return Run{}, false, err
	}
	if run.ID == "" {
		run.ID = node.NewID(now)
	}
	if len(c.proc.Engines) > 0 && c.proc.Engines[run.Engine] == nil {
		return Run{}, false, &SpecError{"Engine", quote(spec.Engine), "the name of a configured engine", nil}
	}
	cm, err := decide.Submission(&run, body)
	if err != nil {
		return Run{}, false, err
	}
	defer decide.Recycle(cm)
	if err := c.allow(ctx, ActionSubmit, &run, nil); err != nil {
		return Run{}, false, err
	}
	err = c.proc.Commit(ctx, cm)
	if errors.Is(err, store.ErrExists) {
		run, err = c.existingRun(ctx, run)
		return run, err == nil, err
	}
	if err != nil {
		return Run{}, false, fmt.Errorf("lifecycle: submit run %s: %w", run.ID, err)
	}
	c.proc.Due.Note(run.NotBefore)
	return cm.Run, false, nil
}

// existingRun returns the stored run of a submission whose id is taken, or ErrSpecConflict if it
// has another spec.
func (c *Client) existingRun(ctx context.Context, submitted Run) (Run, error) {
	stored, err := c.proc.ConfirmedRun(ctx, submitted.ID)
	if err != nil {
		return Run{}, fmt.Errorf("lifecycle: submit run %s: %w", submitted.ID, err)
	}
	if stored.SpecDigest != submitted.SpecDigest {
		return Run{}, fmt.Errorf("%w: %s; use another id or the same spec", ErrSpecConflict, submitted.ID)
	}
	return stored, nil
}

// Cancel ends the run in any state. A waiting run's question is closed. A running turn's context
// ends, and its engine's later results are ignored. For an ended run, Cancel returns a
// *TerminalError.
//
// A turn on another node ends by
//
//  1. the store's hint of the commit, immediately, unless it is lost;
//  2. the node's next heartbeat, which no longer lists the run: after a third of a lease, two thirds
//     for a turn that has just begun;
//  3. the store's refusal of the turn's next report or outcome.
func (c *Client) Cancel(ctx context.Context, id, reason string) error {
	if err := c.checkRun(ctx, id); err != nil {
		return err
	}
	cmd := node.Command{Verb: "cancel", Run: id}
	return c.proc.CarryOut(ctx, cmd, func() (*store.Commit, error) {
		run, err := c.proc.Store.Run(ctx, id)
		if err != nil {
			return nil, cmd.Failed(err)
		}
		if err := c.allow(ctx, ActionCancel, &run, run.FirstOpen()); err != nil {
			return nil, err
		}
		if run.State.Terminal() { // the caller relies on the error, so the end of the run must be durable
			if run, err = c.proc.ConfirmedRun(ctx, id); err != nil {
				return nil, cmd.Failed(err)
			}
			if run.State.Terminal() {
				return nil, &TerminalError{RunID: id, State: run.State}
			}
		}
		return decide.Cancel(&run, decide.Shortened(reason), c.proc.Now())
	})
}

// Get returns the run, or ErrNotFound. Its fields are of one moment.
func (c *Client) Get(ctx context.Context, id string) (Run, error) {
	if err := c.checkRun(ctx, id); err != nil {
		return Run{}, err
	}
	run, err := c.proc.Store.Run(ctx, id)
	if err == nil {
		err = c.allow(ctx, ActionView, &run, run.FirstOpen())
	}
	if err != nil {
		return Run{}, err
	}
	return run, nil
}

// Runs lists runs in the order of creation. A page ends at about 4 MiB, so it may have fewer runs
// than the limit: Next says whether others follow.
func (c *Client) Runs(ctx context.Context, query Query) (Page, error) {
	if err := cmp.Or(c.check(ctx), validateQuery(&query)); err != nil {
		return Page{}, err
	}
	if err := c.allowQuery(ctx, &query); err != nil {
		return Page{}, err
	}
	return c.proc.Store.Runs(ctx, query)
}

// Pending returns the run's open question, the first of several, or nil. Run.Open has all.
func (c *Client) Pending(ctx context.Context, id string) (*Question, error) {
	r, err := c.Get(ctx, id)
	return r.FirstOpen(), err
}

// Now returns the time of Config.Clock, by which the client judges claims, deadlines and waits. It may
// differ from the machine's.
func (c *Client) Now() time.Time { return c.proc.Clock.Now() }

// Wait returns the run once it has ended.
func (c *Client) Wait(ctx context.Context, id string) (Run, error) {
	if err := c.checkRun(ctx, id); err != nil {
		return Run{}, err
	}
	f := c.hub.followEnd(id)
	defer f.close()
	p := c.newPoller(f)
	defer p.Stop()
	for asked := false; ; {
		r, err := c.proc.Store.Run(ctx, id)
		if err == nil && !asked {
			if err := c.allow(ctx, ActionView, &r, r.FirstOpen()); err != nil {
				return Run{}, err
			}
			asked = true
		}
		if err != nil || r.State.Terminal() {
			return r, err
		}
		if err := p.Wait(ctx); err != nil {
			return Run{}, err
		}
		if r, ended := f.endedRun(); ended {
			return r, nil
		}
	}
}

func (c *Client) newPoller(f *follower) node.Poller {
	return node.Poller{Clock: c.proc.Clock, Wake: f.hints, Interval: c.poll}
}

// Prune deletes runs that ended before the given time, with their events and history, in short
// batches, and returns their number. Their folders in Config.Dir stay, and are never used again:
// list the runs before, and remove each one's Lifecycle.Folder.
func (c *Client) Prune(ctx context.Context, before time.Time) (int, error) {
	if err := errors.Join(c.check(ctx), validateTime("before", before)); err != nil {
		return 0, err
	}
	if err := c.allow(ctx, ActionPrune, nil, nil); err != nil {
		return 0, err
	}
	const batch = 500
	total := 0
	for {
		n, err := c.proc.Store.Prune(ctx, before, batch)
		total += n
		if err != nil || n < batch {
			return total, err
		}
	}
}

// Stats counts the unended runs for operators: queued, running and waiting, the age of the oldest,
// and the use of pools. Its cost grows with their number: call it every ten seconds or so, not for
// each request.
func (c *Client) Stats(ctx context.Context) (Stats, error) {
	if err := c.check(ctx); err != nil {
		return Stats{}, err
	}
	if err := c.allow(ctx, ActionStats, nil, nil); err != nil {
		return Stats{}, err
	}
	return c.proc.Store.Survey(ctx, c.proc.Now())
}

// SetPool changes a pool from was to p, or creates it if was is zero; the next claim on every node
// uses the new size. A lower capacity ends no running turn. A node whose Config.Pools names the pool
// sets its size again when it starts. A repeated call has no further effect.
//
// Errors: ErrPoolChanged if the stored pool differs from both was and p: of two operators
// one does not overwrite the other's change; ErrInvalidArgument; ErrNotAllowed (ActionPool).
func (c *Client) SetPool(ctx context.Context, was, p Pool) error {
	if err := c.check(ctx); err != nil {
		return err
	}
	if err := p.Validate(); err != nil {
		return &ArgumentError{"pool", "wrong: " + err.Error(), "a pool that can be stored", err}
	}
	if err := c.allowPool(ctx, p); err != nil {
		return err
	}
	err := c.proc.Store.ChangePool(ctx, was, p)
	if !errors.Is(err, store.ErrConflict) {
		return err
	}
	all, err := c.proc.Store.Pools(ctx)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(all, func(stored PoolUse) bool { return stored.Name == p.Name })
	switch {
	case i < 0:
		return fmt.Errorf("%w: there is no pool %s", ErrPoolChanged, p.Name)
	case all[i].Pool != p:
		return fmt.Errorf("%w: %s has %d slots now, and %d per key", ErrPoolChanged, p.Name, all[i].Capacity,
			all[i].KeyCapacity)
	}
	// An earlier call made the change. Writing it again returns only once it is durable.
	if err = c.proc.Store.ChangePool(ctx, p, p); errors.Is(err, store.ErrConflict) {
		err = fmt.Errorf("%w: %s is being changed", ErrPoolChanged, p.Name)
	}
	return err
}

func recordSize(r *Record) int { return questionSize(&r.Question) + len(r.Response) + len(r.Value) }

func questionSize(q *Question) int {
	size := len(q.Prompt) + len(q.Context) + len(q.Schema)
	if q.Subject != nil {
		size += len(q.Subject.Arguments)
		for i := range q.Subject.Changes {
			c := &q.Subject.Changes[i]
			size += len(c.Path) + len(c.Before) + len(c.After)
		}
	}
	return size
}
