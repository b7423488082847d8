package notify

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/interlude-go/interlude/lifecycle"
)

// Status is the status of an endpoint.
type Status struct {
	Endpoint string
	// Count counts the notices in the queue. Alert on dead letters: they need a decision.
	Count
	// Unread is the number of commits that the endpoint's feed has not passed, and OldestUnread the
	// time of their first event. They wait while the queue has notices of MaxRuns runs: alert on
	// the age.
	Unread       int
	OldestUnread time.Time
	// Lost means that the feed is lost (lifecycle.ErrFeedLost): Reset the endpoint.
	Lost bool
}

// Status reports all endpoints, for all processes, in the order of Config.
func (n *Notifier) Status(ctx context.Context) ([]Status, error) {
	feeds, err := n.config.Client.Feeds(ctx)
	if err != nil {
		return nil, err
	}
	all := make([]Status, len(n.endpoints))
	for i, e := range n.endpoints {
		count, err := n.config.Queue.Count(ctx, e.Name)
		if err != nil {
			return nil, err
		}
		all[i] = Status{Endpoint: e.Name, Count: count}
		at := slices.IndexFunc(feeds, func(f lifecycle.FeedStatus) bool { return f.Name == FeedName(e.Name) })
		if at >= 0 {
			f := &feeds[at]
			all[i].Unread, all[i].OldestUnread, all[i].Lost = f.Unacked, f.Oldest, f.Lost
		}
	}
	return all, nil
}

// DeadLetters lists up to limit dead letters of the endpoint, ordered by run and number. After is
// the key of the previous page's last entry, or zero.
func (n *Notifier) DeadLetters(ctx context.Context, endpoint string, after Key, limit int) ([]DeadLetter, error) {
	if n.endpoint(endpoint) == nil {
		return nil, unknownEndpoint(endpoint)
	}
	if limit < 1 {
		return nil, fmt.Errorf("notify: limit is %d, want 1 or more", limit)
	}
	return n.config.Queue.Dead(ctx, endpoint, after, limit)
}

// Resend sends a dead letter again, with new attempts, before the pending later notices of its run.
// Later notices that were accepted in between have overtaken it. ErrNoDeadLetter.
func (n *Notifier) Resend(ctx context.Context, endpoint, id string) error {
	e := n.endpoint(endpoint)
	if e == nil {
		return unknownEndpoint(endpoint)
	}
	key, err := ParseID(id)
	if err == nil {
		err = n.config.Queue.Revive(ctx, endpoint, key, n.config.Clock.Now())
	}
	if err == nil {
		signal(e.added)
	}
	return err
}

// Discard removes a dead or pending notice; a missing notice is not an error.
func (n *Notifier) Discard(ctx context.Context, endpoint, id string) error {
	if n.endpoint(endpoint) == nil {
		return unknownEndpoint(endpoint)
	}
	key, err := ParseID(id)
	if err != nil {
		return err
	}
	return n.config.Queue.Remove(ctx, endpoint, key)
}

// Reset removes the feed and all notices of an endpoint. An endpoint in Config then starts with the
// next event. Call it also for an endpoint that you have removed from Config; otherwise its feed
// grows until it is lost.
func (n *Notifier) Reset(ctx context.Context, endpoint string) error {
	err := n.config.Client.DeleteFeed(ctx, FeedName(endpoint))
	if err != nil && !errors.Is(err, lifecycle.ErrNotFound) {
		return err
	}
	return n.config.Queue.Clear(ctx, endpoint)
}

func unknownEndpoint(name string) error {
	return fmt.Errorf("notify: no endpoint has the name %.80q", name)
}
