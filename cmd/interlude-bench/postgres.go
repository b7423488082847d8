package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/interlude-go/interlude/store/postgres"
	"github.com/interlude-go/interlude/store/postgres/pglocal"
)

// serve starts a private server unless the caller named one.
func (p *place) serve(ctx context.Context) error {
	p.dsn, p.schema = p.o.dsn, "interlude_bench_"+rand.Text()
	if p.dsn != "" {
		return nil
	}
	server, err := pglocal.Start(ctx, pglocal.Options{Settings: serverFor(p.o.nodes)})
	if err != nil {
		return err
	}
	p.server, p.dsn = server, server.DSN("")
	if p.o.standby == 0 {
		return nil
	}
	if err := p.replicate(ctx); err != nil {
		p.unserve()
		return err
	}
	return nil
}

// replicate starts a standby. Every commit waits until the standby has applied it, which it does
// after the delay.
func (p *place) replicate(ctx context.Context) (err error) {
	settings := maps.Clone(serverFor(p.o.nodes))
	settings["recovery_min_apply_delay"] = fmt.Sprint(p.o.standby.Milliseconds())
	if p.standby, err = p.server.Standby(ctx, pglocal.Options{Settings: settings}); err != nil {
		return err
	}
	return p.connected(func(ctx context.Context, c *pgx.Conn) error {
		for _, text := range []string{`ALTER SYSTEM SET synchronous_standby_names = '*'`,
			`ALTER SYSTEM SET synchronous_commit = 'remote_apply'`, `SELECT pg_reload_conf()`} {
			if _, err := c.Exec(ctx, text); err != nil {
				return err
			}
		}
		for synchronous := false; !synchronous; {
			err := c.QueryRow(ctx, `SELECT pg_sleep(0.01) IS NOT NULL
				AND EXISTS (SELECT FROM pg_stat_replication WHERE sync_state = 'sync')`).Scan(&synchronous)
			if err != nil {
				return err
			}
		}
		return nil
	})
}

var serverSettings = map[string]string{"shared_buffers": "512MB", "max_wal_size": "4GB"}

func (p *place) postgres(ctx context.Context) (*postgres.Store, error) {
	if p.o.nodes > 0 {
		return p.openNode(ctx)
	}
	return postgres.Open(ctx, p.dsn, postgres.Options{Schema: p.schema, NoGroupCommit: !p.o.group})
}

func (p *place) unserve() {
	switch {
	case p.server != nil:
		if p.standby != nil {
			_ = p.standby.Stop()
		}
		_ = p.server.Stop() // their data are temporary
	case p.dsn != "":
		// The schema's name is random and so not shared.
		_ = p.exec("DROP SCHEMA IF EXISTS " + pgx.Identifier{p.schema}.Sanitize() + " CASCADE")
	}
}

// vacuum does the work of the server's autovacuum now. Errors are ignored: a user without the right
// has to wait.
func (p *place) vacuum() {
	for _, table := range []string{"states", "runs", "events", "settled"} {
		_ = p.exec("VACUUM (ANALYZE) " + pgx.Identifier{p.schema, table}.Sanitize())
	}
	_ = p.exec("CHECKPOINT")
}

func (p *place) exec(text string) error {
	return p.connected(func(ctx context.Context, c *pgx.Conn) error {
		_, err := c.Exec(ctx, text)
		return err
	})
}

func (p *place) connected(do func(context.Context, *pgx.Conn) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	c, err := pgx.Connect(ctx, p.dsn)
	if err != nil {
		return err
	}
	return errors.Join(do(ctx, c), c.Close(ctx))
}

// tables returns the bytes of the schema's tables and their indexes, or 0 if the server does not
// respond.
func (p *place) tables() (n int64) {
	_ = p.connected(func(ctx context.Context, c *pgx.Conn) error {
		return c.QueryRow(ctx,
			`SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint FROM pg_class c
				JOIN pg_namespace s ON s.oid = c.relnamespace
			WHERE s.nspname = $1 AND c.relkind = 'r'`, p.schema).Scan(&n)
	})
	return n
}

// probePostgres writes plain rows, one statement for each, in pipelined transactions of probeBatch
// rows.
func (p *place) probePostgres(rowBytes int, long time.Duration) (result probe, _ error) {
	err := p.connected(func(ctx context.Context, c *pgx.Conn) error {
		_, err := c.Exec(ctx, `DROP TABLE IF EXISTS interlude_probe;
			CREATE TABLE interlude_probe (k bigint PRIMARY KEY, version bigint, state text, owner text, at bigint,
				body bytea);
			INSERT INTO interlude_probe VALUES (-1, 0)`)
		if err != nil {
			return err
		}
		flushes := make([]time.Duration, probeFlushes)
		for i := range flushes {
			begun := time.Now()
			if _, err := c.Exec(ctx, `UPDATE interlude_probe SET version = version + 1 WHERE k = -1`); err != nil {
				return err
			}
			flushes[i] = time.Since(begun)
		}
		result.flushP50 = percentile(flushes, 50)
		body := make([]byte, rowBytes)
		rows, begun := int64(0), time.Now()
		for time.Since(begun) < long {
			b := &pgx.Batch{}
			b.Queue("BEGIN")
			for range probeBatch {
				rows++
				b.Queue(`INSERT INTO interlude_probe VALUES ($1, $2, $3, $4, $5, $6)`, rows, rows, "waiting_user",
					"node-0123456789", rows, body)
			}
			b.Queue("COMMIT")
			if err := c.SendBatch(ctx, b).Close(); err != nil {
				return err
			}
		}
		result.rowsPerS = float64(rows) / time.Since(begun).Seconds()
		_, err = c.Exec(ctx, `DROP TABLE interlude_probe`)
		return err
	})
	return result, err
}
