//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/interlude-go/interlude/proof/checkout"
	"github.com/interlude-go/interlude/store/postgres"
)

// firstRelease is the database of the first release.
const firstRelease = "testdata/releases/v0.0.0-4b62763/postgres.sql"

// parkedText adds so many parked runs that the database is upgraded in batches.
const parkedText = `INSERT INTO interlude.runs (n, id, created_at, labels, spec)
		SELECT 1000 + g, 'parked-' || g, created_at, labels, spec
		FROM interlude.runs, generate_series(1, 100000) g WHERE id = 'waiting';
	INSERT INTO interlude.states (n, id, version, state, pool, key, priority, queued_at, ready, delayed_until, slot,
			owner, epoch, asked_at, deadline, finished_at, record)
		SELECT 1000 + g, 'parked-' || g, version, state, pool, key, priority, queued_at, ready, delayed_until, slot,
			owner, epoch, asked_at, deadline, finished_at, record
		FROM interlude.states, generate_series(1, 100000) g WHERE id = 'waiting'`

// contentText reads a digest of all runs, as every release stores them.
const contentText = `SELECT md5(string_agg(s.id || s.version || s.state || md5(s.record) || md5(r.spec), ',' ORDER BY s.n))
	FROM interlude.states s JOIN interlude.runs r ON r.n = s.n`

// oldDatabase makes a large database of the first release.
func oldDatabase(ctx context.Context, p *servers, primary standing) error {
	root, err := checkout.Root()
	if err != nil {
		return err
	}
	text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(firstRelease)))
	if err != nil {
		return err
	}
	conn, err := pgx.Connect(ctx, p.dsn(primary.port))
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	for _, text := range []string{string(text), parkedText} {
		if _, err := conn.Exec(ctx, text, pgx.QueryExecModeSimpleProtocol); err != nil {
			return err
		}
	}
	return nil
}

// killDuringMigration opens the old database, and kills the primary's machine while its runs are
// upgraded. The process that has opened it must complete that on the promoted server.
func killDuringMigration(ctx context.Context, p *servers, primary standing, promoted func()) error {
	var before, after string
	if err := p.queryFor(ctx, time.Minute, primary.port, &before, contentText); err != nil {
		return err
	}
	st, err := postgres.Open(ctx, p.dsn(p.machines[0].port, p.machines[1].port, p.machines[2].port),
		postgres.Options{Timeout: libraryTimeout})
	if err != nil {
		return err
	}
	defer st.Close()
	if status, err := st.Inspect(ctx); err != nil || !status.Filling {
		return errors.Join(err, fmt.Errorf("the upgrade has ended before the harm: %+v", status))
	}
	if err := killMachine(ctx, p, primary, promoted); err != nil {
		return err
	}
	if err := until(ctx, 4*time.Minute, "the end of the upgrade", func(ctx context.Context) error {
		status, err := st.Inspect(ctx)
		if err == nil && status.Filling {
			err = errors.New("it is in progress")
		}
		return err
	}); err != nil {
		return err
	}
	now, err := p.primary(ctx)
	if err != nil {
		return err
	}
	if err := p.queryFor(ctx, time.Minute, now.port, &after, contentText); err != nil {
		return err
	}
	var missed int
	if err := p.queryFor(ctx, time.Minute, now.port, &missed,
		`SELECT count(*) FROM interlude.states WHERE finished_at IS NULL AND engine IS NULL`); err != nil {
		return err
	}
	if before != after || missed > 0 {
		return fmt.Errorf("the upgrade changed runs (digest %s, now %s), or missed %d", before, after, missed)
	}
	return nil
}
