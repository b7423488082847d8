package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"

	"github.com/interlude-go/interlude/store"
	"github.com/interlude-go/interlude/store/postgres"
	"github.com/interlude-go/interlude/store/postgres/pglocal"
	"github.com/interlude-go/interlude/store/sqlite"
)

// database is a database that is unavailable for a while, since its volume is full or another
// process has locked it.
type database struct {
	open func(context.Context) (store.Store, error)
	fail func() error
	heal func() error
	// squeeze uses up the space that the database has reserved for itself.
	squeeze func(context.Context)
	// revive starts the database again if it has not recovered on its own.
	revive func(context.Context) (crashed bool, _ error)
	close  func() error
	clear  []error // errors of which each refusal must match one
}

func newSQLite(v *volume) *database {
	path := filepath.Join(v.dir, "runs.db")
	return &database{
		open:    func(ctx context.Context) (store.Store, error) { return sqlite.Open(ctx, path, sqlite.Options{}) },
		fail:    v.fill,
		heal:    v.free,
		squeeze: func(context.Context) {},
		revive:  func(context.Context) (bool, error) { return false, nil },
		close:   func() error { return nil },
		clear:   []error{sqlite.ErrFull},
	}
}

// newPostgreSQL starts a server with its data and its WAL on the volume.
func newPostgreSQL(ctx context.Context, v *volume) (*database, error) {
	server, err := pglocal.Start(ctx, pglocal.Options{Dir: filepath.Join(v.dir, "server"), Settings: map[string]string{
		"max_wal_size": "32MB", "min_wal_size": "32MB", "shared_buffers": "16MB"}})
	if err != nil {
		return nil, err
	}
	d := &database{
		open: func(ctx context.Context) (store.Store, error) {
			return postgres.Open(ctx, server.DSN(""), postgres.Options{})
		},
		fail:  v.fill,
		heal:  v.free,
		close: server.Stop,
		clear: []error{postgres.ErrFull, postgres.ErrDown, postgres.ErrUnreachable, postgres.ErrReadOnly},
	}
	query := func(ctx context.Context, text string) error {
		conn, err := pgx.Connect(ctx, server.DSN(""))
		if err != nil {
			return err
		}
		_, err = conn.Exec(ctx, text)
		return errors.Join(err, conn.Close(ctx))
	}
	d.squeeze = func(ctx context.Context) {
		for range 4 { // to fill the WAL segments that exist already
			// fails when there is no space left
			_ = query(ctx, "SELECT pg_logical_emit_message(false, 'x', 'x'), pg_switch_wal()")
		}
	}
	d.revive = func(ctx context.Context) (bool, error) {
		for range 20 {
			if query(ctx, "CREATE TEMPORARY TABLE there AS SELECT 1") == nil {
				return false, nil
			}
			time.Sleep(100 * time.Millisecond)
		}
		return true, errors.Join(server.Kill(), server.Resume(ctx))
	}
	return d, nil
}

// fillVolume lets the volume of a database become full.
func fillVolume(ctx context.Context, name string, runs int, full, lease time.Duration) (o *fullOutcome, err error) {
	megabytes := 8
	if name == onPostgreSQL {
		megabytes = 128
	}
	v, err := newVolume(megabytes)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, v.close()) }()
	d := newSQLite(v)
	if name == onPostgreSQL {
		if d, err = newPostgreSQL(ctx, v); err != nil {
			return nil, err
		}
	}
	defer func() { err = errors.Join(err, d.close()) }()
	o, err = endure(ctx, d, runs, full, lease)
	if err != nil {
		return nil, fmt.Errorf("%s on a full volume: %w", name, err)
	}
	o.Database = name + " on a full volume"
	return o, nil
}

// endure lets a host do its work while the database gets out of order, stays so for the given time,
// and is well again.
func endure(ctx context.Context, d *database, runs int, out, lease time.Duration) (o *fullOutcome, err error) {
	st, err := d.open(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	l := newLedger(func() int { return 0 })
	w := work{store: st, runs: runs, ledger: l, lease: lease, halt: runs + 10, resume: make(chan struct{}),
		over: make(chan struct{})}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var host errgroup.Group
	host.Go(func() error { return w.do(ctx) })
	o = new(fullOutcome)
	err = func() error {
		for l.commits() < w.halt {
			time.Sleep(time.Millisecond)
			if ctx.Err() != nil {
				return ctx.Err()
			}
		}
		if err := d.fail(); err != nil {
			return err
		}
		close(w.resume)
		d.squeeze(ctx)
		time.Sleep(out)
		if err := d.heal(); err != nil {
			return err
		}
		var err error
		o.Crashed, err = d.revive(ctx)
		close(w.over)
		return err
	}()
	if err != nil {
		cancel()
	}
	if err = errors.Join(err, host.Wait()); err != nil {
		return nil, err
	}
	o.Refused = len(w.refused)
	for _, e := range w.refused {
		if !slices.ContainsFunc(d.clear, func(c error) bool { return errors.Is(e, c) }) {
			o.Unclear = append(o.Unclear, e)
		}
	}
	if err := errors.Join(judge(ctx, st, &l.book), judgeEnds(ctx, st, runs)); err != nil {
		return nil, fmt.Errorf("after %d refusals: %w", o.Refused, err)
	}
	return o, nil
}
