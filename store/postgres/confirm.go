package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/interlude-go/interlude/store"
)

var (
	confirmGuardText = sql(`SELECT ` + indexPlans + `, ` + nestedLoops + `, ` + idleTimeout + `, ` + showWarnings)
	// confirmText writes a record to the write-ahead log, but to no table; any role may. Its
	// transaction commits as if it had changed a row: once the log is flushed up to it, and
	// replicated to the standbys in synchronous_standby_names. Everything read earlier precedes it
	// in the log.
	confirmText = sql(`SELECT pg_catalog.pg_logical_emit_message(true, 'interlude', '')`)
)

// maxConfirms limits concurrent confirmations, so that retries during a standby's absence leave
// connections free.
const maxConfirms = 2

// Confirm implements store.Confirmer. The reads and confirmText's record are one transaction on one
// connection: it fails if another server takes over in between.
func (s *Store) Confirm(ctx context.Context, read func(store.Reader) error) error {
	within, done, err := s.beginCall(ctx)
	if err != nil {
		return err
	}
	defer done()
	select {
	case s.confirmPermits <- struct{}{}:
		defer func() { <-s.confirmPermits }()
	case <-within.Done():
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return fmt.Errorf("postgres: confirm: %w: others wait for their confirmation: %w", ErrTimeout, within.Err())
	}
	for try := 0; ; try++ {
		refused, err := s.confirmOnce(within, read)
		switch {
		case refused != nil:
			return refused
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case !lostRace(err) || try == maxTries:
			return fmt.Errorf("postgres: confirm: %w", explain(err))
		}
	}
}

// confirmOnce makes one transaction. refused is the error of read.
func (s *Store) confirmOnce(ctx context.Context, read func(store.Reader) error) (refused, err error) {
	conn, err := s.acquire(ctx)
	if err != nil {
		return nil, err
	}
	defer conn.Release()
	defer func() {
		if err != nil {
			s.cache.clearIfDisconnected(err)
		}
		rollBack(ctx, conn.Conn())
	}()
	begin := newBatch(2)
	begin.Queue(beginText)
	begin.Queue(s.texts[confirmGuardText])
	if err := conn.SendBatch(ctx, begin).Close(); err != nil {
		return nil, err
	}
	onConn := func(context.Context) (querier, context.Context, func(), error) {
		return conn, ctx, func() {}, ctx.Err()
	}
	view := &reader{texts: s.texts, schema: s.schema, beginRead: onConn}
	if refused := read(view); refused != nil {
		return refused, nil
	}
	clearReplicationWarning(conn.Conn().PgConn())
	end := newBatch(2)
	end.Queue(s.texts[confirmText])
	end.Queue(commitText)
	err = conn.SendBatch(ctx, end).Close()
	if err == nil {
		err = acknowledgmentError(conn.Conn().PgConn())
	}
	return nil, err
}

// Confirm implements store.Confirmer: what read was shown is durable once the host has committed,
// which waits as if the transaction had changed a row.
func (t *txStore) Confirm(ctx context.Context, read func(store.Reader) error) error {
	if err := t.checkOpen(ctx); err != nil {
		return err
	}
	if err := read(t); err != nil {
		return err
	}
	_, err := t.tx.Exec(ctx, t.texts[confirmText])
	return t.writeError(ctx, err)
}

// ErrUnreplicated: the server's wait for its standby was canceled (pg_cancel_backend, or a late
// cancel request), which the server reports as success with a warning. The write is only on the
// primary, and a failover may undo it: its outcome is unknown.
var ErrUnreplicated = store.NewError(store.ErrUnavailable,
	"postgres: the wait for the synchronous standby was canceled")

const replicationWarning = "interlude: not replicated"

// showWarnings makes the server send warnings, whatever the role's setting.
const showWarnings = `set_config('client_min_messages', 'warning', true)`

// OnNotice keeps the server's warning of ErrUnreplicated with the connection. ConfigurePool sets
// it. A host that does not call ConfigurePool sets ConnConfig.OnNotice to it, or calls it there.
// Without it, a commit counts as acknowledged although an administrator canceled its wait for the
// standby.
func OnNotice(conn *pgconn.PgConn, n *pgconn.Notice) {
	if n.Routine == "SyncRepWaitForLSN" { // the text is localized, and the code is the same for all warnings
		conn.CustomData()[replicationWarning] = n.Message
	}
}

func chainNotices(before pgconn.NoticeHandler) pgconn.NoticeHandler {
	if before == nil {
		return OnNotice
	}
	return func(conn *pgconn.PgConn, n *pgconn.Notice) {
		before(conn, n)
		OnNotice(conn, n)
	}
}

func clearReplicationWarning(conn *pgconn.PgConn) { delete(conn.CustomData(), replicationWarning) }

// acknowledgmentError returns an error if the server acknowledged a commit that the store must not:
// the standby did not confirm it, or the server had been replaced.
func acknowledgmentError(conn *pgconn.PgConn) error {
	if err := wrongServer(conn); err != nil {
		return fmt.Errorf("outcome unknown: %w", err)
	}
	message, marked := conn.CustomData()[replicationWarning]
	if !marked {
		return nil
	}
	clearReplicationWarning(conn)
	return fmt.Errorf("%w: outcome unknown: %s", ErrUnreplicated, message)
}

// replicatedPool is a pool whose batches fail if the server did not wait for its standby.
type replicatedPool struct{ *pgxpool.Pool }

func (p replicatedPool) SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults {
	conn, err := p.Acquire(ctx)
	if err != nil {
		return pgx.FailedBatchResults(b, err)
	}
	clearReplicationWarning(conn.Conn().PgConn())
	return &replicatedResults{conn.SendBatch(ctx, b), conn}
}

type replicatedResults struct {
	pgx.BatchResults

	conn *pgxpool.Conn // nil once returned
}

func (r *replicatedResults) Close() error {
	err := r.BatchResults.Close()
	if r.conn == nil {
		return err
	}
	if err == nil {
		err = acknowledgmentError(r.conn.Conn().PgConn())
	}
	r.conn.Release()
	r.conn = nil
	return err
}
