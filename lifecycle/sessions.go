package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/store"
)

// This file finds the parked runs whose session their engine does not accept any more (E2). A wait
// that is intact needs no recovery, so nothing here is written for it, and nothing here is needed
// for it to go on: a session that is refused fails its run in the next turn anyway. A check only
// tells people earlier.

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
// after the first recovery pass, which finds the nodes that have gone. After each page it pauses for
// at least as long as the page took. If the node is killed, the next one starts over; each refusal is
// a commit of its own, so nothing is left half done.
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
	for checked := make(map[string]bool); ; {
		err := s.checkSessions(ctx, checked, pause)
		done, late := s.drainCounts()
		if errors.Is(err, store.ErrClosed) {
			return err
		}
		if err = errors.Join(err, late); err != nil && ctx.Err() == nil {
			n.log.Error("sessions of parked runs not checked; trying again", "err", err)
		}
		if done.Failed > 0 {
			n.log.Info("sessions of parked runs checked", "refused", done.Failed)
		}
		if n.sleep(ctx, n.cfg.Lease/3) != nil {
			return nil
		}
	}
}

const (
	sessionBatch = 100                   // how many runs of the inbox are read at a time
	sessionPause = 10 * time.Millisecond // at least, before the next ones are read
)

// checkSessions goes through the inbox, and fails the runs whose engine refuses their session, if a
// node has parked them whose departure is not among those that were checked. It calls pause between
// its parts, with the time that the last one took. When all engines have answered and every refusal
// is stored, it adds the departures to checked.
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
	for q := (store.Query{Limit: sessionBatch}); ; {
		began := monotonicNow(s.client.clock)
		page, err := s.client.store.Inbox(ctx, q)
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

// checkPage checks the sessions of a page of the inbox.
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

// failedLate reports whether a run could not be settled whose engine answered late.
func (s *orphanSettler) failedLate() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lateFaults != nil
}
