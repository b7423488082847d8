package flow

import (
	"context"
	"errors"
	"fmt"

	"github.com/interlude-go/interlude/engine"
)

// Transaction executes do in a transaction of the host: it begins one, calls do once, commits if do
// returned nil, and rolls back otherwise. It returns the error of do, or of the database. View is
// the run's store inside the transaction. Stores that support this have a method Transactions,
// which makes a Transaction; for other options, use the store's method In:
//
//	func(ctx context.Context, do func(tx pgx.Tx, view any) error) error {
//		return pgx.BeginTxFunc(ctx, pool, serializable, func(tx pgx.Tx) error { return do(tx, st.In(tx)) })
//	}
type Transaction[Tx any] func(ctx context.Context, do func(tx Tx, view any) error) error

// StepIn is Step for an effect in the same database as the run's store. The writes of f through tx
// and the record of the step are one transaction: they are stored together or not at all, so the
// effect happens exactly once despite crashes, and needs no key.
//
// If the transaction fails, or the run was taken over or canceled in the meantime, it is rolled
// back completely. A failed transaction is an error of the step, and counts for its Policy. Whether
// a transaction that has lost its connection was committed is read from the store, never guessed.
//
// On SQLite, which has one writer at a time, f must not call Progress or write to the store in any
// other way: the call would wait for the end of tx, and tx for the call.
func StepIn[Tx, T any](c *Ctx, name string, in Transaction[Tx], f func(ctx context.Context, tx Tx) (T, error),
	policy ...Policy) (T, error) {
	path, err := c.acquire(typeStep, name)
	if err != nil {
		var none T
		return none, err
	}
	defer c.release()
	at := place{path, typeStep, name}
	return storedResult(c, at, func() (r result[T], stored bool, err error) {
		journal, ok := c.run.journal.(engine.TransactionalJournal)
		if !ok {
			return r, false, c.stop(misfit("step %q needs a transaction of the host, which is not "+
				"possible here", name))
		}
		if err = c.writePending(); err != nil {
			return r, false, err
		}
		r, err = execute(c, at, func(ctx context.Context) (v T, err error) {
			s := transactedStep[Tx, T]{c: c, at: at, f: f}
			err = journal.AppendIn(ctx, func(write writeIn) error {
				// Without the step in its context: Progress after write would wait for the end of
				// in.
				return in(context.WithValue(ctx, inStep{}, nil), func(tx Tx, view any) error {
					s.err = s.execute(ctx, tx, view, write)
					return s.err
				})
			})
			if err == nil {
				return s.value, nil
			}
			if s.reserved != nil {
				c.run.giveBack(s.reserved)
			}
			return v, s.errorOf(err)
		}, policy)
		return r, r.Error == "", err
	})
}

type writeIn = func(ctx context.Context, view any, entries ...engine.JournalEntry) error

type transactedStep[Tx, T any] struct {
	c  *Ctx
	at place
	f  func(ctx context.Context, tx Tx) (T, error)

	value T
	err   error // why the transaction is rolled back

	reserved *engine.JournalEntry // the record, once its room is reserved
}

// execute executes the step and writes its record, in the transaction.
func (s *transactedStep[Tx, T]) execute(ctx context.Context, tx Tx, view any, write writeIn) error {
	v, err := s.f(ctx, tx)
	if err == nil {
		err = s.c.run.untainted()
	}
	if err != nil {
		return err
	}
	r := result[T]{Value: v}
	e, err := entryOf(s.c, s.at, &r)
	if err != nil {
		return journalError{err}
	}
	s.reserved = &e
	if err = write(ctx, view, e); err == nil {
		s.value = r.Value
	}
	return err
}

// errorOf returns the error of the try after AppendIn has returned err. An error of the step or the
// journal is returned without the wrapping by the host's transaction.
func (s *transactedStep[Tx, T]) errorOf(err error) error {
	if s.err != nil {
		err = s.err
	}
	if errors.Is(err, engine.ErrStale) || errors.Is(err, engine.ErrNoJournal) || errors.Is(err, engine.ErrJournalFull) {
		return journalError{err}
	}
	return err
}

// journalError is an error of the journal during a step. It ends the turn, and is not stored as the
// result of the step.
type journalError struct{ why error }

func (e journalError) Error() string { return fmt.Sprintf("flow: the step is not stored: %v", e.why) }

func (e journalError) Unwrap() error { return e.why }
