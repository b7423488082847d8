package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/interlude-go/interlude/proof/cast"
	"github.com/interlude-go/interlude/store"
	"github.com/interlude-go/interlude/store/sqlite"
)

// lock holds a file's lock until ctx ends.
func lock(ctx context.Context, path string) (err error) {
	db, err := sql.Open("sqlite", path+"?_txlock=immediate&_pragma=busy_timeout(10000)")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	tx, err := db.BeginTx(context.WithoutCancel(ctx), nil)
	if err != nil {
		return err
	}
	fmt.Println("locked")
	<-ctx.Done()
	return tx.Rollback()
}

// lockOut lets another process hold the write lock of a SQLite file.
func lockOut(ctx context.Context, runs int, locked, lease time.Duration) (o *fullOutcome, err error) {
	dir, err := os.MkdirTemp("", "interlude-locked-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	path := filepath.Join(dir, "runs.db")
	var holder *cast.Host
	o, err = endure(ctx, &database{
		open: func(ctx context.Context) (store.Store, error) {
			return sqlite.Open(ctx, path, sqlite.Options{BusyTimeout: 200 * time.Millisecond})
		},
		fail: func() (err error) {
			holder, err = cast.StartHost(ctx, process{Lock: path}, cast.HostOptions{Says: func(string) {}})
			return err
		},
		heal:    func() error { return errors.Join(holder.Release(), holder.Err()) },
		squeeze: func(context.Context) {},
		revive:  func(context.Context) (bool, error) { return false, nil },
		clear:   []error{sqlite.ErrBusy},
	}, runs, locked, lease)
	if err != nil {
		return nil, fmt.Errorf("SQLite, locked by another process: %w", err)
	}
	o.Database = "SQLite, locked by another process"
	return o, nil
}
