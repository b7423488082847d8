package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// FeedStore keeps feeds. A feed has the events of all runs in one order, and a cursor under its
// name.
//
// As long as a feed exists that is not lost, a store records each commit with events, in the
// commit's transaction. The same transaction checks that there still is one. A position is a
// commit's place in the order, with two guarantees:
//
//  1. No commit is skipped: once ReadFeed has returned a position, no commit is stored before it.
//  2. The events of one run come in the order of their numbers.
//
// A feed has all commits not yet visible when CreateFeed returns, and possibly a few stored shortly
// before.
//
// Everything up to its cursor is acknowledged. Commits before all cursors are deleted.
type FeedStore interface {
	// CreateFeed creates a feed. ErrExists if the name is taken, ErrTooMany if there are Feed.Most
	// others.
	CreateFeed(ctx context.Context, f Feed) error
	// DeleteFeed deletes the feed and its cursor. ErrNotFound for an unknown name.
	DeleteFeed(ctx context.Context, name string) error
	// Feeds lists the feeds by name, in one consistent snapshot.
	Feeds(ctx context.Context) ([]FeedStatus, error)

	// LeaseFeed makes the caller the feed's only reader until now + length. While another reader's
	// lease lasts, Free is false and nothing changes. ErrNotFound, ErrFeedLost.
	//
	// A store with its own clock judges leases by that clock.
	LeaseFeed(ctx context.Context, name string, length time.Duration, now time.Time) (l FeedLease, free bool, _ error)
	// ReadFeed returns up to limit commits after the position, in order; fewer only if their events
	// exceed MinPage bytes, or if others may still be stored between them. ErrStaleEpoch if the
	// lease is not the feed's latest, ErrFeedLost.
	ReadFeed(ctx context.Context, l FeedLease, after FeedPosition, limit int) (FeedPage, error)
	// AckFeed moves the cursor to the position, and extends the lease from now. The cursor never
	// moves back: an empty position, or one at or before it, only extends the lease. ErrStaleEpoch
	// and ErrFeedLost as in ReadFeed; ErrInvalid for a text that is no position of this feed.
	AckFeed(ctx context.Context, l FeedLease, to FeedPosition, now time.Time) error
	// ReleaseFeed ends the lease, so that another reader need not wait for its expiry. It does
	// nothing if the lease is not the feed's latest.
	ReleaseFeed(ctx context.Context, l FeedLease) error
}

// ErrFeedLost: unacknowledged events are gone, because their runs were pruned (see Feed.MaxLag) or
// the feed's cursor comes from another server. The feed stays lost until it is deleted and created
// again.
var ErrFeedLost = errors.New("store: feed is lost: events that it had not acknowledged are gone")

// ErrTooMany: the caller has reached a limit, which the text names. Nothing was stored.
var ErrTooMany = errors.New("store: too many")

// Feed describes a new feed.
type Feed struct {
	// Name is 1 to 63 of [A-Za-z0-9._/-], beginning with a letter or digit.
	Name string
	// MaxLag is how long, in whole microseconds above zero, the feed protects runs with
	// unacknowledged events from Prune. Prune always deletes runs that finished more than MaxLag
	// before its given time; a feed with unacknowledged events of theirs is then lost.
	MaxLag time.Duration
	// Most limits the feeds in the store, including this one; 0: unlimited. It is not stored.
	Most int
}

// FeedPosition is a place in a feed's order, understood only by its store. The empty one is before
// everything.
type FeedPosition string

// FeedLease is one reader's right to read and acknowledge.
type FeedLease struct {
	Feed string
	// Epoch counts the feed's leases; a reader with an earlier one is refused.
	Epoch  uint64
	Length time.Duration
	// Cursor is the reader's start position.
	Cursor FeedPosition
}

// FeedPage is a part of a feed.
type FeedPage struct {
	Commits []FeedCommit
	// More reports that other commits can be read now.
	More bool
	// Held reports stored commits that cannot be read yet, because open transactions may commit
	// before them. Their end sends no hint.
	Held bool
}

// FeedCommit is the events of one commit.
type FeedCommit struct {
	Position FeedPosition
	RunID    string
	Events   []Event
}

type FeedStatus struct {
	Feed
	// Unacked is the number of unacknowledged commits, regardless of the readers' filters.
	Unacked int
	// Next is the first unacknowledged event; without a body if Unacked is 0.
	Next Event
	// Leased is the end of the lease, by the store's clock; zero without a reader. A crashed reader
	// keeps its lease until then.
	Leased time.Time
	// Lost reports that every call of a reader returns ErrFeedLost.
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

func InvalidPosition(feed string, p FeedPosition) error {
	return fmt.Errorf("%w: %.80q is not a position of feed %.80s", ErrInvalid, string(p), feed)
}

// EventsIn returns the events from first to last from lines as JoinEvents writes them; from is the
// first line's event. The bodies are parts of lines.
func EventsIn(lines []byte, from, first, last uint64) []Event {
	if last < first {
		return nil
	}
	events := make([]Event, 0, last-first+1)
	for ; len(lines) > 0 && from <= last; from++ {
		body, rest, _ := bytes.Cut(lines, []byte{'\n'})
		if from >= first {
			events = append(events, Event{Seq: from, Body: slices.Clip(body)}) // clipped, so that appending
			// copies
		}
		lines = rest
	}
	return events
}
