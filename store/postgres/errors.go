package postgres

import (
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/interlude-go/interlude/store"
)

// What is wrong with a database that Open refuses. It is left as it is.
var (
	// ErrConfig: the connection string or an option cannot be used.
	ErrConfig = errors.New("postgres: configuration cannot be used")
	// ErrUnreachable: no server answers there, or it does not let us in: wrong host, port, database, user or password.
	ErrUnreachable = errors.New("postgres: server or database cannot be reached")
	// ErrOlder: the schema is older than this version of the package needs; run Migrate, with a role that may.
	ErrOlder = errors.New("postgres: schema is older than this version needs")
	// ErrNewer: the schema was made by a newer version, which this one cannot work with; use that version.
	ErrNewer = errors.New("postgres: schema is of a newer version")
	// ErrForeign: the schema's tables are not this package's, or were changed by hand.
	ErrForeign = errors.New("postgres: schema is not this package's")
)

// What keeps a call from being served. What was stored before stays valid.
var (
	// ErrRights: the role may not do that; grant it what README.md lists.
	ErrRights = errors.New("postgres: role has not the right")
	// ErrConnections: the server, or a pooler before it, gives no further connection.
	ErrConnections = errors.New("postgres: too many connections")
	// ErrFull: the server's disk or memory is full.
	ErrFull = errors.New("postgres: server is full")
	// ErrReadOnly: the server is a standby, in recovery, or set to read-only.
	ErrReadOnly = errors.New("postgres: server is read-only")
	// ErrTimeout: a statement or lock timeout of the server or of Options.Timeout ended the call.
	ErrTimeout = errors.New("postgres: timed out")
	// ErrSerialization: a transaction of the caller's own lost against another one; roll it back and run it again.
	ErrSerialization = errors.New("postgres: transaction lost against another one")
	// ErrDown: the server is starting, stopping, or broke the connection; the call may be tried again.
	ErrDown = errors.New("postgres: server is down")
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
	"08":    ErrDown,
	"XX001": store.ErrCorrupt,
	"XX002": store.ErrCorrupt,
	"42P01": ErrForeign, // no such table
	"42703": ErrForeign, // no such column
	"3F":    ErrForeign, // no such schema
}

// explain says what an error of the server or of the way there means.
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
	var connecting *pgconn.ConnectError
	switch {
	case errors.As(err, &connecting):
		return fmt.Errorf("%w: %w", ErrUnreachable, err)
	case pgconn.Timeout(err):
		return fmt.Errorf("%w: %w", ErrTimeout, err)
	}
	return err
}

// rolledBack reports whether the server said that it made nothing of the transaction. An error on the way leaves that unknown, unless
// nothing was sent.
func rolledBack(err error) bool {
	var e *pgconn.PgError
	if errors.As(err, &e) {
		// A server that goes down may end a session whose commit is stored already.
		return e.Code[:min(3, len(e.Code))] != "57P" && e.Code != "40003"
	}
	return pgconn.SafeToRetry(err)
}

// again reports whether the same transaction may be sent again at once: it lost against another one, and nothing of it was stored.
func again(err error) bool {
	var e *pgconn.PgError
	return errors.As(err, &e) && (e.Code == "40001" || e.Code == "40P01")
}
