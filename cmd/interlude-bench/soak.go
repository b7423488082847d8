package main

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// soaked has the results of a soak: one sample for each tenth of its time.
type soaked struct {
	For              string    `json:"for"`
	RunsPerS         float64   `json:"runs_per_s"`
	HeapMB           []float64 `json:"heap_mb"` // live, after a collection
	RSSMB            []float64 `json:"rss_mb"`
	FileMB           []float64 `json:"file_mb"`
	Pruned           int       `json:"pruned"`
	GoroutinesBefore int       `json:"goroutines_before"`
	GoroutinesAfter  int       `json:"goroutines_after"`
}

const keepFor = 20 * time.Second

// soak makes round trips at half the measured speed, and prunes runs that ended some time ago.
func (r *report) soak(ctx context.Context, p *place, h *host, o options, pr *progress) error {
	rate := r.RunsPerS / 2
	s := &soaked{For: o.soak.String(), GoroutinesBefore: runtime.NumGoroutine()}
	b := pr.start("soak, seconds", int(o.soak.Seconds()))
	defer b.end()
	begun := time.Now()
	group, ctx := errgroup.WithContext(ctx)
	ctx, enough := context.WithTimeoutCause(ctx, o.soak, errEnough)
	defer enough()
	pace := &pace{begun: begun, perS: rate}
	group.Go(func() error {
		err := load(context.WithoutCancel(ctx), h, o.concurrency, o.follow, func() bool { return pace.wait(ctx) })
		_, refused := h.answerer.drain()
		return errors.Join(err, refused)
	})
	group.Go(func() error { return h.pruneOften(ctx, s) })
	group.Go(func() error {
		tick := time.NewTicker(o.soak/10 - time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				s.sampleUse(p)
				h.store.drain() // so that the measurements do not grow the heap
				if _, err := h.answerer.drain(); err != nil {
					return err
				}
				b.at(int(time.Since(begun).Seconds()))
			case <-ctx.Done():
				return nil
			}
		}
	})
	if err := group.Wait(); err != nil && !errors.Is(err, errEnough) {
		return err
	}
	s.RunsPerS = float64(pace.begunTrips) / time.Since(begun).Seconds()
	s.GoroutinesAfter = settledGoroutines(s.GoroutinesBefore)
	r.Soak = s
	return nil
}

func (s *soaked) sampleUse(p *place) {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	const mb = 1 << 20
	s.HeapMB = append(s.HeapMB, float64(m.HeapAlloc)/mb)
	s.RSSMB = append(s.RSSMB, resident())
	s.FileMB = append(s.FileMB, float64(p.size())/mb)
}

// pruneOften deletes, every second, the runs that ended more than keepFor ago.
func (h *host) pruneOften(ctx context.Context, s *soaked) error {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case now := <-tick.C:
			n, err := h.Prune(context.WithoutCancel(ctx), now.Add(-keepFor))
			s.Pruned += n
			if err != nil {
				return err
			}
		case <-ctx.Done():
			return nil
		}
	}
}

// settledGoroutines waits up to a minute until at most want goroutines are left, and returns their number.
func settledGoroutines(want int) int {
	for range 6000 {
		if runtime.NumGoroutine() <= want {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	return runtime.NumGoroutine()
}

type pace struct {
	begun time.Time
	perS  float64

	mu         sync.Mutex // guards the fields below
	next       int
	begunTrips int
}

// wait returns true when the next trip is due, and false when ctx has ended.
func (p *pace) wait(ctx context.Context) bool {
	p.mu.Lock()
	at := p.begun.Add(time.Duration(float64(p.next) / p.perS * float64(time.Second)))
	p.next++
	p.mu.Unlock()
	t := time.NewTimer(time.Until(at))
	defer t.Stop()
	select {
	case <-t.C:
		if ctx.Err() != nil {
			return false
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		p.begunTrips++
		return true
	case <-ctx.Done():
		return false
	}
}
