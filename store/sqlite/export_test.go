package sqlite

import (
	"context"
	"errors"
	"maps"
	"os"
	"slices"

	"github.com/interlude-go/interlude/store"
	"github.com/interlude-go/interlude/store/internal/entry"
)

// The bounds that tests go up to, and beyond, and the place of a row's number in a key.
const (
	SeqBits     = seqBits
	MaxTail     = maxTail
	MaxInline   = maxInline
	CachedRuns  = cachedRuns
	CachedBytes = cachedBytes
)

// Statements are the texts of all statements that the store has executed so far, none being
// executed now.
func (s *Store) Statements() map[string]bool {
	texts := make(map[string]bool)
	note := func(c *conn) {
		for text := range maps.Keys(c.stmts) {
			texts[text] = true
		}
	}
	_ = s.inspectWriter(func(w *writer) error {
		note(w.conn)
		return nil
	})
	for _, conns := range []chan *conn{s.readers, s.listers} {
		for range cap(conns) {
			c := <-conns
			note(c)
			conns <- c
		}
	}
	return texts
}

// Queued is how many calls wait for the writer.
func (s *Store) Queued() int { return s.writer.queue.Len() }

// Hold keeps the writer at work until free is called.
func (s *Store) Hold() (free func()) {
	begun, freed := make(chan struct{}), make(chan struct{})
	go func() {
		_ = s.inspectWriter(func(*writer) error {
			close(begun)
			<-freed
			return nil
		})
	}()
	<-begun
	return func() { close(freed) }
}

// Deny has every write fail as on a read-only file, until allow is called.
func (s *Store) Deny() (allow func() error, _ error) {
	set := func(text string) error {
		return s.inspectWriter(func(w *writer) error {
			_, err := w.exec(text)
			return err
		})
	}
	return func() error { return set("PRAGMA query_only = 0") }, set("PRAGMA query_only = 1")
}

// FailFolderSync has each flush of a folder fail with err, until restore is called.
func FailFolderSync(err error) (restore func()) {
	before := syncFolder
	syncFolder = func(*os.File) error { return err }
	return func() { syncFolder = before }
}

// Cached is how many runs the writer caches, and the bytes of their specs and events.
func (s *Store) Cached() (runs, bytes int) {
	_ = s.inspectWriter(func(w *writer) error {
		for _, r := range w.cache.runs.All() {
			runs++
			bytes += len(r.spec) + cap(r.tail.lines)
		}
		return nil
	})
	return runs, bytes
}

// Describe lists the columns and indexes of the store's file.
func (s *Store) Describe() (lines []string, _ error) {
	err := s.inspectWriter(func(w *writer) (err error) {
		lines, err = w.describe()
		slices.Sort(lines)
		return err
	})
	return lines, err
}

// HoldListings keeps all connections of listings at work until free is called.
func (s *Store) HoldListings() (free func()) {
	var held []*conn
	for range listerCount {
		held = append(held, <-s.listers)
	}
	return func() {
		for _, c := range held {
			s.listers <- c
		}
	}
}

// HashLabel is a label's number in the index.
var HashLabel = hashLabel

// FewRuns is how many runs with a label are looked up one by one.
const FewRuns = fewRuns

// Bounds of the table of changes.
const (
	KeptChanges    = keptChanges
	ChangesBetween = changesBetween
)

// CommitsNeeded is the condition in the triggers that note commits for feeds, and UnneededPart how
// many rows for feeds one transaction deletes.
const (
	CommitsNeeded = commitsNeeded
	UnneededPart  = unneededPart
)

// DeleteUnneededPart makes a single transaction that deletes rows that no feed needs.
func (s *Store) DeleteUnneededPart() (more bool, _ error) {
	err := s.write(context.Background(), 1, func(w *writer) (_ []store.Hint, err error) {
		more, err = w.deleteUnneeded()
		return nil, err
	})
	return more, err
}

// CommitAsEarlier stores a commit as a release without feeds does: it notes nothing.
func (s *Store) CommitAsEarlier(c store.Commit) error {
	e := new(entry.Entry)
	if err := e.Encode(&c); err != nil {
		return err
	}
	return s.write(context.Background(), 1, func(w *writer) ([]store.Hint, error) {
		if err := w.insertNoted(); err != nil {
			return nil, err
		}
		w.cache.feeds = &feedState{}
		refused, err := w.commit(e)
		w.cache.feeds = nil
		return nil, errors.Join(refused, err)
	})
}

// ForgetRecentCommits makes readers of feeds read the events of all commits from the file.
func (s *Store) ForgetRecentCommits() { s.writer.recent.Clear() }

// DeleteAsEarlier deletes a run as a release without feeds prunes it.
func (s *Store) DeleteAsEarlier(id string) error {
	return s.write(context.Background(), 1, func(w *writer) ([]store.Hint, error) {
		r, err := w.one(`SELECT n FROM runs WHERE id = ?`, id)
		if err == nil {
			err = w.deleteRun(r.int(0))
		}
		w.cache.clear()
		return nil, err
	})
}

// RestoredBut is Restored with a call before its transaction is committed.
func RestoredBut(ctx context.Context, path string, before func()) error {
	return changeFile(ctx, path, func(w *writer) error {
		err := w.markRestored()
		before()
		return err
	})
}

// InBatches returns options with which a file of any size is upgraded in batches of so many runs.
// before is called before each batch.
func (o Options) InBatches(rows int64, before func()) Options {
	o.upgrades = upgrades{rows: rows, before: before}
	return o
}

// Fill waits for the end of an upgrade in batches.
func (s *Store) Fill() {
	if s.unfilled.ended != nil {
		<-s.unfilled.ended
	}
}

// Unfilled reports whether an upgrade in batches has not ended, as far as the store knows.
func (s *Store) Unfilled() bool { return s.unfilled.has(1) }
