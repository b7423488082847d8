package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sync/errgroup"

	"github.com/interlude-go/interlude/store/sqlite"
)

// fault is a fault of the disk. Of the calls of its kinds, count calls fail, beginning with number
// first.
type fault struct {
	errno        syscall.Errno
	kinds        []kind
	first, count int
}

func (f fault) String() string {
	name := f.errno.Error()
	if f.errno == short {
		name = "half a write, then " + syscall.ENOSPC.Error()
	}
	return fmt.Sprintf("%s at call %d, %d times", name, f.first, f.count)
}

// injector returns the function disk.inject of a disk with this fault, and the number of calls of
// its kinds so far.
func (f fault) injector() (inject func(call) syscall.Errno, calls *int) {
	calls = new(int)
	return func(c call) syscall.Errno {
		if !slices.Contains(f.kinds, c.kind) {
			return 0
		}
		n := *calls
		*calls++
		if n < f.first || n >= f.first+f.count {
			return 0
		}
		if f.errno == short && n > f.first {
			return syscall.ENOSPC
		}
		return f.errno
	}, calls
}

// The calls that a failing disk and a full disk refuse.
var (
	anyCall = []kind{opOpen, opRead, opWrite, opTruncate, opSync, opSyncFolder, opUnlink, opStat, opMap}
	growing = []kind{opOpen, opWrite, opTruncate}
	writes  = []kind{opWrite}
)

// faultSearch repeats the work of a host, and each time lets another call fail.
type faultSearch struct {
	runs  int
	every int // 7 tries each seventh call
	seed  uint64
}

// faultOutcome is the result of a faultSearch.
type faultOutcome struct {
	Calls              int // calls that can fail, of a host on a disk without faults
	Cases, Hit, Images int
	Said               map[string]int // how often each error was returned to callers
	Wrong              []string
}

// String formats the outcome for people.
func (o *faultOutcome) String() string {
	var out strings.Builder
	fmt.Fprintf(&out, "%d faults of a disk, %d of them came in the way of a host that makes %d calls; %d losses of "+
		"power "+
		"afterwards\n", o.Cases, o.Hit, o.Calls, o.Images)
	for _, text := range slices.Sorted(maps.Keys(o.Said)) {
		fmt.Fprintf(&out, "%6d times: %s\n", o.Said[text], text)
	}
	fmt.Fprintf(&out, "wrong: %d\n", len(o.Wrong))
	list(&out, o.Wrong)
	return out.String()
}

// run tries all faults.
func (s *faultSearch) run(ctx context.Context) (*faultOutcome, error) {
	found := &faultOutcome{Said: make(map[string]int)}
	var cases []fault
	for _, f := range []fault{
		{syscall.EIO, anyCall, 0, 1}, {syscall.EIO, anyCall, 0, 20}, {syscall.ENOSPC, growing, 0, 1},
		{syscall.ENOSPC, growing, 0, 20}, {short, writes, 0, 3}, {syscall.EIO, []kind{opSync}, 0, 2},
	} {
		calls, err := s.count(ctx, f)
		if err != nil {
			return nil, err
		}
		found.Calls = max(found.Calls, calls)
		offset := int(s.seed % uint64(s.every))
		for f.first = offset; f.first < calls; f.first += s.every {
			cases = append(cases, f)
		}
	}
	var mu sync.Mutex
	var trying errgroup.Group
	trying.SetLimit(16) // more than there are processors, because they wait most of the time
	for _, f := range cases {
		trying.Go(func() error {
			r, err := s.try(ctx, f)
			mu.Lock()
			defer mu.Unlock()
			found.Cases++
			found.Images += r.images
			if r.hit {
				found.Hit++
			}
			for _, text := range r.said {
				found.Said[text]++
			}
			if err != nil {
				found.Wrong = append(found.Wrong, fmt.Sprintf("%s: %s", f, firstLine(err)))
			}
			return ctx.Err()
		})
	}
	return found, trying.Wait()
}

