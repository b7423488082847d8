package postgres

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/interlude-go/interlude/store"
)

// DefaultSchema is the PostgreSQL schema of a store whose options name none.
const DefaultSchema = "interlude"

// Options configure Open and New. The zero value is what a host should use.
type Options struct {
	// Schema is the PostgreSQL schema that the tables stand in; DefaultSchema when empty. Stores of
	// different schemas have nothing in common.
	Schema string
	// NoMigrate leaves the schema as it is; one that is too old is ErrOlder. For roles that may not
	// change tables.
	NoMigrate bool

	// Flushes is how many transactions of commits are under way at one time; 1 when zero. What
	// arrives meanwhile shares the next one, so that more of them do less each; they help where the
	// way to the server or its disk is long.
	Flushes int
	// NoGroupCommit gives each commit, of Commit and of Claim, a transaction of its own. For
	// measurements.
	NoGroupCommit bool
	// Timeout bounds every exchange with the server; 15 s when zero. A write that it ends has an
	// unknown outcome.
	Timeout time.Duration

	// NoNotify tells nobody else of this process's commits: the others poll.
	NoNotify bool
	// NoListen does without hints of other processes' commits, and without the connection that
	// listens for them.
	NoListen bool
	// ListenDSN is where to listen, when the store's own connections go through a pooler that hands
	// them from transaction to transaction (PgBouncer's transaction mode), which loses
	// notifications.
	ListenDSN string
}

// Store keeps runs in PostgreSQL. Use Open or New.
type Store struct {
	reader
	pool       *pgxpool.Pool
	instance   string // tells this store's notifications from those of others
	own        bool   // the pool is the store's to close
	o          Options
	versions   []Migration // that this package knows
	jobs       chan *job
	reads      chan *lookup
	recent     recent
	fair       fair
	held       held
	confirming chan struct{} // taken by those who confirm
	clock      clock
	meter      meter
	watchers   store.Watchers
	notifier   *notifier

	closing sync.Once
	closed  chan struct{}
	live    context.Context // ends when the store is closed
	end     context.CancelFunc
	flushes sync.WaitGroup
	others  sync.WaitGroup // listening, keeping time
	calls   calls

	notifying sync.WaitGroup
}

var (
	_ store.Store             = (*Store)(nil)
	_ store.Watcher           = (*Store)(nil)
	_ store.Meter             = (*Store)(nil)
	_ store.Surveyor          = (*Store)(nil)
	_ store.Identified        = (*Store)(nil)
	_ store.InteractionReader = (*Store)(nil)
	_ store.Timekeeper        = (*Store)(nil)
)

// Open connects to the database that the connection string names (a URL or key=value pairs, with
// pgx's pool_max_conns and default_query_exec_mode among them; a host has 3 s to let a connection
// in unless connect_timeout says otherwise, and of several hosts the one that did so last is asked
// first) and brings the schema to this package's version; the context bounds how long that may take
// (see Migrate). The error matches one of this package's sentinels. Close the store when done.
func Open(ctx context.Context, dsn string, o Options) (*Store, error) {
	return openKnowing(ctx, dsn, o, migrations)
}

// openKnowing is Open of the version of this package that knows these migrations.
func openKnowing(ctx context.Context, dsn string, o Options, known []Migration) (*Store, error) {
	config, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		return nil, unusable("connection string", err)
	}
	if !strings.Contains(dsn, "pool_max_conns") {
		config.MaxConns = defaultConns
	}
	config.ConnConfig.OnNotice = OnNotice
	(&hosts{names: make(map[string]string)}).watch(config)
	pool, err := pgxpool.NewWithConfig(context.WithoutCancel(ctx), config)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrConfig, err)
	}
	s, err := newKnowing(ctx, pool, o, known)
	if err != nil {
		pool.Close()
		return nil, err
	}
	s.own = true
	return s, nil
}

// defaultConns is how many connections Open makes at most: those of the flushes, of claims, and
// some for readers.
const defaultConns = 10

// New is Open on the host's own pool, which stays open when the store is closed. The pool's
// settings may be any; it needs three connections at least to keep reads, commits and claims from
// waiting for each other, and, where a synchronous standby may take over, OnNotice.
func New(ctx context.Context, pool *pgxpool.Pool, o Options) (*Store, error) {
	return newKnowing(ctx, pool, o, migrations)
}

