package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/interlude-go/interlude/slots"
	"github.com/interlude-go/interlude/store"
)

// ErrInTransaction: the call is not possible inside a caller's transaction; make it on the store
// itself.
var ErrInTransaction = errors.New("postgres: not inside a caller's transaction")

// Transact calls fn in a transaction of the host's database, with the store inside: its commits are
// stored with the host's rows, or not at all. It commits if fn returns nil, and otherwise rolls
// back and returns fn's error. To submit, reply or cancel:
//
//	err := st.Transact(ctx, pool, func(tx pgx.Tx, in store.Store) error {
//		… // its own rows
//		_, err := lc.On(in).Submit(ctx, spec)
//		return err
//	})
//
// Hints are sent after the commit: within the transaction, a notification would lock the whole
// server until the commit is durable. In describes the store inside.
func (s *Store) Transact(ctx context.Context, pool *pgxpool.Pool, fn func(tx pgx.Tx, in store.Store) error) error {
	var stored []store.Hint
	err := pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		in := s.in(tx)
		err := fn(tx, in)
		stored = in.stored
		return err
	})
	if err == nil {
		s.watchers.Notify(stored)
		s.notifier.enqueue(stored)
	}
	return err
}

// In returns the store inside a transaction that the host ends itself. No hints are sent of its
// commits, so that they are noticed at the next poll: prefer Transact.
//
// The transaction must use the store's database. Refusals (store.ErrConflict and the like) leave it
// usable; any other error does not. Until it ends, it locks the rows of changed runs: other writers
// wait. Above read committed, a call may fail with ErrSerialization. A result that was found
// instead of written (an earlier receipt or run) is durable once the host has committed. Like the
// transaction, the view is for one goroutine at a time; it needs no Close.
func (s *Store) In(tx pgx.Tx) store.Store { return s.in(tx) }

func (s *Store) in(tx pgx.Tx) *txStore {
	t := &txStore{Store: s, tx: tx}
	t.reader = reader{texts: s.texts, schema: s.o.Schema, beginRead: t.beginRead}
	return t
}

// Transactions returns the function that lets flow.StepIn execute a step in a transaction of the
// host's database, by Transact.
func (s *Store) Transactions(pool *pgxpool.Pool) func(ctx context.Context, do func(tx pgx.Tx, view any) error) error {
	return func(ctx context.Context, do func(tx pgx.Tx, view any) error) error {
		return s.Transact(ctx, pool, func(tx pgx.Tx, in store.Store) error { return do(tx, in) })
	}
}

type txStore struct {
	reader
	*Store

	tx     pgx.Tx
	stored []store.Hint // of the commits so far
}

// beginRead leaves the timeouts to the host's transaction.
func (t *txStore) beginRead(ctx context.Context) (querier, context.Context, func(), error) {
	return t.tx, ctx, func() {}, t.checkOpen(ctx)
}

// checkOpen returns why no call can begin, or nil.
func (t *txStore) checkOpen(ctx context.Context) error {
	select {
	case <-t.closed:
		return store.ErrClosed
	default:
		return ctx.Err()
	}
}

func (t *txStore) InTransaction() {}

// Recent implements store.RecentReader. Nothing is cached of a transaction, which may be rolled
// back.
func (t *txStore) Recent(string) (run store.Run, ok bool) { return run, false }

func (t *txStore) Commit(ctx context.Context, batch []store.Commit) []error {
	errs := make([]error, len(batch))
	for i := range batch {
		p, err := newPending(&batch[i])
		if err == nil {
			err = t.checkOpen(ctx)
		}
		if err == nil {
			err = t.commit(ctx, p)
		}
		if errs[i] = err; err == nil {
			t.stored = append(t.stored, p.Hint())
		}
	}
	return errs
}

// commit stores one commit, which is not cached: the transaction may be rolled back.
func (t *txStore) commit(ctx context.Context, p *pendingCommit) error {
	for range maxTries {
		if !p.verified && p.Expect > 0 {
			if err := t.verify(ctx, p); err != nil {
				return err
			}
		}
		if err := t.write(ctx, p); err != nil || p.written {
			return t.writeError(ctx, err)
		}
		if err := t.verify(ctx, p); err != nil {
			return err
		}
	}
	return errNeverSettled(p.Run.ID)
}

// write tries to write the commit. The planner's settings are the host's.
func (t *txStore) write(ctx context.Context, p *pendingCommit) (err error) {
	b := newBatch(1)
	commits := []*pendingCommit{p}
	if p.Expect == 0 {
		t.queueCreates(b, commits)
	} else {
		if p.parker != "" {
			b.Queue(t.texts[shareParkersText], t.parkerLock(), []string{p.parker})
		}
		t.queueUpdates(b, commits)
	}
	results := t.tx.SendBatch(ctx, b)
	if p.Expect > 0 && p.parker != "" {
		_, err = results.Exec()
	}
	switch {
	case err != nil:
	case p.Expect == 0:
		err = readCreated(results, commits)
	default:
		err = readUpdated(results, commits)
	}
	if closing := results.Close(); err == nil {
		err = closing
	}
	return err
}

func (t *txStore) verify(ctx context.Context, p *pendingCommit) error {
	snapshots, err := t.loadSnapshots(ctx, t.tx, "", []*pendingCommit{p})
	if err != nil {
		return t.writeError(ctx, err)
	}
	_, refused := p.verifyAgainst(&snapshots[0])
	return refused
}

func (t *txStore) writeError(ctx context.Context, err error) error {
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	}
	return fmt.Errorf("postgres: write in the caller's transaction: %w", explain(err))
}

// Claim returns ErrInTransaction, as the other calls below do.
func (t *txStore) Claim(context.Context, store.ClaimRequest) ([]store.Claimed, error) {
	return nil, ErrInTransaction
}

func (t *txStore) Prune(context.Context, time.Time, int) (int, error) { return 0, ErrInTransaction }

func (t *txStore) Join(context.Context, store.Node, time.Time) error { return ErrInTransaction }

func (t *txStore) Renew(context.Context, string, time.Time) ([]store.OwnedRun, error) {
	return nil, ErrInTransaction
}

func (t *txStore) Expire(context.Context, time.Time, ...string) ([]store.Node, error) {
	return nil, ErrInTransaction
}

func (t *txStore) SetPool(context.Context, slots.Pool) error { return ErrInTransaction }

func (t *txStore) ChangePool(context.Context, slots.Pool, slots.Pool) error { return ErrInTransaction }

// Close does nothing: the transaction and the store are the caller's.
func (t *txStore) Close() error { return nil }

func (t *txStore) Run(ctx context.Context, id string) (store.Run, error) {
	return t.reader.Run(ctx, id)
}
