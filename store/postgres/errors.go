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

// Reasons for which Open refuses a database without changing it.
var (
	// ErrConfig: the connection string or an option cannot be used.
	ErrConfig = errors.New("postgres: configuration cannot be used")
	// ErrUnreachable: no server answers, or it refuses the connection: wrong host, port, database,
	// user or password. For an open store: the server or the network is down; retry.
	ErrUnreachable = store.NewError(store.ErrUnavailable, "postgres: server or database cannot be reached")
	// ErrOlder: the schema is older than this package needs; run Migrate, with a sufficient role.
	ErrOlder = errors.New("postgres: schema is older than this version needs")
	// ErrNewer: the schema is too new for this package; use a newer version.
	ErrNewer = errors.New("postgres: schema is newer than this version knows")
	// ErrForeign: the schema's tables are not this package's, or were changed by hand.
	ErrForeign = errors.New("postgres: schema is not this package's")
)

// Errors that prevent a call. Stored data stays valid.
var (
	// ErrRights: the role lacks a right that docs/postgres.md lists.
	ErrRights = errors.New("postgres: role lacks a right")
	// ErrConnections: the server or a pooler allows no more connections.
	ErrConnections = store.NewError(store.ErrUnavailable, "postgres: too many connections")
	// ErrFull: the server's disk or memory is full.
	ErrFull = store.NewError(store.ErrFull, "postgres: server is full")
	// ErrReadOnly: the server is a standby, in recovery, or set to read-only.
	ErrReadOnly = store.NewError(store.ErrUnavailable, "postgres: server is read-only")
	// ErrTimeout: a server's statement or lock timeout, or Options.Timeout, ended the call.
	ErrTimeout = store.NewError(store.ErrUnavailable, "postgres: timed out")
	// ErrSerialization: the caller's transaction lost against another one; roll it back and run it
	// again.
	ErrSerialization = store.NewError(store.ErrUnavailable, "postgres: transaction lost against another one")
	// ErrDown: the server is starting or stopping, or the connection broke; retry.
	ErrDown = store.NewError(store.ErrUnavailable, "postgres: server or connection is down")
	// ErrPooler: a pooler changes sessions between transactions, but the store prepares statements
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
	"08":    ErrDown,   // also poolers that lost the server
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
	case errors.Is(err, context.DeadlineExceeded): // before there was a connection
		return fmt.Errorf("%w: no connection of the pool came free, and none could be made: %w", ErrTimeout, err)
	case connectionBroken(err):
		return fmt.Errorf("%w: %w", ErrDown, err)
	}
	return err
}

func connectionBroken(err error) bool {
	var network net.Error
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) ||
		errors.Is(err, pgconn.ErrConnClosed) ||
		errors.As(err, &network)
}

// notSentError is the error of a call without a connection, which changed nothing.
type notSentError struct{ error }

func (e *notSentError) Unwrap() error { return e.error }

// SafeToRetry is for pgconn.SafeToRetry.
func (e *notSentError) SafeToRetry() bool { return true }

func (s *Store) acquire(ctx context.Context) (*pgxpool.Conn, error) {
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		return nil, &notSentError{err}
	}
	return conn, nil
}

// configError is the error of an invalid connection string. The driver's error contains the string
// and hides the password imperfectly, so only the reason and the name of an unreadable file are
// kept.
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
// nothing was sent. A connection error leaves the outcome unknown.
func rolledBack(err error) bool {
	if pgconn.SafeToRetry(err) {
		return true
	}
	var e *pgconn.PgError
	// A server that shuts down may end a session whose commit is already stored, and a pooler may
	// lose a commit in progress.
	return errors.As(err, &e) && !strings.HasPrefix(e.Code, "57P") && !strings.HasPrefix(e.Code, "08") &&
		e.Code != "40003"
}

const lockNotAvailable = "55P03"

// lostRace reports a serialization failure or a deadlock: nothing was stored, and the transaction
// may be repeated at once.
func lostRace(err error) bool {
	var e *pgconn.PgError
	return errors.As(err, &e) && (e.Code == "40001" || e.Code == "40P01")
}
