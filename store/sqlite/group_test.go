package sqlite_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/slots"
	"github.com/interlude-go/interlude/store"
	"github.com/interlude-go/interlude/store/sqlite"
)

// openMade opens a file with the run "kept" in it.
func openMade(t *testing.T, o sqlite.Options) (s *sqlite.Store, path string) {
	t.Helper()
	path = closedFile(t)
	s, err := sqlite.Open(t.Context(), path, o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s, path
}

// enqueue starts a commit in a separate call, and returns when it waits for the writer, as the
// n-th.
func enqueue(ctx context.Context, t *testing.T, s *sqlite.Store, n int, batch ...store.Commit) <-chan []error {
	t.Helper()
	done := make(chan []error, 1)
	go func() { done <- s.Commit(ctx, batch) }()
	require.Eventually(t, func() bool { return s.Queued() == n }, time.Minute, time.Millisecond)
	return done
}

// transactions counts those in the write-ahead log: the last frame of each says how many pages the
// database then has.
func transactions(t *testing.T, path string) (n int) {
	t.Helper()
	log, err := os.ReadFile(path + "-wal")
	if os.IsNotExist(err) {
		return 0
	}
	require.NoError(t, err)
	const head, frame = 32, 24 + 4096
	for at := head; at+frame <= len(log); at += frame {
		if binary.BigEndian.Uint32(log[at+4:]) != 0 {
			n++
		}
	}
	return n
}

// F8: commits that arrive while the writer is busy share its next transaction; each entry still
// succeeds or fails by itself.
func TestWaitingCommitsShareTransaction(t *testing.T) {
	for name, c := range map[string]struct {
		options      sqlite.Options
		transactions int
	}{
		"group commit":   {quiet, 1},
		"each by itself": {sqlite.Options{WatchInterval: -1, NoGroupCommit: true}, 40},
	} {
		t.Run(name, func(t *testing.T) {
			s, path := openMade(t, c.options)
			require.NoError(t, setPools(t, s)) // begins the WAL, which is then marked
			before := transactions(t, path)
			free := s.Hold()
			calls := make([]<-chan []error, 40)
			for i := range calls {
				calls[i] = enqueue(t.Context(), t, s, i+1, newRun(fmt.Sprintf("r%d", i), 10), newRun("kept", 10))
			}
			free()
			for _, call := range calls {
				errs := <-call
				require.NoError(t, errs[0])
				require.ErrorIs(t, errs[1], store.ErrExists, "refused beside entries that are stored")
			}
			require.Equal(t, c.transactions, transactions(t, path)-before)
			page, err := s.Runs(t.Context(), store.Query{})
			require.NoError(t, err)
			require.Len(t, page.Runs, 41)
		})
	}
}

// F8: a call that is refused changes nothing for the calls whose transaction it shares.
func TestARefusalFailsOnlyItsCall(t *testing.T) {
	s, path := openMade(t, quiet)
	ctx, p := t.Context(), slots.Pool{Name: "p", Capacity: 1}
	node, feed := store.Node{ID: "n", Lease: time.Hour}, store.Feed{Name: "f", MaxLag: time.Hour}
	require.NoError(t, errors.Join(setPools(t, s), s.SetPool(ctx, p), s.Join(ctx, node, time.Now()),
		s.CreateFeed(ctx, feed)))
	lease, _, err := s.LeaseFeed(ctx, "f", time.Hour, time.Now())
	require.NoError(t, err)
	stale := lease
	stale.Epoch++
	refused := map[string]func() error{
		"ChangePool":         func() error { return s.ChangePool(ctx, slots.Pool{Name: "p", Capacity: 99999}, p) },
		"ChangePool creates": func() error { return s.ChangePool(ctx, slots.Pool{}, p) },
		"Join":               func() error { return s.Join(ctx, node, time.Now()) },
		"Renew": func() error {
			_, err := s.Renew(ctx, "nobody", time.Now())
			return err
		},
		"CreateFeed": func() error { return s.CreateFeed(ctx, feed) },
		"DeleteFeed": func() error { return s.DeleteFeed(ctx, "missing") },
		"AckFeed":    func() error { return s.AckFeed(ctx, stale, stale.Cursor, time.Now()) },
		"Claim": func() error {
			_, err := s.Claim(ctx, store.ClaimRequest{Node: "nobody", Max: 1, Now: time.Now(), Hinted: true,
				Start: func(store.Run, []byte) (store.Commit, error) { return store.Commit{}, nil }})
			return err
		},
		"Commit": func() error { return s.Commit(ctx, []store.Commit{newRun("kept", 10)})[0] },
	}
	before := transactions(t, path)
	free := s.Hold()
	results := map[string]<-chan error{}
	for name, call := range refused {
		done := make(chan error, 1)
		go func() { done <- call() }()
		results[name] = done
		require.Eventually(t, func() bool { return s.Queued() == len(results) }, time.Minute, time.Millisecond, name)
	}
	stored := enqueue(ctx, t, s, len(refused)+1, newRun("stored", 10))
	free()
	for name, done := range results {
		require.Error(t, <-done, name)
	}
	require.NoError(t, (<-stored)[0])
	require.Equal(t, 1, transactions(t, path)-before)
}

// E5: a commit whose caller gave up before the writer started it is not stored.
func TestWithdrawnCommitIsNotStored(t *testing.T) {
	s, _ := openMade(t, quiet)
	free := s.Hold()
	ctx, giveUp := context.WithCancel(t.Context())
	first := enqueue(ctx, t, s, 1, newRun("first", 10))
	second := enqueue(t.Context(), t, s, 2, newRun("second", 10))
	giveUp()
	require.ErrorIs(t, (<-first)[0], context.Canceled)
	free()
	require.NoError(t, (<-second)[0])
	_, err := s.Run(t.Context(), "first")
	require.ErrorIs(t, err, store.ErrNotFound)
}

// F8: when a transaction fails, as on a disk that became read-only, each entry of each call in it
// returns the reason and none is stored. Stored data stays readable, and later commits work again
// once they can be written.
func TestFailedTransactionFailsAllItsCommits(t *testing.T) {
	s, _ := openMade(t, quiet)
	allow, err := s.Deny()
	require.NoError(t, err)
	free := s.Hold()
	first := enqueue(t.Context(), t, s, 1, newRun("a", 10), newRun("b", 10))
	second := enqueue(t.Context(), t, s, 2, newRun("c", 10))
	free()
	for _, err := range append(<-first, <-second...) {
		require.ErrorIs(t, err, sqlite.ErrReadOnly)
	}
	page, err := s.Runs(t.Context(), store.Query{})
	require.NoError(t, err)
	require.Len(t, page.Runs, 1)
	require.NoError(t, allow())
	put(t, s, newRun("a", 10), newRun("b", 10), newRun("c", 10))
}
