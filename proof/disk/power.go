package main

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/gob"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/interlude-go/interlude/proof/cast"
	"github.com/interlude-go/interlude/store/sqlite"
)

// trace records a host's work: the system calls for its files, and the store's acknowledgements.
type trace struct {
	Ops  []op
	Book book
	Runs int
}

// process is another process of this program, which records a trace and writes it to its standard
// output, or which locks a file until its standard input ends.
type process struct {
	Runs  int
	Level sqlite.Synchronous
	Lock  string // the file
}

func (p process) serve(ctx context.Context) error {
	if p.Lock != "" {
		return lock(ctx, p.Lock)
	}
	t, err := record(ctx, p.Runs, p.Level)
	if err != nil {
		return err
	}
	return gob.NewEncoder(os.Stdout).Encode(t)
}

// recorded starts another process that records a trace. Because this process has ended afterwards,
// like one on a machine without power, its runs can be recovered at once.
func recorded(ctx context.Context, runs int, level sqlite.Synchronous) (t *trace, err error) {
	var out bytes.Buffer
	other, err := cast.StartHost(ctx, process{Runs: runs, Level: level}, cast.HostOptions{Stdout: &out})
	if err != nil {
		return nil, err
	}
	if err := other.Err(); err != nil {
		return nil, err
	}
	return t, gob.NewDecoder(&out).Decode(&t)
}

// record records the work of two hosts, one after the other: the file is closed and opened again
// between them.
func record(ctx context.Context, runs int, level sqlite.Synchronous) (_ *trace, err error) {
	dir, err := os.MkdirTemp("", "interlude-disk-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	d := newDisk(dir)
	detach, err := attach(d)
	if err != nil {
		return nil, err
	}
	defer detach()
	l := newLedger(d.position)
	for _, n := range []int{runs / 2, runs} {
		if err := live(ctx, filepath.Join(dir, "runs.db"), level, n, l); err != nil {
			return nil, err
		}
	}
	return &trace{Ops: d.ops, Book: l.book, Runs: runs}, nil
}

// live executes one host. Concurrently it makes checkpoints, so that the WAL restarts. By default a
// host makes a checkpoint only after each 16 MB.
func live(ctx context.Context, path string, level sqlite.Synchronous, runs int, l *ledger) (err error) {
	s, err := sqlite.Open(ctx, path, sqlite.Options{Synchronous: level})
	if err != nil {
		return err
	}
	db, err := sql.Open("sqlite", path+"?_pragma=busy_timeout(10000)&_pragma=synchronous("+string(level)+")")
	if err != nil {
		return err
	}
	checkpointing, stop := context.WithCancel(ctx)
	var beside errgroup.Group
	beside.Go(func() error {
		for checkpointing.Err() == nil {
			if _, err := db.ExecContext(ctx, "PRAGMA wal_checkpoint(PASSIVE)"); err != nil {
				return err
			}
			time.Sleep(20 * time.Millisecond)
		}
		return nil
	})
	w := work{store: s, runs: runs, ledger: l, lease: patience, repeatable: true}
	err = w.do(ctx)
	stop()
	return errors.Join(err, beside.Wait(), db.Close(), s.Close(), errors.Join(w.refused...))
}

// search looks for points at which a loss of power does harm.
type search struct {
	trace  *trace
	points int
	// settle: at each settle-th point a host continues with the files, until all runs have ended.
	settle int
	seed   uint64
	deaf   string // the flushes of this file have no effect
}

// outcome is the result of a search.
type outcome struct {
	Calls, Writes, Flushes int // system calls in the trace
	Acknowledged           int // commits in the ledger
	Longest                int // the largest number of calls that no flush had covered at a point

	Points, Settled int
	Lost            int // points at which something acknowledged is missing
	Damaged         int // points at which the store cannot be opened or used, or breaks the contract
	Wrong           []string
}

// String formats the outcome for people.
func (o *outcome) String() string {
	var out strings.Builder
	fmt.Fprintf(&out, "%d system calls (%d writes, %d flushes), %d acknowledged commits\n", o.Calls, o.Writes,
		o.Flushes,
		o.Acknowledged)
	fmt.Fprintf(&out, "%d losses of power, at most %d calls not flushed; a host went on after %d of them\n", o.Points,
		o.Longest, o.Settled)
	fmt.Fprintf(&out, "acknowledged and lost: %d; damaged: %d\n", o.Lost, o.Damaged)
	list(&out, o.Wrong)
	return out.String()
}

// list writes the first findings.
func list(out *strings.Builder, wrong []string) {
	for i, w := range wrong {
		if i == 10 {
			fmt.Fprintf(out, "… and %d more\n", len(wrong)-i)
			break
		}
		fmt.Fprintf(out, "WRONG: %s\n", w)
	}
}

// run opens the files after a power failure at each point. The points are spread over the trace.
// The seed determines them, and the losses.
func (s *search) run(ctx context.Context) (*outcome, error) {
	found := s.describe()
	random := rand.New(rand.NewPCG(s.seed, 2))
	at := make([]int, s.points)
	for i := range at {
		at[i] = random.IntN(len(s.trace.Ops) + 1)
	}
	slices.Sort(at)
	p := newPlatter(s.trace.Ops, s.seed)
	p.deaf = s.deaf
	var mu sync.Mutex
	var opening errgroup.Group
	opening.SetLimit(4)
	for i, position := range at {
		p.advance(position)
		found.Longest = max(found.Longest, len(p.pending))
		l := losses[i%len(losses)]
		image, settle := p.image(l), s.settle > 0 && i%s.settle == 0
		opening.Go(func() error {
			err := s.open(ctx, image, position, settle)
			mu.Lock()
			defer mu.Unlock()
			found.Points++
			if settle {
				found.Settled++
			}
			if err == nil {
				return nil
			}
			if errors.Is(err, errLost) {
				found.Lost++
			} else {
				found.Damaged++
			}
			found.Wrong = append(found.Wrong, fmt.Sprintf("point %d, %s: %s", position, l.name, firstLine(err)))
			return ctx.Err()
		})
	}
	return found, opening.Wait()
}

func (s *search) describe() *outcome {
	found := &outcome{Calls: len(s.trace.Ops), Acknowledged: len(s.trace.Book.Commits)}
	for i := range s.trace.Ops {
		switch s.trace.Ops[i].Kind {
		case opWrite:
			found.Writes++
		case opSync, opSyncFolder:
			found.Flushes++
		}
	}
	return found
}

func firstLine(err error) string {
	line, _, more := strings.Cut(err.Error(), "\n")
	if more {
		line += " …"
	}
	return line
}

// open opens an image, and judges it.
func (s *search) open(ctx context.Context, image map[string][]byte, position int, settle bool) (err error) {
	dir, err := os.MkdirTemp("", "interlude-disk-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if err := write(dir, image); err != nil {
		return err
	}
	path := filepath.Join(dir, "runs.db")
	st, err := sqlite.Open(ctx, path, sqlite.Options{WatchInterval: -1})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	known := s.trace.Book.until(position)
	if err := errors.Join(judge(ctx, st, known), judgePages(ctx, path)); err != nil || !settle {
		return err
	}
	l := newLedger(func() int { return 0 })
	l.book = *known
	w := work{store: st, runs: s.trace.Runs, ledger: l, lease: patience, repeatable: true}
	within, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if err := w.do(within); err != nil {
		return fmt.Errorf("a host cannot go on with it: %w", err)
	}
	return errors.Join(judge(ctx, st, &l.book), judgeEnds(ctx, st, s.trace.Runs))
}
