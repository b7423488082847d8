package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/interlude-go/interlude/store"
)

// Reasons for which Open refuses a database. It is not changed.
var (
	// ErrConfig: the connection string or an option cannot be used.
	ErrConfig = errors.New("postgres: configuration cannot be used")
	// ErrUnreachable: no server answers there, or it does not let us in: wrong host, port,
	// database, user or password. Later, when a store is open: the server is down or the way there
	// is cut; the call may be tried again.
	ErrUnreachable = store.NewError(store.ErrUnavailable, "postgres: server or database cannot be reached")
	// ErrOlder: the schema is older than this version of the package needs; run Migrate, with a
	// role that may.
	ErrOlder = errors.New("postgres: schema is older than this version needs")
	// ErrNewer: the schema was made by a newer version, which this one cannot work with; use that
	// version.
	ErrNewer = errors.New("postgres: schema is of a newer version")
	// ErrForeign: the schema's tables are not this package's, or were changed by hand.
	ErrForeign = errors.New("postgres: schema is not this package's")
)

// Errors that prevent a call; stored data stays valid.
var (
	// ErrRights: the role may not do that; grant it what docs/postgres.md lists.
	ErrRights = errors.New("postgres: role has not the right")
	// ErrConnections: the server or a pooler allows no more connections.
	ErrConnections = store.NewError(store.ErrUnavailable, "postgres: too many connections")
	// ErrFull: the server's disk or memory is full.
	ErrFull = store.NewError(store.ErrFull, "postgres: server is full")
	// ErrReadOnly: the server is a standby, in recovery, or set to read-only.
	ErrReadOnly = store.NewError(store.ErrUnavailable, "postgres: server is read-only")
	// ErrTimeout: a statement or lock timeout of the server or of Options.Timeout ended the call.
	ErrTimeout = store.NewError(store.ErrUnavailable, "postgres: timed out")
	// ErrSerialization: a transaction of the caller's own lost against another one; roll it back
	// and run it again.
	ErrSerialization = store.NewError(store.ErrUnavailable, "postgres: transaction lost against another one")
	// ErrDown: the server is starting or stopping, or the connection broke; the call may be tried
	// again.
	ErrDown = store.NewError(store.ErrUnavailable, "postgres: server or connection is down")
	// ErrPooler: a pooler assigns each transaction another session, but the store prepares statements
	// in sessions.
	ErrPooler = errors.New("postgres: pooler loses prepared statements: add default_query_exec_mode=cache_describe " +
		"to the connection string")
)

// meanings of the server's error codes (appendix A of its manual), by whole code or by class.
var meanings = map[string]error{
	"28":    ErrUnreachable, // invalid authorization
	"3D":    ErrUnreachable, // no such database
	"42501": ErrRights,
	"53300": ErrConnections,
	"53":    ErrFull,
	"25006": ErrReadOnly,
	"57014": ErrTimeout, // canceled by statement_timeout
	"55P03": ErrTimeout, // lock_timeout
	"25P03": ErrTimeout, // idle_in_transaction_session_timeout
	"25P04": ErrTimeout, // transaction_timeout
	"40":    ErrSerialization,
	"57P":   ErrDown,
	"08":    ErrDown,   // poolers also report by it that they lost the server
	"26000": ErrPooler, // no such prepared statement
	"42P05": ErrPooler, // the name exists
	"XX001": store.ErrCorrupt,
	"XX002": store.ErrCorrupt,
	"42P01": ErrForeign, // no such table
	"42703": ErrForeign, // no such column
	"3F":    ErrForeign, // no such schema
}

// explain maps errors of the server or the connection to this package's errors.
func explain(err error) error {
	if err == nil {
		return nil
	}
	var e *pgconn.PgError
	if errors.As(err, &e) {
		for _, n := range []int{5, 3, 2} {
			if meaning, ok := meanings[e.Code[:min(n, len(e.Code))]]; ok {
				return fmt.Errorf("%w: %w", meaning, err)
			}
		}
		return err
	}
	if errors.Is(err, ErrUnreplicated) || errors.Is(err, ErrWrongServer) {
		return err
	}
	var connecting *pgconn.ConnectError
	switch {
	case errors.As(err, &connecting):
		return fmt.Errorf("%w: %w", ErrUnreachable, err)
	case pgconn.Timeout(err):
		return fmt.Errorf("%w: %w", ErrTimeout, err)
	case errors.Is(err, context.DeadlineExceeded): // not on a connection, so before there was one
		return fmt.Errorf("%w: no connection of the pool came free, and none could be made: %w", ErrTimeout, err)
	case connectionBroken(err):
		return fmt.Errorf("%w: %w", ErrDown, err)
	}
	return err
}

// connectionBroken reports whether the connection broke.
func connectionBroken(err error) bool {
	var network net.Error
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) ||
		errors.Is(err, pgconn.ErrConnClosed) ||
		errors.As(err, &network)
}

// notSentError is the error of a call that got no connection, and so changed nothing.
type notSentError struct{ error }

func (e *notSentError) Unwrap() error { return e.error }

// SafeToRetry is what pgconn.SafeToRetry asks.
func (e *notSentError) SafeToRetry() bool { return true }

// acquire takes a connection of the pool.
func (s *Store) acquire(ctx context.Context) (*pgxpool.Conn, error) {
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		return nil, &notSentError{err}
	}
	return conn, nil
}

// configError is the error of a connection string that cannot be used. The driver's own error holds
// the string, with the password blanked as well as the driver can: so only the reason is passed on,
// and which file could not be read.
func configError(what string, err error) error {
	reason := "it cannot be parsed"
	var e *pgconn.ParseConfigError
	if errors.As(err, &e) {
		without := *e
		without.ConnString = ""
		_, reason, _ = strings.Cut(without.Error(), "`: ")
		reason, _, _ = strings.Cut(reason, " (")
	}
	var file *fs.PathError
	if errors.As(err, &file) {
		reason += ": " + file.Error()
	}
	return fmt.Errorf("%w: %s: %s", ErrConfig, what, reason)
}

// rolledBack reports whether the transaction is known to be rolled back: the server said so, or
// nothing was sent. An error of the connection leaves the outcome unknown.
func rolledBack(err error) bool {
	if pgconn.SafeToRetry(err) {
		return true
	}
	var e *pgconn.PgError
	// A server that shuts down may end a session whose commit is already stored, and a pooler may lose
	// a commit in progress.
	return errors.As(err, &e) && !strings.HasPrefix(e.Code, "57P") && !strings.HasPrefix(e.Code, "08") &&
		e.Code != "40003"
}

// lockNotAvailable is the server's code for a lock timeout.
const lockNotAvailable = "55P03"

// lostRace reports whether the transaction lost against another one (a serialization failure or a
// deadlock): nothing of it was stored, and it may be sent again at once.
func lostRace(err error) bool {
	var e *pgconn.PgError
	return errors.As(err, &e) && (e.Code == "40001" || e.Code == "40P01")
}
