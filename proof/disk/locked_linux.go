package main

import (
	"bufio"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/interlude-go/interlude/store"
	"github.com/interlude-go/interlude/store/sqlite"
)

// envLock tells a process which file to lock.
const envLock = "INTERLUDE_DISK_LOCK"

// lockMain is the process that holds a file's lock until its standard input ends.
func lockMain() bool {
	path := os.Getenv(envLock)
	if path == "" {
		return false
	}
	err := func() (err error) {
		db, err := sql.Open("sqlite", path+"?_txlock=immediate&_pragma=busy_timeout(10000)")
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, db.Close()) }()
		tx, err := db.BeginTx(context.Background(), nil)
		if err != nil {
			return err
		}
		fmt.Println("locked")
		_, err = io.Copy(io.Discard, os.Stdin)
		return errors.Join(err, tx.Rollback())
	}()
	if err != nil {
		fmt.Fprintln(os.Stderr, "disk:", err)
		os.Exit(1)
	}
	return true
}

// lockOut lets another process hold the write lock of a SQLite file.
func lockOut(ctx context.Context, runs int, locked, lease time.Duration) (o *fullOutcome, err error) {
	dir, err := os.MkdirTemp("", "interlude-locked-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	path := filepath.Join(dir, "runs.db")
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	holder := exec.CommandContext(ctx, self)
	holder.Env = append(os.Environ(), envLock+"="+path)
	holder.Stderr = os.Stderr
	var release io.Closer
	o, err = endure(ctx, &database{
		open: func(ctx context.Context) (store.Store, error) {
			return sqlite.Open(ctx, path, sqlite.Options{BusyTimeout: 200 * time.Millisecond})
		},
		fail: func() error {
			in, err := holder.StdinPipe()
			if err != nil {
				return err
			}
			release = in
			out, err := holder.StdoutPipe()
			if err != nil {
				return err
			}
			if err := holder.Start(); err != nil {
				return err
			}
			_, err = bufio.NewReader(out).ReadString('\n')
			return err
		},
		heal:    func() error { return errors.Join(release.Close(), holder.Wait()) },
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
