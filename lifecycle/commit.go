package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/store"
)

// singleCommits holds batches of one commit, one after the other: a store keeps nothing of a batch.
var singleCommits = sync.Pool{New: func() any { return new([1]store.Commit) }}

// commit stores one commit.
func (c *Client) commit(ctx context.Context, cm store.Commit) error {
	batch := singleCommits.Get().(*[1]store.Commit) //nolint:forcetypeassert // there is nothing else in it
	batch[0] = cm
	err := c.store.Commit(ctx, batch[:])[0]
	batch[0] = store.Commit{}
	singleCommits.Put(batch)
	return err
}

// commit stores a change of this worker. It returns the run as it then stands.
func (t *turn) commit(build func(*store.Run, time.Time) (store.Commit, error)) (store.Run, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.commitLocked(build)
}

// commitLocked stores the change under the worker's fence, and tries again as long as the store is
// out of order and the node lives. The caller holds mu.
func (t *turn) commitLocked(build func(*store.Run, time.Time) (store.Commit, error)) (store.Run, error) {
	wait := 20 * time.Millisecond
	unknown := false // whether an earlier try was stored
	for {
		cm, err := build(&t.record, commitTime(t.node.clock))
		if err != nil {
			return t.record, err
		}
		cm.Fence = &store.Fence{Node: t.node.id, Epoch: t.epoch}
		if err = t.node.commit(t.node.live, cm); err == nil {
			t.record = cm.Run
			t.node.due.noteRun(&t.record)
			return t.record, nil
		}
		stale := errors.Is(err, store.ErrStaleEpoch)
		if stale && !unknown {
			t.cancel(engine.ErrStale)
			return t.record, err
		}
		if errors.Is(err, store.ErrInvalid) || errors.Is(err, store.ErrClosed) || t.node.live.Err() != nil {
			return t.record, err
		}
		if !stale {
			unknown = true
			t.node.log.Error("commit failed; trying again", "run", t.record.ID, "attempt", t.record.Attempt, "err", err)
		}
		if t.node.sleep(t.node.live, wait) != nil {
			return t.record, err
		}
		wait = min(2*wait, t.node.cfg.Poll)
		arrived, looked := t.findCommitted(&cm.Run)
		switch {
		case errors.Is(looked, errCommitsLost):
			t.cancel(looked)
			return t.record, looked
		case arrived:
			t.node.due.noteRun(&t.record)
			return t.record, nil
		case stale && looked == nil:
			t.cancel(engine.ErrStale)
			return t.record, err
		}
	}
}

// errCommitsLost ends a turn of which the store has lost commits that it had acknowledged: a
// standby without the last ones took over, or a backup was restored. It is settled as one that was
// interrupted.
var errCommitsLost = fmt.Errorf("%w: the store has lost commits that it had acknowledged", engine.ErrStale)

// errUnchanged: the commit was not made, or is undone, and the run is the worker's still.
var errUnchanged = errors.New("the run is as its worker stored it last")

// findCommitted looks whether a commit of unknown outcome was made after all: this one, or one of
// the tries before it, which differ in their time alone. Nobody but this worker changes a run under
// its epoch but to end it, until it waits; so version and state tell. The error says that the run
// is as it was, or that nobody can tell yet.
func (t *turn) findCommitted(run *store.Run) (bool, error) {
	stored, err := t.node.store.Run(t.node.live, run.ID)
	if err != nil {
		return false, err
	}
	if stored.Epoch == t.epoch && stored.Version < t.record.Version {
		return false, fmt.Errorf("%w: run %s is at version %d, and was at %d", errCommitsLost, run.ID, stored.Version,
			t.record.Version)
	}
	if stored.Epoch == t.epoch && stored.Version == t.record.Version {
		return false, errUnchanged
	}
	// The worker is about to forget the turn's outcome, so what stands there instead must be
	// durable (J8).
	err = t.node.store.Confirm(t.node.live, func(r store.Reader) (err error) {
		stored, err = r.Run(t.node.live, run.ID)
		return err
	})
	if err != nil || !t.isCommitted(run, &stored) {
		return false, err
	}
	t.record = stored
	return true, nil
}

// isCommitted reports whether the stored record is what the commit was to make, or what has become
// of that.
func (t *turn) isCommitted(run, stored *store.Run) bool {
	if stored.Epoch != t.epoch {
		return false
	}
	if stored.Version == run.Version {
		return stored.State == run.State
	}
	// What waited for a person was answered meanwhile, and is still ours: its process is here.
	return stored.Version > run.Version && run.State == fsm.StateWaitingUser && stored.Owner == t.node.id
}

// stored is the run as this worker has stored it last.
func (t *turn) stored() store.Run {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.record
}

// commitLock is a mutex that is held while a commit is stored, which takes as long as the store
// does. Who waits for it waits in a sync.Cond: a bubble of testing/synctest then knows that it
// waits, and lets the time pass in which the store answers. For a sync.Mutex it would stand still.
// The zero value is unlocked.
type commitLock struct {
	mu   sync.Mutex
	held bool // guarded by mu
	free sync.Cond
}

func (l *commitLock) Lock() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.free.L = &l.mu
	for l.held {
		l.free.Wait()
	}
	l.held = true
}

// TryLock takes the lock unless somebody holds it.
func (l *commitLock) TryLock() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held {
		return false
	}
	l.held = true
	return true
}

func (l *commitLock) Unlock() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.held = false
	l.free.Signal()
}
