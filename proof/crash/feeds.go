package crash

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/store"
)

// This file has the feed that hosts of a scenario with Feed read (K8): its calls as points, the
// reader, and the judge of the events given to the readers of all hosts.

// CreateFeed implements store.FeedStore.
func (s *Store) CreateFeed(ctx context.Context, f store.Feed) (err error) {
	if fault := s.write(Point{Name: "create feed", Write: true}, func() {
		err = s.Store.CreateFeed(ctx, f)
	}); fault != nil {
		return fault
	}
	return err
}

// DeleteFeed implements store.FeedStore.
func (s *Store) DeleteFeed(ctx context.Context, name string) (err error) {
	if fault := s.write(Point{Name: "delete feed", Write: true}, func() {
		err = s.Store.DeleteFeed(ctx, name)
	}); fault != nil {
		return fault
	}
	return err
}

// Feeds implements store.FeedStore.
func (s *Store) Feeds(ctx context.Context) ([]store.FeedStatus, error) {
	return read(s, func() ([]store.FeedStatus, error) {
		return s.Store.Feeds(ctx)
	}, func([]store.FeedStatus) Point { return Point{Name: "feeds"} })
}

// LeaseFeed implements store.FeedStore.
func (s *Store) LeaseFeed(ctx context.Context, name string, length time.Duration, now time.Time) (l store.FeedLease,
	free bool, err error,
) {
	if fault := s.write(Point{Name: "lease feed", Write: true}, func() {
		l, free, err = s.Store.LeaseFeed(ctx, name, length/max(1, s.Slower), now)
	}); fault != nil {
		return store.FeedLease{}, false, fault
	}
	return l, free, err
}

// ReadFeed implements store.FeedStore. A page's content depends on the machine's speed, so all
// reads are one point.
func (s *Store) ReadFeed(ctx context.Context, l store.FeedLease, after store.FeedPosition, limit int) (store.FeedPage,
	error,
) {
	page, err := read(s, func() (store.FeedPage, error) {
		return s.Store.ReadFeed(ctx, l, after, limit)
	}, func(store.FeedPage) Point { return Point{Name: "read feed"} })
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range page.Commits {
		s.places[c.Position] = Place{nameOf(c.RunID), c.Events[len(c.Events)-1].Seq}
	}
	return page, err
}

// Place is the last event of a commit in its run.
type Place struct {
	Run string
	Seq uint64
}

// AckFeed implements store.FeedStore. A point is named by the last event that is acknowledged. What
// only extends the lease is no work on a run.
func (s *Store) AckFeed(ctx context.Context, l store.FeedLease, to store.FeedPosition, now time.Time) (err error) {
	s.mu.Lock()
	at, known := s.places[to]
	s.mu.Unlock()
	p := Point{Name: "ack feed: nothing", Write: true, Upkeep: true}
	if known {
		p = Point{Name: fmt.Sprintf("ack feed: %s to %d", at.Run, at.Seq), Write: true}
	}
	if fault := s.write(p, func() { err = s.Store.AckFeed(ctx, l, to, now) }); fault != nil {
		return fault
	}
	if err == nil && known {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.acked = max(s.acked, at.Seq)
	}
	return err
}

// ackedTo returns the last event of the scenario's run acknowledged to this host.
func (s *Store) ackedTo() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.acked
}

// ReleaseFeed implements store.FeedStore.
func (s *Store) ReleaseFeed(ctx context.Context, l store.FeedLease) (err error) {
	if fault := s.write(Point{Name: "release feed", Write: true}, func() {
		err = s.Store.ReleaseFeed(ctx, l)
	}); fault != nil {
		return fault
	}
	return err
}

// feedName is the name of a scenario's feed.
const feedName = "audit"

// createFeed creates the feed, before there is any run.
func (h *Host) createFeed(ctx context.Context, lc *lifecycle.Lifecycle) error {
	return h.insist(func() error {
		_, err := lc.CreateFeed(ctx, feedName, time.Hour)
		return err
	})
}

// reads keeps reading the feed until ctx ends, and acknowledges each event.
func (h *Host) reads(ctx context.Context, lc *lifecycle.Lifecycle) error {
	for {
		err := h.session(ctx, lc)
		if ctx.Err() != nil || h.Store.Gone() {
			return nil
		}
		if err != nil && !errors.Is(err, ErrLost) {
			return err
		}
	}
}

// session reads the feed until it fails.
func (h *Host) session(ctx context.Context, lc *lifecycle.Lifecycle) error {
	for e, err := range lc.Feed(ctx, feedName, lifecycle.FeedFilter{}) {
		if err != nil {
			return err
		}
		if err := h.Journal.Add(Entry{Run: e.RunID, Fed: e.Seq}); err != nil {
			return err
		}
		if err := h.insist(func() error { return e.Ack(ctx) }); err != nil {
			return err
		}
		if err := h.Journal.Add(Entry{Run: e.RunID, Acked: h.Store.ackedTo()}); err != nil {
			return err
		}
	}
	return nil
}

// readAll waits until all that has happened is acknowledged.
func (h *Host) readAll(ctx context.Context) error {
	return h.until(ctx, func() bool {
		all, err := h.watch.Feeds(ctx)
		return err == nil && len(all) == 1 && all[0].Unacked == 0
	})
}

// fed checks that the readers of the feed were given each event, in order, again where it was not
// acknowledged, and never again where it was (K8).
func (v Verdict) fed(ctx context.Context, s store.Store, l *life) error {
	if !v.Scenario.Feed {
		return nil
	}
	last, acked := uint64(0), uint64(0)
	for _, e := range l.entries {
		switch {
		case e.Acked > 0:
			acked = max(acked, e.Acked)
		case e.Fed == 0:
		case e.Fed > last+1:
			return fmt.Errorf("a reader of the feed was given event %d, and nobody event %d", e.Fed, last+1)
		case e.Fed <= acked:
			return fmt.Errorf("a reader of the feed was given event %d, and %d was acknowledged", e.Fed, acked)
		default:
			last = e.Fed
		}
	}
	if last != l.run.Seq {
		return fmt.Errorf("the readers of the feed were given events to %d of %d", last, l.run.Seq)
	}
	all, err := s.Feeds(ctx)
	if err != nil || len(all) != 1 || all[0].Unacked > 0 || all[0].Lost {
		return fmt.Errorf("the feed is left as %+v, %w", all, orNil(err))
	}
	return nil
}
