package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/interlude-go/interlude/store"
	"github.com/interlude-go/interlude/store/memory"
	"github.com/interlude-go/interlude/store/postgres/pglocal"
	"github.com/interlude-go/interlude/store/sqlite"
)

// counted is a store that counts its writes and calls watchers after each commit.
type counted interface {
	store.Store
	store.Watcher
	store.Meter
}

type place struct {
	o    options
	dir  string // a temporary folder; empty for the caller's file
	path string
	kept *memory.Store // the memory store outlives its hosts

	server  *pglocal.Server // nil for the caller's server
	standby *pglocal.Server // nil without one
	dsn     string
	schema  string
	pools   []*pgxpool.Pool // of several nodes
	sent    transactions    // by several nodes
}

func newPlace(ctx context.Context, o options) (*place, error) {
	p := &place{o: o, path: o.db}
	switch {
	case o.store == "memory":
		p.kept = memory.New()
	case o.store == "postgres":
		return p, p.serve(ctx)
	case o.db == "":
		dir, err := os.MkdirTemp("", "interlude-bench-")
		if err != nil {
			return nil, err
		}
		p.dir, p.path = dir, filepath.Join(dir, "runs.db")
	}
	return p, nil
}

func (p *place) open(ctx context.Context) (counted, error) {
	switch {
	case p.kept != nil:
		return lasting{p.kept}, nil
	case p.dsn != "":
		return p.postgres(ctx)
	}
	return sqlite.Open(ctx, p.path, sqlite.Options{NoGroupCommit: !p.o.group})
}

// awaitWriteback waits until the system and a server's vacuum have processed the rows written
// before.
func (p *place) awaitWriteback() {
	if p.dsn != "" {
		p.vacuum()
	}
	flushPages()
}

func (p *place) remove() {
	p.unserve()
	if p.dir != "" {
		_ = os.RemoveAll(p.dir) // the system removes the rest
	}
}

// size returns the bytes of the file and its WAL, or of the server's tables and their indexes.
func (p *place) size() int64 {
	var n int64
	if p.dsn != "" {
		return p.tables()
	}
	for _, suffix := range []string{"", "-wal"} {
		if info, err := os.Stat(p.path + suffix); err == nil {
			n += info.Size()
		}
	}
	return n
}

// lasting is a memory store whose Close does nothing, so that the next host finds its runs.
type lasting struct{ *memory.Store }

func (lasting) Close() error { return nil }

// timed measures the duration of claims that start runs.
type timed struct {
	counted
	mu     sync.Mutex
	claims []time.Duration // guarded by mu
}

func (t *timed) Claim(ctx context.Context, req store.ClaimRequest) ([]store.Claimed, error) {
	begun := time.Now()
	claimed, err := t.counted.Claim(ctx, req)
	if len(claimed) > 0 {
		t.mu.Lock()
		t.claims = append(t.claims, time.Since(begun))
		t.mu.Unlock()
	}
	return claimed, err
}

func (t *timed) Recent(id string) (run store.Run, ok bool) {
	if recent, is := t.counted.(store.RecentReader); is {
		return recent.Recent(id)
	}
	return run, false
}

func (t *timed) drain() []time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	claims := t.claims
	t.claims = nil
	return claims
}

func commit(ctx context.Context, s store.Store, batch []store.Commit) error {
	for i, err := range s.Commit(ctx, batch) {
		if err != nil {
			return errors.Join(fmt.Errorf("run %s", batch[i].Run.ID), err)
		}
	}
	return nil
}
