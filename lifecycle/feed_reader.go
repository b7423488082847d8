package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/interlude-go/interlude/contract/fcmp"
	"github.com/interlude-go/interlude/lifecycle/internal/node"
	"github.com/interlude-go/interlude/store"
)

type feedReader struct {
	client *Client
	store  store.FeedStore
	name   string
	filter FeedFilter
	lease  store.FeedLease
	runs   map[string]bool // by run id, whether the run passes the filter

	mu      sync.Mutex         // guards the fields below
	yielded uint64             // the number of yielded events
	acked   uint64             // the number of the last acknowledged event
	passed  store.FeedPosition // all events up to here were yielded or filtered out
}

const (
	feedPage = 512 // commits that it reads at a time
	// maxFeedRuns bounds feedReader.runs.
	maxFeedRuns = 10_000
)

func (c *Client) newFeedReader(ctx context.Context, name string, filter FeedFilter) (*feedReader, error) {
	err := c.checkFeed(ctx, name)
	if err == nil {
		err = filter.check()
	}
	if err != nil {
		return nil, err
	}
	filter.Types, filter.Labels = slices.Clone(filter.Types), maps.Clone(filter.Labels)
	filter.For.Groups = slices.Clone(filter.For.Groups)
	return &feedReader{client: c, store: c.proc.Store, name: name, filter: filter, runs: make(map[string]bool)}, nil
}

// serve waits for the lease and yields events until the caller stops, ctx ends or an error.
func (r *feedReader) serve(ctx context.Context, yield func(FeedEvent, error) bool) (err error) {
	hints := make(chan struct{}, 1)
	f := r.client.hub.subscribe(func(store.Hint) {
		select {
		case hints <- struct{}{}:
		default: // the reader is about to wake
		}
	})
	defer f.close()
	p := node.Poller{Clock: r.client.proc.Clock, Wake: hints, Interval: r.client.poll}
	defer p.Stop()
	if err := r.acquireLease(ctx, &p); err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	var heartbeat sync.WaitGroup
	heartbeat.Go(func() { r.renewPeriodically(ctx, cancel) })
	defer func() {
		cancel(nil)
		heartbeat.Wait()
		r.release(ctx)
	}()
	err = r.deliver(ctx, &p, yield)
	if cause := context.Cause(ctx); err != nil && cause != nil {
		return cause
	}
	return err
}

// acquireLease waits until the feed has no other reader. It creates a missing feed.
func (r *feedReader) acquireLease(ctx context.Context, p *node.Poller) error {
	for {
		l, free, err := r.store.LeaseFeed(ctx, r.name, FeedLease, r.client.proc.LeaseTime())
		switch {
		case errors.Is(err, store.ErrNotFound):
			err = r.store.CreateFeed(ctx, r.client.newFeed(r.name, DefaultFeedLag))
			if err != nil && !errors.Is(err, store.ErrExists) {
				return fmt.Errorf("lifecycle: feed %s: %w", r.name, err)
			}
			continue
		case err != nil:
			return fmt.Errorf("lifecycle: feed %s: %w", r.name, err)
		case free:
			r.lease = l
			return nil
		}
		for over := false; !over; over = p.IntervalOver() { // no hints for leases
			if err := p.Wait(ctx); err != nil {
				return err
			}
		}
	}
}

// renewPeriodically renews the lease until ctx ends, each time moving the cursor past filtered
// events. It ends ctx if another reader has taken over.
func (r *feedReader) renewPeriodically(ctx context.Context, cancel context.CancelCauseFunc) {
	for r.client.proc.Sleep(ctx, FeedLease/3) == nil {
		err := r.store.AckFeed(ctx, r.lease, r.acknowledged(), r.client.proc.LeaseTime())
		if err = r.explain(err); errors.Is(err, ErrFeedTaken) || errors.Is(err, ErrFeedLost) {
			cancel(err)
			return
		}
		// Any other error may be transient. An expired lease can be renewed until another reader takes
		// it.
	}
}

// release moves the cursor past filtered events and ends the lease for the next reader.
func (r *feedReader) release(ctx context.Context) {
	const patience = 2 * time.Second
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	if to := r.acknowledged(); to != "" {
		// on a failure these come again, and are filtered again
		_ = r.store.AckFeed(ctx, r.lease, to, r.client.proc.LeaseTime())
	}
	_ = r.store.ReleaseFeed(ctx, r.lease) // expires otherwise
}

// explain converts an error of a call under the lease for the caller of Feed.
func (r *feedReader) explain(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, store.ErrStaleEpoch):
		return fmt.Errorf("%w: %s", ErrFeedTaken, r.name)
	}
	return fmt.Errorf("lifecycle: feed %s: %w", r.name, err)
}

// deliver reads and yields. It returns nil when the caller stops.
func (r *feedReader) deliver(ctx context.Context, p *node.Poller, yield func(FeedEvent, error) bool) error {
	at := r.lease.Cursor
	for {
		read := node.MonotonicNow(r.client.proc.Clock)
		page, err := r.store.ReadFeed(ctx, r.lease, at, feedPage)
		if err != nil {
			return r.explain(err)
		}
		events, err := r.filterCommits(ctx, page.Commits, at)
		if err != nil {
			return err
		}
		for i, e := range events {
			e.More = i < len(events)-1
			r.countYielded(&e)
			if !yield(e, nil) {
				return nil
			}
			if err := context.Cause(ctx); err != nil {
				return err
			}
		}
		if n := len(page.Commits); n > 0 {
			at = page.Commits[n-1].Position
			r.notePassed(at)
		}
		if page.More {
			continue
		}
		if err := r.pause(ctx, p, read, page.Held); err != nil {
			return err
		}
	}
}

