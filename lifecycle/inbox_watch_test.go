package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/store"
)

// changesOf returns the watch's current report, as "run: questions, gone".
func changesOf(tb testing.TB, w *InboxWatch) (all []string) {
	tb.Helper()
	pass(feedPause) // changes that follow each other closely are read together
	for {
		change, ok := w.drainOne()
		if !ok {
			return all
		}
		if change.Reload {
			require.Empty(tb, change.RunID)
			all = append(all, "reload")
			continue
		}
		text := change.RunID + ":"
		for _, q := range change.Questions {
			require.Equal(tb, change.RunID, q.RunID)
			text += fmt.Sprintf(" %d", q.Question.ID)
			if q.Question.Claim.Lasts(time.Now()) {
				text += " claimed"
			}
		}
		for _, n := range change.Gone {
			text += fmt.Sprintf(" gone %d", n)
		}
		all = append(all, text)
	}
}

func watching(tb testing.TB, c *Client, query InboxQuery) *InboxWatch {
	tb.Helper()
	w, err := c.WatchInbox(tb.Context(), query)
	require.NoError(tb, err)
	tb.Cleanup(w.Close)
	require.Equal(tb, []string{"reload"}, changesOf(tb, w), "first of all the inbox is listed")
	return w
}

// K9: a watch of an inbox reports each change of a question that the inbox has, had or gets, and
// nothing else.
func TestK9AWatchReportsWhatHappensToTheQuestionsOfItsInbox(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lc, stop := serve(t, Config{Store: newStore(t), Engine: collector()})
		defer stop()
		ada, bob := Actor{ID: "ada"}, Actor{ID: "bob"}
		answered(t, lc, Spec{ID: "before", Prompt: "x", Ask: &AskPolicy{To: &Audience{Users: []string{"ada"}}}})
		mine, his, all := watching(t, lc.Client, InboxQuery{For: ada}), watching(t, lc.Client, InboxQuery{For: bob}),
			watching(t, lc.Client, InboxQuery{Pool: DefaultPool})
		elsewhere := watching(t, lc.Client, InboxQuery{Labels: map[string]string{"team": "ops"}})
		defer func() {
			for _, w := range []*InboxWatch{mine, his, all, elsewhere} {
				w.Close()
				w.Close() // it is closed once
			}
		}()
		require.Empty(t, changesOf(t, mine))

		answered(t, lc, Spec{ID: "r", Prompt: "x", Ask: &AskPolicy{To: &Audience{Users: []string{"ada"}}}})
		require.Equal(t, []string{"r: 1"}, changesOf(t, mine))
		as := lc.As(ada)
		require.NoError(t, as.Claim(t.Context(), "r", 1, time.Now().Add(time.Hour)))
		require.Equal(t, []string{"r: 1 claimed"}, changesOf(t, mine))
		require.NoError(t, as.Release(t.Context(), "r", 1))
		require.Equal(t, []string{"r: 1"}, changesOf(t, mine))
		_, err := as.Reply(t.Context(), "before", Reply{ID: 1, Text: "a"})
		require.NoError(t, err)
		require.Equal(t, []string{"before: 2 gone 1"}, changesOf(t, mine), "and the next one of the run was asked")
		require.Empty(t, changesOf(t, his), "these were not for him")
		to := func(id string) Audience { return Audience{Users: []string{id}} }
		hers := to("ada")
		require.NoError(t, as.Reassign(t.Context(), "r", 1, &hers, to("bob")))
		require.Equal(t, []string{"r: gone 1"}, changesOf(t, mine))
		require.Equal(t, []string{"r: 1"}, changesOf(t, his))
		require.NoError(t, lc.Cancel(t.Context(), "r", ""))
		require.Equal(t, []string{"r: gone 1"}, changesOf(t, his))
		require.Empty(t, changesOf(t, mine))
		require.Equal(t, []string{"r: gone 1", "before: 2 gone 1"}, changesOf(t, all),
			"what a reader has not fetched is reported as it stands")
		require.Empty(t, changesOf(t, elsewhere))
	})
}

