package lifecycletest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/store"
)

var feeds = []testCase{
	{"K8/a feed's reader dies at each of its calls, and nothing is skipped", inWorld(func(w *world) {
		w.readersDie("feed-0", feedFault{call: "leave", outcome: "lost", nth: 2})
		n := 0
		for _, call := range []string{"lease", "read", "ack", "release"} {
			for _, outcome := range []string{"before", "after", "lost"} {
				for nth := 1; nth <= 2; nth++ {
					n++
					w.readersDie(fmt.Sprintf("feed-%d", n), feedFault{call: call, outcome: outcome, nth: nth})
				}
			}
		}
	})},
}

// feedFault is the fault at the nth call of its kind: the reader's process ends before or after the
// store has executed it, or continues without the answer. The call "leave" is not a store call:
// from then on the reader acknowledges nothing, and later ends in order.
type feedFault struct {
	call, outcome string
	nth           int
}

var errFeedFault = errors.New("lifecycletest: the reader's process has ended, or the answer is lost")

// dying is the store of a reader's process with the fault. Leases are released immediately, since a
// bubble's clock is not a server's.
type dying struct {
	store.Store
	fault feedFault
	end   func()

	mu    sync.Mutex
	calls map[string]int // guarded by mu
	hit   bool           // guarded by mu
	gone  bool           // guarded by mu
}

func (d *dying) arrive(call string) (outcome string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.gone {
		return "before"
	}
	if d.calls[call]++; call != d.fault.call || d.calls[call] != d.fault.nth {
		return ""
	}
	d.hit, d.gone = true, d.fault.outcome != "lost"
	return d.fault.outcome
}

func (d *dying) do(call string, do func() error) error {
	outcome := d.arrive(call)
	var err error
	if outcome != "before" {
		err = do()
	}
	if outcome == "" {
		return err
	}
	if outcome != "lost" {
		d.end()
	}
	return errFeedFault
}

// LeaseFeed implements store.FeedStore.
func (d *dying) LeaseFeed(ctx context.Context, name string, _ time.Duration, now time.Time) (l store.FeedLease,
	free bool, _ error,
) {
	err := d.do("lease", func() (err error) {
		l, free, err = d.Store.LeaseFeed(ctx, name, time.Microsecond, now)
		return err
	})
	return l, free && err == nil, err
}

// ReadFeed implements store.FeedStore.
func (d *dying) ReadFeed(ctx context.Context, l store.FeedLease, after store.FeedPosition, limit int) (
	page store.FeedPage, _ error,
) {
	err := d.do("read", func() (err error) {
		page, err = d.Store.ReadFeed(ctx, l, after, limit)
		return err
	})
	return page, err
}

// AckFeed implements store.FeedStore.
func (d *dying) AckFeed(ctx context.Context, l store.FeedLease, to store.FeedPosition, now time.Time) error {
	return d.do("ack", func() error { return d.Store.AckFeed(ctx, l, to, now) })
}

// ReleaseFeed implements store.FeedStore.
func (d *dying) ReleaseFeed(ctx context.Context, l store.FeedLease) error {
	return d.do("release", func() error { return d.Store.ReleaseFeed(ctx, l) })
}

// readersDie lets runs ask and continue while one process after another reads the feed. The fault
// hits the first to reach it; their calls are counted together. Together they must see each event,
// and each reader a run's events in order, starting no later than after the last one that may have
// been acknowledged.
func (w *world) readersDie(name string, fault feedFault) {
	w.Helper()
	w.feedCalls = make(map[string]int)
	created, err := w.CreateFeed(w.ctx, name, lifecycle.DefaultFeedLag)
	require.NoError(w, err)
	require.True(w, created)
	seen := make(map[string]uint64)  // the last event of each run that any reader has got
	acked := make(map[string]uint64) // possibly acknowledged
	var runs []string
	hit := false
	for round := range 4 {
		for i, run := range runs { // its two questions are answered in the next rounds, the second first
			if id := 3 - (round - i); id > 0 {
				_, err := w.Reply(w.ctx, run, interaction.Reply{ID: id, Text: "yes"})
				require.NoError(w, err)
			}
		}
		id := fmt.Sprintf("%s-%d", name, round)
		w.agent.Plan(id, asksAll(interaction.Rule{}, "One?", "Two?"), completes("ok"))
		w.submit(id)
		runs = append(runs, id)
		if !hit {
			hit = w.readFeed(name, fault, runs, seen, acked)
		}
	}
	require.True(w, hit, "%+v was not reached", fault)
	w.readFeed(name, feedFault{}, runs, seen, acked)
	for _, run := range runs {
		require.Equal(w, uint64(len(w.log(run))), seen[run], "%+v: run %s", fault, run)
	}
	require.NoError(w, w.DeleteFeed(w.ctx, name))
}

// readFeed lets a process read the feed until it has the last event of each run, or has died.
func (w *world) readFeed(name string, fault feedFault, runs []string, seen, acked map[string]uint64) (
	hit bool,
) {
	w.Helper()
	missing := make(map[string]uint64)
	for _, run := range runs {
		if n := uint64(len(w.log(run))); n > seen[run] {
			missing[run] = n
		}
	}
	ctx, cancel := context.WithCancel(w.ctx)
	defer cancel()
	d := &dying{Store: w.store, fault: fault, end: cancel, calls: w.feedCalls}
	c, err := lifecycle.NewClient(lifecycle.ClientConfig{Store: d, Logger: w.cfg.Logger})
	require.NoError(w, err)
	defer c.Close()
	got := make(map[string]uint64)
	for e, err := range c.Feed(ctx, name, lifecycle.FeedFilter{}) {
		if err != nil {
			break // its fault
		}
		if got[e.RunID] == 0 {
			require.LessOrEqual(w, e.Seq, acked[e.RunID]+1, "%+v: run %s is skipped", fault, e.RunID)
		} else {
			require.Equal(w, got[e.RunID]+1, e.Seq, "%+v: run %s is out of order", fault, e.RunID)
		}
		got[e.RunID] = e.Seq
		seen[e.RunID] = max(seen[e.RunID], e.Seq)
		if seen[e.RunID] == missing[e.RunID] {
			delete(missing, e.RunID)
		}
		if e.More && e.Seq%3 != 0 { // sometimes in the middle of a batch
			continue
		}
		if d.arrive("leave"); d.hit && fault.call == "leave" {
			if !e.More {
				time.AfterFunc(time.Minute, cancel)
			}
			continue
		}
		err = e.Ack(ctx)
		if err == nil || d.hit && fault.call == "ack" && fault.outcome != "before" {
			maps.Copy(acked, got)
		}
		if err != nil || !e.More && len(missing) == 0 {
			break
		}
	}
	require.True(w, d.hit || len(missing) == 0, "%+v: the reader ended early", fault)
	return d.hit
}
