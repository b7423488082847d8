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

// Feed yields the events of all runs, in an order that never skips an event, and then follows live.
// It begins after the last acknowledged event: the store keeps a cursor under the feed's name, and
// FeedEvent.Ack moves it. The order keeps the events of one run in the order of their Seq.
//
// The call creates the feed if it does not exist. A new feed has the events of all commits that
// were not yet visible when it was created. To process earlier runs too, create the feed with
// CreateFeed and list the runs afterwards.
//
// Delivery is at least once. After a reader ends or dies, the next one gets all unacknowledged
// events again, so make an event's effects idempotent by FeedEvent.ID. If several processes call
// Feed with the same name, one is served, and the others wait; when it returns, the next one
// continues within a poll, and when it dies, within FeedLease.
//
// The filter applies to this reader, and is not stored. Filtered events count as acknowledged once
// all events before them are.
//
// An error ends the sequence; call Feed again to continue from the cursor. ErrFeedTaken: the
// process was paused for so long that another reader took over. ErrFeedLost: see there.
//
// On PostgreSQL a long transaction, in any database of the server, delays the events that are
// stored after its first write; Feeds shows by how much. On every store a reader that does not
// acknowledge keeps runs from being pruned: see CreateFeed.
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

// FeedFilter selects the events for a feed's reader. Zero fields do not filter.
type FeedFilter struct {
	// Types are event types as in fcmp.Event.Type: TypeInputRequired and so on. An unknown type
	// matches nothing.
	Types []string
	// Pool, Key and Labels filter by the events' runs; all labels must match.
	Pool   string
	Key    string
	Labels map[string]string
	// For lets through only events about questions that this person may answer, by ID or group,
	// those for everybody too: that they are asked, put to others, answered and so on. Where an
	// event names who is asked, that counts; where it does not, as in a reminder, who is asked when
	// the reader gets to it. The zero Actor does not filter.
	For Actor
}

// FeedEvent is an event of a feed.
type FeedEvent struct {
	Event
	// More reports that other events are available. A reader that acknowledges when it is false writes
	// little and repeats little.
	More bool

	reader *feedReader
	number uint64 // of the events that the reader has yielded
	// done is the position to which the cursor moves when the event is acknowledged. The events of
	// one commit, of which a run's change often has several, are acknowledged together: by the
	// last.
	done store.FeedPosition
}

// ID is "run/seq", which no other event has. (A run that is submitted again under its id after it
// was pruned has its own events.)
func (e FeedEvent) ID() string { return fmt.Sprintf("%s/%d", e.RunID, e.Seq) }

// Ack acknowledges the event and all before it: no reader of the feed gets them again. It stores
// the cursor, in one short transaction; a reader of many events calls it now and then, for instance
// when More is false. After an error the event may come again. ErrFeedTaken: another reader has
// taken over.
func (e FeedEvent) Ack(ctx context.Context) error {
	if e.reader == nil {
		return &ArgumentError{"event", "zero", "an event of Client.Feed", nil}
	}
	return e.reader.ack(ctx, e)
}

// DefaultFeedLag is the MaxLag of a feed that Feed creates.
const DefaultFeedLag = 7 * 24 * time.Hour

// MaxFeeds is the number of feeds in a store up to which a person (Client.As) may create one. The
// host itself may have any number.
const MaxFeeds = 100

// FeedLease is how long other readers wait for a crashed reader of a feed.
const FeedLease = 15 * time.Second

var (
	// ErrFeedTaken: another process reads the feed now, from the last acknowledged event.
	ErrFeedTaken = errors.New("lifecycle: feed is read by another process")
	// ErrFeedLost: events are gone that the feed had not acknowledged, because their runs were
	// pruned (see CreateFeed), or because the database was restored on another server. Delete the
	// feed, and begin again with what Runs lists.
	ErrFeedLost = store.ErrFeedLost
)

// FeedStatus is the current state of a feed.
type FeedStatus struct {
	Name   string
	MaxLag time.Duration
	// Unacked is how many commits are stored that the feed has not acknowledged, whatever its
	// readers filter, and Oldest is when the first event of these happened. Oldest is zero when
	// Unacked is 0. Alert on its age.
	Unacked int
	Oldest  time.Time
	// Leased is the end of the lease of the process that reads the feed; zero when none does.
	Leased time.Time
	// Lost says that the feed is lost: see ErrFeedLost.
	Lost bool
}

// CreateFeed creates a feed with the events of all commits that are not yet visible when the call
// returns. Hosts need it only to know when the feed begins, or for a lag other than DefaultFeedLag;
// Feed creates a missing feed itself. If the feed exists, CreateFeed changes nothing and returns
// false.
//
// Prune(before) keeps a run with events that the feed has not acknowledged, unless the run ended
// more than maxLag before that time. Then it deletes the run, and the feed is lost (ErrFeedLost).
// Delete a feed that is no longer read: until it is lost, it grows with each commit.
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

// newFeed is a feed that the client's actor creates.
func (c *Client) newFeed(name string, maxLag time.Duration) store.Feed {
	f := store.Feed{Name: name, MaxLag: maxLag}
	if !c.actor.IsZero() {
		f.Most = MaxFeeds
	}
	return f
}

// DeleteFeed deletes the feed and its cursor; ErrNotFound for an unknown name. A reader of it gets
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

// checkFeed returns an error if a call about the feed of this name is not possible or not allowed.
func (c *Client) checkFeed(ctx context.Context, name string) error {
	if err := c.check(ctx); err != nil {
		return err
	}
	if !namePattern.matches(name) {
		return &ArgumentError{"name", quote(name), wantName, nil}
	}
	return c.allowFeed(ctx, name)
}

// check returns an error if the filter is invalid.
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
