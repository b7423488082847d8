package storetest

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/store"
)

// pages reads a listing page by page, and calls between, unless nil, after each page.
func (w *world) pages(list func(store.Query) (store.Page, error), q store.Query, between func()) []string {
	w.Helper()
	var all []string
	for {
		page, err := list(q)
		require.NoError(w, err)
		require.LessOrEqual(w, len(page.Runs), q.Limit)
		all = append(all, ids(page.Runs)...)
		if page.Next == "" {
			return all
		}
		require.Len(w, page.Runs, q.Limit, "only the last page is short")
		require.Less(w, len(all), 10_000, "the listing comes to an end")
		q.After = page.Next
		if between != nil {
			between()
		}
	}
}

func (w *world) runs(q store.Query) (store.Page, error) { return w.store.Runs(w.ctx, q) }

func (w *world) waits(q store.Query) (store.Page, error) {
	return w.store.Waiting(w.ctx, store.WaitingQuery{Query: q})
}

func (w *world) list(q store.Query) []string {
	w.Helper()
	page, err := w.store.Runs(w.ctx, q)
	require.NoError(w, err)
	for _, r := range page.Runs {
		require.Equal(w, text(w, w.load(r.ID)), text(w, r))
	}
	return ids(page.Runs)
}

var listingCases = []promised{
	{
		"list/a page of large records ends early",
		"A page of runs, of waiting runs, of due runs or of orphans ends once its records exceed MaxPage together. " +
			"Nothing is skipped: the next page continues after it, in both directions (I5).",
		func(w *world) {
			const runs, fit = 10, 7
			var want []string
			for i := range runs {
				r := w.running(fmt.Sprint("r", i))
				c := Asked(r, w.tick(), true, w.now)
				c.Run.Open[0].Context = strings.Repeat("x", store.MaxPage/fit)
				want = append(want, w.commit(c).ID)
			}
			w.expire("n")
			listed := func(list func(store.Query) (store.Page, error), q store.Query) (all []string) {
				for q.Limit = store.MaxBatch; ; {
					page, err := list(q)
					require.NoError(w, err)
					all = append(all, ids(page.Runs)...)
					if q.After = page.Next; q.After == "" {
						return all
					}
					require.Len(w, page.Runs, fit)
					for _, r := range page.Runs {
						require.Equal(w, text(w, w.load(r.ID)), text(w, r))
					}
				}
			}
			reversed := slices.Clone(want)
			slices.Reverse(reversed)
			for _, list := range []func(store.Query) (store.Page, error){w.runs, w.waits} {
				require.Equal(w, want, listed(list, store.Query{}))
				require.Equal(w, reversed, listed(list, store.Query{Newest: true}))
			}
			due, next, err := w.store.Due(w.ctx, w.now, store.MaxBatch)
			require.NoError(w, err)
			require.Zero(w, next)
			require.GreaterOrEqual(w, len(due), fit)
			require.LessOrEqual(w, len(due), fit+1)
			require.Equal(w, want[:len(due)], ids(due))
			var orphans []string
			for len(orphans) < runs {
				part, err := w.store.Orphans(w.ctx, len(orphans), store.MaxBatch)
				require.NoError(w, err)
				require.NotEmpty(w, part)
				require.LessOrEqual(w, len(part), fit+1)
				orphans = append(orphans, ids(part)...)
			}
			require.ElementsMatch(w, want, orphans)
		},
	},
	{
		"list/a limit and a cursor must be valid",
		"A limit outside 1 to MaxBatch and a cursor that no listing returned are ErrInvalid; without a limit, a " +
			"page has 100 runs.",
		func(w *world) {
			for i := range 101 {
				w.submit(fmt.Sprintf("r%03d", i))
			}
			require.Len(w, w.list(store.Query{}), 100)
			for _, list := range []func(store.Query) (store.Page, error){w.runs, w.waits} {
				for _, q := range []store.Query{
					{Limit: -1}, {Limit: store.MaxBatch + 1}, {After: "?"}, {After: "bm9uc2Vuc2U"},
					{After: store.Cursor{At: base, ID: "a\x00b"}.String()},
					{After: store.Cursor{At: base, ID: "\xff"}.String()}, {After: "\x00"},
				} {
					_, err := list(q)
					require.ErrorIs(w, err, store.ErrInvalid, "%+v", q)
				}
			}
		},
	},
	{
		"list/during writes",
		"Paging while runs are created, changed, ended and deleted returns exactly once each run that existed all " +
			"the time, in order, in both orders.",
		func(w *world) {
			for _, newest := range []bool{false, true} {
				prefix := fmt.Sprint(newest)
				var want []string
				for i := range 12 {
					id := fmt.Sprintf("%s-stays-%02d", prefix, i)
					w.submit(id)
					want = append(want, id)
				}
				for i := range 4 {
					w.commit(ended(w.submit(fmt.Sprintf("%s-goes-%d", prefix, i)), w.tick(), fsm.StateCanceled))
				}
				if newest {
					slices.Reverse(want)
				}
				n := 0
				got := w.pages(w.runs, store.Query{Limit: 2, Newest: newest}, func() {
					n++
					if n < 20 {
						w.submit(fmt.Sprintf("%s-new-%d", prefix, n))
					}
					r := w.load(want[n%len(want)])
					w.commit(Changed(r, w.tick(), func(r *store.Run) { r.FinalText += "x" }))
					_, err := w.store.Prune(w.ctx, w.now.Add(time.Hour), 1)
					require.NoError(w, err)
				})
				got = slices.DeleteFunc(got, func(id string) bool { return !slices.Contains(want, id) })
				require.Equal(w, want, got)
			}
		},
	},
}

