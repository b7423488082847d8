package crash

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/interlude-go/interlude/slots"
	"github.com/interlude-go/interlude/store"
)

// Commit implements store.Writer. A batch is one point.
func (s *Store) Commit(ctx context.Context, batch []store.Commit) []error {
	if len(batch) == 0 {
		return s.Store.Commit(ctx, batch)
	}
	runs := make([]store.Run, len(batch))
	for i := range batch {
		runs[i] = batch[i].Run
	}
	var errs []error
	err := s.write(about("commit", true, runs), func() {
		errs = s.Store.Commit(ctx, batch)
		for i := range batch {
			if mayHaveWritten(errs[i]) {
				s.wrote(&batch[i].Run)
			}
		}
	})
	if err != nil {
		return slices.Repeat([]error{err}, len(batch))
	}
	return errs
}

// mayHaveWritten reports whether a call with this error may have changed the store. A call whose
// context ends does not wait for the outcome: this happens when the host stops while it commits.
func mayHaveWritten(err error) bool {
	return err == nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// Claim implements store.Writer. Each run that is picked is a point. Before ends the host in the
// middle of the claim.
func (s *Store) Claim(ctx context.Context, req store.ClaimRequest) ([]store.Claimed, error) {
	if s.Gone() {
		return nil, ErrGone
	}
	start, then := req.Start, Outcome("")
	var started []store.Run
	req.Start = func(r store.Run, spec []byte) (store.Commit, error) {
		if s.Gone() {
			return store.Commit{}, ErrGone
		}
		c, err := start(r, spec)
		if err != nil {
			return c, err
		}
		if outcome := s.arrive(about("claim", true, []store.Run{c.Run})); outcome != "" {
			then = outcome
		}
		if then == Before {
			s.Stop()
			return store.Commit{}, ErrGone
		}
		started = append(started, c.Run)
		return c, nil
	}
	claimed, err := s.Store.Claim(ctx, req)
	if mayHaveWritten(err) {
		for i := range started {
			s.wrote(&started[i])
		}
	}
	if err == nil && len(claimed) == 0 {
		then = s.arrive(named("claim", false, nil))
	}
	if fault := s.leave(then); fault != nil {
		return nil, fault
	}
	return claimed, err
}

// Prune implements store.Writer.
func (s *Store) Prune(ctx context.Context, before time.Time, limit int) (n int, err error) {
	if fault := s.write(Point{Name: "prune", Write: true}, func() {
		n, err = s.Store.Prune(ctx, before, limit)
	}); fault != nil {
		return 0, fault
	}
	return n, err
}

// Join implements store.Registry.
func (s *Store) Join(ctx context.Context, n store.Node, now time.Time) (err error) {
	if fault := s.write(Point{Name: "join", Write: true, Upkeep: true}, func() {
		err = s.Store.Join(ctx, n, now)
		s.mu.Lock()
		defer s.mu.Unlock()
		s.node = n.ID
	}); fault != nil {
		return fault
	}
	return err
}

// Renew implements store.Registry. Only the answer names the runs that the call is about, so the
// runs are read before the call.
func (s *Store) Renew(ctx context.Context, id string, now time.Time) (held []store.OwnedRun, err error) {
	page, err := s.Store.Runs(ctx, store.Query{Newest: true, Limit: 20})
	if err != nil {
		return nil, err
	}
	var names []string
	for _, r := range page.Runs {
		if r.Owner == id && r.Slot {
			names = append(names, nameOf(r.ID))
		}
	}
	if fault := s.write(named("renew", true, names), func() { held, err = s.Store.Renew(ctx, id, now) }); fault != nil {
		return nil, fault
	}
	if err == nil && len(held) > 0 {
		s.mu.Lock()
		defer s.mu.Unlock()
		select {
		case <-s.renewed:
		default:
			close(s.renewed)
		}
	}
	return held, err
}

// Expire implements store.Registry.
func (s *Store) Expire(ctx context.Context, now time.Time, ids ...string) (dead []store.Node, err error) {
	if fault := s.write(Point{Name: "expire", Write: true, Upkeep: true}, func() {
		dead, err = s.Store.Expire(ctx, now, ids...)
	}); fault != nil {
		return nil, fault
	}
	return dead, err
}

// SetPool implements store.Registry.
func (s *Store) SetPool(ctx context.Context, p slots.Pool) (err error) {
	if fault := s.write(Point{Name: "set pool", Write: true, Upkeep: true}, func() {
		err = s.Store.SetPool(ctx, p)
	}); fault != nil {
		return fault
	}
	return err
}

// ChangePool implements store.Registry.
func (s *Store) ChangePool(ctx context.Context, was, p slots.Pool) (err error) {
	if fault := s.write(Point{Name: "change pool", Write: true, Upkeep: true}, func() {
		err = s.Store.ChangePool(ctx, was, p)
	}); fault != nil {
		return fault
	}
	return err
}
