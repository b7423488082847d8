package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/interlude-go/interlude/slots"
	"github.com/interlude-go/interlude/store"
)

// ErrInTransaction: the call makes no sense inside a caller's transaction; make it on the store
// itself.
var ErrInTransaction = errors.New("postgres: not inside a caller's transaction")

// In returns the store as it is seen inside a transaction of the host's own: what is committed
// there is stored with the host's rows, or not at all, and hints of it go out when the host
// commits. So a host submits, replies and cancels:
//
//	err := pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
//		… // its own rows
//		_, err := lc.On(st.In(tx)).Submit(ctx, spec)
//		return err
//	})
//
// The transaction must be one of the database that the store is in. Refusals (store.ErrConflict and
// the like) leave it usable; any other error does not. Until it ends, it holds the rows of the runs
// that it changed: whoever else changes them waits. At an isolation higher than read committed, a
// call may fail with ErrSerialization. An answer that was found instead of written (the receipt of
// an earlier reply, a run that was submitted before) is as durable as the rest of the transaction,
// and no more than that before the host has committed. The view is for one goroutine at a time, as
// the transaction is, and needs no Close.
func (s *Store) In(tx pgx.Tx) store.Store {
	v := &view{Store: s, tx: tx}
	v.reader = reader{texts: s.texts, schema: s.o.Schema, on: v.read}
	return v
}

// view is a store inside a transaction.
type view struct {
	reader
	*Store

	tx pgx.Tx
}

// read has the host's transaction bound what it waits for.
func (v *view) read(ctx context.Context) (querier, context.Context, func(), error) {
	return v.tx, ctx, func() {}, v.open(ctx)
}

// open says why no call can begin.
func (v *view) open(ctx context.Context) error {
	select {
	case <-v.closed:
		return store.ErrClosed
	default:
		return ctx.Err()
	}
}

// Commit implements store.Writer.
func (v *view) Commit(ctx context.Context, batch []store.Commit) []error {
	errs := make([]error, len(batch))
	var told notice
	for i := range batch {
		e, err := newEntry(&batch[i])
		if err == nil {
			err = v.open(ctx)
		}
		if err == nil {
			err = v.commit(ctx, e)
		}
		if errs[i] = err; err == nil {
			told.Runs = append(told.Runs, runHint{e.Run.ID, e.Run.State, e.Run.Seq})
		}
	}
	if err := v.tell(ctx, told); err != nil {
		for i := range errs {
			errs[i] = errors.Join(errs[i], err)
		}
	}
	return errs
}

// commit stores one entry. Nothing of it is remembered: the transaction may be rolled back.
func (v *view) commit(ctx context.Context, e *entry) error {
	for range maxTries {
		if !e.known && e.Expect > 0 {
			if err := v.judge(ctx, e); err != nil {
				return err
			}
		}
		if err := v.write(ctx, e); err != nil || e.made {
			return v.failed(ctx, err)
		}
		if err := v.judge(ctx, e); err != nil {
			return err
		}
	}
	return fmt.Errorf("postgres: write: %w: run %s was neither stored nor refused in %d tries", ErrSerialization,
		e.Run.ID, maxTries)
}

// write tries to store the entry. The planner's settings are the host's.
func (v *view) write(ctx context.Context, e *entry) (err error) {
	b := &pgx.Batch{}
	entries := []*entry{e}
	if e.Expect == 0 {
		v.queue(b, entries, 1)
	} else {
		v.queueUpdates(b, entries)
	}
	results := v.tx.SendBatch(ctx, b)
	if e.Expect == 0 {
		err = collectCreations(results, entries)
	} else {
		err = collectUpdates(results, entries)
	}
	if closing := results.Close(); err == nil {
		err = closing
	}
	return err
}

// judge says why the entry is refused.
func (v *view) judge(ctx context.Context, e *entry) error {
	seen, err := v.sightings(ctx, v.tx, "", []*entry{e})
	if err != nil {
		return v.failed(ctx, err)
	}
	_, refused := e.judge(&seen[0])
	return refused
}

func (v *view) failed(ctx context.Context, err error) error {
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	}
	return fmt.Errorf("postgres: write in the caller's transaction: %w", explain(err))
}

// tell notifies everybody, this process too, when the transaction commits.
func (v *view) tell(ctx context.Context, told notice) error {
	if v.o.NoNotify || len(told.Runs) == 0 {
		return nil
	}
	_, err := v.tx.Exec(ctx, `SELECT pg_notify($1::text, $2::text)`, v.channel(), told.payload())
	return v.failed(ctx, err)
}

// Claim returns ErrInTransaction, as the other calls below do.
func (v *view) Claim(context.Context, store.ClaimRequest) ([]store.Claimed, error) {
	return nil, ErrInTransaction
}

// Prune returns ErrInTransaction.
func (v *view) Prune(context.Context, time.Time, int) (int, error) { return 0, ErrInTransaction }

// Join returns ErrInTransaction.
func (v *view) Join(context.Context, store.Node, time.Time) error { return ErrInTransaction }

// Renew returns ErrInTransaction.
func (v *view) Renew(context.Context, string, time.Time) ([]store.Hold, error) {
	return nil, ErrInTransaction
}

// Expire returns ErrInTransaction.
func (v *view) Expire(context.Context, time.Time, ...string) ([]store.Node, error) {
	return nil, ErrInTransaction
}

// SetPool returns ErrInTransaction.
func (v *view) SetPool(context.Context, slots.Pool) error { return ErrInTransaction }

// Close does nothing: the transaction and the store are the caller's.
func (v *view) Close() error { return nil }

// Run implements store.Reader, in the transaction.
func (v *view) Run(ctx context.Context, id string) (store.Run, error) { return v.reader.Run(ctx, id) }
