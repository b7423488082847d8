package node

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/internal/procid"
	"github.com/interlude-go/interlude/lifecycle/internal/decide"
	"github.com/interlude-go/interlude/store"
)

// Recovery counts the effects of a recovery; see lifecycle.Recovery.
type Recovery struct {
	Nodes, Requeued, Held, Failed int
}

// Recover makes one recovery pass, and checks sessions. self is the process's node; empty without one.
func (p *Process) Recover(ctx context.Context, self string) (Recovery, error) {
	r := p.NewRecoverer(ctx, "", nil)
	r.caller = self
	err := r.Pass(ctx)
	if err == nil && p.checksSessions() {
		err = r.checkSessions(ctx, make(map[string]bool), func(time.Duration) error { return ctx.Err() })
	}
	r.Wait()
	done, late := r.TakeResults()
	if err == nil && late != nil {
		err = fmt.Errorf("lifecycle: recover: %w", late)
	}
	return done, err
}

// Recoverer settles orphans: in one pass for Recover, or continuously for a node. A pass waits
// EngineWait for the engines' answers about its orphans. An orphan with a later answer is settled
// separately (settleLate), so that a hung engine delays no other run.
type Recoverer struct {
	process *Process
	node    string          // the recovering node; empty for Recover
	caller  string          // the node of the process that called Recover; empty without one
	callCtx context.Context //nolint:containedctx // of the engine calls, which outlast a pass

	engineCalls sync.WaitGroup // and the commits for late answers

	registered []string // the last pass's nodes; nil before the first one
	leases     leaseWatch

	mu         sync.Mutex      // guards the fields below
	awaited    map[string]bool // runs whose engine has not answered
	done       Recovery        // since TakeResults
	lateFaults error           // of late answers, since TakeResults
}

// NewRecoverer returns a recoverer for a node, or, with an empty id and no lease, for Recover. Engine
// calls end with ctx.
func (p *Process) NewRecoverer(ctx context.Context, node string, lease *OwnLease) *Recoverer {
	return &Recoverer{process: p, node: node, callCtx: ctx, leases: leaseWatch{own: lease}}
}

// Serve makes a recovery pass at the start and after each pause, and then calls passed with the
// registered nodes. The error is store.ErrClosed, or nil when ctx ends.
func (r *Recoverer) Serve(ctx context.Context, pause time.Duration, passed func(registered []string)) error {
	defer r.Wait()
	for {
		err := r.Pass(ctx)
		passed(r.registered)
		done, late := r.TakeResults()
		if errors.Is(err, store.ErrClosed) {
			return err
		}
		if err = errors.Join(err, late); err != nil && ctx.Err() == nil {
			r.process.Log.Error("recovery not finished; trying again", "err", err)
		} else if done != (Recovery{}) {
			r.process.Log.Info("recovered", "nodes", done.Nodes, "requeued", done.Requeued, "held", done.Held,
				"failed", done.Failed)
		}
		if r.process.Sleep(ctx, pause) != nil {
			return nil
		}
	}
}

// Wait waits for the engines that have not answered, and the commits about their runs.
func (r *Recoverer) Wait() { r.engineCalls.Wait() }

// TakeResults returns the results since its last call.
func (r *Recoverer) TakeResults() (done Recovery, late error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	done, late = r.done, r.lateFaults
	r.done, r.lateFaults = Recovery{}, nil
	return done, late
}

// Pass removes dead nodes, and settles the orphans whose engines have answered.
func (r *Recoverer) Pass(ctx context.Context) error {
	dead, err := r.expireDead(ctx)
	r.add(Recovery{Nodes: len(dead)})
	if err == nil {
		err = r.settleOrphans(ctx)
	}
	if err != nil {
		return fmt.Errorf("lifecycle: recover: %w", err)
	}
	return nil
}

// settleOrphans settles orphans page by page, until only orphans are left whose engines have not
// answered. Settled orphans leave the list and others move up, so a pass over the list may miss
// some; at the end it starts again. If it returns to an orphan without progress, for instance
// because the store refuses the commits, it returns an error.
func (r *Recoverer) settleOrphans(ctx context.Context) error {
	list := orphanList{store: r.process.Store}
	var last position
	err := list.readFirst(ctx)
	for err == nil {
		orphans := r.withoutAwaited(list.page)
		if len(orphans) == 0 {
			if len(list.page) == 0 {
				return nil
			}
			err = list.skipPage(ctx)
			continue
		}
		here := r.position(&orphans[0])
		if here == last {
			if err = r.checkChanged(ctx, here); err == nil {
				err = list.readFirst(ctx)
			}
			continue
		}
		last = here
		err = r.settlePage(ctx, orphans, &list)
	}
	return err
}

