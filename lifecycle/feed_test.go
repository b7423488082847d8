package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/store"
)

// K8: people create feeds only up to a limit; existing feeds continue, and the host has no limit.
func TestK8FeedsOfPeopleAreBounded(t *testing.T) {
	c := clientOf(t, newStore(t))
	ada := c.As(Actor{ID: "ada"})
	read := func(ctx context.Context, name string) error {
		for _, err := range ada.Feed(ctx, name, FeedFilter{}) {
			return err
		}
		return nil
	}
	for i := range MaxFeeds {
		_, err := ada.CreateFeed(t.Context(), fmt.Sprint("f", i), time.Hour)
		require.NoError(t, err)
	}
	_, err := ada.CreateFeed(t.Context(), "further", time.Hour)
	require.ErrorIs(t, err, ErrTooMany)
	require.ErrorIs(t, read(t.Context(), "further"), ErrTooMany)
	ended, end := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer end()
	require.ErrorIs(t, read(ended, "f0"), context.DeadlineExceeded)
	_, err = c.CreateFeed(t.Context(), "further", time.Hour)
	require.NoError(t, err)
}

// subscriber reads a feed in a separate goroutine, like a process, and keeps its events.
type subscriber struct {
	stop func() // as the process's own context ends

	mu   sync.Mutex
	got  []string // guarded by mu; the ids
	err  error    // guarded by mu; with which the sequence ended
	done chan struct{}
}

// subscribe reads until the context ends, the feed fails or each returns false.
func subscribe(ctx context.Context, c *Client, name string, filter FeedFilter, each func(FeedEvent) bool) *subscriber {
	ctx, stop := context.WithCancel(ctx)
	s := &subscriber{stop: stop, done: make(chan struct{})}
	go func() {
		defer close(s.done)
		for e, err := range c.Feed(ctx, name, filter) {
			s.mu.Lock()
			if err != nil {
				s.err = err
			} else {
				s.got = append(s.got, e.ID())
			}
			s.mu.Unlock()
			if err == nil && !each(e) {
				return
			}
		}
	}()
	return s
}

// events returns the subscriber's events since the last call.
func (s *subscriber) events() []string {
	synctest.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	got := s.got
	s.got = nil
	return got
}

// ended returns the error with which the sequence ended.
func (s *subscriber) ended() error {
	<-s.done
	return s.err
}

// acking acknowledges each event.
func acking(tb testing.TB) func(FeedEvent) bool {
	return func(e FeedEvent) bool {
		if err := e.Ack(tb.Context()); err != nil && !errors.Is(err, context.Canceled) {
			tb.Errorf("acknowledging %s: %v", e.ID(), err)
		}
		return true
	}
}

func ignoring(FeedEvent) bool { return true }

// of are the ids of a run's events from first to last.
func of(id string, first, last int) (all []string) {
	for seq := first; seq <= last; seq++ {
		all = append(all, fmt.Sprintf("%s/%d", id, seq))
	}
	return all
}

// TestFeedFollowsAllRuns: K8, a reader gets the events of all runs, each once, in the order of
// each run, from the creation of the feed to the end of each run.
func TestFeedFollowsAllRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lc, stop := serve(t, Config{Store: newStore(t), Engine: asksOnce()})
		defer stop()
		submit(t, lc, "before")
		pass(time.Second)
		created, err := lc.CreateFeed(t.Context(), "mail", time.Hour)
		require.NoError(t, err)
		require.True(t, created)
		seen := in(t, lc.Client, "before", fsm.StateWaitingUser).Seq
		submit(t, lc, "after")
		pass(time.Second)
		s := subscribe(t.Context(), lc.Client, "mail", FeedFilter{}, acking(t))
		pass(time.Second)
		parked := int(in(t, lc.Client, "after", fsm.StateWaitingUser).Seq)
		require.Equal(t, of("after", 1, parked), s.events())
		reply(t, lc.Client, "after", 1, "yes")
		reply(t, lc.Client, "before", 1, "yes")
		pass(time.Second)
		last := int(in(t, lc.Client, "after", fsm.StateSucceeded).Seq)
		got := s.events()
		for _, id := range []string{"after", "before"} {
			first := map[string]int{"after": parked + 1, "before": int(seen) + 1}[id]
			require.Equal(t, of(id, first, last), slices.DeleteFunc(slices.Clone(got), func(event string) bool {
				return event[:len(id)] != id
			}))
		}
		s.stop()
		require.ErrorIs(t, s.ended(), context.Canceled)
		feeds, err := lc.Feeds(t.Context())
		require.NoError(t, err)
		require.Equal(t, []FeedStatus{{Name: "mail", MaxLag: time.Hour}}, feeds)
	})
}

