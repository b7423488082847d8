package simulate

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/interlude-go/interlude/contract/fcmp"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/store"
)

// This file has a feed that the processes of all hosts read under one name (K8): one of them is
// served at a time, and another takes over when it ends, pauses or dies. fed.go judges their
// events.

// feedName is the name of the feed.
const feedName = "audit"

// feedPlan is the seed's plan for the feed.
type feedPlan struct {
	read  bool // hosts read it
	seed  uint64
	types []string // of events; nil for all
}

// planFeed lets the hosts of some worlds read a feed. Like planHolds, it has a separate generator.
func (p *plan) planFeed() {
	r := rand.New(rand.NewPCG(uint64(p.lease)<<20|uint64(p.poll), uint64(p.peace)))
	p.feed = feedPlan{read: r.IntN(8) == 0, seed: r.Uint64()}
	if r.IntN(3) == 0 {
		p.feed.types = []string{fcmp.TypeStateChanged, fcmp.TypeInputRequired}
	}
}

// reads keeps reading the feed until the process ends, in one session after the other.
func (p *process) reads(ctx context.Context, lc *lifecycle.Lifecycle) {
	r := rand.New(rand.NewPCG(p.view.world.plan.feed.seed, hashOf(p.view.name, p.number)))
	for {
		p.session(ctx, lc, r)
		if !p.view.rest(ctx.Done(), time.Second) {
			return
		}
	}
}

// session reads the feed until it fails or the reader leaves.
func (p *process) session(ctx context.Context, lc *lifecycle.Lifecycle, r *rand.Rand) {
	v, w := p.view, p.view.world
	got, leaves, every := 0, 0, 1+r.IntN(4)
	if r.IntN(3) == 0 {
		leaves = 1 + r.IntN(20)
	}
	for e, err := range lc.Feed(ctx, feedName, lifecycle.FeedFilter{Types: w.plan.feed.types}) {
		if err != nil {
			w.feedFailed(v, err)
			break
		}
		got++
		w.fed(fed{view: v, what: feedGave, run: e.RunID, seq: e.Seq})
		if got == leaves && !w.peaceful() {
			w.saw("a reader of a feed left without acknowledging")
			break
		}
		if r.IntN(6) == 0 && !v.rest(ctx.Done(), millis(r, 10, 8000)) {
			break
		}
		if e.More && got%every > 0 {
			continue
		}
		if !p.acknowledges(ctx, e) {
			break
		}
	}
}

// acknowledges repeats the acknowledgement until it is known to be stored, and reports whether it
// is.
func (p *process) acknowledges(ctx context.Context, e lifecycle.FeedEvent) bool {
	v, w := p.view, p.view.world
	for {
		w.fed(fed{view: v, what: feedAcks})
		err := e.Ack(ctx)
		if err == nil {
			w.fed(fed{view: v, what: feedAcked, part: e.More})
			return true
		}
		w.feedFailed(v, err)
		if !unclear(err) || !v.rest(ctx.Done(), time.Second) {
			return false
		}
	}
}

// feedFailed counts how a feed has failed its reader.
func (w *world) feedFailed(v *view, err error) {
	switch {
	case errors.Is(err, lifecycle.ErrFeedTaken):
		w.saw("a reader of a feed stood still, and another had taken over")
	case unclear(err), errors.Is(err, context.Canceled):
	default:
		w.fault(fmt.Sprintf("%s reads the feed: %v", v.name, err))
	}
}

// peaceful reports whether nothing goes wrong any more.
func (w *world) peaceful() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.calmed
}

// CreateFeed implements store.FeedStore.
func (v *view) CreateFeed(ctx context.Context, f store.Feed) error {
	_, err := do(ctx, v, "CreateFeed", f.Name, func() (struct{}, error) { return struct{}{}, v.world.createFeed(f) })
	return err
}

// DeleteFeed implements store.FeedStore.
func (v *view) DeleteFeed(ctx context.Context, name string) error {
	_, err := do(ctx, v, "DeleteFeed", name, func() (struct{}, error) {
		return struct{}{}, v.world.store.DeleteFeed(v.world.ctx, name)
	})
	return err
}

// Feeds implements store.FeedStore.
func (v *view) Feeds(ctx context.Context) ([]store.FeedStatus, error) {
	return do(ctx, v, "Feeds", "", func() ([]store.FeedStatus, error) { return v.world.store.Feeds(v.world.ctx) })
}

// feedLease is the result of LeaseFeed.
type feedLease struct {
	store.FeedLease
	free bool
}

// LeaseFeed implements store.FeedStore.
func (v *view) LeaseFeed(ctx context.Context, name string, length time.Duration, now time.Time) (store.FeedLease, bool,
	error,
) {
	l, err := do(ctx, v, "LeaseFeed", name, func() (feedLease, error) {
		return v.world.leaseFeed(v, name, length, now)
	})
	return l.FeedLease, l.free, err
}

// ReadFeed implements store.FeedStore.
func (v *view) ReadFeed(ctx context.Context, l store.FeedLease, after store.FeedPosition, limit int) (store.FeedPage,
	error,
) {
	what := l.Feed + "/" + strconv.FormatUint(l.Epoch, 10) + " after " + string(after)
	return do(ctx, v, "ReadFeed", what, func() (store.FeedPage, error) {
		return v.world.store.ReadFeed(v.world.ctx, l, after, limit)
	})
}

// AckFeed implements store.FeedStore.
func (v *view) AckFeed(ctx context.Context, l store.FeedLease, to store.FeedPosition, now time.Time) error {
	what := l.Feed + "/" + strconv.FormatUint(l.Epoch, 10) + " to " + string(to)
	_, err := do(ctx, v, "AckFeed", what, func() (struct{}, error) { return struct{}{}, v.world.ackFeed(l, to, now) })
	return err
}

// ReleaseFeed implements store.FeedStore.
func (v *view) ReleaseFeed(ctx context.Context, l store.FeedLease) error {
	_, err := do(ctx, v, "ReleaseFeed", l.Feed+"/"+strconv.FormatUint(l.Epoch, 10), func() (struct{}, error) {
		return struct{}{}, v.world.releaseFeed(l)
	})
	return err
}
