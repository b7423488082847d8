package storetest

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/store"
)

const maxLag = 24 * time.Hour

func (w *world) feed(name string) *feedReader {
	w.Helper()
	require.NoError(w, w.store.CreateFeed(w.ctx, store.Feed{Name: name, MaxLag: maxLag}))
	return w.reader(name)
}

func (w *world) reader(name string) *feedReader {
	w.Helper()
	l, free, err := w.store.LeaseFeed(w.ctx, name, lease, w.now)
	require.NoError(w, err)
	require.True(w, free, "nobody reads the feed")
	return &feedReader{world: w, lease: l, at: l.Cursor}
}

type feedReader struct {
	*world

	lease store.FeedLease
	at    store.FeedPosition // after the last commit that was read
}

func (r *feedReader) page(limit int) store.FeedPage {
	r.Helper()
	for range 1000 {
		page, err := r.store.ReadFeed(r.ctx, r.lease, r.at, limit)
		require.NoError(r, err)
		if n := len(page.Commits); n > 0 {
			r.at = page.Commits[n-1].Position
			return page
		}
		if !page.Held {
			return page
		}
		time.Sleep(time.Millisecond) // other transactions of the server are under way
	}
	require.Fail(r, "the feed is held for ever")
	return store.FeedPage{}
}

// rest reads everything, as "run/seq".
func (r *feedReader) rest() []string {
	r.Helper()
	all := []string{}
	for {
		page := r.page(7)
		all = append(all, r.names(page)...)
		if !page.More && !page.Held {
			return all
		}
	}
}

// names returns the runs' events of a page, as "run/seq".
func (r *feedReader) names(page store.FeedPage) (all []string) {
	r.Helper()
	for _, c := range page.Commits {
		require.NotEmpty(r, c.Position)
		require.NotEmpty(r, c.Events, "only commits with events are noted")
		stored, err := r.store.Events(r.ctx, c.RunID, c.Events[0].Seq-1, len(c.Events))
		require.NoError(r, err)
		require.Equal(r, stored, c.Events)
		for _, e := range c.Events {
			all = append(all, fmt.Sprintf("%s/%d", c.RunID, e.Seq))
		}
	}
	return all
}

// ack acknowledges everything that was read.
func (r *feedReader) ack() {
	r.Helper()
	require.NoError(r, r.store.AckFeed(r.ctx, r.lease, r.at, r.now))
}

func (w *world) listFeeds() []store.FeedStatus {
	w.Helper()
	all, err := w.store.Feeds(w.ctx)
	require.NoError(w, err)
	return all
}

func (r *feedReader) status() store.FeedStatus {
	r.Helper()
	for _, f := range r.listFeeds() {
		if f.Name == r.lease.Feed {
			return f
		}
	}
	require.Fail(r, "there is no such feed", r.lease.Feed)
	return store.FeedStatus{}
}

func events(id string, first, last uint64) (all []string) {
	for seq := first; seq <= last; seq++ {
		all = append(all, fmt.Sprintf("%s/%d", id, seq))
	}
	return all
}