// TestFeedIsServedToOneReader: K8, of two readers of one name one is served. When it returns, the
// other continues after the acknowledged events; when it dies, once the lease is over.
func TestFeedIsServedToOneReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore(t)
		c := clientOf(t, s)
		first := subscribe(t.Context(), c, "mail", FeedFilter{}, func(e FeedEvent) bool {
			return e.RunID != "a" || e.Ack(t.Context()) == nil
		})
		pass(time.Millisecond)
		second := subscribe(t.Context(), clientOf(t, s), "mail", FeedFilter{}, acking(t))
		submitted(t, c, "a", 1)
		submitted(t, c, "b", 1)
		pass(time.Minute)
		require.Equal(t, []string{"a/1", "b/1"}, first.events(), "each once, and the lease is renewed")
		require.Empty(t, second.events())
		first.stop()
		require.ErrorIs(t, first.ended(), context.Canceled)
		pass(c.poll)
		require.Equal(t, []string{"b/1"}, second.events())
		second.stop()
		require.ErrorIs(t, second.ended(), context.Canceled)

		// A reader that dies acknowledges nothing and gives nothing back.
		dead, free, err := s.LeaseFeed(t.Context(), "mail", FeedLease, time.Now())
		require.NoError(t, err)
		require.True(t, free)
		submitted(t, c, "c", 1)
		third := subscribe(t.Context(), c, "mail", FeedFilter{}, acking(t))
		pass(FeedLease - time.Second)
		require.Empty(t, third.events())
		pass(c.poll + time.Second)
		require.Equal(t, []string{"c/1"}, third.events())
		require.ErrorIs(t, s.AckFeed(t.Context(), dead, dead.Cursor, time.Now()), store.ErrStaleEpoch)
		third.stop()
	})
}

// standing is a store whose reader pauses: its lease is not renewed.
type standing struct{ store.Store }

func (s standing) AckFeed(ctx context.Context, l store.FeedLease, to store.FeedPosition, now time.Time) error {
	if to == "" {
		return errors.New("the network is down")
	}
	return s.Store.AckFeed(ctx, l, to, now)
}

// TestFeedIsTakenOver: K8, a reader that paused for longer than its lease gets ErrFeedTaken when it
// continues, and acknowledges nothing more.
func TestFeedIsTakenOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore(t)
		c := clientOf(t, s)
		goOn := make(chan struct{})
		var late error
		old := subscribe(t.Context(), clientOf(t, standing{s}), "mail", FeedFilter{}, func(e FeedEvent) bool {
			<-goOn
			late = e.Ack(t.Context())
			return true
		})
		pass(time.Millisecond)
		submitted(t, c, "a", 1)
		pass(time.Second)
		next := subscribe(t.Context(), c, "mail", FeedFilter{}, acking(t))
		pass(FeedLease + c.poll)
		require.Equal(t, []string{"a/1"}, next.events())
		close(goOn)
		require.ErrorIs(t, old.ended(), ErrFeedTaken)
		require.ErrorIs(t, late, ErrFeedTaken)
		submitted(t, c, "b", 1)
		pass(time.Second)
		require.Equal(t, []string{"b/1"}, next.events())
		next.stop()
	})
}

// TestFeedRepeatsWhatWasNotAcknowledged: K8, whatever is not acknowledged comes again, in whole
// commits, and nothing else does.
func TestFeedRepeatsWhatWasNotAcknowledged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lc, stop := serve(t, Config{Store: newStore(t), Engine: asksOnce()})
		defer stop()
		_, err := lc.CreateFeed(t.Context(), "mail", time.Hour)
		require.NoError(t, err)
		submit(t, lc, "a")
		pass(time.Second)
		all := of("a", 1, int(in(t, lc.Client, "a", fsm.StateWaitingUser).Seq))
		for acked := range all {
			var got []string
			for e, err := range lc.Feed(t.Context(), "mail", FeedFilter{}) {
				require.NoError(t, err)
				if got = append(got, e.ID()); e.ID() == all[acked] {
					require.NoError(t, e.Ack(t.Context()))
				}
				require.Equal(t, e.ID() != all[len(all)-1], e.More)
				if !e.More {
					break
				}
			}
			from := slices.Index(all, got[0])
			require.LessOrEqual(t, from, acked, "nothing is passed over")
			require.Equal(t, all[from:], got)
		}
		feeds, err := lc.Feeds(t.Context())
		require.NoError(t, err)
		require.Zero(t, feeds[0].Unacked)
	})
}

