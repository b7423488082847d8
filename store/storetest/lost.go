package storetest

import (
	"fmt"
	"strings"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/store"
)

// Table names rows that a store keeps apart from their run's record.
type Table string

// The tables of Harness.Lose.
const (
	Journal Table = "journal"
	Settled Table = "settled"
	Events  Table = "events"
	Votes   Table = "voted" // an index of keys, whose loss a reader need not detect
)

func (w *world) lose(table Table, id string, last bool) {
	w.Helper()
	w.harness.Lose(w, w.store, table, id, last)
}

func (w *world) corrupt(err error, found, counted string) {
	w.Helper()
	require.ErrorIs(w, err, store.ErrCorrupt)
	require.ErrorContains(w, err, found)
	require.ErrorContains(w, err, counted)
}

func eachEnd(story func(w *world, id string, last bool)) func(w *world) {
	return func(w *world) {
		story(w, "first", false)
		story(w, "last", true)
	}
}

// lostCases delete rows without using the store. A reader must get an error, never incomplete
// data as if it were complete.
var lostCases = []promised{
	{
		"lost/entries of a journal",
		"A journal without one of the entries that the record counts is ErrCorrupt for its reader, so that no step " +
			"is executed again (M1, J5).",
		eachEnd(func(w *world, id string, last bool) {
			r := w.running(id)
			r = w.commit(keptOnly(r, w.tick(), kept(1)))
			r = w.commit(keptOnly(r, w.tick(), kept(2), kept(3)))
			require.NoError(w, store.CheckJournal(id, w.journal(id), r.Journal))
			w.lose(Journal, id, last)
			for _, s := range []store.Store{w.store, w.also()} {
				entries, err := s.Journal(w.ctx, id)
				require.NoError(w, err)
				run, err := s.Run(w.ctx, id)
				require.NoError(w, err)
				w.corrupt(store.CheckJournal(id, entries, run.Journal), "has 2 entries", "counts 3 of")
			}
		}),
	},
	{
		"lost/settled questions",
		"A history without one of the questions that the record counts is ErrCorrupt, as a whole and page by page in " +
			"either direction (C7, J6).",
		eachEnd(func(w *world, id string, last bool) {
			r := w.running(id)
			for range 4 {
				w.commit(Answered(w.commit(Asked(r, w.tick(), false, w.now)), w.tick(), ""))
				r = w.start("n")
			}
			r = w.commit(Asked(r, w.tick(), false, w.now))
			require.Len(w, w.snapshot(id).History, 4)
			w.lose(Settled, id, last)
			const found, counted = "has 3 settled questions", "counts 4"
			for _, s := range []store.Store{w.store, w.also()} {
				_, _, err := store.ReadHistory(w.ctx, s, id)
				w.corrupt(err, found, counted)
				for _, q := range []store.HistoryQuery{{Limit: 2}, {Limit: 9}, {Limit: 2, Newest: true},
					{Limit: 9, Newest: true}} {
					for err = nil; err == nil; {
						run, page, reading := s.History(w.ctx, id, q)
						require.NoError(w, reading)
						if err = store.CheckHistory(w.ctx, s, &run, q, page); err == nil {
							require.NotEmpty(w, page, "the whole was read, and nothing noticed")
							q.After = page[len(page)-1].Question.ID
						}
					}
					w.corrupt(err, found, counted)
				}
			}
			w.commit(ended(r, w.tick(), "canceled"))
		}),
	},
	{
		"lost/events",
		"A log without some of the events that the record counts is ErrCorrupt for its reader, wherever they are (F8).",
		eachEnd(func(w *world, id string, last bool) {
			r := w.submit(id)
			for i := range 6 { // so large that no store keeps all of them with the record
				c := Changed(r, w.tick(), func(*store.Run) {})
				c.Events[0].Body = fmt.Appendf(nil, `{"seq":%d,"x":%q}`, c.Run.Seq, strings.Repeat("x", 2000*i))
				r = w.commit(c)
			}
			require.Len(w, w.snapshot(id).Events, int(r.Seq))
			w.lose(Events, id, last)
			for _, s := range []store.Store{w.store, w.also()} {
				after := uint64(0)
				for {
					page, err := s.Events(w.ctx, id, after, 2)
					require.NoError(w, err)
					if err := store.CheckEvents(id, after, page, r.Seq); err != nil {
						w.corrupt(err, "event", "")
						break
					}
					require.NotEmpty(w, page)
					after = page[len(page)-1].Seq
					require.Less(w, after, r.Seq, "the whole was read, and nothing noticed")
				}
			}
		}),
	},
	{
		"lost/an entry of the index of votes",
		"Each vote on any settled question is found by its key also if the store has lost a row of its index (C5).",
		eachEnd(func(w *world, id string, last bool) { manyVotes(w, id, func() { w.lose(Votes, id, last) }) }),
	},
}