// settlePage settles the page's orphans while it reads the next page.
func (r *Recoverer) settlePage(ctx context.Context, orphans []store.Run, list *orphanList) error {
	if r.node != "" && slices.ContainsFunc(orphans, func(run store.Run) bool { return run.Owner == r.node }) {
		// Its lease is lost. The node that took over settles the runs once their turns have ended here.
		return store.ErrStaleEpoch
	}
	group, groupCtx := errgroup.WithContext(ctx)
	group.Go(func() error { return r.settleAll(groupCtx, orphans) })
	group.Go(func() error { return list.readNext(groupCtx) })
	if err := group.Wait(); err != nil {
		return err
	}
	if len(list.page) == 0 {
		return list.readFirst(ctx)
	}
	return nil
}

// position is the progress of settleOrphans: the page's first orphan, and the results before it.
type position struct {
	id      string
	version uint64
	done    Recovery
}

func (r *Recoverer) position(first *store.Run) position {
	r.mu.Lock()
	defer r.mu.Unlock()
	return position{first.ID, first.Version, r.done}
}

// checkChanged returns an error if the run at the position has not changed. Otherwise another process
// settled it.
func (r *Recoverer) checkChanged(ctx context.Context, p position) error {
	run, err := r.process.Store.Run(ctx, p.id)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err == nil && run.Version == p.version {
		err = fmt.Errorf("run %s is still an orphan, though it was tried and nothing else was settled since", p.id)
	}
	return err
}

const OrphanPage = store.MaxBatch

type orphanList struct {
	store   store.Store
	page    []store.Run
	skipped int // awaited orphans at the list's beginning, in whole pages
}

func (l *orphanList) readFirst(ctx context.Context) error {
	l.skipped = 0
	return l.read(ctx, 0)
}

// skipPage reads the next page, after one whose orphans stay in the list.
func (l *orphanList) skipPage(ctx context.Context) error {
	l.skipped += len(l.page)
	return l.read(ctx, l.skipped)
}

// readNext reads the next page while this page's orphans are settled and leave the list.
func (l *orphanList) readNext(ctx context.Context) error { return l.read(ctx, l.skipped+len(l.page)) }

func (l *orphanList) read(ctx context.Context, skip int) (err error) {
	l.page, err = l.store.Orphans(ctx, skip, OrphanPage)
	return err
}

func (r *Recoverer) withoutAwaited(listed []store.Run) []store.Run {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.awaited) == 0 {
		return listed
	}
	return slices.DeleteFunc(slices.Clone(listed), func(run store.Run) bool { return r.awaited[run.ID] })
}

// settleBatchSize is small, so as not to delay other commits.
const settleBatchSize = 100

// settleAll settles a page in batches: while one is stored, the next is decided.
func (r *Recoverer) settleAll(ctx context.Context, orphans []store.Run) error {
	batches, ctx := errgroup.WithContext(ctx)
	batches.SetLimit(2)
	for batch := range slices.Chunk(orphans, settleBatchSize) {
		batches.Go(func() error { return r.settleBatch(ctx, batch) })
	}
	return batches.Wait()
}

// expireDead removes and returns the nodes that have not renewed their leases in time, and the
// nodes of dead processes on this machine. The node of this process is alive: if its lease has
// expired because the machine slept, expireDead renews the lease.
//
// It calls Expire in the first pass, and later only if a node is dead, a lease may be over, or a
// node has left. Expire writes the tombstone for a node of an older release, which leaves none
// itself.
func (r *Recoverer) expireDead(ctx context.Context) ([]store.Node, error) {
	nodes, err := r.process.Store.Nodes(ctx)
	if err != nil {
		return nil, err
	}
	_, local := r.process.Store.(store.Local)
	r.leases.observe(nodes, MonotonicNow(r.process.Clock))
	now := r.process.LeaseTime()
	var dead []store.Node
	overdue := false // a lease may be over, which the store judges by its own clock
	ids := make([]string, len(nodes))
	for i, n := range nodes {
		ids[i] = n.ID
		over := n.Until.Before(now)
		switch {
		case n.ID == r.node || n.ID == r.caller:
			if !over {
				continue
			}
			if err := r.renewOwn(ctx, n.ID, now); err != nil {
				return nil, err
			}
		case procid.Alive(n.Identity) == procid.Dead:
			dead = append(dead, store.Node{ID: n.ID}) // without Until: whether or not it has renewed its lease
		case local && r.leases.gone(n, over):
			dead = append(dead, n)
		case over && !local:
			overdue = true
		}
	}
	first := r.registered == nil
	left := slices.ContainsFunc(r.registered, func(id string) bool { return !slices.Contains(ids, id) })
	var expired []store.Node
	if first || left || overdue || len(dead) > 0 {
		if expired, err = r.process.Expire(ctx, now, dead); err != nil {
			return nil, err
		}
	}
	r.registered = slices.DeleteFunc(ids, func(id string) bool {
		return slices.ContainsFunc(expired, func(n store.Node) bool { return n.ID == id })
	})
	return expired, nil
}

