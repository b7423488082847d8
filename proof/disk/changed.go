package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/interlude-go/interlude/store"
	"github.com/interlude-go/interlude/store/sqlite"
)

// notice says at which step an inspection notices that a byte of the file was changed without the
// store.
type notice string

// The steps are in the order in which an inspection takes them.
const (
	byOpen    notice = "refused by Open"
	byPages   notice = "found by SQLite's check of its pages"
	byReading notice = "found when the runs are read"
	byChecker notice = "found by the checker of the contract"
	unused    notice = "of no consequence: everything reads as before"
	unnoticed notice = "not found: something reads otherwise"
)

var notices = []notice{byOpen, byPages, byReading, byChecker, unused, unnoticed}

// changed makes the given number of copies of a closed file, changes one random byte of each, and
// inspects each copy.
func changed(ctx context.Context, t *trace, times int, seed uint64) (map[notice]int, error) {
	ctx, cancel := context.WithTimeout(ctx, patience) // an inspection that never ends is a finding, too
	defer cancel()
	whole := t.whole(seed)
	before, found, err := inspect(ctx, whole, nil)
	if err != nil || found != unused {
		return nil, fmt.Errorf("the file as it is: %s: %w", found, orNothing(err))
	}
	random := rand.New(rand.NewPCG(seed, 4))
	counts := make(map[notice]int)
	var mu sync.Mutex
	var inspecting errgroup.Group
	inspecting.SetLimit(4)
	for range times {
		body := []byte(string(whole["runs.db"]))
		body[random.IntN(len(body))] ^= byte(1 + random.IntN(255))
		inspecting.Go(func() error {
			_, found, err := inspect(ctx, map[string][]byte{"runs.db": body}, before)
			mu.Lock()
			defer mu.Unlock()
			counts[found]++
			return err
		})
	}
	return counts, inspecting.Wait()
}

// whole returns the closed file at the end of the trace.
func (t *trace) whole(seed uint64) map[string][]byte {
	p := newPlatter(t.Ops, seed)
	p.advance(len(t.Ops))
	return p.image(loss{keeps: all})
}

// inspect acts like an operator: it opens the file, has SQLite check it, reads all runs and checks
// their logs. It returns everything that it read, after a comparison with the file before the
// change.
func inspect(ctx context.Context, image map[string][]byte, before []byte) (all []byte, _ notice, err error) {
	dir, err := os.MkdirTemp("", "interlude-disk-")
	if err != nil {
		return nil, "", err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if err := write(dir, image); err != nil {
		return nil, "", err
	}
	path := filepath.Join(dir, "runs.db")
	st, err := sqlite.Open(ctx, path, sqlite.Options{WatchInterval: -1})
	if err != nil {
		return nil, byOpen, nil //nolint:nilerr // that is what was asked
	}
	defer func() { _ = st.Close() }() // closing a damaged file may fail
	if judgePages(ctx, path) != nil {
		return nil, byPages, nil
	}
	if all, err = dump(ctx, st); err != nil {
		return nil, byReading, ctx.Err() // otherwise the error is the expected result
	}
	if judge(ctx, st, new(book)) != nil {
		return nil, byChecker, ctx.Err()
	}
	if before != nil && string(all) != string(before) {
		return nil, unnoticed, nil
	}
	return all, unused, nil
}

// dump returns everything that the store has about its runs.
func dump(ctx context.Context, s store.Store) ([]byte, error) {
	var out strings.Builder
	encode := json.NewEncoder(&out)
	err := eachRun(ctx, s, func(r *store.Run) error {
		spec, err := s.Spec(ctx, r.ID)
		if err != nil {
			return err
		}
		run, records, err := store.ReadHistory(ctx, s, r.ID)
		if err != nil {
			return err
		}
		events, err := s.Events(ctx, r.ID, 0, int(r.Seq)+1)
		if err != nil {
			return err
		}
		return encode.Encode([]any{r, run, records, spec, events})
	})
	return []byte(out.String()), err
}