var waitingCases = []promised{
	{
		"waiting/the oldest question first",
		"Waiting lists the runs in waiting_user, each with its question, in the order in which the questions were " +
			"asked, whatever the runs' age.",
		func(w *world) {
			a, b, c := w.waiting("a"), w.waiting("b"), w.sticking("c")
			w.finished("over")
			w.submit("queued")
			page, err := w.waits(store.Query{})
			require.NoError(w, err)
			require.Len(w, page.Runs, 3)
			require.Equal(w, []string{text(w, a), text(w, b), text(w, c)}, []string{text(w, page.Runs[0]),
				text(w, page.Runs[1]), text(w, page.Runs[2])})

			w.commit(Answered(a, w.tick(), "")) // a asks again: its question is the youngest now
			for _, r := range w.claim("n", 9) {
				if r.ID == "a" {
					w.commit(Asked(r, w.tick(), false, time.Time{}))
				}
			}
			require.Equal(w, []string{"b", "c", "a"}, w.pages(w.waits, store.Query{Limit: 2}, nil))
			require.Equal(w, []string{"a", "c", "b"}, w.pages(w.waits, store.Query{Limit: 1, Newest: true}, nil))
			w.commit(ended(c, w.tick(), fsm.StateCanceled))
			require.Equal(w, []string{"b", "a"}, w.pages(w.waits, store.Query{Limit: 9}, nil))
		},
	},
	{
		"waiting/filters",
		"Waiting takes the filters of a listing.",
		func(w *world) {
			w.pool("q", 9, 0)
			w.waiting("a", withKey("k"), withLabels(map[string]string{"l": "1"}))
			w.waiting("b", inPool("q"))
			w.waiting("c", inPool("q"), withKey("k"))
			require.Equal(w, []string{"a", "c"}, w.pages(w.waits, store.Query{Key: "k", Limit: 9}, nil))
			require.Equal(w, []string{"b", "c"}, w.pages(w.waits, store.Query{Pool: "q", Limit: 1}, nil))
			require.Equal(w, []string{"a"}, w.pages(w.waits, store.Query{Labels: map[string]string{"l": "1"}, Limit: 9},
				nil))
			require.Empty(w, w.pages(w.waits, store.Query{States: []fsm.State{fsm.StateQueued}, Limit: 9}, nil))
		},
	},
	{
		"waiting/while questions come and go",
		"Paging through the waiting runs while questions are asked and answered returns exactly once each question " +
			"that was open all the time (F9).",
		func(w *world) {
			var stay, leave []string
			for i := range 8 {
				stay = append(stay, w.waiting(fmt.Sprintf("stays-%d", i)).ID)
				leave = append(leave, w.waiting(fmt.Sprintf("goes-%d", i)).ID)
			}
			n := 0
			got := w.pages(w.waits, store.Query{Limit: 2}, func() {
				if n < len(leave) {
					w.commit(ended(w.load(leave[n]), w.tick(), fsm.StateCanceled))
					w.waiting(fmt.Sprintf("new-%d", n))
				}
				n++
			})
			got = slices.DeleteFunc(got, func(id string) bool { return !slices.Contains(stay, id) })
			require.Equal(w, stay, got)
		},
	},
}
