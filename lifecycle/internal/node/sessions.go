package node

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/lifecycle/internal/decide"
	"github.com/interlude-go/interlude/store"
)

// Sessions of parked runs are checked only to inform people early, and to unblock a held run once its
// engine accepts its session again. A refused session fails or holds its run in the next turn anyway.

func (p *Process) checksSessions() bool {
	for _, e := range p.Engines {
		if _, ok := e.(engine.Checker); ok {
			return true
		}
	}
	return false
}

// ServeSessions checks the sessions of runs parked by departed nodes, once for each departure. It
// begins when the channels are closed: after the first claim, so as not to delay it, and after the
// first recovery pass, which finds departed nodes. After each page it pauses at least as long as the
// page took.
func (r *Recoverer) ServeSessions(ctx context.Context, pause time.Duration, after ...<-chan struct{}) error {
	p := r.process
	if !p.checksSessions() {
		return nil
	}
	for _, begun := range after {
		select {
		case <-begun:
		case <-ctx.Done():
			return nil
		}
	}
	defer r.Wait()
	pausePage := func(took time.Duration) error { return p.Sleep(ctx, max(took, sessionPause)) }
	held := heldChecks{recoverer: r, pause: pausePage, due: MonotonicNow(p.Clock).Add(decide.HoldPause(1))}
	for checked := make(map[string]bool); ; {
		err := errors.Join(r.checkSessions(ctx, checked, pausePage), held.checkDue(ctx))
		done, late := r.TakeResults()
		if errors.Is(err, store.ErrClosed) {
			return err
		}
		if err = errors.Join(err, late); err != nil && ctx.Err() == nil {
			p.Log.Error("sessions of parked runs not checked; trying again", "err", err)
		}
		if done.Failed+done.Held > 0 {
			p.Log.Info("sessions of parked runs refused", "failed", done.Failed, "held", done.Held)
		}
		if p.Sleep(ctx, pause) != nil {
			return nil
		}
	}
}

const (
	SessionBatch = 100                   // waiting runs read at a time
	sessionPause = 10 * time.Millisecond // at least, before the next ones are read
)

// checkSessions checks the sessions of departed nodes' parked runs, except of the nodes in checked,
// and fails or holds runs whose session is refused. When all engines have answered and every refusal
// is stored, it adds the nodes to checked.
func (r *Recoverer) checkSessions(ctx context.Context, checked map[string]bool,
	pause func(took time.Duration) error) error {
	departures, err := r.process.Store.Departures(ctx)
	if err != nil {
		return fmt.Errorf("lifecycle: check sessions: %w", err)
	}
	unchecked := make(map[string]bool)
	for _, d := range departures {
		if !checked[d.ID] {
			unchecked[d.ID] = true
		}
	}
	if len(unchecked) == 0 {
		return nil
	}
	var failures []error
	for q := (store.WaitingQuery{Query: store.Query{Limit: SessionBatch}}); ; {
		began := MonotonicNow(r.process.Clock)
		page, err := r.process.Store.Waiting(ctx, q)
		if err != nil {
			return fmt.Errorf("lifecycle: check sessions: %w", err)
		}
		failures = append(failures, r.checkPage(ctx, page.Runs, unchecked)...)
		if page.Next == "" {
			break
		}
		q.After = page.Next
		if err := pause(MonotonicNow(r.process.Clock).Sub(began)); err != nil {
			return err
		}
	}
	r.engineCalls.Wait() // each is bounded
	if err := errors.Join(failures...); err != nil {
		return fmt.Errorf("lifecycle: check sessions: %w", err)
	}
	if r.failedLate() { // TakeResults returns why
		return nil
	}
	for id := range unchecked {
		checked[id] = true
	}
	return nil
}

func (r *Recoverer) checkPage(ctx context.Context, page []store.Run, departed map[string]bool) (failures []error) {
	var runs []store.Run
	for i := range page {
		if run := &page[i]; run.Parked() && departed[run.Owner] && r.process.asksEngine(run) {
			runs = append(runs, *run)
		}
	}
	if len(runs) == 0 {
		return nil
	}
	batch, _, failures := r.decideBatch(ctx, runs)
	if len(batch) > 0 {
		failures = append(failures, r.commitBatch(ctx, batch)...)
	}
	return failures
}

// heldChecks checks the sessions of held parked runs again, with pauses that grow like a held turn's.
type heldChecks struct {
	recoverer *Recoverer
	pause     func(took time.Duration) error // between pages
	due       time.Time                      // the next check, by MonotonicNow
	checks    int                            // consecutive checks that found a held run
}

// checkDue checks the sessions when due. A run whose session is accepted again is unblocked.
func (h *heldChecks) checkDue(ctx context.Context) error {
	p := h.recoverer.process
	if MonotonicNow(p.Clock).Before(h.due) {
		return nil
	}
	h.checks++
	for q := (store.Query{Held: true, States: []fsm.State{fsm.StateWaitingUser}, Limit: SessionBatch}); ; {
		began := MonotonicNow(p.Clock)
		page, err := p.Store.Runs(ctx, q)
		if err != nil {
			return fmt.Errorf("lifecycle: check sessions of held runs: %w", err)
		}
		if len(page.Runs) == 0 && q.After == "" {
			h.checks = 1
		}
		owners := make(map[string]bool)
		for i := range page.Runs {
			owners[page.Runs[i].Owner] = true
		}
		if err := errors.Join(h.recoverer.checkPage(ctx, page.Runs, owners)...); err != nil {
			return fmt.Errorf("lifecycle: check sessions of held runs: %w", err)
		}
		if q.After = page.Next; q.After == "" {
			break
		}
		if err := h.pause(MonotonicNow(p.Clock).Sub(began)); err != nil {
			return err
		}
	}
	h.due = MonotonicNow(p.Clock).Add(decide.HoldPause(h.checks))
	return nil
}

// failedLate reports whether a run with a late answer could not be settled.
func (r *Recoverer) failedLate() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.lateFaults != nil
}