var feedCases = []promised{
	{
		"feeds/begin where they are created",
		"A feed has every event that is stored after its creation, of each kind of commit, and no earlier one; a " +
			"second feed of the same name is ErrExists (K8).",
		func(w *world) {
			before := w.waiting("before")
			r := w.feed("mail")
			require.ErrorIs(w, w.store.CreateFeed(w.ctx, store.Feed{Name: "mail", MaxLag: time.Hour}),
				store.ErrExists)
			require.Empty(w, r.rest())
			answered := w.commit(Answered(before, w.tick(), "k"))
			require.Equal(w, events("before", before.Seq+1, answered.Seq), r.rest())
			started := w.start("n")
			require.Equal(w, events("before", answered.Seq+1, started.Seq), r.rest())
			w.submit("a")
			w.submit("b")
			require.Equal(w, append(events("a", 1, w.load("a").Seq), events("b", 1, w.load("b").Seq)...), r.rest())
			require.Empty(w, r.rest())
		},
	},
	{
		"feeds/are limited by the caller",
		"With Most, a feed is created only while there are fewer; the name of an existing feed is still ErrExists, " +
			"and a deleted feed makes room.",
		func(w *world) {
			feeds := w.store
			create := func(name string, most int) error {
				return feeds.CreateFeed(w.ctx, store.Feed{Name: name, MaxLag: time.Hour, Most: most})
			}
			require.NoError(w, create("a", 2))
			require.NoError(w, create("b", 2))
			require.ErrorIs(w, create("c", 2), store.ErrTooMany)
			require.ErrorIs(w, create("a", 2), store.ErrExists)
			require.NoError(w, create("c", 0))
			require.ErrorIs(w, create("d", 2), store.ErrTooMany)
			require.NoError(w, create("d", 4))
			require.NoError(w, feeds.DeleteFeed(w.ctx, "a"))
			require.ErrorIs(w, create("a", 3), store.ErrTooMany)
			require.NoError(w, create("a", 4))
			all, err := feeds.Feeds(w.ctx)
			require.NoError(w, err)
			require.Len(w, all, 4)
			require.Zero(w, all[0].Most)
		},
	},
	{
		"feeds/have the events of a run in order",
		"With concurrent commits of many runs by several processes, a feed has each event exactly once, and the " +
			"events of a run in order (K8).",
		func(w *world) {
			r := w.feed("all")
			const writers, runs = 4, 6
			var group sync.WaitGroup
			var done atomic.Bool
			for i := range writers {
				s := w.also()
				group.Go(func() {
					for n := range runs {
						c := Created(fmt.Sprintf("r%d-%d", i, n), base)
						for range 4 {
							if errs := s.Commit(w.ctx, []store.Commit{c}); errs[0] != nil {
								w.Errorf("commit: %v", errs[0])
								return
							}
							c = addEvent(Changed(c.Run, base, func(*store.Run) {}))
						}
					}
				})
			}
			go func() {
				group.Wait()
				done.Store(true)
			}()
			seen := make(map[string]uint64)
			for end := false; !end; {
				end = done.Load()
				page := r.page(5)
				for page.More || len(page.Commits) > 0 {
					for _, c := range page.Commits {
						for _, e := range c.Events {
							require.Equal(w, seen[c.RunID]+1, e.Seq, "of run %s", c.RunID)
							seen[c.RunID] = e.Seq
						}
					}
					page = r.page(5)
				}
			}
			require.Len(w, seen, writers*runs)
			for id, seq := range seen {
				require.Equal(w, w.load(id).Seq, seq, "of run %s", id)
			}
		},
	},
	{
		"feeds/continue from the cursor",
		"A reader begins after the acknowledged events, and reads the others again; the cursor never moves back; " +
			"each feed has its own (K8).",
		func(w *world) {
			mail, page := w.feed("mail"), w.feed("page")
			w.submit("a")
			require.Equal(w, events("a", 1, 1), mail.rest())
			first := mail.at
			mail.ack()
			w.submit("b")
			require.Equal(w, events("b", 1, 1), mail.rest())
			require.NoError(w, w.store.AckFeed(w.ctx, mail.lease, first, w.now))
			require.NoError(w, w.store.AckFeed(w.ctx, mail.lease, "", w.now))
			require.NoError(w, w.store.ReleaseFeed(w.ctx, mail.lease))
			mail = w.reader("mail")
			require.Equal(w, first, mail.lease.Cursor)
			require.Equal(w, events("b", 1, 1), mail.rest())
			mail.ack()
			require.Equal(w, []string{"a/1", "b/1"}, page.rest())
			status := mail.status()
			require.Zero(w, status.Unacked)
			require.Empty(w, status.Next.Body)
			status = page.status()
			require.Equal(w, 2, status.Unacked)
			require.Equal(w, w.snapshot("a").Events[0], status.Next)
			require.Equal(w, store.Feed{Name: "page", MaxLag: maxLag}, status.Feed)
			require.False(w, status.Leased.IsZero())
		},
	},
	{
		"feeds/serve one reader at a time",
		"While a lease lasts, no other reader gets the feed; after its release another one does, and from then on " +
			"the previous reader is refused and cannot move the cursor (K8).",
		func(w *world) {
			old := w.feed("mail")
			other := w.also()
			_, free, err := other.LeaseFeed(w.ctx, "mail", lease, w.now)
			require.NoError(w, err)
			require.False(w, free)
			w.submit("a")
			require.Equal(w, events("a", 1, 1), old.rest())
			require.NoError(w, w.store.ReleaseFeed(w.ctx, old.lease))
			require.True(w, old.status().Leased.IsZero())
			now := w.reader("mail")
			_, err = other.ReadFeed(w.ctx, old.lease, "", 9)
			require.ErrorIs(w, err, store.ErrStaleEpoch)
			require.ErrorIs(w, other.AckFeed(w.ctx, old.lease, old.at, w.now), store.ErrStaleEpoch)
			require.NoError(w, other.ReleaseFeed(w.ctx, old.lease))
			_, free, err = other.LeaseFeed(w.ctx, "mail", lease, w.now)
			require.NoError(w, err)
			require.False(w, free, "the release of an earlier lease ends no later one")
			require.Equal(w, events("a", 1, 1), now.rest())
		},
	},
	{
		"feeds/are read in portions",
		"A page has at most limit commits, and says whether there are more; the next page continues after it. " +
			"Large events come in smaller pages.",
		func(w *world) {
			r := w.feed("mail")
			for i := range 5 {
				w.submit(fmt.Sprint("r", i))
			}
			require.Len(w, r.rest(), 5, "from now on all of them can be read at once")
			r.at = r.lease.Cursor
			require.Len(w, r.page(2).Commits, 2)
			page := r.page(2)
			require.Equal(w, []string{"r2/1", "r3/1"}, r.names(page))
			require.True(w, page.More)
			page = r.page(2)
			require.Equal(w, []string{"r4/1"}, r.names(page))
			require.False(w, page.More)
			_, err := w.store.ReadFeed(w.ctx, r.lease, r.at, 0)
			require.ErrorIs(w, err, store.ErrInvalid)
		},
	},
	{
		"feeds/refuse invalid arguments",
		"Invalid names, lags and positions are ErrInvalid, and names of no feed ErrNotFound; a position beyond the " +
			"last commit acknowledges nothing.",
		func(w *world) {
			feeds := w.store
			for _, f := range []store.Feed{{MaxLag: 1000}, {Name: "-", MaxLag: 1000}, {Name: "a b", MaxLag: 1000},
				{Name: "a\x00", MaxLag: 1000}, {Name: fmt.Sprintf("%064d", 1), MaxLag: 1000}, {Name: "a"},
				{Name: "a", MaxLag: -1000}, {Name: "a", MaxLag: 1}} {
				require.ErrorIs(w, feeds.CreateFeed(w.ctx, f), store.ErrInvalid, "%+v", f)
			}
			require.ErrorIs(w, feeds.CreateFeed(w.ctx, store.Feed{Name: "a", MaxLag: 1000, Most: -1}), store.ErrInvalid)
			require.ErrorIs(w, feeds.DeleteFeed(w.ctx, "a"), store.ErrNotFound)
			require.ErrorIs(w, feeds.DeleteFeed(w.ctx, "a\x00"), store.ErrNotFound)
			_, _, err := feeds.LeaseFeed(w.ctx, "a", lease, w.now)
			require.ErrorIs(w, err, store.ErrNotFound)
			all, err := feeds.Feeds(w.ctx)
			require.NoError(w, err)
			require.Empty(w, all)

			r := w.feed("mail")
			w.submit("a")
			r.rest()
			for _, p := range []store.FeedPosition{"x", "-1", " 1", "1.2", "99999999999999999999", r.at + "0"} {
				require.ErrorIs(w, feeds.AckFeed(w.ctx, r.lease, p, w.now), store.ErrInvalid, "%q", p)
			}
			for _, p := range []store.FeedPosition{"x", "-1", " 1", "1.2", "99999999999999999999"} {
				_, err := feeds.ReadFeed(w.ctx, r.lease, p, 9)
				require.ErrorIs(w, err, store.ErrInvalid, "%q", p)
			}
			require.Equal(w, 1, r.status().Unacked)
		},
	},
	{
		"feeds/are deleted",
		"A deleted feed has no readers and keeps nothing; a new feed of the same name begins at its own creation.",
		func(w *world) {
			r := w.feed("mail")
			w.submit("a")
			require.NoError(w, w.store.DeleteFeed(w.ctx, "mail"))
			_, err := w.store.ReadFeed(w.ctx, r.lease, "", 9)
			require.ErrorIs(w, err, store.ErrStaleEpoch)
			require.ErrorIs(w, w.store.AckFeed(w.ctx, r.lease, "", w.now), store.ErrStaleEpoch)
			w.submit("b")
			r = w.feed("mail")
			require.Empty(w, r.rest())
			w.submit("c")
			require.Equal(w, events("c", 1, 1), r.rest())
		},
	},
	{
		"feeds/keep the runs that they need",
		"Prune keeps a run with unacknowledged events until it finished MaxLag before the given time; then it " +
			"deletes the run, and only the feeds that needed it are lost (K8).",
		func(w *world) {
			slow, quick := w.feed("slow"), w.feed("quick")
			old := w.finished("old")
			quick.rest()
			quick.ack()
			require.Zero(w, w.prune(w.tick(), 9))
			require.Equal(w, events("old", 1, old.Seq), slow.rest())
			require.Zero(w, w.prune(w.now, 9), "it was read, and not acknowledged")
			slow.ack()
			require.Equal(w, 1, w.prune(w.now, 9))

			late := w.finished("late")
			quick.rest()
			quick.ack()
			require.Zero(w, w.prune(late.FinishedAt.Add(maxLag), 9))
			require.Equal(w, 1, w.prune(late.FinishedAt.Add(maxLag+time.Second), 9))
			_, err := w.store.ReadFeed(w.ctx, slow.lease, slow.at, 9)
			require.ErrorIs(w, err, store.ErrFeedLost)
			require.ErrorIs(w, w.store.AckFeed(w.ctx, slow.lease, slow.at, w.now), store.ErrFeedLost)
			_, _, err = w.store.LeaseFeed(w.ctx, "slow", lease, w.now)
			require.ErrorIs(w, err, store.ErrFeedLost)
			require.True(w, slow.status().Lost)
			require.False(w, quick.status().Lost)
			w.finished("next")
			require.NotEmpty(w, quick.rest())
			quick.ack()
			require.Equal(w, 1, w.prune(w.tick(), 9), "a lost feed keeps nothing")
			require.NoError(w, w.store.DeleteFeed(w.ctx, "slow"))
			require.Empty(w, w.feed("slow").rest())
		},
	},
	{
		"feeds/that are lost do not grow",
		"Once Prune has made every feed lost, nothing is kept for feeds, and no commit adds anything. A feed that " +
			"is created afterwards has everything from then on (K8).",
		func(w *world) {
			for round, names := range [][]string{{"one"}, {"two", "three"}} {
				for _, name := range names {
					w.feed(name)
				}
				kept, next := fmt.Sprint("kept", round), fmt.Sprint("next", round)
				w.waiting(kept)
				old := w.finished(fmt.Sprint("old", round))
				require.Positive(w, w.prune(old.FinishedAt.Add(maxLag+time.Second), 9))
				for _, f := range w.listFeeds() {
					require.True(w, f.Lost, f.Name)
				}
				w.commit(Answered(w.load(kept), w.tick(), ""))
				started := w.start("n")
				w.finished(fmt.Sprint("gone", round))

				r := w.feed(fmt.Sprint("new", round))
				require.Empty(w, r.rest(), "it begins where it was created")
				r.at = ""
				require.Empty(w, r.rest(), "nothing was kept from before")
				w.submit(next)
				w.commit(ended(started, w.tick(), fsm.StateSucceeded))
				want := append(events(next, 1, w.load(next).Seq), events(kept, started.Seq+1, w.load(kept).Seq)...)
				require.Equal(w, want, r.rest())
				w.commit(ended(w.load(next), w.tick(), fsm.StateCanceled))
			}
		},
	},
	{
		"feeds/have nothing of refused commits",
		"A commit that is refused, or has no event, is in no feed; the others of its batch are (I2).",
		func(w *world) {
			r := w.feed("mail")
			a, b := w.submit("a"), w.submit("b")
			r.rest()
			silent := Changed(b, w.tick(), func(*store.Run) {})
			silent.Run.Seq, silent.Events = b.Seq, nil
			errs := w.store.Commit(w.ctx, []store.Commit{Created("a", w.tick()), ended(a, w.now, fsm.StateCanceled),
				silent})
			require.ErrorIs(w, errs[0], store.ErrExists)
			require.NoError(w, errs[1])
			require.NoError(w, errs[2])
			require.Equal(w, events("a", a.Seq+1, w.load("a").Seq), r.rest())
		},
	},
}

var feedDurableCases = []promised{
	{
		"feeds/survive a restart",
		"Cursor, lease and unacknowledged events survive a close of the store and the death of its process; " +
			"acknowledged events do not come again (K8).",
		func(w *world) {
			r := w.feed("mail")
			for i, restart := range w.restarts() {
				done, left := fmt.Sprint("done", i), fmt.Sprint("left", i)
				w.submit(done)
				r.rest()
				r.ack()
				w.submit(left)
				w.store = restart(w, w.store)
				_, free, err := w.store.LeaseFeed(w.ctx, "mail", lease, w.now)
				require.NoError(w, err)
				require.False(w, free, "the lease of a reader that died lasts")
				r.at = r.lease.Cursor
				require.Equal(w, 1, r.status().Unacked)
				require.NoError(w, w.store.ReleaseFeed(w.ctx, r.lease))
				r = w.reader("mail")
				require.Equal(w, events(left, 1, 1), r.rest())
				r.ack()
			}
		},
	},
}
