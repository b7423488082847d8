package main

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"os"
	"path/filepath"
	"slices"
	"time"

	_ "modernc.org/sqlite" // the driver that store/sqlite uses
)

// probe is the speed of the place without the library.
type probe struct {
	rowsPerS float64 // plain rows, in transactions of probeBatch rows
	flushP50 float64 // one empty durable flush, in milliseconds
}

const (
	probeBatch   = 256
	probeFlushes = 200
)

// probe writes plain rows of this size into a place of the same kind: a map in memory; a table
// without indexes in a SQLite file on the same disk, with the same settings and driver; or a new
// table on the same server.
func (p *place) probe(ctx context.Context, rowBytes int) (result probe, err error) {
	if p.kept != nil {
		return probeMemory(rowBytes, p.o.probeFor), nil
	}
	if p.dsn != "" {
		return p.probePostgres(rowBytes, p.o.probeFor)
	}
	err = p.plainFile(ctx, func(c plain) error {
		result, err = probeSQLite(ctx, c, rowBytes, p.o.probeFor)
		return err
	})
	return result, err
}

// plainFile calls do with a new SQLite file on the place's disk, which has the library's settings.
func (p *place) plainFile(ctx context.Context, do func(plain) error) error {
	dir, err := os.MkdirTemp(filepath.Dir(p.path), "probe")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	db, err := sql.Open("sqlite", "file:"+filepath.ToSlash(filepath.Join(dir, "probe.db"))+
		"?_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)"+
		"&_pragma=wal_autocheckpoint(4000)&_pragma=cache_size(-16384)")
	if err != nil {
		return err
	}
	defer db.Close()
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	return conn.Raw(func(c any) error {
		conn := c.(driver.ConnPrepareContext) //nolint:forcetypeassert // the driver implements it
		made := plain{conn, map[string]driver.StmtExecContext{}}
		defer made.finish()
		return do(made)
	})
}

// plain is a connection of the driver, without database/sql. It prepares each statement once.
type plain struct {
	driver.ConnPrepareContext

	prepared map[string]driver.StmtExecContext
}

// exec returns the number of rows that the statement changed.
func (c plain) exec(text string, args ...any) (int64, error) {
	s := c.prepared[text]
	if s == nil {
		p, err := c.PrepareContext(context.Background(), text)
		if err != nil {
			return 0, err
		}
		s = p.(driver.StmtExecContext) //nolint:forcetypeassert // the driver implements it
		c.prepared[text] = s
	}
	named := make([]driver.NamedValue, len(args))
	for i, v := range args {
		named[i] = driver.NamedValue{Ordinal: i + 1, Value: v}
	}
	changed, err := s.ExecContext(context.Background(), named)
	if err != nil {
		return 0, err
	}
	return changed.RowsAffected()
}

func (c plain) transaction(do func() error) error {
	if _, err := c.exec("BEGIN IMMEDIATE"); err != nil {
		return err
	}
	if err := do(); err != nil {
		return err
	}
	_, err := c.exec("COMMIT")
	return err
}

func (c plain) finish() {
	for _, s := range c.prepared {
		_ = s.(driver.Stmt).Close() //nolint:forcetypeassert // every StmtExecContext of the driver is a Stmt
	}
}

func probeSQLite(ctx context.Context, c plain, rowBytes int, long time.Duration) (result probe, _ error) {
	for _, text := range []string{
		"CREATE TABLE plain (k INTEGER PRIMARY KEY, version INTEGER, state TEXT, owner TEXT, at INTEGER, body BLOB)",
		"CREATE TABLE one (n INTEGER)", "INSERT INTO one VALUES (0)",
	} {
		if _, err := c.exec(text); err != nil {
			return probe{}, err
		}
	}
	flushes := make([]time.Duration, probeFlushes)
	for i := range flushes {
		begun := time.Now()
		if err := c.transaction(func() error {
			_, err := c.exec("UPDATE one SET n = n + 1")
			return err
		}); err != nil {
			return result, err
		}
		flushes[i] = time.Since(begun)
	}
	result.flushP50 = percentile(flushes, 50)

	body := make([]byte, rowBytes)
	rows, begun := int64(0), time.Now()
	for time.Since(begun) < long && ctx.Err() == nil {
		err := c.transaction(func() error {
			for range probeBatch {
				rows++
				if _, err := c.exec("INSERT INTO plain VALUES (?, ?, ?, ?, ?, ?)", rows, rows, "waiting_user",
					"node-0123456789", rows, body); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return result, err
		}
	}
	result.rowsPerS = float64(rows) / time.Since(begun).Seconds()
	return result, ctx.Err()
}

func probeMemory(rowBytes int, long time.Duration) probe {
	body := make([]byte, rowBytes)
	rows, kept, begun := 0, make(map[int][]byte), time.Now()
	for time.Since(begun) < long/3 {
		for range probeBatch {
			rows++
			kept[rows%100000] = slices.Clone(body)
		}
	}
	return probe{rowsPerS: float64(rows) / time.Since(begun).Seconds()}
}