func newKnowing(ctx context.Context, pool *pgxpool.Pool, o Options, known []Migration) (*Store, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	s := &Store{
		pool: pool, versions: known, instance: rand.Text(), o: o, jobs: make(chan *job, flushSize),
		reads: make(chan *lookup, lookupSize), closed: make(chan struct{}),
		fair: fair{served: make(map[string]string)}, held: newHeld(pool.Stat().MaxConns()),
		confirming: make(chan struct{}, confirms),
	}
	s.reader = reader{texts: namespaced(o.Schema), schema: o.Schema, on: s.read, steady: true}
	s.live, s.end = context.WithCancel(context.WithoutCancel(ctx))
	if err := s.begin(ctx); err != nil {
		s.end()
		return nil, fmt.Errorf("postgres: open: %w", explain(err))
	}
	for range o.Flushes {
		s.flushes.Go(s.flushing)
	}
	for range lookups {
		s.flushes.Go(s.looking)
	}
	s.notifier = newNotifier(s)
	s.others.Go(s.keepTime)
	if !o.NoNotify {
		s.notifying.Go(s.notifier.run)
	}
	if !o.NoListen {
		s.others.Go(s.listen)
	}
	return s, nil
}

// begin sees to a schema that this package can work with.
func (s *Store) begin(ctx context.Context) error {
	have, err := s.contact(ctx)
	if err == nil {
		err = errors.Join(have.recorded(s.versions)...)
	}
	if err == nil && have.Version < len(s.versions) && !s.o.NoMigrate {
		if err = migrate(ctx, s.pool, s.o.Schema, s.versions); err == nil {
			have, err = s.contact(ctx)
		}
	}
	if err != nil {
		return err
	}
	return have.fits(len(s.versions))
}

// contact finds the server, its clock and the schema.
func (s *Store) contact(ctx context.Context) (Status, error) {
	ctx, cancel := context.WithTimeout(ctx, s.o.Timeout)
	defer cancel()
	if err := s.lookAtClock(ctx); err != nil {
		// it is not the host that has them all
		if errors.Is(err, context.DeadlineExceeded) && s.pool.Stat().AcquiredConns() == 0 {
			return Status{}, fmt.Errorf("%w: %w", ErrUnreachable, err)
		}
		return Status{}, err
	}
	return status(ctx, s.pool, s.o.Schema)
}

func (o Options) withDefaults() (Options, error) {
	var err error
	if o.Schema, err = schemaName(o.Schema); err != nil {
		return o, err
	}
	if o.Flushes == 0 {
		o.Flushes = 1
	}
	if o.Timeout == 0 {
		o.Timeout = 15 * time.Second
	}
	if o.Flushes < 1 || o.Flushes > 64 || o.Timeout < 10*time.Millisecond {
		return o, fmt.Errorf("%w: Flushes is %d (want 1 to 64), Timeout %s (want 10ms or more)", ErrConfig, o.Flushes,
			o.Timeout)
	}
	if o.ListenDSN != "" {
		if _, err := pgx.ParseConfig(o.ListenDSN); err != nil {
			return o, unusable("ListenDSN", err)
		}
	}
	return o, nil
}

// schemaName is the schema's name, or the default.
func schemaName(name string) (string, error) {
	if name == "" {
		name = DefaultSchema
	}
	if len(name) > 63 || strings.ContainsRune(name, 0) || strings.HasPrefix(name, "pg_") {
		return "", fmt.Errorf("%w: Schema is %.80q, want 1 to 63 bytes that do not begin with pg_", ErrConfig, name)
	}
	return name, nil
}

// Close ends the store after what is being written and read, for which it waits as long as
// Options.Timeout says; every later call answers store.ErrClosed. Others are told of the last
// commits. Connections that are dead without saying so may take the driver 15 s more.
func (s *Store) Close() error {
	s.closing.Do(func() {
		s.calls.end(s.closed)
		close(s.jobs)
		close(s.reads)
		s.flushes.Wait()
		close(s.notifier.last)
		s.notifying.Wait()
		s.end()
		s.others.Wait()
		if s.own {
			s.pool.Close()
		}
	})
	return nil
}
