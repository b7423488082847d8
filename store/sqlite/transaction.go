package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"reflect"

	"github.com/interlude-go/interlude/store"
	"github.com/interlude-go/interlude/store/internal/entry"
)

// Transactions returns the function that lets flow.StepIn execute a step in a transaction of the
// host, on the host's tables in the store's file. db is the host's handle:
//
//	db, err := sql.Open("sqlite", path+"?_txlock=immediate&_pragma=busy_timeout(5000)&_pragma=synchronous(full)")
//
// It must use this package's driver, modernc.org/sqlite, and determines the lock wait and the
// durability. A transaction blocks every other writer, including the store, from its first write: a
// step must not report, submit or reply in it.
func (s *Store) Transactions(db *sql.DB) func(ctx context.Context, do func(tx *sql.Tx, view any) error) error {
	return func(ctx context.Context, do func(tx *sql.Tx, view any) error) (err error) {
		conn, err := db.Conn(ctx)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, conn.Close()) }()
		// A context that ends would end the transaction between two statements.
		tx, err := conn.BeginTx(context.WithoutCancel(ctx), nil)
		if err != nil {
			return err
		}
		view := &transaction{store: s, conn: conn}
		defer func() {
			if err == nil {
				s.watchers.Notify(view.hints)
			} else if rolling := tx.Rollback(); !errors.Is(rolling, sql.ErrTxDone) {
				err = errors.Join(err, rolling)
			}
		}()
		err = errLeft // by a panic, or by runtime.Goexit
		if err = do(tx, view); err != nil {
			return err
		}
		if err = ctx.Err(); err != nil {
			return err
		}
		if err = tx.Commit(); err != nil { // the connection may be in it still
			_ = conn.Raw(func(any) error { return driver.ErrBadConn })
		}
		return err
	}
}

var (
	errLeft   = errors.New("sqlite: the transaction was left")
	errNoTx   = errors.New("sqlite: the transaction has ended before the store wrote in it")
	errDriver = errors.New("sqlite: the transaction does not use the driver modernc.org/sqlite")
)

// transaction is a store.TransactionView: a transaction of the host, as long as its connection has
// it.
type transaction struct {
	store *Store
	conn  *sql.Conn
	hints []store.Hint // for the commits
}

func (x *transaction) InTransaction() {}

func (x *transaction) Commit(ctx context.Context, batch []store.Commit) []error {
	errs := make([]error, len(batch))
	for i := range batch {
		if errs[i] = ctx.Err(); errs[i] == nil {
			errs[i] = x.commit(&batch[i])
		}
	}
	return errs
}

func (x *transaction) commit(c *store.Commit) error {
	if err := c.Validate(); err != nil {
		return err
	}
	e := new(entry.Entry)
	if err := e.Encode(c); err != nil {
		return err
	}
	select {
	case <-x.store.closed:
		return store.ErrClosed
	default:
	}
	if err := x.store.present.err(); err != nil {
		return err
	}
	var refused error
	err := x.conn.Raw(func(raw any) (err error) {
		refused, err = x.write(raw, e)
		return err
	})
	if err != nil {
		return fmt.Errorf("sqlite: write in the caller's transaction: %w", explain(err))
	}
	return refused
}

// write writes an entry on the host's connection, without the writer's cache, which learns of the
// commit as if another process had made it.
func (x *transaction) write(raw any, e *entry.Entry) (refused, _ error) {
	if reflect.TypeOf(raw) != reflect.TypeOf(x.store.writer.raw) {
		return nil, errDriver
	}
	c := &conn{raw: raw.(connection), stmts: make(map[string]statement)} //nolint:forcetypeassert // always this type
	defer c.closeStatements()
	if c.run("BEGIN") == nil { // none is under way: the host has ended its own
		return nil, errors.Join(errNoTx, c.run("ROLLBACK"))
	}
	w := &writer{conn: c, cache: newWriteCache(), name: x.store.writer.name, unfilled: &x.store.unfilled}
	refused, err := w.commit(e)
	if refused != nil || err != nil {
		return refused, err
	}
	// The hint has no record: when the host commits, watchers may already know a newer one.
	hints := []store.Hint{{RunID: e.Run.ID, State: e.Run.State, Seq: e.Run.Seq}}
	if err := errors.Join(w.insertNoted(), w.insertChanges(hints)); err != nil {
		return nil, err
	}
	x.hints = append(x.hints, hints...)
	return nil, nil
}