// renewOwn renews the expired lease of this process's node. If other nodes have removed the node,
// Recover continues: the departure stays valid.
func (r *Recoverer) renewOwn(ctx context.Context, id string, now time.Time) error {
	_, err := r.process.Store.Renew(ctx, id, now)
	if id == r.caller && errors.Is(err, store.ErrStaleEpoch) {
		return nil
	}
	return err
}

// settleBatch settles a batch, except orphans whose engines have not answered. It returns the
// failures if no commit is decided, or none is stored and no engine awaited. Otherwise it logs them,
// and the next pass retries.
func (r *Recoverer) settleBatch(ctx context.Context, orphans []store.Run) error {
	batch, awaited, failures := r.decideBatch(ctx, orphans)
	if len(batch) == 0 {
		return errors.Join(failures...)
	}
	unstored := r.commitBatch(ctx, batch)
	failures = append(failures, unstored...)
	if len(unstored) == len(batch) && !awaited || ctx.Err() != nil {
		return errors.Join(failures...)
	}
	for _, err := range failures {
		r.process.Log.Error("run not recovered; trying again", "err", err)
	}
	return nil
}

func (r *Recoverer) commitBatch(ctx context.Context, batch []store.Commit) (failures []error) {
	for i, err := range r.process.CommitBatch(ctx, batch) {
		switch {
		case err == nil:
			r.noteSettled(&batch[i].Run)
		case !settledByOther(err):
			failures = append(failures, fmt.Errorf("run %s: %w", batch[i].Run.ID, err))
		}
	}
	return failures
}

// decideBatch decides a batch's commits, and reports whether an engine's answer is awaited.
func (r *Recoverer) decideBatch(ctx context.Context, orphans []store.Run) (batch []store.Commit, awaited bool,
	failures []error) {
	batch = make([]store.Commit, 0, len(orphans))
	for i, found := range r.collectEvidence(ctx, orphans) {
		if found == nil {
			awaited = true
			continue
		}
		if found.intact {
			continue
		}
		cm, err := decide.Orphan(&orphans[i], &found.OrphanEvidence, r.process.Host)
		if err != nil {
			failures = append(failures, fmt.Errorf("run %s: %w", orphans[i].ID, err))
			continue
		}
		batch = append(batch, decide.Detach(cm))
	}
	return batch, awaited, failures
}

func settledByOther(err error) bool {
	return errors.Is(err, store.ErrConflict) || errors.Is(err, store.ErrNotFound)
}

func (r *Recoverer) settleLate(run *store.Run, found *orphanEvidence) {
	defer r.setAwaited(run.ID, false)
	if found.intact {
		return
	}
	cm, err := decide.Orphan(run, &found.OrphanEvidence, r.process.Host)
	if err == nil {
		err = r.process.Commit(r.callCtx, cm)
	}
	if err == nil {
		r.noteSettled(&cm.Run)
	}
	if err != nil && !settledByOther(err) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.lateFaults = errors.Join(r.lateFaults, fmt.Errorf("run %s: %w", run.ID, err))
	}
}

// setAwaited records whether the run's engine is awaited.
func (r *Recoverer) setAwaited(id string, awaited bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !awaited {
		delete(r.awaited, id)
		return
	}
	if r.awaited == nil {
		r.awaited = make(map[string]bool)
	}
	r.awaited[id] = true
}

// noteSettled notes when a settled run is due, and counts it under its new state.
func (r *Recoverer) noteSettled(run *store.Run) {
	r.process.Due.NoteRun(run)
	switch {
	case run.Held():
		r.add(Recovery{Held: 1})
	case run.State == fsm.StateQueued:
		r.add(Recovery{Requeued: 1})
	case run.State.Terminal():
		r.add(Recovery{Failed: 1})
	}
}

func (r *Recoverer) add(done Recovery) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.done.Nodes += done.Nodes
	r.done.Requeued += done.Requeued
	r.done.Held += done.Held
	r.done.Failed += done.Failed
}
