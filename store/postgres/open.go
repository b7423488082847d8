package postgres

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/interlude-go/interlude/store"
	"github.com/interlude-go/interlude/store/internal/claim"
	"github.com/interlude-go/interlude/store/internal/groupcommit"
)

// DefaultSchema is the schema of a store whose options name none.
const DefaultSchema = "interlude"

// Options configure Open and New. Hosts should use the zero value.
type Options struct {
	// Schema is the PostgreSQL schema of the tables; DefaultSchema if empty. Stores in different
	// schemas are independent.
	Schema string
	// NoMigrate does not change the schema; an older one is ErrOlder. For roles that may not change
	// tables.
	NoMigrate bool

	// Flushes is the number of concurrent commit transactions; 1 if zero. More flushes are smaller,
	// and help if the server or its disk has a high latency.
	Flushes int
	// NoGroupCommit gives each commit, of Commit and of Claim, a separate transaction. For
	// measurements.
	NoGroupCommit bool
	// Timeout bounds every exchange with the server; 15 s when zero. A write that it ends has an
	// unknown outcome.
	Timeout time.Duration

	// NoNotify disables notifications of this process's commits: the others poll.
	NoNotify bool
	// NoListen disables hints of other processes' commits, and the connection for them.
	NoListen bool
	// ListenDSN is the connection for LISTEN if the store connects through a pooler in transaction
	// mode (PgBouncer), which loses notifications.
	ListenDSN string

	// ClockInterval is the interval between readings of the server's clock; a minute if zero. If
	// negative, only Open reads it: for tests with fake time.
	ClockInterval time.Duration

	upgrades upgrades
}

// Store keeps runs in PostgreSQL. Use Open or New. Package store describes the methods of its
// interfaces: Store, Watcher, Announcer, Meter, RecentReader and Timekeeper.
type Store struct {
	reader
	pool       *pgxpool.Pool
	instance   string // distinguishes this store's notifications
	ownsPool   bool   // Close closes the pool
	o          Options
	migrations []Migration // that this package knows
	commits    *groupcommit.Queue[*commitBatch]
	runReads   *groupcommit.Queue[*runRead]
	cache      runCache
	rotation   claim.Rotation
	locked     lockedRuns
	counters   groupcommit.Counters
	clock      clock
	// incarnation marks the events of the next write: see restored.go.
	incarnation atomic.Uint64
	hosts       *hosts       // of the pool; nil unless it was configured by ConfigurePool
	promotedAt  atomic.Int64 // microseconds, by the server's clock; 0: no promotion was seen
	watchers    store.Watchers
	notifier    *notifier
	unfilled    bool // when it was opened

	confirmPermits chan struct{}

	closing    sync.Once
	closed     chan struct{}
	live       context.Context // ends when the store is closed
	end        context.CancelFunc
	departing  atomic.Bool    // departures are retried in the background
	flushes    sync.WaitGroup // of commits and reads, and retries of locked runs
	background sync.WaitGroup // listening, and reading the clock
	notifying  sync.WaitGroup
	calls      calls
}

var (
	_ store.Store        = (*Store)(nil)
	_ store.Watcher      = (*Store)(nil)
	_ store.Announcer    = (*Store)(nil)
	_ store.Meter        = (*Store)(nil)
	_ store.RecentReader = (*Store)(nil)
	_ store.Timekeeper   = (*Store)(nil)
)

// Open connects to the database of the connection string (a URL or key=value pairs, including pgx's
// pool_max_conns and default_query_exec_mode) and migrates its schema to this package's version;
// the context limits the time (see Migrate). Each host has 3 s to accept a connection unless
// connect_timeout says otherwise; of several hosts the last successful one is tried first. The
// error matches a sentinel of this package. Close the store when done.
func Open(ctx context.Context, dsn string, o Options) (*Store, error) {
	return openWith(ctx, dsn, o, migrations)
}

func openWith(ctx context.Context, dsn string, o Options, known []Migration) (*Store, error) {
	config, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		return nil, configError("connection string", err)
	}
	if !strings.Contains(dsn, "pool_max_conns") {
		config.MaxConns = defaultConns
	}
	ConfigurePool(config)
	pool, err := pgxpool.NewWithConfig(context.WithoutCancel(ctx), config)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrConfig, err)
	}
	s, err := newWith(ctx, pool, o, known)
	if err != nil {
		pool.Close()
		return nil, err
	}
	s.ownsPool = true
	return s, nil
}

// defaultConns is the default limit of connections: for flushes, claims and readers.
const defaultConns = 10

// ConfigurePool gives a pool's configuration what Open gives its own: OnNotice, the order and the
// timeout of several hosts, the refusal of ErrWrongServer, and a ping of connections that were idle
// for two seconds. Call it after setting the host's own
// hooks, which are kept, and before making the pool.
func ConfigurePool(config *pgxpool.Config) {
	config.ConnConfig.OnNotice = chainNotices(config.ConnConfig.OnNotice)
	closeReadOnly(config.ConnConfig)
	if config.ShouldPing == nil {
		config.ShouldPing = pingIdle
	}
	l := &lineage{hosts: &hosts{names: make(map[string]string)}}
	l.hosts.configure(config, l)
	l.configure(config)
}

// pingIdle has the pool ping a connection before its use after two seconds without use. By default
// it is one second: each poll of an idle node, once a second, would ping first.
func pingIdle(_ context.Context, p pgxpool.ShouldPingParams) bool {
	return p.IdleDuration > 2*time.Second
}

// New is Open on the host's own pool, which stays open when the store is closed. The pool needs
// three connections at least, to keep reads, commits and claims from waiting for each other, and,
// where a standby may take over, ConfigurePool.
func New(ctx context.Context, pool *pgxpool.Pool, o Options) (*Store, error) {
	return newWith(ctx, pool, o, migrations)
}

