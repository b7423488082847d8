package memory

import (
	"bytes"
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/interlude-go/interlude/store"
	"github.com/interlude-go/interlude/store/internal/refuse"
)

// feeds has a store's feeds, and the commits that some feed has not acknowledged. Without feeds, or
// if all are lost, commits are not recorded.
type feeds struct {
	byName map[string]*feed
	// The position of noted[i] is first+i.
	noted []notedCommit
	first uint64 // from 1
}

// notedCommit is a commit with events. Its entry is kept though its run may have been pruned.
type notedCommit struct {
	run         *entry
	first, last uint64 // the events' numbers
}

type feed struct {
	store.Feed

	cursor uint64
	epoch  uint64
	until  time.Time
	lost   bool
}

func (f *feeds) note(run *entry, events int) {
	if events == 0 || !f.needed() {
		return
	}
	last := uint64(len(run.events))
	f.noted = append(f.noted, notedCommit{run: run, first: last - uint64(events) + 1, last: last})
}

func (f *feeds) needed() bool {
	for _, one := range f.byName {
		if !one.lost {
			return true
		}
	}
	return false
}

func (f *feeds) end() uint64 { return f.first + uint64(len(f.noted)) - 1 }

func (f *feeds) after(position uint64) []notedCommit {
	return f.noted[min(max(position+1, f.first)-f.first, uint64(len(f.noted))):]
}

func (f *feeds) dropAcknowledged() {
	acknowledged := f.end()
	for _, one := range f.byName {
		if !one.lost {
			acknowledged = min(acknowledged, one.cursor)
		}
	}
	rest := f.after(acknowledged)
	f.first += uint64(len(f.noted) - len(rest))
	if f.noted = rest; len(rest) == 0 {
		f.noted = nil // frees the memory of the forgotten commits too
	}
}

// lastNoted returns the position of each run's last recorded commit.
func (f *feeds) lastNoted() map[*entry]uint64 {
	last := make(map[*entry]uint64)
	for i, c := range f.noted {
		last[c.run] = f.first + uint64(i)
	}
	return last
}

// needs reports whether a feed still needs a run that is to be pruned, and whose last commit has
// the position.
func (f *feeds) needs(r *store.Run, last uint64, before time.Time) bool {
	for _, one := range f.byName {
		if !one.lost && one.cursor < last && !r.FinishedAt.Before(before.Add(-one.MaxLag)) {
			return true
		}
	}
	return false
}

// markLost marks as lost the feeds that have not acknowledged the last commit, at this position, of
// a pruned run.
func (f *feeds) markLost(last uint64) {
	for _, one := range f.byName {
		one.lost = one.lost || one.cursor < last
	}
}

func (s *Store) CreateFeed(ctx context.Context, f store.Feed) error {
	if err := f.Validate(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.checkOpen(ctx); err != nil {
		return err
	}
	if s.feeds.byName[f.Name] != nil {
		return refuse.FeedExists(f.Name)
	}
	if f.Most > 0 && len(s.feeds.byName) >= f.Most {
		return refuse.TooManyFeeds(f)
	}
	f.Most = 0
	s.feeds.byName[f.Name] = &feed{Feed: f, cursor: s.feeds.end()}
	return nil
}

func (s *Store) DeleteFeed(ctx context.Context, name string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.checkOpen(ctx); err != nil {
		return err
	}
	if s.feeds.byName[name] == nil {
		return refuse.NoFeed(name)
	}
	delete(s.feeds.byName, name)
	s.feeds.dropAcknowledged()
	return nil
}

func (s *Store) Feeds(ctx context.Context) (all []store.FeedStatus, _ error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if err := s.checkOpen(ctx); err != nil {
		return nil, err
	}
	for _, f := range s.feeds.byName {
		status := store.FeedStatus{Feed: f.Feed, Leased: f.until, Lost: f.lost}
		if left := s.feeds.after(f.cursor); len(left) > 0 && !f.lost {
			next := left[0].run.events[left[0].first-1]
			status.Unacked, status.Next = len(left), store.Event{Seq: next.Seq, Body: bytes.Clone(next.Body)}
		}
		all = append(all, status)
	}
	slices.SortFunc(all, func(a, b store.FeedStatus) int { return strings.Compare(a.Name, b.Name) })
	return all, nil
}

func (s *Store) LeaseFeed(ctx context.Context, name string, length time.Duration, now time.Time) (store.FeedLease,
	bool, error,
) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.checkOpen(ctx); err != nil {
		return store.FeedLease{}, false, err
	}
	f := s.feeds.byName[name]
	switch {
	case f == nil:
		return store.FeedLease{}, false, refuse.NoFeed(name)
	case f.lost:
		return store.FeedLease{}, false, refuse.LostFeed(name)
	case now.Before(f.until):
		return store.FeedLease{}, false, nil
	}
	f.epoch++
	f.until = now.Add(length)
	return store.FeedLease{Feed: name, Epoch: f.epoch, Length: length, Cursor: position(f.cursor)}, true, nil
}

