package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// FeedStore keeps feeds. A feed is the events of all runs in one order, with a cursor that is
// kept under the feed's name.
//
// A store notes each commit that has events, in the commit's own transaction, while there is
// a feed that is not lost; it decides that within the transaction. Otherwise it notes nothing. A
// position is the place of one commit in the order. Two properties of the order matter:
//
//  1. Nothing is passed over: once ReadFeed has returned a position, no commit is stored before it.
//  2. The events of one run come in the order of their numbers.
//
// A feed begins when it is created. It has all commits that are not yet visible when CreateFeed
// returns, and possibly a few that were stored shortly before.
//
// Its cursor is the position up to which everything is acknowledged. Commits before all cursors are
// forgotten.
type FeedStore interface {
	// CreateFeed creates a feed. ErrExists when there is one of that name, ErrTooMany when there are
	// Feed.Most others.
	CreateFeed(ctx context.Context, f Feed) error
	// DeleteFeed deletes the feed with its cursor. ErrNotFound when there is none of that name.
	DeleteFeed(ctx context.Context, name string) error
	// Feeds lists the feeds by name, as they stand at one moment.
	Feeds(ctx context.Context) ([]FeedStatus, error)

	// LeaseFeed makes the caller the only reader of the feed until now + length. Free is false, and
	// nothing is changed, while the lease of another reader lasts. ErrNotFound, ErrFeedLost.
	//
	// A store with a clock of its own judges leases by that.
	LeaseFeed(ctx context.Context, name string, length time.Duration, now time.Time) (l FeedLease, free bool, _ error)
	// ReadFeed returns up to limit commits after the position, in order. It returns fewer than
	// there are only if their events have more than MinPage bytes together, or if further ones may
	// still be stored between them. ErrStaleEpoch when the lease is no longer the feed's last one,
	// ErrFeedLost.
	ReadFeed(ctx context.Context, l FeedLease, after FeedPosition, limit int) (FeedPage, error)
	// AckFeed moves the cursor to the position, and extends the lease from now. The cursor never
	// goes back: with the empty position, or one at or before the cursor, the lease is extended and
	// nothing else. ErrStaleEpoch and ErrFeedLost as in ReadFeed; ErrInvalid for what is no
	// position of this feed.
	AckFeed(ctx context.Context, l FeedLease, to FeedPosition, now time.Time) error
	// ReleaseFeed ends the lease, so that another reader need not wait for its end. It does nothing
	// if the lease is no longer the feed's last one.
	ReleaseFeed(ctx context.Context, l FeedLease) error
}

// ErrFeedLost: events that the feed had not acknowledged are gone, because their runs were pruned
// (see Feed.MaxLag) or because the feed's cursor comes from another server. The feed stays lost
// until it is deleted and created again.
var ErrFeedLost = errors.New("store: feed is lost: events that it had not acknowledged are gone")

// ErrTooMany: the caller has used up a bound, which the text names. Nothing was stored.
var ErrTooMany = errors.New("store: too many")

// Feed is a feed as it is created.
type Feed struct {
	// Name is 1 to 63 of [A-Za-z0-9._/-], beginning with a letter or digit.
	Name string
	// MaxLag is how much longer than others Prune keeps a run whose events the feed has not
	// acknowledged, a whole number of microseconds above zero: runs that finished earlier than
	// MaxLag before the time that Prune is given are deleted in any case. A feed that had not
	// acknowledged all of their events is lost then.
	MaxLag time.Duration
	// Most is how many feeds the store may have together with this one, 0 for any number. It is not
	// kept.
	Most int
}

// FeedPosition is a place in the order of a feed, in a form that only its store understands. The
// empty one is before everything.
type FeedPosition string

// FeedLease is the right of one reader to read and acknowledge.
type FeedLease struct {
	Feed string
	// Epoch is the number of the feed's leases so far; a reader with an earlier one is refused.
	Epoch  uint64
	Length time.Duration
	// Cursor is where the reader begins.
	Cursor FeedPosition
}

// FeedPage is a part of a feed.
type FeedPage struct {
	Commits []FeedCommit
	// More says that further commits can be read now.
	More bool
	// Held says that commits are stored that cannot be read yet, because transactions are under way
	// whose commits may come before them. Nobody gives a hint when these end.
	Held bool
}

// FeedCommit is the events of one commit.
type FeedCommit struct {
	Position FeedPosition
	RunID    string
	Events   []Event
}

// FeedStatus is a feed as it stands.
type FeedStatus struct {
	Feed
	// Unacked is how many commits are stored that the feed has not acknowledged, whatever its
	// readers filter.
	Unacked int
	// Next is the first event that is not acknowledged; it has no body when Unacked is 0.
	Next Event
	// Leased until this time, by the store's clock; zero when nobody reads the feed. A reader that
	// has died keeps its lease until then.
	Leased time.Time
	// Lost says that every call of a reader returns ErrFeedLost.
	Lost bool
}

// Validate returns an error that matches ErrInvalid if the feed cannot be created.
func (f Feed) Validate() error {
	if !validEngine(f.Name) {
		return fmt.Errorf("%w: the name of a feed is %.80q, want 1 to %d of [A-Za-z0-9._/-], beginning with a letter "+
			"or digit", ErrInvalid, f.Name, maxEngineName)
	}
	if f.MaxLag <= 0 || f.MaxLag%time.Microsecond != 0 {
		return fmt.Errorf("%w: the lag of feed %s is %s, want whole microseconds above zero", ErrInvalid, f.Name,
			f.MaxLag)
	}
	if f.Most < 0 {
		return fmt.Errorf("%w: feed %s is one of %d at most", ErrInvalid, f.Name, f.Most)
	}
	return nil
}

// InvalidPosition is the error for a text that is no position of the feed.
func InvalidPosition(feed string, p FeedPosition) error {
	return fmt.Errorf("%w: %.80q is no position of feed %.80s", ErrInvalid, string(p), feed)
}

// EventsIn returns the events from first to last out of lines with an event each, as JoinEvents
// writes them. From is the number of the first line's event. The bodies stay parts of lines.
func EventsIn(lines []byte, from, first, last uint64) []Event {
	if last < first {
		return nil
	}
	events := make([]Event, 0, last-first+1)
	for ; len(lines) > 0 && from <= last; from++ {
		body, rest, _ := bytes.Cut(lines, []byte{'\n'})
		if from >= first {
			events = append(events, Event{Seq: from, Body: slices.Clip(body)}) // what a reader appends is its own
		}
		lines = rest
	}
	return events
}
