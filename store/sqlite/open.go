package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/interlude-go/interlude/store"
)

// Synchronous is the durability of an acknowledged commit.
type Synchronous string

const (
	// Full: on the disk; it survives a power failure. The default.
	Full Synchronous = "FULL"
	// Normal: with the operating system; it survives the process, but a power failure may undo the
	// last commits.
	Normal Synchronous = "NORMAL"
)

// Options configure Open. Hosts should use the zero value.
type Options struct {
	// NoMigrate neither changes the schema nor creates a file: an older version is ErrOlder, a
	// missing file fs.ErrNotExist. For programs that inspect hosts' data.
	NoMigrate bool
	// Synchronous is Full when empty.
	Synchronous Synchronous
	// BusyTimeout limits a commit's wait for another process; 10 s if zero.
	BusyTimeout time.Duration
	// WatchInterval is the polling interval for other processes' commits while there are watchers;
	// 100 ms if zero, never if negative.
	WatchInterval time.Duration
	// NoGroupCommit gives each commit, of Commit and of Claim, a separate transaction. For
	// measurements.
	NoGroupCommit bool
	// CacheKiB is the page cache of each connection; 16 MiB when zero.
	CacheKiB int
	// FileMode is the mode of a new file and its companion files (FILE-wal, FILE-shm), whatever the
	// umask: 0600 if zero, since runs hold people's text. Use 0660 to share the file with a group,
	// in a folder that the group may write. An existing file keeps its mode.
	FileMode fs.FileMode
	// MaxPages limits the file's size, for tests of a full disk; 0: no limit.
	MaxPages int

	upgrades upgrades
}

// Store keeps runs in a SQLite file. Use Open. Package store describes the methods of its
// interfaces: Store, Watcher, Meter, RecentReader and Local.
type Store struct {
	path     string     // absolute
	readers  chan *conn // free connections for reads
	listers  chan *conn // free connections for listings
	writer   *writer
	present  *present
	watchers store.Watchers
	unfilled unfilled

	registered bool // as a watcher; for pollChanges, and for Close after its return

	closing sync.Once
	closed  chan struct{}
	ended   sync.WaitGroup // the writer and the poll for changes
	err     error          // of closing
}

var (
	_ store.Store        = (*Store)(nil)
	_ store.Watcher      = (*Store)(nil)
	_ store.Meter        = (*Store)(nil)
	_ store.RecentReader = (*Store)(nil)
	_ store.Local        = (*Store)(nil)
)

