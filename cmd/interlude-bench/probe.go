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
func (p *place) probe(ctx context.Context, rowBytes int) (probe, error) {
	if p.kept != nil {
		return probeMemory(rowBytes, p.o.probeFor), nil
	}
	if p.dsn != "" {
		return p.probePostgres(rowBytes, p.o.probeFor)
	}
	dir, err := os.MkdirTemp(filepath.Dir(p.path), "probe")
	if err != nil {
		return probe{}, err
	}
	defer os.RemoveAll(dir)
	db, err := sql.Open("sqlite", "file:"+filepath.ToSlash(filepath.Join(dir, "probe.db"))+
		"?_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)"+
		"&_pragma=wal_autocheckpoint(4000)&_pragma=cache_size(-16384)")
	if err != nil {
		return probe{}, err
	}
	defer db.Close()
	conn, err := db.Conn(ctx)
	if err != nil {
		return probe{}, err
	}
	defer conn.Close()
	for _, text := range []string{
		"CREATE TABLE plain (k INTEGER PRIMARY KEY, version INTEGER, state TEXT, owner TEXT, at INTEGER, body BLOB)",
		"CREATE TABLE one (n INTEGER)", "INSERT INTO one VALUES (0)",
	} {
		if _, err := conn.ExecContext(ctx, text); err != nil {
			return probe{}, err
		}
	}
	var result probe
	err = conn.Raw(func(c any) error {
		preparer := c.(driver.ConnPrepareContext) //nolint:forcetypeassert // the driver implements it
		result, err = probeSQLite(ctx, preparer, rowBytes, p.o.probeFor)
		return err
	})
	return result, err
}

func probeSQLite(ctx context.Context, c driver.ConnPrepareContext, rowBytes int, long time.Duration) (result probe,
	_ error) {
	prepared := map[string]driver.StmtExecContext{}
	exec := func(text string, args ...driver.Value) error {
		s := prepared[text]
		if s == nil {
			p, err := c.PrepareContext(ctx, text)
			if err != nil {
				return err
			}
			s = p.(driver.StmtExecContext) //nolint:forcetypeassert // the driver implements it
			prepared[text] = s
		}
		named := make([]driver.NamedValue, len(args))
		for i, v := range args {
			named[i] = driver.NamedValue{Ordinal: i + 1, Value: v}
		}
		_, err := s.ExecContext(context.Background(), named)
		return err
	}
	transaction := func(do func() error) error {
		if err := exec("BEGIN IMMEDIATE"); err != nil {
			return err
		}
		if err := do(); err != nil {
			return err
		}
		return exec("COMMIT")
	}
	flushes := make([]time.Duration, probeFlushes)
	for i := range flushes {
		begun := time.Now()
		if err := transaction(func() error { return exec("UPDATE one SET n = n + 1") }); err != nil {
			return result, err
		}
		flushes[i] = time.Since(begun)
	}
	result.flushP50 = percentile(flushes, 50)

	body := make([]byte, rowBytes)
	rows, begun := int64(0), time.Now()
	for time.Since(begun) < long && ctx.Err() == nil {
		err := transaction(func() error {
			for range probeBatch {
				rows++
				if err := exec("INSERT INTO plain VALUES (?, ?, ?, ?, ?, ?)", rows, rows, "waiting_user",
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
	for _, s := range prepared {
		_ = s.(driver.Stmt).Close() //nolint:forcetypeassert // every StmtExecContext of the driver is a Stmt
	}
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