// leased returns the feed if the lease is its last one. The caller holds the lock.
func (s *Store) leased(ctx context.Context, l store.FeedLease) (*feed, error) {
	if err := s.checkOpen(ctx); err != nil {
		return nil, err
	}
	f := s.feeds.byName[l.Feed]
	switch {
	case f == nil || f.epoch != l.Epoch:
		return nil, refuse.StaleFeed(l.Feed)
	case f.lost:
		return nil, refuse.LostFeed(l.Feed)
	}
	return f, nil
}

func (s *Store) ReadFeed(ctx context.Context, l store.FeedLease, after store.FeedPosition, limit int) (store.FeedPage,
	error,
) {
	from, ok := readPosition(after)
	if !ok {
		return store.FeedPage{}, store.InvalidPosition(l.Feed, after)
	}
	if err := store.ValidateLimit(limit); err != nil {
		return store.FeedPage{}, err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	if _, err := s.leased(ctx, l); err != nil {
		return store.FeedPage{}, err
	}
	left := s.feeds.after(from)
	at := s.feeds.end() - uint64(len(left))
	var page store.FeedPage
	size := 0
	for i, c := range left {
		if i == limit || size > store.MinPage {
			page.More = true
			break
		}
		at++
		events := make([]store.Event, 0, c.last-c.first+1)
		for _, e := range c.run.events[c.first-1 : c.last] {
			size += len(e.Body)
			events = append(events, store.Event{Seq: e.Seq, Body: bytes.Clone(e.Body)})
		}
		page.Commits = append(page.Commits, store.FeedCommit{Position: position(at), RunID: c.run.run.ID,
			Events: events})
	}
	return page, nil
}

func (s *Store) AckFeed(ctx context.Context, l store.FeedLease, to store.FeedPosition, now time.Time) error {
	at, ok := readPosition(to)
	if !ok {
		return store.InvalidPosition(l.Feed, to)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	f, err := s.leased(ctx, l)
	if err != nil {
		return err
	}
	if at > s.feeds.end() {
		return store.InvalidPosition(l.Feed, to)
	}
	f.until = now.Add(l.Length)
	if at > f.cursor {
		f.cursor = at
		s.feeds.dropAcknowledged()
	}
	return nil
}

func (s *Store) ReleaseFeed(ctx context.Context, l store.FeedLease) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.checkOpen(ctx); err != nil {
		return err
	}
	if f := s.feeds.byName[l.Feed]; f != nil && f.epoch == l.Epoch {
		f.until = time.Time{}
	}
	return nil
}

func position(n uint64) store.FeedPosition {
	if n == 0 {
		return ""
	}
	return store.FeedPosition(strconv.FormatUint(n, 10))
}

// readPosition reads a position. The empty one is 0.
func readPosition(p store.FeedPosition) (n uint64, ok bool) {
	if p == "" {
		return 0, true
	}
	n, err := strconv.ParseUint(string(p), 10, 63)
	return n, err == nil && position(n) == p
}