// TestFeedYieldsOnlyWhatItsFilterLetsThrough: K8, a reader gets what its filter lets through; the
// rest is acknowledged once everything before it is, so that it keeps nothing for long.
func TestFeedYieldsOnlyWhatItsFilterLetsThrough(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore(t)
		lc, stop := serve(t, Config{Store: s, Engine: asksOnce()})
		defer stop()
		readers := map[string]*subscriber{}
		for name, filter := range map[string]FeedFilter{
			"types":  {Types: []string{"user.input.required", "conversation.completed"}},
			"key":    {Types: []string{"user.input.required"}, Key: "k"},
			"pool":   {Pool: "none"},
			"labels": {Types: []string{"user.input.required"}, Labels: map[string]string{"team": "blue"}},
		} {
			readers[name] = subscribe(t.Context(), lc.Client, name, filter, acking(t))
		}
		pass(time.Second)
		for _, spec := range []Spec{{ID: "plain"}, {ID: "keyed", Key: "k"},
			{ID: "blue", Labels: map[string]string{"team": "blue"}}} {
			spec.Prompt = "x"
			_, err := lc.Submit(t.Context(), spec)
			require.NoError(t, err)
			pass(time.Second)
		}
		question := func(id string) string {
			for e, err := range lc.Events(t.Context(), id, 0) {
				require.NoError(t, err)
				if e.Type == "user.input.required" {
					return fmt.Sprintf("%s/%d", id, e.Seq)
				}
			}
			return ""
		}
		require.Equal(t, []string{question("plain"), question("keyed"), question("blue")}, readers["types"].events())
		require.Equal(t, []string{question("keyed")}, readers["key"].events())
		require.Equal(t, []string{question("blue")}, readers["labels"].events())
		require.Empty(t, readers["pool"].events())
		pass(FeedLease)
		feeds, err := lc.Feeds(t.Context())
		require.NoError(t, err)
		for _, f := range feeds {
			require.Zero(t, f.Unacked, f.Name)
		}
		for _, r := range readers {
			r.stop()
		}
	})
}

// TestPruneWaitsForALaggingFeedUpToItsLimit: K8, a reader that never acknowledges delays neither
// others nor the runs, and the lag is visible; Prune waits for it, up to the feed's allowed lag,
// and then makes it lost.
func TestPruneWaitsForALaggingFeedUpToItsLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore(t)
		lc, stop := serve(t, Config{Store: s, Engine: agent{}})
		defer stop()
		_, err := lc.CreateFeed(t.Context(), "idle", time.Hour)
		require.NoError(t, err)
		idle := subscribe(t.Context(), lc.Client, "idle", FeedFilter{}, ignoring)
		busy := subscribe(t.Context(), lc.Client, "busy", FeedFilter{}, acking(t))
		pass(time.Second)
		submitted := time.Now()
		submit(t, lc, "a")
		pass(time.Second)
		in(t, lc.Client, "a", fsm.StateSucceeded)
		require.Equal(t, idle.events(), busy.events())
		feeds, err := lc.Feeds(t.Context())
		require.NoError(t, err)
		require.Zero(t, feeds[0].Unacked)
		require.Equal(t, "busy", feeds[0].Name)
		require.Positive(t, feeds[1].Unacked)
		require.True(t, submitted.Equal(feeds[1].Oldest))
		require.False(t, feeds[1].Lost)

		pass(30 * time.Minute)
		n, err := lc.Prune(t.Context(), time.Now())
		require.NoError(t, err)
		require.Zero(t, n)
		pass(time.Hour)
		n, err = lc.Prune(t.Context(), time.Now())
		require.NoError(t, err)
		require.Equal(t, 1, n)
		pass(FeedLease)
		require.ErrorIs(t, idle.ended(), ErrFeedLost)
		for _, err := range lc.Feed(t.Context(), "idle", FeedFilter{}) {
			require.ErrorIs(t, err, ErrFeedLost)
		}
		require.NoError(t, lc.DeleteFeed(t.Context(), "idle"))
		idle = subscribe(t.Context(), lc.Client, "idle", FeedFilter{}, ignoring)
		pass(time.Second)
		submit(t, lc, "b")
		pass(time.Second)
		require.Equal(t, busy.events(), idle.events())
		idle.stop()
		busy.stop()
	})
}