// count returns how many calls of the fault's kinds a host makes for the same work on a disk
// without faults.
func (s *faultSearch) count(ctx context.Context, f fault) (int, error) {
	f.first, f.count = 0, 0
	r, err := s.try(ctx, f)
	return r.calls, err
}

type tried struct {
	hit    bool
	calls  int
	images int
	said   []string
}

// try does the work on a disk with the fault. If the store cannot be opened, the host tries again.
// Afterwards try judges the files, both as they are and as a loss of power would have left them.
func (s *faultSearch) try(ctx context.Context, f fault) (r tried, err error) {
	dir, err := os.MkdirTemp("", "interlude-disk-")
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	d := newDisk(dir)
	inject, calls := f.injector()
	d.injectFaults(inject)
	detach, err := attach(d)
	if err != nil {
		return r, err
	}
	defer detach()
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	path := filepath.Join(dir, "runs.db")
	var refused []error
	st, err := sqlite.Open(ctx, path, sqlite.Options{})
	for ; err != nil; st, err = sqlite.Open(ctx, path, sqlite.Options{}) {
		refused = append(refused, err)
		if ctx.Err() != nil || len(refused) > f.count+1 {
			return r, fmt.Errorf("it cannot be opened any more: %w", err)
		}
	}
	d.syncFolder("") // by Open, bypassing SQLite, which ignores a failed flush of the folder
	l := newLedger(d.position)
	w := work{store: st, runs: s.runs, ledger: l, lease: patience, unreadable: true}
	err = w.do(ctx)
	d.injectFaults(nil)
	if err == nil {
		err = errors.Join(judge(ctx, st, &l.book), judgeEnds(ctx, st, s.runs))
	}
	refused = append(refused, w.refused...)
	d.injectFaults(inject)
	if closing := st.Close(); closing != nil {
		refused = append(refused, closing)
	}
	d.injectFaults(nil)
	r.calls, r.hit = *calls, *calls > f.first && f.count > 0
	r.said, err = f.explain(refused, err)
	if err != nil {
		return r, err
	}
	if err := judgeFile(ctx, path, &l.book); err != nil {
		return r, fmt.Errorf("opened again: %w", err)
	}
	if !r.hit {
		return r, nil
	}
	r.images, err = afterwards(ctx, &trace{Ops: d.ops, Book: l.book, Runs: s.runs}, uint64(f.first))
	return r, err
}

// explain returns the errors that callers got while calls failed. It adds those errors to err that
// do not say that the store is out of order.
func (f fault) explain(refused []error, err error) (said []string, _ error) {
	for _, e := range refused {
		text := firstLine(e)
		if !strings.Contains(text, "sqlite: ") && !errors.Is(e, sqlite.ErrCorrupt) {
			err = errors.Join(err, fmt.Errorf("it does not say that the store is out of order: %s", text))
		}
		if reason := strings.LastIndex(text, ": disk "); reason >= 0 {
			text = text[reason+2:]
		} else if reason := strings.Index(text, "database "); reason >= 0 {
			text = text[reason:]
		}
		said = append(said, text)
	}
	return said, err
}

// judgeFile opens a closed file and judges it.
func judgeFile(ctx context.Context, path string, b *book) (err error) {
	st, err := sqlite.Open(ctx, path, sqlite.Options{WatchInterval: -1})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	return errors.Join(judge(ctx, st, b), judgePages(ctx, path))
}

// afterwards judges the files that a loss of power leaves at two points of a trace with a fault.
func afterwards(ctx context.Context, t *trace, seed uint64) (images int, err error) {
	s := search{trace: t, seed: seed}
	random := rand.New(rand.NewPCG(seed, 3))
	at := []int{random.IntN(len(t.Ops) + 1), len(t.Ops)}
	p := newPlatter(t.Ops, seed)
	for i, position := range at {
		p.advance(position)
		l := losses[(int(seed)+i)%len(losses)]
		if err := s.open(ctx, p.image(l), position, false); err != nil {
			return i, fmt.Errorf("after a loss of power at point %d of %d, %s: %w", position, len(t.Ops), l.name, err)
		}
	}
	return len(at), nil
}
