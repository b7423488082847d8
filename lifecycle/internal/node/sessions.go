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
func (s *Recoverer) ServeSessions(ctx context.Context, pause time.Duration, after ...<-chan struct{}) error {
	p := s.process
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
	defer s.Wait()
	pausePage := func(took time.Duration) error { return p.Sleep(ctx, max(took, sessionPause)) }
	held := heldChecks{recoverer: s, pause: pausePage, due: MonotonicNow(p.Clock).Add(decide.HoldPause(1))}
	for checked := make(map[string]bool); ; {
		err := errors.Join(s.checkSessions(ctx, checked, pausePage), held.checkDue(ctx))
		done, late := s.TakeResults()
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
func (s *Recoverer) checkSessions(ctx context.Context, checked map[string]bool,
	pause func(took time.Duration) error) error {
	departures, err := s.process.Store.Departures(ctx)
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
		began := MonotonicNow(s.process.Clock)
		page, err := s.process.Store.Waiting(ctx, q)
		if err != nil {
			return fmt.Errorf("lifecycle: check sessions: %w", err)
		}
		failures = append(failures, s.checkPage(ctx, page.Runs, unchecked)...)
		if page.Next == "" {
			break
		}
		q.After = page.Next
		if err := pause(MonotonicNow(s.process.Clock).Sub(began)); err != nil {
			return err
		}
	}
	s.engineCalls.Wait() // each is bounded
	if err := errors.Join(failures...); err != nil {
		return fmt.Errorf("lifecycle: check sessions: %w", err)
	}
	if s.failedLate() { // TakeResults returns why
		return nil
	}
	for id := range unchecked {
		checked[id] = true
	}
	return nil
}

func (s *Recoverer) checkPage(ctx context.Context, page []store.Run, departed map[string]bool) (failures []error) {
	var runs []store.Run
	for i := range page {
		if r := &page[i]; r.Parked() && departed[r.Owner] && s.process.asksEngine(r) {
			runs = append(runs, *r)
		}
	}
	if len(runs) == 0 {
		return nil
	}
	batch, _, failures := s.decideBatch(ctx, runs)
	if len(batch) > 0 {
		failures = append(failures, s.commitBatch(ctx, batch)...)
	}
	return failures
}

// heldChecks checks the sessions of held parked runs again, with pauses that grow like a held turn's.
type heldChecks struct {
	recoverer *Recoverer
	pause     func(took time.Duration) error // between pages
	due       time.Time                      // the next check, by MonotonicNow
	checks    int                            // consecutive ones that found a held run
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
func (s *Recoverer) failedLate() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lateFaults != nil
}
