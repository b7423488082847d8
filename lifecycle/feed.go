package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/interlude-go/interlude/contract/fcmp"
	"github.com/interlude-go/interlude/store"
)

// Feed yields the events of all runs, and then follows live. It begins after the last acknowledged
// event: the store keeps a cursor under the feed's name, and FeedEvent.Ack moves it. Events of one run
// are in the order of their Seq.
//
// The call creates a missing feed, which begins with the commits not yet visible at its creation.
// To process earlier runs too, create the feed with CreateFeed and then list the runs.
//
// Delivery is at least once: the next reader gets all unacknowledged events again, so make an
// event's effects idempotent by FeedEvent.ID. Of several readers of the name, one is served; when it
// returns, the next one continues within a poll, and when it dies, within FeedLease.
//
// The filter is this reader's, and is not stored. Filtered events count as acknowledged once all
// events before them are.
//
// An error ends the sequence; call Feed again to continue from the cursor. ErrFeedTaken: the
// process was paused so long that another reader took over.
//
// On PostgreSQL a long transaction, in any database of the server, delays the events stored after
// its first write; Feeds shows by how much. Unacknowledged events keep runs from being pruned: see
// CreateFeed.
func (c *Client) Feed(ctx context.Context, name string, filter FeedFilter) iter.Seq2[FeedEvent, error] {
	return func(yield func(FeedEvent, error) bool) {
		r, err := c.newFeedReader(ctx, name, filter)
		if err == nil {
			err = r.serve(ctx, yield)
		}
		if err != nil {
			yield(FeedEvent{}, err)
		}
	}
}

// FeedFilter selects a reader's events. Zero fields do not filter.
type FeedFilter struct {
	// Types are event types as in fcmp.Event.Type. An unknown type matches nothing.
	Types []string
	// Pool, Key and Labels filter by the events' runs; all labels must match.
	Pool   string
	Key    string
	Labels map[string]string
	// For selects events about questions that this person may answer: by ID or group, because the
	// question has no audience, or as a deputy at read time. If the directory fails, deputyships are
	// ignored. The event's audience is used if present, else the question's at read time. The zero
	// Actor does not filter.
	For Actor
}

// FeedEvent is an event of a feed.
type FeedEvent struct {
	Event
	// More reports that other events are available. Acknowledge when it is false, to write rarely.
	More bool

	reader *feedReader
	number uint64 // of the events that the reader has yielded
	// done is the cursor's position after the acknowledgement. Events of one commit are
	// acknowledged together, by the last.
	done store.FeedPosition
}

// Ack acknowledges this event and all before it, in a short transaction. After an error the event may
// come again. ErrFeedTaken: another reader has taken over.
func (e FeedEvent) Ack(ctx context.Context) error {
	if e.reader == nil {
		return &ArgumentError{"event", "zero", "an event of Client.Feed", nil}
	}
	return e.reader.ack(ctx, e)
}

// DefaultFeedLag is the MaxLag of a feed that Feed creates.
const DefaultFeedLag = 7 * 24 * time.Hour

// MaxFeeds limits the feeds that people (Client.As) may create in a store. The host itself has no
// limit.
const MaxFeeds = 100

// FeedLease is how long other readers wait for a crashed reader.
const FeedLease = 15 * time.Second

var (
	// ErrFeedTaken: another process reads the feed now, from the last acknowledged event.
	ErrFeedTaken = errors.New("lifecycle: feed is read by another process")
	// ErrFeedLost: unacknowledged events are gone, because their runs were pruned (see CreateFeed)
	// or the database was restored on another server. Delete the feed, and begin again with what
	// Runs lists.
	ErrFeedLost = store.ErrFeedLost
)

// FeedStatus is the current state of a feed.
type FeedStatus struct {
	Name   string
	MaxLag time.Duration
	// Unacked is the number of unacknowledged commits, regardless of filters, and Oldest the time of
	// their first event, for alerts.
	Unacked int
	Oldest  time.Time
	// Leased is the end of the current reader's lease; zero without one.
	Leased time.Time
	// Lost says that the feed is lost: see ErrFeedLost.
	Lost bool
}