// pause waits for a hint or the next poll, at least until feedPause after the last read. Held events
// (FeedPage.Held) become readable without a hint.
func (r *feedReader) pause(ctx context.Context, p *node.Poller, read time.Time, held bool) error {
	if !held {
		if err := p.Wait(ctx); err != nil {
			return err
		}
	}
	pause := min(feedPause, r.client.poll)
	rest := pause - max(0, node.MonotonicNow(r.client.proc.Clock).Sub(read)) // a host's clock may be set back
	if rest <= 0 {
		return ctx.Err()
	}
	return r.client.proc.Sleep(ctx, rest)
}

// filterCommits returns the events that pass the filter. at is the position before the first commit.
func (r *feedReader) filterCommits(ctx context.Context, commits []store.FeedCommit, at store.FeedPosition) ([]FeedEvent,
	error,
) {
	var events []FeedEvent
	for _, commit := range commits {
		before := len(events)
		for _, stored := range commit.Events {
			event, err := fcmp.Decode(stored.Body)
			if err != nil {
				return nil, fmt.Errorf("lifecycle: feed %s: event %d of run %s: %w", r.name, stored.Seq, commit.RunID,
					err)
			}
			if len(r.filter.Types) == 0 || slices.Contains(r.filter.Types, event.Type) {
				events = append(events, FeedEvent{Event: event, reader: r, done: at})
			}
		}
		if len(events) > before {
			ok, err := r.passes(ctx, commit.RunID)
			if err != nil {
				return nil, err
			}
			if !ok {
				events = events[:before]
			}
			if events, err = r.filterByAudience(ctx, events, before); err != nil {
				return nil, err
			}
		}
		at = commit.Position
		if len(events) > 0 {
			events[len(events)-1].done = at // the last event also acknowledges filtered commits
		}
	}
	return events, nil
}

// passes reports whether the run's events pass the filter. A run's pool, key and labels never
// change.
func (r *feedReader) passes(ctx context.Context, id string) (bool, error) {
	f := &r.filter
	if f.Pool == "" && f.Key == "" && len(f.Labels) == 0 {
		return true, nil
	}
	if ok, cached := r.runs[id]; cached {
		return ok, nil
	}
	run, err := r.client.proc.Store.Run(ctx, id)
	if err != nil { // not ErrNotFound: Prune waits for the feed
		return false, fmt.Errorf("lifecycle: feed %s: %w", r.name, err)
	}
	if len(r.runs) >= maxFeedRuns {
		clear(r.runs)
	}
	ok := Query{Pool: f.Pool, Key: f.Key, Labels: f.Labels}.Matches(&run)
	r.runs[id] = ok
	return ok, nil
}

// filterByAudience removes events that are not about a question for the filter's person, beginning at
// the index from.
func (r *feedReader) filterByAudience(ctx context.Context, events []FeedEvent, from int) ([]FeedEvent, error) {
	if r.filter.For.IsZero() || from == len(events) {
		return events, nil
	}
	person := r.client.WithPrincipals(ctx, r.filter.For)
	kept := events[:from]
	for i := from; i < len(events); i++ {
		to, ok, err := r.audienceOf(ctx, &events[i].Event)
		if err != nil {
			return nil, fmt.Errorf("lifecycle: feed %s: event %s: %w", r.name, events[i].ID(), err)
		}
		if ok && to.AdmitsAny(person) {
			kept = append(kept, events[i])
		}
	}
	return kept, nil
}

// audienceOf returns the audience of an event's question: the event's, else the stored question's;
// false for an event about no question.
func (r *feedReader) audienceOf(ctx context.Context, e *Event) (*Audience, bool, error) {
	var about struct {
		ID     int       `json:"interaction_id"`
		Change string    `json:"change"`
		To     *Audience `json:"to"`
	}
	switch e.Type {
	case TypeInputRequired, TypeEscalated, TypeReminder, TypeChanged, TypeNoted, TypeRecorded, TypeReplyAccepted,
		TypeAutoDecided, TypeDefaultTaken, TypeClosed:
	default:
		return nil, false, nil
	}
	if err := e.Decode(&about); err != nil {
		return nil, false, err
	}
	if e.Type == TypeInputRequired || e.Type == TypeEscalated || about.Change == "reassign" {
		return about.To, true, nil
	}
	run, err := r.client.proc.Store.Run(ctx, e.RunID)
	if err != nil { // not ErrNotFound: Prune waits for the feed
		return nil, false, err
	}
	if q := run.OpenQuestion(about.ID); q != nil {
		return q.To, true, nil
	}
	settled, err := r.client.proc.Store.Interaction(ctx, e.RunID, about.ID)
	return settled.Question.To, true, err
}

func (r *feedReader) countYielded(e *FeedEvent) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.yielded++
	e.number = r.yielded
}

func (r *feedReader) notePassed(at store.FeedPosition) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.passed = at
}

// acknowledged returns the position to which the cursor may move: passed, once all yielded events are
// acknowledged; empty before.
func (r *feedReader) acknowledged() store.FeedPosition {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.acked < r.yielded {
		return ""
	}
	return r.passed
}

func (r *feedReader) ack(ctx context.Context, e FeedEvent) error {
	if ctx == nil {
		return &ArgumentError{"ctx", "nil", "a context", nil}
	}
	if err := r.store.AckFeed(ctx, r.lease, e.done, r.client.proc.LeaseTime()); err != nil {
		return r.explain(err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.acked = max(r.acked, e.number)
	return nil
}
