package main

import (
	"context"
	"fmt"
	"runtime"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/interlude-go/interlude/contract/fcmp"
	"github.com/interlude-go/interlude/store"
)

// messagesPerS is the total number of messages per second for the followers.
const messagesPerS = 1000

// followers starts n live runs whose agents send messages, each with one follower, and measures the
// time until a message reaches it. Each follower must see every event, in order.
func (r *report) followers(ctx context.Context, h *host, o options, pr *progress) error {
	n, total := o.followers, int(o.followFor.Seconds()*messagesPerS)
	b := pr.start("followers", total)
	defer b.end()
	ids, talks := make([]string, n), make([]chan string, n)
	for i := range ids {
		ids[i], talks[i] = fmt.Sprintf("talk-%d-%05d", time.Now().UnixNano(), i), make(chan string, total/n+1)
		h.talks.Store(ids[i], talks[i])
	}
	var mu sync.Mutex
	var delays []time.Duration
	readers, ctx := errgroup.WithContext(ctx)
	for _, id := range ids {
		job := spec()
		job.ID = id
		if _, err := h.Submit(ctx, job); err != nil {
			return err
		}
		readers.Go(func() error {
			mine, err := h.listen(ctx, id)
			mu.Lock()
			defer mu.Unlock()
			delays = append(delays, mine...)
			return err
		})
	}
	begun, said := time.Now(), 0
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for said < total {
		select {
		case now := <-tick.C:
			for ; said < total && float64(said) < now.Sub(begun).Seconds()*messagesPerS; said++ {
				talks[said%n] <- strconv.FormatInt(time.Now().UnixNano(), 10)
			}
			b.at(said)
		case <-ctx.Done():
			return readers.Wait()
		}
	}
	r.FollowersEPS = float64(said) / time.Since(begun).Seconds()
	for _, t := range talks {
		close(t)
	}
	if err := readers.Wait(); err != nil {
		return err
	}
	if len(delays) != total {
		return fmt.Errorf("the followers saw %d of %d messages", len(delays), total)
	}
	r.FollowersP99 = percentile(delays, 99)
	return nil
}

// listen follows one run to its end. It returns each message's age at its arrival.
func (h *host) listen(ctx context.Context, id string) (delays []time.Duration, _ error) {
	next := uint64(1)
	for e, err := range h.Events(ctx, id, 0) {
		if err != nil {
			return nil, err
		}
		if e.Seq != next {
			return nil, fmt.Errorf("run %s: got event %d, want %d", id, e.Seq, next)
		}
		next++
		if e.Type != fcmp.TypeMessageIntermediate {
			continue
		}
		var m fcmp.MessageIntermediate
		if err := e.Decode(&m); err != nil {
			return nil, err
		}
		sent, err := strconv.ParseInt(m.Text, 10, 64)
		if err != nil {
			return nil, err
		}
		delays = append(delays, time.Since(time.Unix(0, sent)))
	}
	return delays, nil
}

// replay reads a run of n events from the first one, and measures the memory use.
func (r *report) replay(ctx context.Context, h *host, n int, pr *progress) error {
	b := pr.start("replay", n)
	defer b.end()
	id, err := h.chatter(ctx, n)
	if err != nil {
		return err
	}
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	before, most, begun := m.HeapAlloc, uint64(0), time.Now()
	next := uint64(1)
	for e, err := range h.Events(ctx, id, 0) {
		if err != nil {
			return err
		}
		if e.Seq != next {
			return fmt.Errorf("got event %d, want %d", e.Seq, next)
		}
		if next++; next%1000 == 0 {
			runtime.ReadMemStats(&m)
			most = max(most, m.HeapAlloc)
			b.at(int(next))
		}
	}
	if int(next) <= n {
		return fmt.Errorf("the replay ended at event %d of %d", next-1, n)
	}
	r.ReplayEPS = float64(next-1) / time.Since(begun).Seconds()
	r.ReplayHeap = max(0, float64(most)-float64(before)) / (1 << 20)
	return nil
}

// chatter writes messages until the run's log has n events, and then cancels the run. It commits
// them in batches; an engine's turn would report each separately.
func (h *host) chatter(ctx context.Context, n int) (string, error) {
	job := spec()
	job.NotBefore = time.Now().Add(24 * time.Hour) // so that no node claims the run
	run, err := h.Submit(ctx, job)
	if err != nil {
		return "", err
	}
	for run.Seq < uint64(n) {
		c := store.Commit{Run: run, Expect: run.Version}
		c.Run.Version++
		for range min(500, n-int(run.Seq)) {
			c.Run.Seq++
			c.Run.LocalSeq++
			body, err := fcmp.Encode(fcmp.Header{
				RunID: run.ID, Seq: c.Run.Seq, TS: run.CreatedAt, Engine: run.Engine, LocalSeq: c.Run.LocalSeq,
			}, &fcmp.MessageIntermediate{
				Text: "Compiling package " + strconv.FormatUint(c.Run.Seq, 10) + " of the release.",
			})
			if err != nil {
				return "", err
			}
			c.Events = append(c.Events, store.Event{Seq: c.Run.Seq, Body: body})
		}
		if err := commit(ctx, h.store, []store.Commit{c}); err != nil {
			return "", err
		}
		run = c.Run
	}
	return run.ID, h.Cancel(ctx, run.ID, "all messages are written")
}
