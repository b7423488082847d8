package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/interlude-go/interlude/contract/fcmp"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/store"
)

// fireDeadlines parks n runs that share one deadline, and measures the time from it until the last
// of them has fired. Each then gets an automatic decision and is executed to its end. If the deadline
// comes before all are parked, it parks others, with twice the time.
func (r *report) fireDeadlines(ctx context.Context, h *host, n int, pr *progress) error {
	m, err := newModel(ctx, nil)
	if err != nil {
		return err
	}
	wait := parkingTime(n, r.RunsPerS)
	for try := range 8 {
		late, err := r.fireTogether(ctx, h, m, n, duePrefix+strconv.Itoa(try)+"-", wait, pr)
		if !late || err != nil {
			return err
		}
		wait *= 2
	}
	return fmt.Errorf("the deadlines came before the last run was parked: the machine is too slow for -deadlines %d", n)
}

// fireTogether parks and measures n runs with a deadline after the wait. late: it has come too early, and
// the runs are canceled.
func (r *report) fireTogether(ctx context.Context, h *host, m *model, n int, prefix string, wait time.Duration,
	pr *progress) (late bool, _ error) {
	id := newIDs(prefix)
	due := time.Now().Add(wait)
	b := pr.start("parking runs", n)
	err := m.park(ctx, h.store, n, id, "", due, b) // fails if the host finds the runs due
	b.end()
	b = pr.start("deadlines", n)
	defer b.end()
	var fired, done atomic.Int64
	last := make(chan time.Time, 1)
	all := make(chan struct{})
	defer h.store.Watch(func(hint store.Hint) {
		if !strings.HasPrefix(hint.RunID, prefix) {
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
	if time.Until(due) < time.Millisecond { // a stored deadline is up to a microsecond earlier
		return true, cancelAll(ctx, h, n, id)
	}
	if err != nil {
		return false, err
	}
	select {
	case at := <-last:
		r.DeadlinesPerS = float64(n) / at.Sub(due).Seconds()
	case <-ctx.Done():
		return false, ctx.Err()
	}
	select {
	case <-all:
	case <-ctx.Done():
		return false, ctx.Err()
	}
	return false, checkFiredOnce(ctx, h, n, id)
}

// cancelAll cancels the runs, of which some may not exist.
func cancelAll(ctx context.Context, h *host, n int, id func(int) string) error {
	var ended *lifecycle.TerminalError
	for i := range n {
		err := h.Cancel(ctx, id(i), "parked too late")
		if err != nil && !errors.Is(err, lifecycle.ErrNotFound) && !errors.As(err, &ended) {
			return err
		}
	}
	return nil
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