// K9: hints may be lost. Changes are still found, a few seconds later.
func TestK9AWatchWithoutHintsIsLateBySeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore(t)
		lc, stop := serve(t, Config{Store: s, Engine: collector()})
		defer stop()
		w := watching(t, clientOf(t, hintless{s}), InboxQuery{})
		defer w.Close()
		answered(t, lc, Spec{ID: "r", Prompt: "x"})
		require.Empty(t, changesOf(t, w))
		pass(inboxRescan)
		require.Equal(t, []string{"r: 1"}, changesOf(t, w))
		require.NoError(t, lc.Cancel(t.Context(), "r", ""))
		pass(inboxRescan)
		require.Equal(t, []string{"r: gone 1"}, changesOf(t, w))
		pass(3 * inboxRescan)
		require.Empty(t, changesOf(t, w), "nothing has changed")
	})
}

// brokenAtTimes is a store that answers no question about what waits while it is down, and counts
// these.
type brokenAtTimes struct {
	store.Store
	down  atomic.Bool
	asked atomic.Int64
}

func (s *brokenAtTimes) Waiting(ctx context.Context, q store.WaitingQuery) (Page, error) {
	s.asked.Add(1)
	if s.down.Load() {
		return Page{}, store.ErrUnavailable
	}
	return s.Store.Waiting(ctx, q)
}

// K9: a watch outlasts its store's outages, and the first one begins when the store answers. All
// watches share one reader, which is idle without watches.
func TestK9AWatchGoesOnWhenTheStoreDoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &brokenAtTimes{Store: newStore(t)}
		lc, stop := serve(t, Config{Store: s, Engine: collector()})
		defer stop()
		s.down.Store(true)
		var watches []*InboxWatch
		for range 10 {
			w, err := lc.WatchInbox(t.Context(), InboxQuery{})
			require.NoError(t, err)
			watches = append(watches, w)
			require.Empty(t, changesOf(t, w))
		}
		s.down.Store(false)
		pass(lc.poll)
		for _, w := range watches {
			require.Equal(t, []string{"reload"}, changesOf(t, w))
		}
		asked := s.asked.Load()
		pass(10 * inboxRescan)
		require.Equal(t, asked+10, s.asked.Load(), "one list for all, each time")
		for _, w := range watches {
			w.Close()
		}
		pass(10 * inboxRescan)
		require.Equal(t, asked+10, s.asked.Load())
		again := watching(t, lc.Client, InboxQuery{})
		again.Close()
	})
}

// K9: a reader that fetches nothing is remembered a bounded number of runs, and lists its inbox.
func TestK9AWatchThatNobodyReadsIsBounded(t *testing.T) {
	c := clientOf(t, newStore(t))
	w := &InboxWatch{client: c, wake: make(chan struct{}, 1), runs: make(map[string]*watchedRun)}
	for i := range maxWatched {
		run := withQuestion(fmt.Sprintf("r%d", i), OpenText)
		w.noteChange(run.ID, nil, &run)
		w.noteChange(run.ID, nil, &run)
	}
	require.Len(t, w.runs, maxWatched)
	require.False(t, w.reload)
	one := withQuestion("one-more", OpenText)
	w.noteChange(one.ID, nil, &one)
	require.Equal(t, []string{"reload"}, func() (all []string) {
		for change, ok := w.drainOne(); ok; change, ok = w.drainOne() {
			require.True(t, change.Reload)
			all = append(all, "reload")
		}
		return all
	}())
}

func TestK9AuthorizeDecidesAboutAWatchAndAgain(t *testing.T) {
	var revoked atomic.Bool
	c, err := NewClient(ClientConfig{Store: newStore(t), Authorize: func(_ context.Context, a Access) error {
		if a.Action != ActionList || a.Inbox.For.ID != a.Actor.ID || revoked.Load() {
			return errors.New("not theirs")
		}
		return nil
	}})
	require.NoError(t, err)
	defer c.Close()
	ada := c.As(Actor{ID: "ada"})
	_, err = ada.WatchInbox(t.Context(), InboxQuery{})
	require.ErrorIs(t, err, ErrNotAllowed)
	w, err := ada.WatchInbox(t.Context(), InboxQuery{For: Actor{ID: "ada"}})
	require.NoError(t, err)
	defer w.Close()
	require.NoError(t, w.Recheck(t.Context()))
	revoked.Store(true)
	require.ErrorIs(t, w.Recheck(t.Context()), ErrNotAllowed)
	ctx, cancel := context.WithCancel(t.Context())
	change, err := w.Next(ctx)
	require.NoError(t, err)
	require.True(t, change.Reload)
	cancel()
	_, err = w.Next(ctx)
	require.ErrorIs(t, err, context.Canceled)
}