func newWith(ctx context.Context, pool *pgxpool.Pool, o Options, known []Migration) (*Store, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	s := &Store{
		pool: pool, migrations: known, instance: rand.Text(), o: o, closed: make(chan struct{}),
		commits:  groupcommit.New[*commitBatch]("postgres", maxBatch, !o.NoGroupCommit),
		runReads: groupcommit.New[*runRead]("postgres", maxRunReads, true),
		cache:    newRunCache(), locked: newLockedRuns(pool.Stat().MaxConns()),
		confirmPermits: make(chan struct{}, maxConfirms),
	}
	s.reader = reader{texts: textsIn(o.Schema), schema: o.Schema, beginRead: s.beginRead, planner: true}
	s.live, s.end = context.WithCancel(context.WithoutCancel(ctx))
	s.notifier = newNotifier(s)
	err = s.prepareSchema(ctx)
	if err == nil {
		err = s.openIncarnation(ctx)
	}
	if err == nil {
		err = s.forgetOnPromotion(ctx)
	}
	if err != nil {
		s.end()
		return nil, fmt.Errorf("postgres: open: %w", explain(err))
	}
	for range o.Flushes {
		s.flushes.Go(func() { s.commits.Serve(s.flush) })
	}
	for range runReaders {
		s.flushes.Go(func() { s.runReads.Serve(s.readRuns) })
	}
	if o.ClockInterval > 0 {
		s.background.Go(s.pollClock)
		if s.hosts != nil && s.hosts.ask != nil {
			s.background.Go(s.watchHosts)
		}
	}
	if s.unfilled {
		s.background.Go(s.fillInBackground)
	}
	if !o.NoNotify {
		s.notifying.Go(s.notifier.run)
	}
	if !o.NoListen {
		s.background.Go(s.listen)
	}
	return s, nil
}

func (s *Store) prepareSchema(ctx context.Context) error {
	have, err := s.checkServer(ctx)
	if err == nil {
		err = errors.Join(have.checkRecorded(s.migrations)...)
	}
	if err == nil && have.Version < len(s.migrations) && !s.o.NoMigrate {
		if err = migrate(ctx, s.pool, s.o.Schema, s.migrations, s.o.upgrades); err == nil {
			have, err = s.checkServer(ctx)
		}
	}
	if err != nil {
		return err
	}
	s.unfilled = have.Filling && !s.o.NoMigrate
	return have.checkVersion(len(s.migrations))
}

func (s *Store) checkServer(ctx context.Context) (Status, error) {
	ctx, cancel := context.WithTimeout(ctx, s.o.Timeout)
	defer cancel()
	if err := s.readClock(ctx); err != nil {
		// the server did not answer: the host's own use has not exhausted the pool
		if errors.Is(err, context.DeadlineExceeded) && s.pool.Stat().AcquiredConns() == 0 {
			return Status{}, fmt.Errorf("%w: %w", ErrUnreachable, err)
		}
		return Status{}, err
	}
	return readStatus(ctx, s.pool, s.o.Schema)
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
	if o.ClockInterval == 0 {
		o.ClockInterval = clockInterval
	}
	if o.Flushes < 1 || o.Flushes > 64 || o.Timeout < 10*time.Millisecond {
		return o, fmt.Errorf("%w: Flushes is %d (want 1 to 64), Timeout %s (want 10ms or more)", ErrConfig, o.Flushes,
			o.Timeout)
	}
	if o.ListenDSN != "" {
		if _, err := pgx.ParseConfig(o.ListenDSN); err != nil {
			return o, configError("ListenDSN", err)
		}
	}
	return o, nil
}

func schemaName(name string) (string, error) {
	if name == "" {
		name = DefaultSchema
	}
	if len(name) > 63 || strings.ContainsRune(name, 0) || strings.HasPrefix(name, "pg_") {
		return "", fmt.Errorf("%w: Schema is %.80q, want 1 to 63 bytes that do not begin with pg_", ErrConfig, name)
	}
	return name, nil
}

// Close closes the store after the current writes and reads, for which it waits up to
// Options.Timeout; every later call returns store.ErrClosed. It sends notifications of the last
// commits. The driver may need 15 s more for dead connections.
func (s *Store) Close() error {
	s.closing.Do(func() {
		s.commits.Close()
		s.runReads.Close()
		s.calls.close(s.closed)
		s.flushes.Wait()
		s.commits.Drained()
		s.runReads.Drained()
		close(s.notifier.closing)
		s.notifying.Wait()
		s.end()
		s.background.Wait()
		if s.ownsPool {
			s.pool.Close()
		}
	})
	return nil
}

type calls struct {
	mu      sync.Mutex
	pending sync.WaitGroup // added to under mu, while not closed
}

func (c *calls) close(closed chan struct{}) {
	c.mu.Lock()
	close(closed)
	c.mu.Unlock()
	c.pending.Wait()
}

// add counts a call; false when the store is closed.
func (c *calls) add(closed <-chan struct{}) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	select {
	case <-closed:
		return false
	default:
		c.pending.Add(1)
		return true
	}
}

// beginCall begins a call bounded by Options.Timeout. done ends it.
func (s *Store) beginCall(ctx context.Context) (_ context.Context, done func(), _ error) {
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	if !s.calls.add(s.closed) {
		return nil, nil, store.ErrClosed
	}
	ctx, cancel := context.WithTimeout(ctx, s.o.Timeout)
	return ctx, func() {
		cancel()
		s.calls.pending.Done()
	}, nil
}

func (s *Store) beginRead(ctx context.Context) (querier, context.Context, func(), error) {
	within, done, err := s.beginCall(ctx)
	return replicatedPool{s.pool}, within, done, err
}
