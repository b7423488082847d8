package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"net/url"
	"path/filepath"
	"sync"
	"time"

	_ "modernc.org/sqlite" // the driver "sqlite"

	"github.com/interlude-go/interlude/store"
)

// Synchronous is how far a commit has come when it is acknowledged.
type Synchronous string

// The levels of durability.
const (
	// Full: on the disk; it survives the loss of power. The default.
	Full Synchronous = "FULL"
	// Normal: with the operating system; it survives the process, but a loss of power may undo the last commits.
	Normal Synchronous = "NORMAL"
)

// Options configure Open. The zero value is what a host should use.
type Options struct {
	// Synchronous is Full when empty.
	Synchronous Synchronous
	// BusyTimeout is how long a commit waits for another process; 10 s when zero.
	BusyTimeout time.Duration
	// WatchInterval is how often a watched store looks for commits of other processes; 100 ms when zero, never when negative.
	WatchInterval time.Duration
	// NoGroupCommit gives each commit a transaction of its own. For measurements.
	NoGroupCommit bool
	// CacheKiB is the page cache of each connection; 16 MiB when zero.
	CacheKiB int
	// MaxPages limits the file's size, for tests of a full disk; 0: no limit.
	MaxPages int
}

// Store keeps runs in a SQLite file. Use Open.
type Store struct {
	readers  *sql.DB
	writers  *sql.DB
	writer   *writer
	watchers watchers

	closing sync.Once
	closed  chan struct{}
	ended   sync.WaitGroup // the writer and the watch
	err     error          // of closing
}

var (
	_ store.Store   = (*Store)(nil)
	_ store.Watcher = (*Store)(nil)
)

// Open opens the file, makes it when it does not exist, and brings it to this version's schema. Its folder must exist. The error
// matches ErrNotDatabase, ErrForeign, ErrNewer or ErrCorrupt for a file that is not this package's or is damaged; such a file is left as
// it is. Close the store when done.
func Open(ctx context.Context, path string, o Options) (*Store, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	path, err = filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("sqlite: %w", err)
	}
	if err := inspect(ctx, path); err != nil {
		return nil, fmt.Errorf("sqlite: open %s: %w", path, err)
	}
	s := &Store{closed: make(chan struct{})}
	if err := s.open(ctx, path, o); err != nil {
		if s.writers != nil {
			s.writers.Close()
		}
		if s.readers != nil {
			s.readers.Close()
		}
		return nil, fmt.Errorf("sqlite: open %s: %w", path, explain(err))
	}
	s.ended.Go(s.writer.run)
	if o.WatchInterval > 0 {
		s.ended.Go(func() { s.watch(o.WatchInterval) })
	}
	return s, nil
}

func (o Options) withDefaults() (Options, error) {
	if o.Synchronous == "" {
		o.Synchronous = Full
	}
	if o.BusyTimeout == 0 {
		o.BusyTimeout = 10 * time.Second
	}
	if o.WatchInterval == 0 {
		o.WatchInterval = 100 * time.Millisecond
	}
	if o.CacheKiB == 0 {
		o.CacheKiB = 16 << 10
	}
	if o.Synchronous != Full && o.Synchronous != Normal || o.BusyTimeout < 0 || o.CacheKiB < 0 || o.MaxPages < 0 {
		return o, fmt.Errorf("%w: options: Synchronous is %q (want FULL or NORMAL), BusyTimeout %s, CacheKiB %d, MaxPages %d (want 0 or more)",
			store.ErrInvalid, o.Synchronous, o.BusyTimeout, o.CacheKiB, o.MaxPages)
	}
	return o, nil
}

func (s *Store) open(ctx context.Context, path string, o Options) error {
	pragmas := []string{
		fmt.Sprintf("busy_timeout(%d)", o.BusyTimeout.Milliseconds()),
		"journal_mode(WAL)",
		"synchronous(" + string(o.Synchronous) + ")",
		fmt.Sprintf("cache_size(-%d)", o.CacheKiB),
		"temp_store(MEMORY)",
		"wal_autocheckpoint(4000)", // fewer checkpoints than the default 1000, for a WAL of at most some 16 MB
	}
	if o.MaxPages > 0 {
		pragmas = append(pragmas, fmt.Sprintf("max_page_count(%d)", o.MaxPages))
	}
	var err error
	if s.writers, err = sql.Open("sqlite", dsn(path, "", pragmas)); err != nil {
		return err
	}
	s.writers.SetMaxOpenConns(1)
	conn, err := s.writers.Conn(ctx)
	if err != nil {
		return err
	}
	if err := migrate(ctx, conn); err != nil {
		return err
	}
	if s.readers, err = sql.Open("sqlite", dsn(path, "", append(pragmas, "query_only(1)"))); err != nil {
		return err
	}
	s.readers.SetMaxOpenConns(4)
	s.readers.SetMaxIdleConns(4)
	if err := s.readers.PingContext(ctx); err != nil {
		return err
	}
	s.writer = newWriter(conn, s.closed, &s.watchers, o.NoGroupCommit)
	return nil
}

// dsn is the driver's name for a file: any character may stand in the path.
func dsn(path, mode string, pragmas []string) string {
	q := url.Values{"_pragma": pragmas}
	if mode != "" {
		q.Set("mode", mode)
	}
	return (&url.URL{Scheme: "file", Path: filepath.ToSlash(path), RawQuery: q.Encode()}).String()
}

// Close ends the store after what is being written; every later call answers store.ErrClosed.
func (s *Store) Close() error {
	s.closing.Do(func() {
		close(s.closed)
		s.ended.Wait()
		for _, db := range []*sql.DB{s.readers, s.writers} { // the last one closes the WAL
			if err := db.Close(); err != nil && s.err == nil {
				s.err = fmt.Errorf("sqlite: close: %w", explain(err))
			}
		}
	})
	return s.err
}
