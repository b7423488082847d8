package lifecycle

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

// This file finds the parked runs whose session their engine does not accept any more (E2, J5). A
// wait that is intact needs no recovery, so nothing here is written for it, and nothing here is
// needed for it to go on: a session that is refused fails or holds its run in the next turn anyway.
// A check only tells people earlier, and unblocks a run that was held once the engine accepts its
// session again.

// checksSessions reports whether an engine of this process can tell a session that is good from one
// that is not.
func (c *Client) checksSessions() bool {
	for _, e := range c.engines {
		if _, ok := e.(engine.Checker); ok {
			return true
		}
	}
	return false
}

// checkSessions checks the sessions of the runs that departed nodes parked, once for each departure
// as long as this node lives. It begins after the first claim, so that a start is not delayed, and
// after the first recovery pass, which finds the nodes that have gone. After each page it pauses
// for at least as long as the page took. If the node is killed, the next one starts over; each
// refusal is a commit of its own, so nothing is left half done.
func (n *node) checkSessions(ctx context.Context) error {
	if !n.checksSessions() {
		return nil
	}
	for _, first := range []chan struct{}{n.hasClaimed, n.hasRecovered} {
		select {
		case <-first:
		case <-ctx.Done():
			return nil
		}
	}
	s := &orphanSettler{client: n.Client, node: n.id, callCtx: ctx}
	defer s.engineCalls.Wait()
	pause := func(took time.Duration) error { return n.sleep(ctx, max(took, sessionPause)) }
	held := heldChecks{settler: s, pause: pause, due: monotonicNow(n.clock).Add(decide.HoldPause(1))}
	for checked := make(map[string]bool); ; {
		err := errors.Join(s.checkSessions(ctx, checked, pause), held.checkDue(ctx))
		done, late := s.drainCounts()
		if errors.Is(err, store.ErrClosed) {
			return err
		}
		if err = errors.Join(err, late); err != nil && ctx.Err() == nil {
			n.log.Error("sessions of parked runs not checked; trying again", "err", err)
		}
		if done.Failed+done.Held > 0 {
			n.log.Info("sessions of parked runs refused", "failed", done.Failed, "held", done.Held)
		}
		if n.sleep(ctx, n.cfg.Lease/3) != nil {
			return nil
		}
	}
}

const (
	sessionBatch = 100                   // how many waiting runs are read at a time
	sessionPause = 10 * time.Millisecond // at least, before the next ones are read
)

// checkSessions checks the sessions of the parked runs of departed nodes, except of the nodes in
// checked. It fails or holds the runs whose engine refuses their session. It calls pause after each
// page, with the time that the page took. When all engines have answered and every refusal is
// stored, it adds the departed nodes to checked.
func (s *orphanSettler) checkSessions(ctx context.Context, checked map[string]bool,
	pause func(took time.Duration) error) error {
	departures, err := s.client.store.Departures(ctx)
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
	for q := (store.WaitingQuery{Query: store.Query{Limit: sessionBatch}}); ; {
		began := monotonicNow(s.client.clock)
		page, err := s.client.store.Waiting(ctx, q)
		if err != nil {
			return fmt.Errorf("lifecycle: check sessions: %w", err)
		}
		failures = append(failures, s.checkPage(ctx, page.Runs, unchecked)...)
		if page.Next == "" {
			break
		}
		q.After = page.Next
		if err := pause(monotonicNow(s.client.clock).Sub(began)); err != nil {
			return err
		}
	}
	s.engineCalls.Wait() // each is bounded
	if err := errors.Join(failures...); err != nil {
		return fmt.Errorf("lifecycle: check sessions: %w", err)
	}
	if s.failedLate() { // drainCounts returns why
		return nil
	}
	for id := range unchecked {
		checked[id] = true
	}
	return nil
}

// checkPage checks the sessions of a page of waiting runs.
func (s *orphanSettler) checkPage(ctx context.Context, page []Run, departed map[string]bool) (failures []error) {
	var runs []Run
	for i := range page {
		if r := &page[i]; r.Parked() && departed[r.Owner] && s.client.asksEngine(r) {
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

// heldChecks checks the sessions of held parked runs again and again. The pauses between the checks
// grow like those before a held turn is tried again (J5).
type heldChecks struct {
	settler *orphanSettler
	pause   func(took time.Duration) error // between parts
	due     time.Time                      // by monotonicNow; the next check
	checks  int                            // how many checks in a row found a held run; they set the pause
}

// checkDue checks the sessions if it is time. A run whose session is accepted again is unblocked.
func (h *heldChecks) checkDue(ctx context.Context) error {
	c := h.settler.client
	if monotonicNow(c.clock).Before(h.due) {
		return nil
	}
	h.checks++
	for q := (store.Query{Held: true, States: []fsm.State{fsm.StateWaitingUser}, Limit: sessionBatch}); ; {
		began := monotonicNow(c.clock)
		page, err := c.store.Runs(ctx, q)
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
		if err := errors.Join(h.settler.checkPage(ctx, page.Runs, owners)...); err != nil {
			return fmt.Errorf("lifecycle: check sessions of held runs: %w", err)
		}
		if q.After = page.Next; q.After == "" {
			break
		}
		if err := h.pause(monotonicNow(c.clock).Sub(began)); err != nil {
			return err
		}
	}
	h.due = monotonicNow(c.clock).Add(decide.HoldPause(h.checks))
	return nil
}

// failedLate reports whether a run could not be settled whose engine answered late.
func (s *orphanSettler) failedLate() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lateFaults != nil
}
