package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/interlude-go/interlude/store"
)

var (
	// confirmGuardText goes before the reads of a confirmation.
	confirmGuardText = sql(`SELECT ` + steady + `, ` + nested + `, ` + attended + `, ` + heard)
	// confirmText writes a record to the log, and to no table. Any role may. Its transaction ends
	// like one that changed a row: when the log is flushed up to it, and where the standbys have it
	// that synchronous_standby_names asks for. What was read before it stands in the log before it.
	confirmText = sql(`SELECT pg_catalog.pg_logical_emit_message(true, 'interlude', '')`)
)

// confirms is how many confirmations are under way at one time, so that callers who ask again and
// again while a standby is away leave connections to others.
const confirms = 2

// Confirm implements store.Confirmer. The reads and the record of confirmText are one transaction,
// of one connection: had another server taken over between the two, it would fail.
func (s *Store) Confirm(ctx context.Context, read func(store.Reader) error) error {
	within, done, err := s.call(ctx)
	if err != nil {
		return err
	}
	defer done()
	select {
	case s.confirming <- struct{}{}:
		defer func() { <-s.confirming }()
	case <-within.Done():
		return fmt.Errorf("postgres: confirm: %w: others wait for their confirmation: %w", ErrTimeout, within.Err())
	}
	for try := 0; ; try++ {
		refused, err := s.confirm(within, read)
		switch {
		case refused != nil:
			return refused
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case !again(err) || try == maxTries:
			return fmt.Errorf("postgres: confirm: %w", explain(err))
		}
	}
}

// confirm makes one transaction. Refused is the error of read.
func (s *Store) confirm(ctx context.Context, read func(store.Reader) error) (refused, err error) {
	conn, err := s.acquire(ctx)
	if err != nil {
		return nil, err
	}
	defer conn.Release()
	defer func() {
		if err != nil {
			s.recent.doubt(err)
		}
		rollBack(ctx, conn.Conn())
	}()
	begin := &pgx.Batch{}
	begin.Queue(beginText)
	begin.Queue(s.texts[confirmGuardText])
	if err := conn.SendBatch(ctx, begin).Close(); err != nil {
		return nil, err
	}
	view := &reader{texts: s.texts, schema: s.schema, on: func(context.Context) (querier, context.Context, func(),
		error) {
		return conn, ctx, func() {}, ctx.Err()
	}}
	if refused := read(view); refused != nil {
		return refused, nil
	}
	clearUnwaited(conn.Conn().PgConn())
	end := &pgx.Batch{}
	end.Queue(s.texts[confirmText])
	end.Queue(commitText)
	err = conn.SendBatch(ctx, end).Close()
	if err == nil {
		err = unwaited(conn.Conn().PgConn())
	}
	return nil, err
}

// Confirm implements store.Confirmer, with the host's transaction: what read was shown is durable
// when the host has committed it, which this makes wait as if it had changed a row.
func (v *view) Confirm(ctx context.Context, read func(store.Reader) error) error {
	if err := v.open(ctx); err != nil {
		return err
	}
	if err := read(v); err != nil {
		return err
	}
	_, err := v.tx.Exec(ctx, v.texts[confirmText])
	return v.failed(ctx, err)
}

// ErrUnreplicated: somebody canceled the server's wait for its standby (pg_cancel_backend, a cancel
// request on the way), which the server answers with success and a warning. The write is on the
// primary, and a failover may undo it: its outcome is unknown.
var ErrUnreplicated = errors.New("postgres: the wait for the synchronous standby was canceled")

// unwaitedMark is the key of a connection's mark that such a warning came.
const unwaitedMark = "interlude: not replicated"

// heard has the server send warnings to a role that is set to hear of none.
const heard = `set_config('client_min_messages', 'warning', true)`

// OnNotice heeds the server's warning of ErrUnreplicated. Open sets it. A host that gives New a
// pool of its own sets it in the pool's configuration (ConnConfig.OnNotice), or calls it from what
// it has there; without it, a commit whose wait an administrator canceled counts as acknowledged.
func OnNotice(conn *pgconn.PgConn, n *pgconn.Notice) {
	if n.Routine == "SyncRepWaitForLSN" { // the text is translated, the code is that of any warning
		conn.CustomData()[unwaitedMark] = n.Message
	}
}

// clearUnwaited forgets a warning that came with something else.
func clearUnwaited(conn *pgconn.PgConn) { delete(conn.CustomData(), unwaitedMark) }

// unwaited is the error of a commit that the server acknowledged without its standby.
func unwaited(conn *pgconn.PgConn) error {
	message, marked := conn.CustomData()[unwaitedMark]
	if !marked {
		return nil
	}
	clearUnwaited(conn)
	return fmt.Errorf("%w: outcome unknown: %s", ErrUnreplicated, message)
}

// heedful is a pool whose batches fail when their commit was not waited for.
type heedful struct{ *pgxpool.Pool }

// SendBatch implements querier.
func (p heedful) SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults {
	conn, err := p.Acquire(ctx)
	if err != nil {
		return pgx.FailedBatchResults(b, err)
	}
	clearUnwaited(conn.Conn().PgConn())
	return &heedfulResults{conn.SendBatch(ctx, b), conn}
}

type heedfulResults struct {
	pgx.BatchResults

	conn *pgxpool.Conn // nil once it was given back
}

// Close implements pgx.BatchResults.
func (r *heedfulResults) Close() error {
	err := r.BatchResults.Close()
	if r.conn == nil {
		return err
	}
	if err == nil {
		err = unwaited(r.conn.Conn().PgConn())
	}
	r.conn.Release()
	r.conn = nil
	return err
}
