package storetest

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/store"
)

func (w *world) seqs(id string, after uint64, limit int) []uint64 {
	w.Helper()
	events, err := w.store.Events(w.ctx, id, after, limit)
	require.NoError(w, err)
	all := make([]uint64, len(events))
	for i, e := range events {
		all[i] = e.Seq
	}
	return all
}

var eventCases = []promised{
	{
		"events/from any cursor, in any portion",
		"A reader with cursor n gets n+1, n+2, … without a gap, at most limit of them, whichever commits stored " +
			"them (F8, F9).",
		func(w *world) {
			r := w.running("a")
			for _, n := range []int{3, 1, 5, 0, 2} { // events of one commit
				c := Changed(r, w.tick(), func(*store.Run) {})
				c.Run.Seq, c.Events = r.Seq, nil
				for range n {
					c = addEvent(c)
				}
				r = w.commit(c)
			}
			all := w.snapshot("a").Events
			for after := range len(all) + 1 {
				for limit := 1; limit <= len(all)+1; limit++ {
					events, err := w.store.Events(w.ctx, "a", uint64(after), limit)
					require.NoError(w, err)
					want := all[after:min(after+limit, len(all))]
					if len(want) == 0 {
						require.Empty(w, events)
					} else {
						require.Equal(w, want, events)
					}
				}
			}
		},
	},
	{
		"events/large ones in portions",
		"A reader of large events needs little memory: it gets about MinPage bytes of events at a time (F8).",
		func(w *world) {
			r := w.running("a")
			for range 6 {
				c := Changed(r, w.tick(), func(*store.Run) {})
				c.Run.Seq, c.Events = r.Seq, nil
				for range 2 {
					c = addEvent(c)
					c.Events[len(c.Events)-1].Body = []byte(`"` + strings.Repeat("x", 100<<10) + `"`)
				}
				r = w.commit(c)
			}
			for after := uint64(0); after < r.Seq; {
				part, err := w.store.Events(w.ctx, "a", after, 100)
				require.NoError(w, err)
				size, last := 0, 0
				for _, e := range part {
					require.Equal(w, after+1, e.Seq)
					after, last = e.Seq, len(e.Body)
					size += last
				}
				require.LessOrEqual(w, size-last, store.MinPage, "the last one alone may exceed it")
				require.True(w, size > store.MinPage || after == r.Seq, "%d bytes, and there are more", size)
			}
		},
	},
	{
		"events/none yet",
		"A cursor at or beyond the last event gives nothing and no error; the event is there after its commit (F9).",
		func(w *world) {
			r := w.running("a")
			require.Empty(w, w.seqs("a", r.Seq, 9))
			require.Empty(w, w.seqs("a", r.Seq+7, 9))
			require.Empty(w, w.seqs("a", math.MaxUint64, 9))
			w.commit(reported(r, w.tick()))
			require.Equal(w, []uint64{r.Seq + 1}, w.seqs("a", r.Seq, 9))
		},
	},
	{
		"events/belong to their run",
		"Runs share no events, and a finished run keeps its own (F9).",
		func(w *world) {
			a, b := w.finished("a"), w.finished("ab")
			require.Len(w, w.seqs("a", 0, 99), int(a.Seq))
			require.Len(w, w.seqs("ab", 0, 99), int(b.Seq))
			events, err := w.store.Events(w.ctx, "ab", 0, 99)
			require.NoError(w, err)
			for _, e := range events {
				require.Contains(w, string(e.Body), `"run_id":"ab"`)
			}
		},
	},
	{
		"events/a limit must be positive",
		"A limit below 1 is ErrInvalid.",
		func(w *world) {
			w.submit("a")
			_, err := w.store.Events(w.ctx, "a", 0, 0)
			require.ErrorIs(w, err, store.ErrInvalid)
		},
	},
}

