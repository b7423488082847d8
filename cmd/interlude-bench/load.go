package main

import (
	"context"
	"errors"
	"runtime"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
)

var errEnough = errors.New("enough")

func load(ctx context.Context, h *host, concurrency int, follow bool, next func() bool) error {
	trips, ctx := errgroup.WithContext(ctx)
	for range concurrency {
		trips.Go(func() error {
			for next() {
				if err := h.trip(ctx, follow); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return trips.Wait()
}

// upTo returns a function that returns true n times, and passes the number of each call to done.
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

func (r *report) roundTrips(ctx context.Context, h *host, o options, p *progress) error {
	h.store.drain()
	if _, err := h.answerer.drain(); err != nil {
		return err
	}
	runtime.GC()
	feed, err := startFeed(ctx, h, o)
	if err != nil {
		return err
	}
	bar := p.start("round trips", o.runs)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	stats, begun, cpu := h.store.Counters(), time.Now(), cpuTime()
	err = load(ctx, h, o.concurrency, o.follow, upTo(o.runs, bar.at))
	took, used := time.Since(begun), cpuTime()-cpu
	written := minus(h.store.Counters(), stats)
	runtime.ReadMemStats(&after)
	bar.end()
	replies, refused := h.answerer.drain()
	if err := errors.Join(err, refused, feed.wait()); err != nil {
		return err
	}
	n := float64(o.runs)
	r.RunsPerS = n / took.Seconds()
	r.ReplyP50, r.ReplyP99 = percentile(replies, 50), percentile(replies, 99)
	r.ClaimP50 = percentile(h.store.drain(), 50)
	r.CommitsPerRun, r.FlushesPerRun = float64(written.Commits)/n, float64(written.Flushes)/n
	r.RowsPerRun, r.BytesPerRun = float64(written.Rows)/n, float64(written.Bytes)/n
	r.AllocsPerRun = float64(after.Mallocs-before.Mallocs) / n
	r.CPUPerRun = used.Seconds() * 1e6 / n
	r.RSS = resident()
	return nil
}
