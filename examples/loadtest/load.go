package main

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
)

// errEnough ends a soak.
var errEnough = errors.New("enough")

// load makes round trips until next says that there is none, so many at one time, and returns the time that each reply took.
func load(ctx context.Context, h *host, concurrency int, next func() bool) ([]time.Duration, error) {
	var mu sync.Mutex
	var replies []time.Duration
	trips, ctx := errgroup.WithContext(ctx)
	for range concurrency {
		trips.Go(func() error {
			var mine []time.Duration
			for next() {
				d, err := h.trip(ctx)
				if err != nil {
					return err
				}
				mine = append(mine, d)
			}
			mu.Lock()
			defer mu.Unlock()
			replies = append(replies, mine...)
			return nil
		})
	}
	return replies, trips.Wait()
}

// upTo says n times that there is a next trip, and moves the bar.
func upTo(n int, done func(int)) func() bool {
	var begun atomic.Int64
	return func() bool {
		i := int(begun.Add(1))
		if i > n {
			return false
		}
		done(i)
		return true
	}
}

// roundTrips is the main measurement.
func (r *report) roundTrips(ctx context.Context, h *host, runs, concurrency int, p *progress) error {
	h.store.take()
	runtime.GC()
	bar := p.start("round trips", runs)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	stats, begun := h.store.Stats(), time.Now()
	replies, err := load(ctx, h, concurrency, upTo(runs, bar.at))
	took := time.Since(begun)
	written := minus(h.store.Stats(), stats)
	runtime.ReadMemStats(&after)
	bar.end()
	if err != nil {
		return err
	}
	n := float64(runs)
	r.RunsPerS = n / took.Seconds()
	r.ReplyP50, r.ReplyP99 = percentile(replies, 50), percentile(replies, 99)
	r.ClaimP50 = percentile(h.store.take(), 50)
	r.CommitsPerRun, r.FlushesPerRun = float64(written.Commits)/n, float64(written.Flushes)/n
	r.RowsPerRun, r.BytesPerRun = float64(written.Rows)/n, float64(written.Bytes)/n
	r.AllocsPerRun = float64(after.Mallocs-before.Mallocs) / n
	r.RSS = resident()
	return r.verify(ctx, h)
}
