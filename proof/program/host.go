package program

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/store"
	"github.com/interlude-go/interlude/store/postgres"
	"github.com/interlude-go/interlude/store/sqlite"
)

// This file is for tests that kill hosts. A host is a process of its own: the test's program, which
// is started once more with a configuration in its environment.

// hostVariable has the configuration of a host as JSON. It is not set in the test itself.
const hostVariable = "INTERLUDE_PROOF_HOST"

// ServeHost serves a host until it is killed, if NewHost has made this process, and returns at once
// otherwise. TestMain calls it first.
func ServeHost[C any](serve func(ctx context.Context, config C) error) {
	text, is := os.LookupEnv(hostVariable)
	if !is {
		return
	}
	var config C
	err := json.Unmarshal([]byte(text), &config)
	endIfItHangs("host") // so that a test that was killed leaves no process
	if err == nil {
		err = serve(context.Background(), config)
	}
	fmt.Fprintln(os.Stderr, "host:", err)
	os.Exit(1)
}

// NewHost returns the command that starts a host with this configuration. The host is killed when
// ctx ends.
func NewHost(ctx context.Context, config any) (*exec.Cmd, error) {
	text, err := json.Marshal(config)
	if err != nil {
		return nil, err
	}
	host := exec.CommandContext(ctx, os.Args[0])
	host.Env = append(os.Environ(), hostVariable+"="+string(text))
	host.Stderr, host.WaitDelay = os.Stderr, Patience
	return host, nil
}

// KillHost ends a host by kill -9. The error says that it had ended by itself.
func KillHost(host *exec.Cmd) error {
	err := host.Process.Kill()
	if host.Wait() == nil {
		err = errors.New("the host has ended without an error")
	}
	return err
}

// Patience is how long a process may take to end after it was asked to.
const Patience = time.Minute

// Await returns how a process ended that was asked to end; done receives the result of its Wait. A
// process that does not end within the patience is made to print its goroutines and is killed, and
// the error says so.
func Await(name string, process *os.Process, done <-chan error, patience time.Duration) error {
	for _, signal := range []os.Signal{syscall.SIGQUIT, os.Kill} {
		late, stop := lifecycle.SystemClock{}.Timer(patience)
		defer stop()
		select {
		case err := <-done:
			if signal == os.Kill {
				err = fmt.Errorf("%s had not ended after %s; its output has its goroutines: %w", name, patience, err)
			}
			return err
		case <-late:
			_ = process.Signal(signal) // it may have ended by now
		}
	}
	return fmt.Errorf("%s ended neither when asked nor by SIGQUIT: %w", name, <-done)
}

// OnSQLite reports whether OpenStore takes the name for a SQLite file.
func OnSQLite(name string) bool { return strings.HasSuffix(name, ".db") }

// OpenStore opens a SQLite file, whose name ends with .db, or PostgreSQL by its connection string.
func OpenStore(ctx context.Context, name string) (store.Store, error) {
	return StoreOptions{}.Open(ctx, name)
}

// Store has the methods of both stores that the proofs need.
type Store interface {
	store.Store
	store.Surveyor
}

// StoreOptions are the options of a store, whichever it is.
type StoreOptions struct {
	SQLite   sqlite.Options
	Postgres postgres.Options
}

// Open opens the store with this name, as OpenStore does.
func (o StoreOptions) Open(ctx context.Context, name string) (Store, error) {
	if OnSQLite(name) {
		return sqlite.Open(ctx, name, o.SQLite)
	}
	return postgres.Open(ctx, name, o.Postgres)
}

// Pause gives other processes time to do something. It ends early if ctx does.
func Pause(ctx context.Context, d time.Duration) {
	tick, stop := lifecycle.SystemClock{}.Timer(d)
	defer stop()
	select {
	case <-tick:
	case <-ctx.Done():
	}
}