// Open opens or creates the file and migrates it to this version's schema. Its folder must exist,
// or the error matches fs.ErrNotExist: a mistyped path would look like the loss of all runs.
// SQLite's special names (":memory:", "file:…") are store.ErrInvalid. The error matches ErrReadOnly
// if the file or its folder is not writable, and ErrNotDatabase, ErrForeign, ErrNewer, ErrInUse,
// ErrSchema, ErrForeignWAL or ErrCorrupt for a refused file, which is not changed. Close the store
// when done.
func Open(ctx context.Context, path string, o Options) (*Store, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	if path == "" || path == ":memory:" || strings.HasPrefix(path, "file:") {
		return nil, fmt.Errorf("sqlite: open %q: %w: want the path of a file; for runs that need not be kept there "+
			"is the store memory", path, store.ErrInvalid)
	}
	path, err = filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("sqlite: %w", err)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := inspect(path, o); err != nil {
		return nil, fmt.Errorf("sqlite: open %s: %w", path, err)
	}
	s := &Store{path: path, closed: make(chan struct{}), readers: make(chan *conn, readerCount),
		listers: make(chan *conn, listerCount)}
	err = s.open(path, o)
	if err == nil && o.Synchronous == Full {
		err = flushNames(path)
	}
	if err != nil {
		s.closeConns()
		return nil, fmt.Errorf("sqlite: open %s: %w", path, unwritable(path, explain(err)))
	}
	s.ended.Go(s.writer.run)
	if !o.NoMigrate && s.unfilled.has(1) {
		s.unfilled.ended = make(chan struct{})
		s.ended.Go(func() { s.fillInBatches(o.upgrades) })
	}
	if o.WatchInterval > 0 {
		s.ended.Go(func() { s.pollChanges(o.WatchInterval) })
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
	if o.upgrades.rows == 0 {
		o.upgrades.size, o.upgrades.rows = onlineSize, fillRows
	}
	if o.FileMode == 0 {
		o.FileMode = 0o600
	}
	if o.FileMode&^0o666 != 0 || o.FileMode&0o600 != 0o600 {
		return o, fmt.Errorf("%w: options: FileMode is %#o, want 0600 to 0666: its user reads and writes it, nobody "+
			"executes it", store.ErrInvalid, uint32(o.FileMode))
	}
	if o.Synchronous != Full && o.Synchronous != Normal || o.BusyTimeout < 0 || o.CacheKiB < 0 || o.MaxPages < 0 {
		return o, fmt.Errorf("%w: options: Synchronous is %q (want FULL or NORMAL), BusyTimeout %s, CacheKiB %d, "+
			"MaxPages %d (want 0 or more)",
			store.ErrInvalid, o.Synchronous, o.BusyTimeout, o.CacheKiB, o.MaxPages)
	}
	return o, nil
}

func (s *Store) open(path string, o Options) error {
	pragmas := []string{
		fmt.Sprintf("busy_timeout(%d)", o.BusyTimeout.Milliseconds()),
		"journal_mode(WAL)",
		"synchronous(" + string(o.Synchronous) + ")",
		fmt.Sprintf("cache_size(-%d)", o.CacheKiB),
		"temp_store(MEMORY)",
		fmt.Sprintf("wal_autocheckpoint(%d)", walPages), // fewer than with the default 1000, for a WAL of some 16 MB
	}
	if o.MaxPages > 0 {
		pragmas = append(pragmas, fmt.Sprintf("max_page_count(%d)", o.MaxPages))
	}
	h, err := readHandle(path) // before SQLite locks the file
	if err != nil {
		return err
	}
	defer h.Close() //nolint:errcheck // walWatch has its own
	c, err := dialFirst(path, pragmas, o.BusyTimeout)
	if err != nil {
		return err
	}
	s.writer = newWriter(c, &s.watchers, !o.NoGroupCommit)
	if err := migrate(c, o.NoMigrate, o.upgrades.size); err != nil {
		return err
	}
	if err := s.unfilled.load(c); err != nil {
		return err
	}
	s.writer.unfilled = &s.unfilled
	if s.present, err = newPresent(path); err != nil {
		return err
	}
	s.writer.present = s.present
	if s.writer.wal, err = watchWAL(path, o.Synchronous == Full); err != nil {
		return err
	}
	if err := c.settleMark(s.writer.wal.db); err != nil {
		return err
	}
	for _, conns := range []chan *conn{s.readers, s.listers} {
		for range cap(conns) {
			c, err := dial(path, "", append(pragmas, "query_only(1)"))
			if err != nil {
				return err
			}
			conns <- c
		}
	}
	return nil
}

// dialFirst dials, and retries while another process creates the same file. If two processes
// change the journal mode at the same time, SQLite rejects one immediately, despite busy_timeout.
func dialFirst(path string, pragmas []string, patience time.Duration) (*conn, error) {
	for until := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		c, err := dial(path, "", pragmas)
		if err == nil || !errors.Is(explain(err), ErrBusy) || time.Now().After(until) {
			return c, err
		}
	}
}

// leaveWatchers unregisters a closing store. If another process has the write lock, the
// registration stays until it expires.
func (s *Store) leaveWatchers() {
	if !s.registered || s.present.check() != nil {
		return
	}
	if s.writer.conn.run("PRAGMA busy_timeout = 0") == nil {
		_, _ = s.writer.unregisterWatcher()
	}
}

// closeConns closes the connections, the writer's last, since the last one closes the WAL.
func (s *Store) closeConns() {
	for _, conns := range []chan *conn{s.readers, s.listers} {
		for len(conns) > 0 {
			s.keepErr((<-conns).close())
		}
	}
	if s.writer != nil {
		s.keepErr(s.writer.close())
		if s.writer.wal != nil {
			s.keepErr(s.writer.wal.close())
		}
	}
}

func (s *Store) keepErr(err error) {
	if err != nil && s.err == nil {
		s.err = fmt.Errorf("sqlite: close: %w", explain(err))
	}
}

// dsn returns the driver's name for a file: the path may contain any character.
func dsn(path, mode string, pragmas []string) string {
	q := url.Values{"_pragma": pragmas}
	if mode != "" {
		q.Set("mode", mode)
	}
	return (&url.URL{Scheme: "file", Path: filepath.ToSlash(path), RawQuery: q.Encode()}).String()
}

// Close closes the store after the current writes and reads; every later call returns
// store.ErrClosed.
func (s *Store) Close() error {
	s.closing.Do(func() {
		close(s.closed)
		s.writer.queue.Close()
		s.ended.Wait()
		s.leaveWatchers()
		for _, conns := range []chan *conn{s.readers, s.listers} {
			for range cap(conns) { // those in use come back
				s.keepErr((<-conns).close())
			}
		}
		s.closeConns()
	})
	return s.err
}