// CreateFeed creates a feed with the events of all commits not yet visible when the call returns, to
// know when the feed begins, or for a lag other than DefaultFeedLag. If the feed exists, it changes
// nothing and returns false.
//
// Prune(before) keeps a run with unacknowledged events unless it ended more than maxLag before that
// time. Then it deletes the run, and the feed is lost (ErrFeedLost). Delete an unused feed: until
// it is lost, it grows with each commit.
//
// On PostgreSQL the first feed waits for all transactions that have written events, including the
// host's; if one stays open, the call fails without creating the feed.
func (c *Client) CreateFeed(ctx context.Context, name string, maxLag time.Duration) (created bool, err error) {
	if err := c.checkFeed(ctx, name); err != nil {
		return false, err
	}
	if maxLag <= 0 {
		return false, &ArgumentError{"maxLag", maxLag.String(), "more than zero", nil}
	}
	err = c.proc.Store.CreateFeed(ctx, c.newFeed(name, max(maxLag.Truncate(time.Microsecond), time.Microsecond)))
	if errors.Is(err, store.ErrExists) {
		return false, nil
	}
	return err == nil, err
}

func (c *Client) newFeed(name string, maxLag time.Duration) store.Feed {
	f := store.Feed{Name: name, MaxLag: maxLag}
	if !c.actor.IsZero() {
		f.Most = MaxFeeds
	}
	return f
}

// DeleteFeed deletes the feed and its cursor; ErrNotFound for an unknown name. Its reader gets
// ErrFeedTaken.
func (c *Client) DeleteFeed(ctx context.Context, name string) error {
	if err := c.checkFeed(ctx, name); err != nil {
		return err
	}
	return c.proc.Store.DeleteFeed(ctx, name)
}

// Feeds lists the feeds by name, with their lag. Its cost grows with the lag.
func (c *Client) Feeds(ctx context.Context) ([]FeedStatus, error) {
	if err := c.check(ctx); err != nil {
		return nil, err
	}
	if err := c.allowFeed(ctx, ""); err != nil {
		return nil, err
	}
	stored, err := c.proc.Store.Feeds(ctx)
	if err != nil {
		return nil, err
	}
	all := make([]FeedStatus, len(stored))
	for i, f := range stored {
		all[i] = FeedStatus{Name: f.Name, MaxLag: f.MaxLag, Unacked: f.Unacked, Leased: f.Leased, Lost: f.Lost}
		if f.Unacked > 0 {
			event, err := fcmp.Decode(f.Next.Body)
			if err != nil {
				return nil, fmt.Errorf("lifecycle: feed %s: %w", f.Name, err)
			}
			all[i].Oldest = event.TS
		}
	}
	return all, nil
}

func (c *Client) checkFeed(ctx context.Context, name string) error {
	if err := c.check(ctx); err != nil {
		return err
	}
	if !namePattern.matches(name) {
		return &ArgumentError{"name", quote(name), wantName, nil}
	}
	return c.allowFeed(ctx, name)
}

func (f *FeedFilter) check() error {
	q := Query{Pool: f.Pool, Key: f.Key, Labels: f.Labels}
	switch {
	case slices.Contains(f.Types, ""):
		return &ArgumentError{"filter.Types", `""`, "types of events", nil}
	case q.Pool != "" && !namePattern.matches(q.Pool):
		return &ArgumentError{"filter.Pool", quote(q.Pool), wantName, nil}
	case len(q.Key) > MaxKey || !utf8.ValidString(q.Key):
		return &ArgumentError{"filter.Key", quote(q.Key), wantKey, nil}
	case len(q.Labels) > MaxLabels:
		return &ArgumentError{"filter.Labels", entriesOf(len(q.Labels)), fmt.Sprintf("at most %d", MaxLabels), nil}
	}
	if key, ok := wrongLabel(q.Labels); !ok {
		return &ArgumentError{"filter.Labels", quote(key), wantLabels, nil}
	}
	return validatePerson("filter.For", f.For)
}
