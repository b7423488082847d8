package main

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/interlude-go/interlude/contract/fcmp"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/store"
)

// fireDeadlines parks n runs that share one deadline, and measures the time from it until the last
// of them has fired. Each then gets an automatic decision and is executed to its end.
func (r *report) fireDeadlines(ctx context.Context, h *host, n int, pr *progress) error {
	m, err := newModel(ctx, nil)
	if err != nil {
		return err
	}
	id := newIDs(duePrefix)
	due := time.Now().Add(parkingTime(n, r.RunsPerS))
	b := pr.start("parking runs", n)
	err = m.park(ctx, h.store, n, id, "", due, b)
	b.end()
	if err != nil {
		return err
	}
	if late := time.Since(due); late > 0 {
		return fmt.Errorf("the deadlines came %s before the last run was parked: the machine is too slow for "+
			"-deadlines %d", late, n)
	}
	b = pr.start("deadlines", n)
	defer b.end()
	var fired, done atomic.Int64
	last := make(chan time.Time, 1)
	all := make(chan struct{})
	defer h.store.Watch(func(hint store.Hint) {
		if !strings.HasPrefix(hint.RunID, duePrefix) {
			return
		}
		switch {
		case hint.State == fsm.StateQueued:
			if i := fired.Add(1); i == int64(n) {
				last <- time.Now()
			} else {
				b.at(int(i))
			}
		case hint.State.Terminal() && done.Add(1) == int64(n):
			close(all)
		}
	})()
	select {
	case at := <-last:
		r.DeadlinesPerS = float64(n) / at.Sub(due).Seconds()
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case <-all:
	case <-ctx.Done():
		return ctx.Err()
	}
	return checkFiredOnce(ctx, h, n, id)
}

// parkingTime is several times the time to park n runs. Parking takes two commits, a round trip
// six; without group commit each waits for a separate flush.
func parkingTime(n int, roundTripsPerS float64) time.Duration {
	each := 300 * time.Microsecond
	if roundTripsPerS > 0 {
		each = max(each, time.Duration(float64(time.Second)/roundTripsPerS))
	}
	return 2*time.Second + time.Duration(n)*each
}

func checkFiredOnce(ctx context.Context, h *host, n int, id func(int) string) error {
	for i := range n {
		run, history, err := store.ReadHistory(ctx, h.store, id(i))
		if err != nil {
			return err
		}
		if run.State != fsm.StateSucceeded || run.AutoDecisions != 1 || len(history) != 1 {
			return fmt.Errorf("run %s is %s after %d automatic decisions and %d settled questions", run.ID, run.State,
				run.AutoDecisions, len(history))
		}
		decided := 0
		for e, err := range h.Events(ctx, run.ID, 0) {
			if err != nil {
				return err
			}
			if e.Type == fcmp.TypeAutoDecided {
				decided++
			}
		}
		if decided != 1 {
			return fmt.Errorf("run %s has events of %d automatic decisions, want 1", run.ID, decided)
		}
	}
	return nil
}