// TestFeedRefusesWhatIsWrong: K8, names, filters and lags that are none, a store without feeds.
func TestFeedRefusesWhatIsWrong(t *testing.T) {
	c := clientOf(t, newStore(t))
	read := func(c *Client, name string, filter FeedFilter) (got error) {
		for _, err := range c.Feed(t.Context(), name, filter) {
			got = err
		}
		return got
	}
	for _, name := range []string{"", "-", "a b", fmt.Sprintf("%064d", 1)} {
		require.ErrorIs(t, read(c, name, FeedFilter{}), ErrInvalidArgument, name)
		require.ErrorIs(t, second(c.CreateFeed(t.Context(), name, time.Hour)), ErrInvalidArgument)
		require.ErrorIs(t, c.DeleteFeed(t.Context(), name), ErrInvalidArgument)
	}
	for _, filter := range []FeedFilter{{Types: []string{""}}, {Pool: "a b"}, {Labels: map[string]string{"": ""}},
		{Labels: numbered(MaxLabels + 1)}, {Key: strings.Repeat("k", MaxKey+1)}, {Key: "\xff"},
		{For: Actor{ID: strings.Repeat("a", MaxReplyActor+1)}}} {
		require.ErrorIs(t, read(c, "a", filter), ErrInvalidArgument, "%+v", filter)
	}
	widest := FeedFilter{Types: []string{"x"}, Key: strings.Repeat("k", MaxKey), Labels: numbered(MaxLabels)}
	require.NoError(t, widest.check())
	require.ErrorIs(t, second(c.CreateFeed(t.Context(), "a", 0)), ErrInvalidArgument)
	require.ErrorIs(t, c.DeleteFeed(t.Context(), "a"), ErrNotFound)
	require.ErrorIs(t, FeedEvent{}.Ack(t.Context()), ErrInvalidArgument)
}

// TestFeedIsDeletedUnderItsReader: K8, a busy reader whose feed is deleted gets no more of its read
// events: it could not acknowledge them.
func TestFeedIsDeletedUnderItsReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clientOf(t, newStore(t))
		_, err := c.CreateFeed(t.Context(), "mail", time.Hour)
		require.NoError(t, err)
		submitted(t, c, "a", 1)
		submitted(t, c, "b", 1)
		goOn := make(chan struct{})
		s := subscribe(t.Context(), c, "mail", FeedFilter{}, func(FeedEvent) bool {
			<-goOn
			return true
		})
		pass(time.Second)
		require.NoError(t, c.DeleteFeed(t.Context(), "mail"))
		pass(FeedLease)
		close(goOn)
		require.ErrorIs(t, s.ended(), ErrFeedTaken)
		require.Equal(t, []string{"a/1"}, s.events())
	})
}

// TestFeedMovesOnWhenItsReaderEnds: K8, filtered events are acknowledged when the reader ends,
// unless something before them is not.
func TestFeedMovesOnWhenItsReaderEnds(t *testing.T) {
	for name, c := range map[string]struct {
		filter  FeedFilter
		unacked bool
	}{
		"nothing passed":           {FeedFilter{Types: []string{"none"}}, false},
		"one was not acknowledged": {FeedFilter{}, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client := clientOf(t, newStore(t))
				s := subscribe(t.Context(), client, "mail", c.filter, ignoring)
				pass(time.Second)
				submitted(t, client, "a", 1)
				pass(time.Second)
				s.stop()
				require.ErrorIs(t, s.ended(), context.Canceled)
				feeds, err := client.Feeds(t.Context())
				require.NoError(t, err)
				require.Equal(t, c.unacked, feeds[0].Unacked > 0)
			})
		})
	}
}

// readingRuns is a store with feeds that counts how often a run is read.
type readingRuns struct {
	store.Store
	reads int
}

func (s *readingRuns) Run(ctx context.Context, id string) (Run, error) {
	s.reads++
	return s.Store.Run(ctx, id)
}

// TestFeedReadsARunOnce: K8, and only if an event of it passes the rest of the filter. It remembers
// a limited number of runs.
func TestFeedReadsARunOnce(t *testing.T) {
	below := newStore(t)
	submitted(t, clientOf(t, below), "a", 1)
	for _, c := range []struct {
		name            string
		types           []string
		knows           int
		reads, knowsNow int
	}{
		{"none of its events passes", []string{"none"}, 0, 0, 0},
		{"each passes", nil, 0, 1, 1},
		{"it knows many", nil, maxFeedRuns - 1, 1, maxFeedRuns},
		{"it knows as many as it may", nil, maxFeedRuns, 1, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := &readingRuns{Store: below}
			r, err := clientOf(t, s).newFeedReader(t.Context(), "mail", FeedFilter{Types: c.types, Key: "k"})
			require.NoError(t, err)
			for i := range c.knows {
				r.runs[fmt.Sprint("known-", i)] = true
			}
			events, err := below.Events(t.Context(), "a", 0, 1)
			require.NoError(t, err)
			commit := store.FeedCommit{RunID: "a", Events: events}
			got, err := r.filterCommits(t.Context(), []store.FeedCommit{commit, commit}, "")
			require.NoError(t, err)
			require.Empty(t, got)
			require.Equal(t, []int{c.reads, c.knowsNow}, []int{s.reads, len(r.runs)})
		})
	}
}
