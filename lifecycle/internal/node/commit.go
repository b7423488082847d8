package node

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/lifecycle/internal/decide"
	"github.com/interlude-go/interlude/store"
)

// decision makes a commit from the run's record. When the store fails, it is called again with a
// later time.
type decision func(run *store.Run, now time.Time) (*store.Commit, error)

func (t *turn) commit(d decision) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.commitLocked(d)
}

// commitLocked is commit for a caller that holds mu.
//
// Every commit of a worker carries a fence: its node and epoch. Once the run was canceled or taken
// over, the store refuses the commit with ErrStaleEpoch, and the turn is interrupted. While the
// store fails, the commit is retried. A failed try may have been stored, so findCommitted reads the
// run before the next one. ErrStaleEpoch then does not end the retries, since the run may have been
// answered or claimed after the stored try.
func (t *turn) commitLocked(d decision) error {
	uncertain := false // an earlier try may have been stored
	t.tries = nil
	for backoff := firstBackoff; ; backoff = min(2*backoff, t.node.cfg.Poll) {
		if errors.Is(context.Cause(t.ctx), errCommitsLost) { // the fence may belong to another claim by now
			return fmt.Errorf("%w: %w", store.ErrStaleEpoch, errCommitsLost)
		}
		cm, err := d(t.record, t.node.proc.Now())
		if err != nil {
			return err
		}
		cm.Fence = &store.Fence{Node: t.node.id, Epoch: t.epoch}
		if err = t.node.proc.Commit(t.node.live, cm); err == nil {
			*t.record = cm.Run
			decide.Recycle(cm)
			t.node.proc.Due.NoteRun(t.record)
			return nil
		}
		stale := errors.Is(err, store.ErrStaleEpoch)
		if stale && !uncertain {
			t.interrupt(engine.ErrStale)
			return err
		}
		if errors.Is(err, store.ErrInvalid) || errors.Is(err, store.ErrClosed) || t.node.live.Err() != nil {
			return err
		}
		if !stale {
			uncertain = true
			t.tries = append(t.tries, hashRecord(&cm.Run))
		}
		if !stale && !errors.Is(err, store.ErrConflict) { // a conflict: Forget was committed first
			t.node.proc.Log.Error("commit failed; trying again", "run", t.record.ID, "attempt", t.record.Attempt,
				"err", err)
		}
		if t.node.proc.Sleep(t.node.live, backoff) != nil {
			return err
		}
		found, lost := t.findCommitted(&cm.Run)
		switch {
		case lost != nil:
			t.interrupt(lost)
			return lost
		case found == commitStored:
			t.node.proc.Due.NoteRun(t.record)
			t.node.proc.Notices.Committed(cm)
			return nil
		}
		byTransaction := found == runChanged && t.foundTransaction() // then decide again, on its run
		if found == runChanged && stale && !byTransaction {
			t.interrupt(engine.ErrStale)
			return err
		}
	}
}

// foundTransaction reports whether an unfinished transaction of the host (AppendIn) has changed
// the run. If so, it makes the stored record the turn's record.
func (t *turn) foundTransaction() bool {
	if t.inTransaction == nil {
		return false
	}
	found, _ := t.findCommitted(&t.inTransaction.Run) // an error ends the next try, too
	if found != commitStored {
		return false
	}
	t.node.proc.Notices.Committed(t.inTransaction)
	t.inTransaction = nil
	return true
}

// firstBackoff is the first pause between tries; it doubles up to a poll.
const firstBackoff = 20 * time.Millisecond

// errCommitsLost interrupts a turn whose acknowledged commits the store has lost: a standby without
// them took over, or a backup was restored.
var errCommitsLost = fmt.Errorf("%w: the store has lost commits that it had acknowledged", engine.ErrStale)

// commitStatus is the stored state of an unacknowledged commit.
type commitStatus int

const (
	commitUnknown   commitStatus = iota // the store cannot be read now
	commitNotStored                     // the run is as its worker stored it last
	commitStored                        // the turn's record is the stored run
	runChanged                          // another writer has changed the run
)

