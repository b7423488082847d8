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

// singleCommits pools batches of one commit. A store retains nothing of a batch.
var singleCommits = sync.Pool{New: func() any { return new([1]store.Commit) }}

// commit stores one commit, outside of any turn: that of a command, of a deadline or of recovery.
func (c *Client) commit(ctx context.Context, cm store.Commit) error {
	batch := singleCommits.Get().(*[1]store.Commit) //nolint:forcetypeassert // there is nothing else in it
	batch[0] = cm
	err := c.store.Commit(ctx, batch[:])[0]
	batch[0] = store.Commit{}
	singleCommits.Put(batch)
	return err
}

// decider is a decision about a run: a pure function, since it is called again with a later time
// when a commit is retried.
type decider func(run *store.Run, now time.Time) (store.Commit, error)

// commit stores a worker's decision about its run, and returns the run as it then stands.
func (t *turn) commit(decide decider) (store.Run, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.commitLocked(decide)
}

// commitLocked stores the decision under the worker's fence, and retries with backoff as long as
// the store fails and the node is alive. The fence is the worker's epoch: once the run was canceled
// or taken over, the store refuses the commit with ErrStaleEpoch, and the turn is ended. The caller
// holds mu.
func (t *turn) commitLocked(decide decider) (store.Run, error) {
	backoff := 20 * time.Millisecond
	unknown := false // an earlier try failed, and may have been stored nevertheless
	for {
		cm, err := decide(&t.record, commitTime(t.node.clock))
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
			t.interrupt(engine.ErrStale)
			return t.record, err
		}
		if errors.Is(err, store.ErrInvalid) || errors.Is(err, store.ErrClosed) || t.node.live.Err() != nil {
			return t.record, err
		}
		if !stale {
			unknown = true
			t.node.log.Error("commit failed; trying again", "run", t.record.ID, "attempt", t.record.Attempt, "err", err)
		}
		if t.node.sleep(t.node.live, backoff) != nil {
			return t.record, err
		}
		backoff = min(2*backoff, t.node.cfg.Poll)
		found, fault := t.findCommitted(&cm.Run)
		switch {
		case errors.Is(fault, errCommitsLost):
			t.interrupt(fault)
			return t.record, fault
		case found:
			t.node.due.noteRun(&t.record)
			return t.record, nil
		case stale && fault == nil:
			t.interrupt(engine.ErrStale)
			return t.record, err
		}
	}
}

// errCommitsLost ends a turn if the store no longer has commits of the turn that it had
// acknowledged: a standby without the last commits took over, or a backup was restored. The turn
// counts as interrupted.
var errCommitsLost = fmt.Errorf("%w: the store has lost commits that it had acknowledged", engine.ErrStale)

// errUnchanged says that a commit of unknown outcome was not stored, and may be retried.
var errUnchanged = errors.New("the run is as its worker stored it last")

// findCommitted reports whether a commit of unknown outcome was stored: this try of it, or an
// earlier one, which differs in its time alone. Version and state tell: under the worker's epoch
// nobody else changes the run before it waits, except to end it. The error is errUnchanged if the
// commit was not stored, errCommitsLost, or an error of the store, which cannot tell now.
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
	// The worker is about to forget its outcome, so what is stored instead must be durable (J8).
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

// isCommitted reports whether the stored record is the one that the commit was to store, or a later
// one that followed from it.
func (t *turn) isCommitted(run, stored *store.Run) bool {
	if stored.Epoch != t.epoch {
		return false
	}
	if stored.Version == run.Version {
		return stored.State == run.State
	}
	// The run was answered meanwhile, and is still this node's, which holds its resident process.
	return stored.Version > run.Version && run.State == fsm.StateWaitingUser && stored.Owner == t.node.id
}

// stored is the run as this worker stored it last.
func (t *turn) stored() store.Run {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.record
}

// commitLock is a mutex that may be held while a commit is stored. Lock waits in a sync.Cond
// because testing/synctest lets fake time pass while all goroutines wait in one, and the store
// answers then; for a goroutine that waits for a sync.Mutex it does not. The zero value is
// unlocked.
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
