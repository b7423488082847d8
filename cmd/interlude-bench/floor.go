package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"
)

// change is a guarded write of one row. If from is 0, it creates the row with version 1. Otherwise
// it replaces the row and increments its version, but only if the version is from.
type change struct {
	key, from int64
	done      chan<- error // has room for the result
}

// guarded writes changes in one durable transaction. It fails unless every row had its version.
type guarded func(ctx context.Context, changes []change) error

const (
	floorCommits = 6 // of a round trip
	floorBatch   = 1024
)

// floor makes the six writes of each round trip without the library, and returns the round trips
// per second. A record of rowBytes bytes is written each time, and the callers wait for each write.
// With a group commit, a transaction has all changes that arrived during the previous transaction,
// as in the library's stores.
func (p *place) floor(ctx context.Context, rowBytes int) (runsPerS float64, err error) {
	err = p.bare(ctx, make([]byte, rowBytes), func(write guarded) error {
		begun := time.Now()
		err := writeRuns(ctx, write, p.o)
		runsPerS = float64(p.o.runs) / time.Since(begun).Seconds()
		return err
	})
	return runsPerS, err
}

// bare calls do with a function that writes body into a new table of the place.
func (p *place) bare(ctx context.Context, body []byte, do func(guarded) error) error {
	if p.dsn == "" {
		return p.plainFile(ctx, func(c plain) error {
			if _, err := c.exec("CREATE TABLE floor (k INTEGER PRIMARY KEY, version INTEGER, body BLOB)"); err != nil {
				return err
			}
			return do(func(_ context.Context, changes []change) error { return writeSQLite(c, changes, body) })
		})
	}
	return p.connected(func(ctx context.Context, c *pgx.Conn) error {
		// Half-full pages have room for the next version of a row, so that no index changes.
		_, err := c.Exec(ctx, `DROP TABLE IF EXISTS interlude_floor;
			CREATE TABLE interlude_floor (k bigint PRIMARY KEY, version bigint, body bytea) WITH (fillfactor = 50)`)
		if err != nil {
			return err
		}
		err = do(func(ctx context.Context, changes []change) error { return writePostgres(ctx, c, changes, body) })
		_, dropped := c.Exec(context.WithoutCancel(ctx), `DROP TABLE interlude_floor`)
		return errors.Join(err, dropped)
	})
}

// writeRuns makes the writes of o.runs round trips, of o.concurrency callers.
func writeRuns(ctx context.Context, write guarded, o options) error {
	group, ctx := errgroup.WithContext(ctx)
	arrived := make(chan change, o.concurrency) // never full: a caller has one change at a time
	var callers sync.WaitGroup
	var last atomic.Int64
	for range o.concurrency {
		callers.Go(func() {
			done := make(chan error, 1)
			for key := last.Add(1); key <= int64(o.runs); key = last.Add(1) {
				for from := range int64(floorCommits) {
					arrived <- change{key: key, from: from, done: done}
					if <-done != nil {
						return // the writer returns the error
					}
				}
			}
		})
	}
	group.Go(func() error { callers.Wait(); close(arrived); return nil })
	group.Go(func() (failed error) {
		limit := floorBatch
		if !o.group {
			limit = 1
		}
		batch := make([]change, 0, limit)
		for c := range arrived {
			batch = append(batch[:0], c)
			for more := true; more && len(batch) < limit; {
				select {
				case c, open := <-arrived:
					if more = open; open {
						batch = append(batch, c)
					}
				default:
					more = false
				}
			}
			if failed == nil {
				failed = write(ctx, batch)
			}
			for _, c := range batch {
				c.done <- failed
			}
		}
		return failed
	})
	return group.Wait()
}

func writeSQLite(c plain, changes []change, body []byte) error {
	return c.transaction(func() error {
		for _, change := range changes {
			text, args := "UPDATE floor SET version = version + 1, body = ? WHERE k = ? AND version = ?",
				[]any{body, change.key, change.from}
			if change.from == 0 {
				text, args = "INSERT INTO floor (body, k, version) VALUES (?, ?, 1)", args[:2]
			}
			if n, err := c.exec(text, args...); err != nil {
				return err
			} else if n != 1 {
				return fmt.Errorf("row %d has not version %d", change.key, change.from)
			}
		}
		return nil
	})
}

// writePostgres sends one statement, which is a transaction.
func writePostgres(ctx context.Context, c *pgx.Conn, changes []change, body []byte) error {
	keys, versions, bodies := make([]int64, len(changes)), make([]int64, len(changes)), make([][]byte, len(changes))
	for i, change := range changes {
		keys[i], versions[i], bodies[i] = change.key, change.from, body
	}
	var written int
	err := c.QueryRow(ctx, `WITH change AS MATERIALIZED
			(SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bytea[]) AS c (k, version, body)),
		made AS (INSERT INTO interlude_floor SELECT k, 1, body FROM change WHERE version = 0 RETURNING k),
		replaced AS (UPDATE interlude_floor f SET version = f.version + 1, body = c.body FROM change c
			WHERE f.k = c.k AND f.version = c.version RETURNING f.k)
		SELECT (SELECT count(*) FROM made) + (SELECT count(*) FROM replaced)`, keys, versions, bodies).Scan(&written)
	if err == nil && written != len(changes) {
		err = fmt.Errorf("%d of %d rows had their version", written, len(changes))
	}
	return err
}
