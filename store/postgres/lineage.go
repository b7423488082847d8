package postgres

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/interlude-go/interlude/store"
)

// ErrWrongServer: the server is an older primary that was replaced by a promoted one, or belongs to
// another database cluster. A commit that it acknowledged is not acknowledged to the caller: its
// outcome is unknown, and most likely it is lost. Fence the older server; to use another cluster,
// or a restored backup, restart the process.
var ErrWrongServer = store.NewError(store.ErrUnavailable,
	"postgres: wrong server: an older primary, or another cluster")

// lineage is the database's history as seen by a pool's connections: its cluster, and the newest
// timeline of a primary. PostgreSQL starts a timeline with each promotion, so a primary on an
// earlier one was replaced, and its new commits are lost. A process that only reaches an old
// primary cannot detect that: promotion requires fencing.
type lineage struct {
	hosts *hosts

	mu       sync.Mutex // guards the fields below
	cluster  string     // system identifier; empty before the first connection
	timeline uint64     // 0 before the first primary
	onNewer  func()     // called when a newer timeline was seen
}

const lineageKey = "interlude: lineage"

type connLineage struct {
	*lineage

	timeline uint64 // of its server at its start; 0 for a standby
}

// configure checks every new connection of the pool, and drops those to an older primary once a
// newer one was seen.
func (l *lineage) configure(config *pgxpool.Config) {
	validate := config.ConnConfig.ValidateConnect
	config.ConnConfig.ValidateConnect = func(ctx context.Context, conn *pgconn.PgConn) error {
		if validate != nil {
			if err := validate(ctx, conn); err != nil {
				return err
			}
		}
		return l.validate(ctx, conn)
	}
	prepare := config.PrepareConn
	//lint:ignore SA1019 as the directive that golangci-lint reads says
	acquire := config.BeforeAcquire //nolint:staticcheck // deprecated; a host that sets it still expects its call
	config.PrepareConn = func(ctx context.Context, conn *pgx.Conn) (usable bool, err error) {
		switch {
		case wrongServer(conn.PgConn()) != nil:
			return false, nil
		case prepare != nil:
			usable, err = prepare(ctx, conn)
		default:
			usable = acquire == nil || acquire(ctx, conn)
		}
		if usable && err == nil {
			l.hosts.used(conn)
		}
		return usable, err
	}
}

// lineageText reads the cluster's identifier and, from a primary, its timeline: the first eight
// digits of a WAL file's name.
const lineageText = `SELECT system_identifier, CASE WHEN pg_catalog.pg_is_in_recovery() THEN ''
	ELSE substr(pg_catalog.pg_walfile_name(pg_catalog.pg_current_wal_insert_lsn()), 1, 8) END
	FROM pg_catalog.pg_control_system()`

// validate rejects a connection to another cluster or an older timeline. It accepts a role without
// the right to ask, or a server that cannot answer.
func (l *lineage) validate(ctx context.Context, conn *pgconn.PgConn) error {
	cluster, timeline, err := readLineage(ctx, conn)
	var refused *pgconn.PgError
	if errors.Is(err, errNoLineage) ||
		errors.As(err, &refused) && !strings.HasPrefix(refused.Code, "57P") && !strings.HasPrefix(refused.Code, "08") {
		return nil
	}
	if err != nil {
		return err
	}
	conn.CustomData()[lineageKey] = connLineage{lineage: l, timeline: timeline}
	return l.observe(cluster, timeline)
}

var errNoLineage = errors.New("postgres: the server's lineage cannot be read")

// readLineage reads a server's cluster and timeline; 0 for a standby.
func readLineage(ctx context.Context, conn *pgconn.PgConn) (cluster string, timeline uint64, _ error) {
	results, err := conn.Exec(ctx, lineageText).ReadAll()
	if err != nil {
		return "", 0, err
	}
	if len(results) != 1 || len(results[0].Rows) != 1 || len(results[0].Rows[0]) != 2 {
		return "", 0, errNoLineage
	}
	row := results[0].Rows[0]
	if digits := string(row[1]); digits != "" {
		if timeline, err = strconv.ParseUint(digits, 16, 32); err != nil {
			return "", 0, errNoLineage // unknown file names
		}
	}
	return string(row[0]), timeline, nil
}

func (l *lineage) observesNewer(cluster string, timeline uint64) bool {
	l.mu.Lock()
	known := l.timeline
	l.mu.Unlock()
	return timeline > known && l.observe(cluster, timeline) == nil
}

// observe records the lineage of a new connection, and rejects it if it is behind.
func (l *lineage) observe(cluster string, timeline uint64) error {
	l.mu.Lock()
	if l.cluster == "" {
		l.cluster = cluster
	}
	known, newest := l.cluster, l.timeline
	notify, newer := l.onNewer, cluster == known && timeline > newest
	if newer {
		l.timeline = timeline
	}
	l.mu.Unlock()
	if cluster != known {
		return fmt.Errorf("%w: its system identifier is %s, not %s as before", ErrWrongServer, cluster, known)
	}
	if newer && newest > 0 {
		l.hosts.breakReplaced()
		if notify != nil {
			notify()
		}
	}
	return olderTimeline(timeline, newest)
}

func olderTimeline(timeline, newest uint64) error {
	if timeline == 0 || timeline >= newest {
		return nil
	}
	return fmt.Errorf("%w: it is on timeline %d, and a primary on %d was seen: fence it", ErrWrongServer, timeline,
		newest)
}

// wrongServer returns ErrWrongServer if the connection's server is known to have been replaced.
func wrongServer(conn *pgconn.PgConn) error {
	at, _ := conn.CustomData()[lineageKey].(connLineage) // the zero value for unknown lineages
	return at.replaced()
}

func (at connLineage) replaced() error {
	if at.lineage == nil {
		return nil
	}
	at.mu.Lock()
	newest := at.lineage.timeline
	at.mu.Unlock()
	return olderTimeline(at.timeline, newest)
}

// forgetOnPromotion empties the run cache when a newer primary is seen, and notes the time: without
// the last commits, it may have other records under the same versions, and lack renewals.
func (s *Store) forgetOnPromotion(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, s.o.Timeout)
	defer cancel()
	return s.pool.AcquireFunc(ctx, func(conn *pgxpool.Conn) error {
		if at, ok := conn.Conn().PgConn().CustomData()[lineageKey].(connLineage); ok {
			at.mu.Lock()
			defer at.mu.Unlock()
			s.hosts = at.hosts
			before := at.onNewer
			at.onNewer = func() {
				if before != nil {
					before()
				}
				s.cache.clear()
				s.promotedAt.Store(s.Now().UnixMicro())
			}
		}
		return nil
	})
}
