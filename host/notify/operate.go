package notify

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/interlude-go/interlude/lifecycle"
)

// Status is an endpoint as it stands.
type Status struct {
	Endpoint string
	// Count is what the queue has. Dead letters wait for somebody: alert on them.
	Count
	// Unread is how many commits the endpoint's feed has not passed, and OldestUnread the time of
	// the first of their events. They wait when the queue has notices of MaxRuns runs: alert on the
	// age.
	Unread       int
	OldestUnread time.Time
	// Lost says that the feed is lost (lifecycle.ErrFeedLost): Reset the endpoint.
	Lost bool
}

// Status reports all endpoints, of all processes, in the order of Config.
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

// DeadLetters lists up to limit dead letters of the endpoint, in the order of run and number. After
// is the key of the last one of the page before, or zero.
func (n *Notifier) DeadLetters(ctx context.Context, endpoint string, after Key, limit int) ([]DeadLetter, error) {
	if n.endpoint(endpoint) == nil {
		return nil, unknownEndpoint(endpoint)
	}
	if limit < 1 {
		return nil, fmt.Errorf("notify: limit is %d, want 1 or more", limit)
	}
	return n.config.Queue.Dead(ctx, endpoint, after, limit)
}

// Resend sends a dead letter again, with new attempts and before the later notices of its run that
// wait. Those that were accepted meanwhile have come before it. ErrNoDeadLetter.
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

// Discard removes a notice, dead or pending: nobody sends it again. None is no error.
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

// Reset removes the feed and all notices of an endpoint, which need not be one of Config's: do it
// for an endpoint that nobody serves any more, or its feed grows until it is lost. One that is
// served begins anew, with the events from then on.
func (n *Notifier) Reset(ctx context.Context, endpoint string) error {
	err := n.config.Client.DeleteFeed(ctx, FeedName(endpoint))
	if err != nil && !errors.Is(err, lifecycle.ErrNotFound) {
		return err
	}
	return n.config.Queue.Clear(ctx, endpoint)
}

func unknownEndpoint(name string) error {
	return fmt.Errorf("notify: no endpoint is named %.80q", name)
}
