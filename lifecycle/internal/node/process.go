// Package node has the work of a process on runs that no caller asks for: it recovers the runs of dead
// nodes, checks the sessions of parked runs, fires deadlines, lets parents of ended runs continue, and
// judges the leases of other nodes. It decides nothing: package decide does, and Process stores the
// decisions. Package lifecycle starts this work in Serve, and has the types that hosts see.
package node

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/lifecycle/internal/decide"
	"github.com/interlude-go/interlude/store"
)

// Process is what all work of a process on runs needs: its store, its clock, and its engines.
type Process struct {
	Store   store.Store
	Clock   engine.Clock
	Log     *slog.Logger
	Engines map[string]engine.Engine // empty: the process executes no runs
	Host    decide.HostPolicy
	Due     *DueHint    // wakes the node for a deadline that this process has just stored
	Stuck   *StuckCalls // of this process's engines
	Notices Notices
}

// Notices informs the host of stored commits. Its methods must not block.
type Notices interface {
	Committed(cm *store.Commit)
}

// Now is the present time, as a commit records it.
func (p *Process) Now() time.Time { return CommitTime(p.Clock) }

// LeaseTime is the time by which leases are judged: the store's own where it has one, even if the
// host configured another clock.
func (p *Process) LeaseTime() time.Time {
	if k, ok := p.Store.(store.Timekeeper); ok {
		return StoreTime(k.Now())
	}
	return p.Now()
}

// Sleep waits for d. It returns ctx's error if that ends first.
func (p *Process) Sleep(ctx context.Context, d time.Duration) error {
	tick, stop := p.Clock.Timer(d)
	defer stop()
	select {
	case <-tick:
	case <-ctx.Done():
	}
	return ctx.Err()
}

// singleCommits pools batches of length one. Process.Commit passes such a batch to the store. The
// store keeps nothing of it, so the next commit can use it again.
var singleCommits = sync.Pool{New: func() any { return new([1]store.Commit) }}

// Commit stores one commit.
func (p *Process) Commit(ctx context.Context, cm *store.Commit) error {
	batch := singleCommits.Get().(*[1]store.Commit) //nolint:forcetypeassert // there is nothing else in it
	batch[0] = *cm
	err := p.Store.Commit(ctx, batch[:])[0]
	batch[0] = store.Commit{}
	singleCommits.Put(batch)
	if err == nil {
		p.Notices.Committed(cm)
	}
	return err
}

// CommitBatch stores several commits.
func (p *Process) CommitBatch(ctx context.Context, batch []store.Commit) []error {
	errs := p.Store.Commit(ctx, batch)
	for i, err := range errs {
		if err == nil {
			p.Notices.Committed(&batch[i])
		}
	}
	return errs
}

// ConfirmedRun reads the run through Confirm. It is for reads whose result the caller of a Client
// or a turn acts on, so that the result must be durable (J8).
func (p *Process) ConfirmedRun(ctx context.Context, id string) (run store.Run, _ error) {
	err := p.Store.Confirm(ctx, func(r store.Reader) (err error) {
		run, err = r.Run(ctx, id)
		return err
	})
	return run, err
}

// Expire removes the nodes that have gone, and, unless the store is a store.Local, those whose
// lease is over by the store's clock.
func (p *Process) Expire(ctx context.Context, now time.Time, gone []store.Node) ([]store.Node, error) {
	if local, ok := p.Store.(store.Local); ok {
		return local.ExpireSilent(ctx, now, gone)
	}
	ids := make([]string, len(gone))
	for i, n := range gone {
		ids[i] = n.ID
	}
	return p.Store.Expire(ctx, now, ids...)
}