// findCommitted determines whether any try of a commit was stored: they differ only in their time.
// Version and state identify it, since under the worker's epoch no other writer changes the run
// before it waits, except to end the run or a remembered decision. The error is errCommitsLost or nil.
func (t *turn) findCommitted(run *store.Run) (commitStatus, error) {
	stored, err := t.node.proc.Store.Run(t.node.live, run.ID)
	if err != nil {
		return commitUnknown, nil
	}
	if stored.Epoch == t.epoch && stored.Incarnation != t.record.Incarnation {
		return t.findInIncarnation(run, stored.Incarnation)
	}
	if stored.Epoch == t.epoch && stored.Version < t.record.Version {
		return runChanged, fmt.Errorf("%w: run %s is at version %d, and was at %d", errCommitsLost, run.ID,
			stored.Version, t.record.Version)
	}
	if stored.Epoch == t.epoch && stored.Version == t.record.Version {
		return commitNotStored, nil
	}
	// The worker drops its outcome if it is stored or the run was changed, so the stored record
	// must be durable.
	stored, err = t.node.proc.ConfirmedRun(t.node.live, run.ID)
	if err != nil || stored.Epoch == t.epoch && stored.Incarnation != t.record.Incarnation {
		return commitUnknown, nil
	}
	if forgotten := t.forgotten(&stored); forgotten > 0 {
		if stored.Version == t.record.Version+forgotten {
			*t.record = stored
			return commitNotStored, nil
		}
		if run.State != stored.State || !sameJournal(run, &stored) { // by a transaction, or by a commit after it
			return runChanged, nil
		}
		*t.record = stored
		return commitStored, nil
	}
	if !t.isCommitted(run, &stored) {
		return runChanged, nil
	}
	*t.record = stored
	return commitStored, nil
}

// findInIncarnation is findCommitted after a restore or a failover. Versions do not identify records
// then: another writer may have stored the version of a lost one. The turn continues only on its own
// records, byte for byte.
func (t *turn) findInIncarnation(run *store.Run, incarnation uint64) (commitStatus, error) {
	stored, err := t.node.proc.ConfirmedRun(t.node.live, run.ID)
	if err != nil || stored.Incarnation != incarnation {
		return commitUnknown, nil
	}
	record := hashRecord(&stored)
	switch {
	case record == hashRecord(t.record):
		*t.record = stored
		return commitNotStored, nil
	case record == hashRecord(run), slices.Contains(t.tries, record):
		*t.record = stored
		return commitStored, nil
	}
	return runChanged, fmt.Errorf("%w: version %d of run %s was stored after a restore or a failover", errCommitsLost,
		stored.Version, run.ID)
}

// recordHash is the hash of a record's stored form.
type recordHash [sha256.Size]byte

func hashRecord(r *store.Run) recordHash {
	record, _ := store.AppendRun(nil, r) // it was read from a store or given to one, so it can be encoded
	return sha256.Sum256(record)
}

// forgotten returns the number of remembered decisions that people have ended since the turn's record.
// Each takes one commit. While the run is running, only Forget ends a decision, and only the worker
// makes other commits. So at most one other commit, the worker's own, lies between the two versions.
func (t *turn) forgotten(stored *store.Run) uint64 {
	if stored.Epoch != t.epoch || stored.State != fsm.StateRunning {
		return 0
	}
	return uint64(max(len(t.record.Remembered)-len(stored.Remembered), 0))
}

// isCommitted reports whether the stored record is the committed record, or a later record that
// can only have followed from it.
func (t *turn) isCommitted(run, stored *store.Run) bool {
	if stored.Epoch != t.epoch || stored.Incarnation != t.record.Incarnation {
		return false
	}
	if stored.Version > run.Version {
		// The commit made the run wait, and it was answered since. It is still this node's if the node
		// holds its resident process.
		return run.State == fsm.StateWaitingUser && stored.Owner == t.node.id
	}
	return stored.Version == run.Version && stored.State == run.State && sameJournal(stored, run)
}

// sameJournal compares the sizes of the journals. If a commit supersedes a transaction of the host
// (settleTransaction), both have the same version, and the size shows which was stored.
func sameJournal(a, b *store.Run) bool {
	if a.Journal == nil || b.Journal == nil {
		return a.Journal == b.Journal
	}
	return *a.Journal == *b.Journal
}

func (t *turn) lastStored() store.Run {
	t.mu.Lock()
	defer t.mu.Unlock()
	return *t.record
}

// untilAnswered calls f, which reads or writes the store, until the store answers, also by refusing,
// or ctx ends.
func (t *turn) untilAnswered(ctx context.Context, what string, f func() error) error {
	for backoff := firstBackoff; ; backoff = min(2*backoff, t.node.cfg.Poll) {
		err := f()
		if err == nil || ctx.Err() != nil {
			return err
		}
		for _, answer := range []error{store.ErrNotFound, store.ErrExists, store.ErrCorrupt, store.ErrUnknownPool,
			store.ErrInvalid, store.ErrClosed} {
			if errors.Is(err, answer) {
				return err
			}
		}
		t.node.proc.Log.Error(what+"; trying again", "run", t.call.RunID, "err", err)
		if t.node.proc.Sleep(ctx, backoff) != nil {
			return err
		}
	}
}
