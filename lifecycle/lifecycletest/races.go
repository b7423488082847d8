package lifecycletest

import (
	"context"
	"errors"
	"sync"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/store"
)

// races are cases of concurrent actions in any order.
var races = []testCase{
	{"C5 C8 I1/of many racing replies exactly one is accepted and the others are refused", inWorld(func(w *world) {
		w.agent.Plan("r", asksOne("Who is first?"), completes("ok"))
		w.submit("r")
		w.is("r", fsm.StateWaitingUser)
		const callers = 32
		errs := make([]error, callers)
		var all sync.WaitGroup
		for i := range callers {
			all.Go(func() {
				_, errs[i] = w.Reply(w.ctx, "r", interaction.Reply{ID: 1, Text: "me", Key: string(rune('A' + i))})
			})
		}
		all.Wait()
		accepted := 0
		for _, err := range errs {
			if err == nil {
				accepted++
				continue
			}
			require.ErrorIs(w, err, lifecycle.ErrSettled)
		}
		require.Equal(w, 1, accepted)
		w.is("r", fsm.StateSucceeded)
		require.Len(w, w.agent.Turns("r"), 2)
	})},
	{"C8 I1/reply, deadline and cancel race and exactly one wins", inWorld(func(w *world) {
		for i := range 25 {
			id := "r" + string(rune('a'+i))
			w.agent.Plan(id, asksOne("?"), completes("ok"))
			w.submit(id, func(s *lifecycle.Spec) { s.AutoDecide, s.SessionTimeout = true, time.Second })
			w.is(id, fsm.StateWaitingUser)
			var all sync.WaitGroup
			var replied, canceled error
			all.Go(func() {
				time.Sleep(time.Second) // the bubble's time: both fall on the deadline
				_, replied = w.Reply(w.ctx, id, interaction.Reply{ID: 1, Text: "me"})
			})
			all.Go(func() {
				time.Sleep(time.Second)
				canceled = w.Cancel(w.ctx, id, "no")
			})
			all.Wait()
			synctest.Wait()
			run, err := w.Get(w.ctx, id)
			require.NoError(w, err)
			history, err := w.History(w.ctx, id)
			require.NoError(w, err)
			require.Len(w, history, 1)
			switch history[0].Resolution {
			case interaction.UserReply:
				require.NoError(w, replied)
			case interaction.AutoDecideTimeout:
				require.ErrorIs(w, replied, lifecycle.ErrSettled)
			default:
				require.ErrorIs(w, replied, lifecycle.ErrSettled)
				require.NoError(w, canceled)
				require.Equal(w, fsm.StateCanceled, run.State)
				require.Len(w, w.agent.Turns(id), 1)
			}
			require.True(w, canceled == nil || errors.Is(canceled, lifecycle.ErrTerminal), "%v", canceled)
			w.checkLog(id)
		}
	})},
	{"N7/notes that people write at once are all kept, and one with a repeated key once", inWorld(func(w *world) {
		w.agent.Plan("r", asksOne("Who knows the customer?"), completes("ok"))
		w.submit("r")
		w.is("r", fsm.StateWaitingUser)
		const people = 8
		receipts := make([]lifecycle.NoteReceipt, 2*people)
		var all sync.WaitGroup
		for i := range receipts {
			name := string(rune('a' + i/2)) // each person twice, as after a lost response
			all.Go(func() {
				var err error
				receipts[i], err = w.As(lifecycle.Actor{ID: name}).Note(w.ctx, "r", 1,
					lifecycle.Note{Text: name + " knows.", Key: "key of " + name})
				require.NoError(w, err)
			})
		}
		all.Wait()
		notes := w.is("r", fsm.StateWaitingUser).Open[0].Notes.All()
		require.Len(w, notes, people)
		seen := make(map[string]bool)
		for i, r := range receipts {
			name := string(rune('a' + i/2))
			require.Equal(w, name+" knows.", notes[r.Number-1].Text)
			require.Equal(w, name, notes[r.Number-1].Actor)
			require.Equal(w, notes[r.Number-1].NotedAt, r.NotedAt)
			require.NotEqual(w, receipts[i^1].Replayed, r.Replayed)
			seen[name] = true
		}
		require.Len(w, seen, people)
		_, err := w.Reply(w.ctx, "r", interaction.Reply{ID: 1, Text: "me"})
		require.NoError(w, err)
		w.is("r", fsm.StateSucceeded)
		history, err := w.History(w.ctx, "r")
		require.NoError(w, err)
		require.Equal(w, notes, history[0].Question.Notes.All(), "they stay with the settled question")
		w.checkLog("r")
	})},
	{"E6/repeated and concurrent recoveries have the result of one", inWorld(func(w *world) {
		w.agent.Plan("", asksOne("Go on?"))
		w.agent.Plan("running", hangs)
		for _, id := range []string{"a", "b", "c"} {
			w.submit(id)
		}
		w.submit("running")
		w.is("running", fsm.StateRunning)
		w.fence()
		var all sync.WaitGroup
		var total lifecycle.Recovery
		var mu sync.Mutex
		for range 8 {
			all.Go(func() {
				done, err := w.Recover(w.ctx)
				mu.Lock()
				defer mu.Unlock()
				require.NoError(w, err)
				total.Failed += done.Failed
			})
		}
		all.Wait()
		require.Equal(w, 1, total.Failed, "each run is settled once")
		settled := w.is("a", fsm.StateWaitingUser)
		require.Equal(w, store.RecoveredWaiting, settled.Recovery)
		again, err := w.Recover(w.ctx)
		require.NoError(w, err)
		require.Equal(w, lifecycle.Recovery{}, again)
		require.Equal(w, settled, w.is("a", fsm.StateWaitingUser))
	}, config(func(c *lifecycle.Config) { c.Lease = time.Hour }))},
	{"I10/status, pending, history and events always agree", inWorld(func(w *world) {
		const rounds = 30
		for range rounds {
			w.agent.Plan("r", asksOne("Again?"))
		}
		w.agent.Plan("r", completes("ok"))
		w.submit("r")
		ctx, stop := context.WithCancel(w.ctx)
		var readers sync.WaitGroup
		for range 4 {
			readers.Go(func() {
				for ctx.Err() == nil {
					run, records, err := store.ReadHistory(w.ctx, w.store, "r")
					if err != nil {
						w.Errorf("history: %v", err)
						return
					}
					if (run.State == fsm.StateWaitingUser) != (len(run.Open) > 0) {
						w.Errorf("state %s with pending %v", run.State, run.FirstOpen())
					}
					open := 0
					if len(run.Open) > 0 {
						open = 1
					}
					if len(records)+open != run.Interactions {
						w.Errorf("%d settled and %d open of %d asked", len(records), open, run.Interactions)
					}
					page, err := w.store.Events(w.ctx, "r", run.Seq-1, 1)
					if err != nil || len(page) != 1 || page[0].Seq != run.Seq {
						w.Errorf("the last event of the record is not stored: %v", err)
					}
					time.Sleep(time.Millisecond)
				}
			})
		}
		for i := range rounds {
			run, err := w.Get(w.ctx, "r")
			require.NoError(w, err)
			for run.State != fsm.StateWaitingUser || run.Open[0].ID != i+1 {
				time.Sleep(time.Millisecond)
				run, err = w.Get(w.ctx, "r")
				require.NoError(w, err)
			}
			_, err = w.Reply(w.ctx, "r", interaction.Reply{ID: i + 1, Text: "again"})
			require.NoError(w, err)
		}
		_, err := w.Wait(w.ctx, "r")
		require.NoError(w, err)
		stop()
		readers.Wait()
		w.is("r", fsm.StateSucceeded)
	})},
}