var historyCases = []promised{
	{
		"history/keeps every settled question in order",
		"Each settled interaction is kept in order, with its resolution; the open question is in the run that " +
			"History returns with them (C7, I10).",
		func(w *world) {
			w.commit(Answered(w.waiting("a"), w.tick(), "k1"))
			r := w.commit(Asked(w.start("n"), w.tick(), false, w.now))
			decision := interaction.NewAutoDecision(r.Open[0]).Answer(w.tick())
			c := Answered(r, w.now, "")
			record := interaction.Settle(r.Open[0], decision, "", "")
			c.Run.Answers, c.Settled = []interaction.Answer{decision}, []interaction.Record{record}
			w.commit(c)
			r = w.commit(Asked(w.start("n"), w.tick(), false, w.now))

			run, history, err := store.ReadHistory(w.ctx, w.store, "a")
			require.NoError(w, err)
			require.Equal(w, 3, run.Open[0].ID)
			require.Len(w, history, 2)
			require.Equal(w, interaction.UserReply, history[0].Resolution)
			require.Equal(w, "ada", history[0].Actor)
			require.Equal(w, "Question 1 of a?", history[0].Question.Prompt)
			require.Equal(w, record, history[1])

			w.commit(ended(r, w.tick(), fsm.StateCanceled))
			_, history, err = store.ReadHistory(w.ctx, w.store, "a")
			require.NoError(w, err)
			require.Len(w, history, 3)
			require.Equal(w, interaction.Abandoned, history[2].Resolution)
		},
	},
	{
		"history/more than nine questions stay in order",
		"The order is numeric: question 10 comes after question 9.",
		func(w *world) {
			r := w.running("a")
			for range 12 {
				w.commit(Answered(w.commit(Asked(r, w.tick(), false, w.now)), w.tick(), ""))
				r = w.start("n")
			}
			_, history, err := store.ReadHistory(w.ctx, w.store, "a")
			require.NoError(w, err)
			require.Len(w, history, 12)
			for i, h := range history {
				require.Equal(w, i+1, h.Question.ID)
			}
		},
	},
	{
		"history/is read page by page",
		"A page has up to the limit of settled questions after a number, in order, or before it, the newest first. " +
			"With large ones it has about MinPage bytes, and the next page continues after it. The run is from the " +
			"same moment (C7, I5).",
		func(w *world) {
			r := w.running("a")
			large := strings.Repeat("x", store.MinPage/3)
			for i := range 9 {
				c := Answered(w.commit(Asked(r, w.tick(), false, w.now)), w.tick(), "")
				if i >= 3 {
					c.Settled[0].Response = large
				}
				w.commit(c)
				r = w.start("n")
			}
			r = w.commit(Asked(r, w.tick(), false, w.now))
			_, all, err := store.ReadHistory(w.ctx, w.store, "a")
			require.NoError(w, err)
			require.Len(w, all, 9)
			pages := func(s store.Store, q store.HistoryQuery) (sizes []int) {
				var got []interaction.Record
				for {
					run, page, err := s.History(w.ctx, "a", q)
					require.NoError(w, err)
					require.Equal(w, text(w, r), text(w, run))
					if len(page) == 0 {
						break
					}
					got, sizes = append(got, page...), append(sizes, len(page))
					q.After = page[len(page)-1].Question.ID
				}
				if q.Newest {
					slices.Reverse(got)
				}
				require.Equal(w, all, got)
				return sizes
			}
			for _, s := range []store.Store{w.store, w.also()} {
				require.Equal(w, []int{2, 2, 2, 2, 1}, pages(s, store.HistoryQuery{Limit: 2}))
				require.Equal(w, []int{6, 3}, pages(s, store.HistoryQuery{Limit: 1000}), "three of these fill a page")
				require.Equal(w, []int{2, 2, 2, 2, 1}, pages(s, store.HistoryQuery{Limit: 2, Newest: true}))
				require.Equal(w, []int{3, 3, 3}, pages(s, store.HistoryQuery{Limit: 1000, Newest: true}))
			}
			for _, q := range []store.HistoryQuery{{}, {Limit: -1}, {Limit: 1, After: -1}} {
				_, _, err := w.store.History(w.ctx, "a", q)
				require.ErrorIs(w, err, store.ErrInvalid)
			}
			_, _, err = w.store.History(w.ctx, "nowhere", store.HistoryQuery{Limit: 1})
			require.ErrorIs(w, err, store.ErrNotFound)
		},
	},
	{
		"history/finds an interaction by its number",
		"A settled interaction is found by run and number, whatever happens to the run later; one that is open, " +
			"was never asked, or belongs to another run is ErrNotFound (C5, C7).",
		func(w *world) {
			r := w.running("a")
			for i := range 3 {
				w.commit(Answered(w.commit(Asked(r, w.tick(), false, w.now)), w.tick(), fmt.Sprint("key ", i)))
				r = w.start("n")
			}
			r = w.commit(Asked(r, w.tick(), false, w.now))
			w.waiting("b")
			found := func(s store.Store, numbers ...int) {
				_, history, err := store.ReadHistory(w.ctx, s, "a")
				require.NoError(w, err)
				require.Len(w, history, len(numbers))
				for i, number := range numbers {
					got, err := s.Interaction(w.ctx, "a", number)
					require.NoError(w, err)
					require.Equal(w, history[i], got)
				}
			}
			missing := func(id string, numbers ...int) {
				for _, number := range numbers {
					_, err := w.store.Interaction(w.ctx, id, number)
					require.ErrorIs(w, err, store.ErrNotFound, "%s %d", id, number)
				}
			}
			found(w.store, 1, 2, 3)
			missing("a", -1, 0, 4, 5)
			missing("b", 1)
			missing("nowhere", 1)
			missing("", 1)
			missing("with\x00NUL", 1)
			w.commit(ended(r, w.tick(), fsm.StateCanceled))
			found(w.also(), 1, 2, 3, 4)
		},
	},
	{
		"history/finds a reply by its idempotency key",
		"The interaction that a key settled is found by run and key, whatever happens to the run later; other keys " +
			"and runs are ErrNotFound (C5).",
		func(w *world) {
			for _, r := range []store.Run{w.waiting("a"), w.waiting("b")} {
				w.commit(Answered(r, w.tick(), "key of "+r.ID))
			}
			for _, r := range w.claim("n", 9) {
				w.commit(ended(r, w.tick(), fsm.StateSucceeded))
			}
			got, err := w.store.Settled(w.ctx, "a", "key of a")
			require.NoError(w, err)
			require.Equal(w, "key of a", got.Key)
			require.NotEmpty(w, got.Digest)
			for _, key := range []string{"key of b", "", "key", "key of a "} {
				_, err := w.store.Settled(w.ctx, "a", key)
				require.ErrorIs(w, err, store.ErrNotFound, "key %q", key)
			}
		},
	},
	{
		"history/replies without a key",
		"Interactions that were settled without a key are all kept, and no key finds them.",
		func(w *world) {
			w.commit(Answered(w.waiting("a"), w.tick(), ""))
			r := w.commit(Asked(w.start("n"), w.tick(), false, w.now))
			w.commit(Answered(r, w.tick(), ""))
			require.Len(w, w.snapshot("a").History, 2)
			_, err := w.store.Settled(w.ctx, "a", "")
			require.ErrorIs(w, err, store.ErrNotFound)
		},
	},
}
