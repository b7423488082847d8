package sqlite

import (
	"context"
	"fmt"
	"time"

	"github.com/interlude-go/interlude/store"
	"github.com/interlude-go/interlude/store/internal/entry"
)

// Restored marks the events that are stored from now on with a new incarnation (fcmp.Event.ID),
// because a copy of the file was put into its place: events that the copy lacks may have been sent,
// and new ones get their numbers. Restore does the same. Call it before hosts open the file; a host
// that has it open uses the incarnation from its next commit on. A second call does no harm. Earlier
// releases refuse the file afterwards, with ErrNewer.
func Restored(ctx context.Context, path string) error {
	if err := changeFile(ctx, path, func(w *writer) error { return w.markRestored() }); err != nil {
		return fmt.Errorf("sqlite: restored: %w", err)
	}
	return nil
}

// markRestored raises the incarnation: to the time, in microseconds, so that two restores of one
// backup differ. It works in a file of every version.
func (c *conn) markRestored() error {
	r, err := c.one("PRAGMA user_version")
	if err != nil {
		return err
	}
	filling, version := r.int(0)/levelSize&fillingLevel, int(r.int(0)%levelSize)
	if err := c.run(fmt.Sprintf(makeRestored+`INSERT INTO restored (incarnation)
		SELECT max(coalesce(max(incarnation), 0) + 1, %d) FROM restored`, time.Now().UnixMicro())); err != nil {
		return err
	}
	return c.setVersion(ownLevel|filling, version)
}

// makeRestored makes the table of incarnations, which has a row for each restore.
const makeRestored = `CREATE TABLE IF NOT EXISTS restored (
	incarnation INTEGER NOT NULL
);
`

// markFileRestored is markRestored for a file that no host has open.
func markFileRestored(path string) (err error) {
	c, err := dial(path, "", nil)
	if err != nil {
		return err
	}
	defer func() {
		if closing := c.close(); err == nil {
			err = closing
		}
	}()
	if err := c.run("BEGIN IMMEDIATE"); err != nil {
		return err
	}
	if err := c.markRestored(); err != nil {
		return err
	}
	return c.run("COMMIT")
}

// mark marks an entry's events with the incarnation.
func (w *writer) mark(e *entry.Entry) error {
	if w.cache.incarnation == nil {
		r, err := w.one(`SELECT coalesce(max(incarnation), 0) FROM restored`)
		if err != nil {
			return err
		}
		n := uint64(r.int(0))
		w.cache.incarnation = &n
	}
	e.Mark(*w.cache.incarnation)
	return nil
}

// changeFile opens the file, which brings it to this release's schema, and changes it in one transaction.
func changeFile(ctx context.Context, path string, do func(w *writer) error) error {
	s, err := Open(ctx, path, Options{WatchInterval: -1})
	if err != nil {
		return err
	}
	err = s.write(ctx, 1, func(w *writer) ([]store.Hint, error) {
		w.cache.incarnation = nil
		return nil, do(w)
	})
	if closing := s.Close(); err == nil {
		err = closing
	}
	return err
}
