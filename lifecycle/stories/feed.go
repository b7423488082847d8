package stories

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/store"
)

// readFeed lets a process, a client with the reader's name, read a feed. It acknowledges all
// available events with the last one.
func readFeed(w *world, a *args) (string, error) {
	r := &reader{name: a.words["READER"], ended: make(chan struct{})}
	if err := w.addReader(r); err != nil {
		return "", err
	}
	c := w.client(r.name)
	ctx, cancel := context.WithCancel(w.ctx)
	r.leave = cancel
	filter := lifecycle.FeedFilter{}
	if types := a.named["types"]; types != "" {
		filter.Types = strings.Split(types, ",")
	}
	filter.For.ID = a.named["for"]
	if groups := a.named["groups"]; groups != "" {
		filter.For.Groups = strings.Split(groups, ",")
	}
	go func() {
		defer close(r.ended)
		for event, err := range c.Feed(ctx, a.words["FEED"], filter) {
			if err == nil {
				r.receive(0, event.ID())
				if !event.More {
					err = event.Ack(ctx)
				}
			}
			if err != nil && ctx.Err() == nil {
				r.receive(0, strings.TrimSpace(formatError(err)))
			}
			if err != nil {
				return
			}
		}
	}()
	return "", nil
}

// leaveFeed ends the process of a feed's reader. A killed one's later calls do not reach the store.
func leaveFeed(w *world, a *args) (string, error) {
	for i, r := range w.readers {
		if r.name != a.words["READER"] || r.leave == nil {
			continue
		}
		conn := w.clients[r.name].conn
		if a.flags["killed"] {
			conn.mu.Lock()
			conn.gone = true
			h := conn.held
			conn.mu.Unlock()
			if h != nil {
				h.fate <- fails
			}
		}
		r.leave()
		<-r.ended
		w.readers = append(w.readers[:i], w.readers[i+1:]...)
		w.clients[r.name].Close()
		delete(w.clients, r.name) // another process may have the name
		return "", nil
	}
	return "", fmt.Errorf("nobody reads a feed as %s", a.words["READER"])
}

func showFeeds(w *world, _ *args) (string, error) {
	all, err := w.client("").Feeds(w.ctx)
	if err != nil {
		return formatError(err), nil
	}
	text := ""
	for _, f := range all {
		text += fmt.Sprintf("%s: %d commits not acknowledged\n", f.Name, f.Unacked)
	}
	return text, nil
}

// CreateFeed implements store.FeedStore.
func (c *connection) CreateFeed(ctx context.Context, f store.Feed) error {
	_, err := forward(ctx, c, "feed", func() (struct{}, error) {
		return struct{}{}, c.Store.CreateFeed(ctx, f)
	})
	return err
}

// DeleteFeed implements store.FeedStore.
func (c *connection) DeleteFeed(ctx context.Context, name string) error {
	_, err := forward(ctx, c, "feed", func() (struct{}, error) {
		return struct{}{}, c.Store.DeleteFeed(ctx, name)
	})
	return err
}

// Feeds implements store.FeedStore.
func (c *connection) Feeds(ctx context.Context) ([]store.FeedStatus, error) {
	return forward(ctx, c, "read", func() ([]store.FeedStatus, error) { return c.Store.Feeds(ctx) })
}

// LeaseFeed implements store.FeedStore. Leases are judged by the story's time: to the store each is
// over at once.
func (c *connection) LeaseFeed(ctx context.Context, name string, length time.Duration, now time.Time) (
	l store.FeedLease, free bool, _ error,
) {
	l, err := forward(ctx, c, "lease", func() (l store.FeedLease, err error) {
		if !c.shared.feedIsFree(name, now) {
			return l, nil
		}
		l, free, err = c.Store.LeaseFeed(ctx, name, time.Microsecond, now)
		if free {
			c.shared.keepFeed(name, now.Add(length))
		}
		return l, err
	})
	return l, free && err == nil, err
}

// ReadFeed implements store.FeedStore. It waits for commits that transactions of other tests hold
// back, so that the story is the same on every store.
func (c *connection) ReadFeed(ctx context.Context, l store.FeedLease, after store.FeedPosition, limit int) (
	store.FeedPage, error,
) {
	return forward(ctx, c, "read", func() (page store.FeedPage, err error) {
		for err == nil {
			page, err = c.Store.ReadFeed(ctx, l, after, limit)
			if !page.Held {
				break
			}
		}
		return page, err
	})
}

// AckFeed implements store.FeedStore.
func (c *connection) AckFeed(ctx context.Context, l store.FeedLease, to store.FeedPosition, now time.Time) error {
	_, err := forward(ctx, c, "ack", func() (struct{}, error) {
		err := c.Store.AckFeed(ctx, l, to, now)
		if err == nil {
			c.shared.keepFeed(l.Feed, now.Add(lifecycle.FeedLease))
		}
		return struct{}{}, err
	})
	return err
}

// ReleaseFeed implements store.FeedStore.
func (c *connection) ReleaseFeed(ctx context.Context, l store.FeedLease) error {
	_, err := forward(ctx, c, "leave", func() (struct{}, error) {
		err := c.Store.ReleaseFeed(ctx, l)
		c.shared.keepFeed(l.Feed, time.Time{})
		return struct{}{}, err
	})
	return err
}

// feedIsFree reports whether no reader has a lease of the feed.
func (s *shared) feedIsFree(name string, now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !now.Before(s.feeds[name])
}

func (s *shared) keepFeed(name string, until time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.feeds[name] = until
}
