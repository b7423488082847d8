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

// fault is what is wrong with a disk for some calls: those of its kinds from number first on, as
// many as count.
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

// ask returns the function of a disk that has the fault, and a count of the calls that it decides
// about.
func (f fault) ask() (ask func(call) syscall.Errno, calls *int) {
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

// What a failing disk and a full one refuse. The flush of the folder is not among them: SQLite goes
// on when it fails, since there are systems that have none, and so the name of a new WAL could be
// lost with the power where a file system does not keep it with the file's own flush.
var (
	anyCall = []kind{opOpen, opRead, opWrite, opTruncate, opSync, opUnlink, opStat, opMap}
	growing = []kind{opOpen, opWrite, opTruncate}
	writes  = []kind{opWrite}
)

// faultSearch has each call of a host fail in turn.
type faultSearch struct {
	runs  int
	every int // tries each so many calls
	seed  uint64
}

// faultOutcome is what it found.
type faultOutcome struct {
	Calls              int // that can fail, of a host on a disk without faults
	Cases, Hit, Images int
	Said               map[string]int // what callers were told meanwhile, by the reason
	Wrong              []string
}

// String is the outcome for people.
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

// run tries the faults.
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
	trying.SetLimit(16) // they wait most of the time
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

// count is how many calls of these kinds a host makes for the work on a disk without faults.
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

// try does the work on a disk with the fault. A host whose store cannot be opened is started again.
// What is left is judged as it is, and as a loss of power would have left it.
func (s *faultSearch) try(ctx context.Context, f fault) (r tried, err error) {
	dir, err := os.MkdirTemp("", "interlude-disk-")
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	d := newDisk(dir)
	ask, calls := f.ask()
	d.disturb(ask)
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
	l := newLedger(d.position)
	w := work{store: st, runs: s.runs, ledger: l, lease: patience, unreadable: true}
	err = w.do(ctx)
	d.disturb(nil)
	if err == nil {
		err = errors.Join(judge(ctx, st, &l.book), judgeEnds(ctx, st, s.runs))
	}
	refused = append(refused, w.refused...)
	d.disturb(ask)
	if closing := st.Close(); closing != nil {
		refused = append(refused, closing)
	}
	d.disturb(nil)
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

// explain returns what was said while the disk was out of order, and adds to err what was not said
// clearly.
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

// judgeFile judges a file that nobody has open.
func judgeFile(ctx context.Context, path string, b *book) (err error) {
	st, err := sqlite.Open(ctx, path, sqlite.Options{WatchInterval: -1})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	return errors.Join(judge(ctx, st, b), judgePages(ctx, path))
}

// afterwards judges what a loss of power leaves at some points of a trace with a fault.
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
