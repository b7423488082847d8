package storetest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/store"
)

// Whom questions are for. Groups and users of the same name are not the same.
var (
	toAda     = &interaction.Audience{Users: []string{"ada"}}
	toFinance = &interaction.Audience{Groups: []string{"finance"}}
	toBoth    = &interaction.Audience{Users: []string{"ada", "bob"}, Groups: []string{"finance", "ada"}}
	notAda    = &interaction.Audience{Everybody: true, Users: []string{"bob"}, Except: []string{"ada"}}
	toNobody  = &interaction.Audience{}
	audiences = []*interaction.Audience{nil, nil, toAda, toFinance, toBoth, notAda, toNobody,
		{Groups: []string{"finance"}, Except: []string{"ada"}}}

	adaAlone   = &interaction.Actor{ID: "ada"}
	bobAlone   = &interaction.Actor{ID: "bob"}
	adaFinance = &interaction.Actor{ID: "ada", Groups: []string{"finance", "staff", "finance"}}
	someone    = &interaction.Actor{Groups: []string{"finance"}}
	askers     = []*interaction.Actor{nil, adaAlone, bobAlone, adaFinance, someone,
		{ID: "finance", Groups: []string{"ada"}}, {ID: "\x00\xff"}}
)

func asking(r store.Run, now time.Time, to ...*interaction.Audience) store.Commit {
	c := Asked(r, now, false, time.Time{})
	if len(to) > 1 {
		c = AskedTogether(r, now, len(to), interaction.Rule{})
	}
	for i := range c.Run.Open {
		c.Run.Open[i].To = to[i]
	}
	return c
}

func (w *world) asks(id string, to ...*interaction.Audience) store.Run {
	w.Helper()
	return w.commit(asking(w.running(id), w.tick(), to...))
}

// waitsFor returns the ids of the runs with a question for the actor, page by page.
func (w *world) waitsFor(q store.WaitingQuery, between func()) (all []string) {
	w.Helper()
	for q.Limit = max(q.Limit, 1); ; {
		page, err := w.store.Waiting(w.ctx, q)
		require.NoError(w, err)
		require.LessOrEqual(w, len(page.Runs), q.Limit)
		for i := range page.Runs {
			require.Equal(w, text(w, w.load(page.Runs[i].ID)), text(w, page.Runs[i]))
		}
		all = append(all, ids(page.Runs)...)
		if q.After = page.Next; page.Next == "" {
			return all
		}
		if between != nil {
			between()
		}
	}
}

// judgeWaiting compares the store's listings with the records, for everybody and each page size.
func (w *world) judgeWaiting(limits ...int) {
	w.Helper()
	page, err := w.store.Runs(w.ctx, store.Query{States: []fsm.State{fsm.StateWaitingUser}, Limit: store.MaxBatch})
	require.NoError(w, err)
	slices.SortFunc(page.Runs, func(a, b store.Run) int { return strings.Compare(a.ID, b.ID) })
	for _, actor := range askers {
		q := store.WaitingQuery{For: actor}
		want := ids(by(slices.DeleteFunc(slices.Clone(page.Runs), func(r store.Run) bool { return !q.Matches(&r) }),
			func(r store.Run) time.Time { return r.Open[0].AskedAt }))
		for _, q.Limit = range limits {
			q.Newest = false
			got := append([]string{}, w.waitsFor(q, nil)...)
			require.Equal(w, want, got, "for %v, limit %d", actor, q.Limit)
			q.Newest = true
			got = append([]string{}, w.waitsFor(q, nil)...)
			slices.Reverse(got)
			require.Equal(w, want, got, "for %v, limit %d, newest first", actor, q.Limit)
		}
	}
}

var askedCases = []promised{
	{
		"asked/hidden questions are left out",
		"A question that the host's policy decides is found from the time on at which it becomes visible, or if the " +
			"listing hides nothing; its run is found before if it has another question (N9).",
		func(w *world) {
			hide := func(id string, to ...*interaction.Audience) {
				c := asking(w.running(id), w.tick(), to...)
				c.Run.Open[0].HiddenFor = 60
				w.commit(c)
			}
			hide("alone", toAda)
			hide("with-another", toAda, nil)
			w.asks("visible", nil)
			now := w.load("alone").Open[0].AskedAt
			for at, want := range map[time.Time][]string{
				now:                      {"with-another", "visible"},
				now.Add(time.Minute - 1): {"with-another", "visible"},
				now.Add(time.Minute):     {"alone", "with-another", "visible"},
				{}:                       {"alone", "with-another", "visible"},
			} {
				for _, actor := range []*interaction.Actor{nil, adaAlone} {
					require.Equal(w, want, w.waitsFor(store.WaitingQuery{VisibleAt: at, For: actor}, nil), "at %s", at)
				}
			}
		},
	},
	{
		"asked/each person finds their questions",
		"A person finds the runs with a question for everybody, for them by name, or for one of their groups, " +
			"unless it excepts them: each run once, the oldest question first (K9, K5).",
		func(w *world) {
			w.asks("everybody", nil)
			w.asks("ada", toAda)
			w.asks("finance", toFinance)
			w.asks("both", toBoth)
			w.asks("not-ada", notAda)
			w.asks("nobody", toNobody)
			w.asks("mixed", toFinance, nil, toAda)
			w.asks("several", toFinance, toNobody, toAda)
			w.submit("queued")
			for _, c := range []struct {
				who  *interaction.Actor
				want []string
			}{
				{nil, []string{"everybody", "ada", "finance", "both", "not-ada", "nobody", "mixed", "several"}},
				{adaAlone, []string{"everybody", "ada", "both", "mixed", "several"}},
				{adaFinance, []string{"everybody", "ada", "finance", "both", "mixed", "several"}},
				{bobAlone, []string{"everybody", "both", "not-ada", "mixed"}},
				{someone, []string{"everybody", "mixed"}},
				{&interaction.Actor{ID: "finance", Groups: []string{"ada"}},
					[]string{"everybody", "both", "not-ada", "mixed"}},
			} {
				for _, limit := range []int{1, 2, 3, 50} {
					got := w.waitsFor(store.WaitingQuery{For: c.who, Query: store.Query{Limit: limit}}, nil)
					require.Equal(w, c.want, got,
						"for %v", c.who)
				}
			}
			w.judgeWaiting(1, 2, 50)
			survey, err := w.store.Survey(w.ctx, w.now)
			require.NoError(w, err)
			require.Equal(w, 8, survey.Waiting)
		},
	},
	{
		"asked/the oldest question counts, whatever its audience",
		"A survey has the time of the oldest open question, even if no question is for everybody (K9).",
		func(w *world) {
			first := w.asks("first", toAda)
			second := w.asks("second", nil)
			got, err := w.store.Survey(w.ctx, w.now)
			require.NoError(w, err)
			require.Equal(w, first.Open[0].AskedAt, got.OldestWaiting)
			w.commit(Answered(first, w.tick(), ""))
			got, err = w.store.Survey(w.ctx, w.now)
			require.NoError(w, err)
			require.Equal(w, second.Open[0].AskedAt, got.OldestWaiting)
		},
	},
	{
		"asked/filters",
		"A person's waiting runs can be filtered by label, pool, key, hold, source of a fork and the end of the " +
			"wait (K9).",
		func(w *world) {
			w.pool("q", 9, 0)
			blue := map[string]string{"team": "blue"}
			for i, to := range []*interaction.Audience{nil, toAda, toFinance} {
				r := w.running(fmt.Sprint("blue-", i), withLabels(blue), withKey("k"))
				w.commit(asking(r, w.tick(), to))
				w.submit(fmt.Sprint("q-", i), inPool("q"), func(r *store.Run) {
					r.ForkedFrom = &store.ForkPoint{RunID: "source"}
				})
				c := asking(w.start("n"), w.tick(), to)
				c.Run.Deadline = base.Add(time.Duration(i+1) * time.Hour)
				w.commit(c)
			}
			w.commit(blocked(w.load("blue-1"), w.tick()))
			for name, c := range map[string]struct {
				q    store.WaitingQuery
				want []string
			}{
				"label":    {store.WaitingQuery{Query: store.Query{Labels: blue}}, []string{"blue-0", "blue-1"}},
				"no label": {store.WaitingQuery{Query: store.Query{Labels: map[string]string{"team": "red"}}}, nil},
				"pool":     {store.WaitingQuery{Query: store.Query{Pool: "q"}}, []string{"q-0", "q-1"}},
				"key":      {store.WaitingQuery{Query: store.Query{Key: "k"}}, []string{"blue-0", "blue-1"}},
				"held":     {store.WaitingQuery{Query: store.Query{Held: true}}, []string{"blue-1"}},
				"fork":     {store.WaitingQuery{Query: store.Query{ForkedFrom: "source"}}, []string{"q-0", "q-1"}},
				"due": {store.WaitingQuery{DueBefore: base.Add(2*time.Hour + time.Microsecond)},
					[]string{"q-0", "q-1"}},
				"due earlier": {store.WaitingQuery{DueBefore: base.Add(2 * time.Hour)}, []string{"q-0"}},
				"none is due": {store.WaitingQuery{DueBefore: base.Add(time.Hour)}, nil},
				"wrong state": {store.WaitingQuery{Query: store.Query{States: []fsm.State{fsm.StateQueued}}}, nil},
			} {
				for _, c.q.Limit = range []int{1, 2, 9} {
					c.q.For = adaAlone
					require.Equal(w, c.want, w.waitsFor(c.q, nil), name)
					c.q.Newest = true
					reversed := slices.Clone(c.want)
					slices.Reverse(reversed)
					require.Equal(w, reversed, w.waitsFor(c.q, nil), name)
					c.q.Newest = false
				}
			}
			all := store.WaitingQuery{DueBefore: base.Add(9 * time.Hour)}
			require.Equal(w, []string{"q-0", "q-1", "q-2"}, w.waitsFor(all, nil))
			_, err := w.store.Waiting(w.ctx, store.WaitingQuery{For: &interaction.Actor{Groups: make([]string, 1001)}})
			require.ErrorIs(w, err, store.ErrInvalid)
		},
	},
	{
		"asked/audiences follow each commit",
		"A run is found for a person exactly while one of its open questions is for them: after replies to its " +
			"other questions, holds, further turns, cancels and restarts of the store (K9, K2).",
		func(w *world) {
			dice := rand.New(rand.NewPCG(7, 9))
			to := func() *interaction.Audience { return audiences[dice.IntN(len(audiences))] }
			for i := range 8 {
				w.submit(fmt.Sprint("r", i))
			}
			for round := range 60 {
				for _, r := range w.claim("n", 3) {
					all := []*interaction.Audience{to()}
					for dice.IntN(2) == 0 {
						all = append(all, to())
					}
					w.commit(asking(r, w.now, all...)) // some at the same time
				}
				page, err := w.store.Waiting(w.ctx, store.WaitingQuery{})
				require.NoError(w, err)
				for _, r := range page.Runs[:dice.IntN(len(page.Runs)+1)] {
					open := r.Open
					switch number := open[dice.IntN(len(open))].ID; {
					case dice.IntN(20) == 0:
						w.commit(ended(r, w.tick(), fsm.StateCanceled))
						w.submit(fmt.Sprint("again-", round, r.ID))
					case dice.IntN(3) == 0:
						w.commit(Changed(r, w.tick(), func(r *store.Run) { r.Warnings = nil }))
					case len(open) > 1 && dice.IntN(3) > 0:
						w.commit(Recorded(r, w.tick(), number, ""))
					case r.Together != nil:
						w.commit(Completed(r, w.tick(), number, ""))
					default:
						w.commit(Answered(r, w.tick(), ""))
					}
				}
				w.judgeWaiting(1+dice.IntN(4), 50)
			}
		},
	},
	{
		"asked/while questions come and go",
		"Paging for two people while questions are asked, answered and deleted returns exactly once each run that " +
			"asked them all the time (K9, F9).",
		func(w *world) {
			for _, who := range []*interaction.Actor{adaFinance, bobAlone} {
				var stay, leave []string
				prefix := who.ID
				for i := range 6 {
					to := []*interaction.Audience{nil, toBoth}
					stay = append(stay, w.asks(fmt.Sprint(prefix, "-stays-", i), to[i%2]).ID)
					leave = append(leave, w.asks(fmt.Sprint(prefix, "-goes-", i), to[(i+1)%2]).ID)
				}
				n := 0
				got := w.waitsFor(store.WaitingQuery{For: who, Query: store.Query{Limit: 2}}, func() {
					if n < len(leave) {
						w.commit(ended(w.load(leave[n]), w.tick(), fsm.StateCanceled))
						w.asks(fmt.Sprint(prefix, "-new-", n), toBoth, nil)
						w.commit(Changed(w.load(stay[n]), w.tick(), func(r *store.Run) { r.CancelReason = "" }))
					}
					n++
				})
				got = slices.DeleteFunc(got, func(id string) bool { return !slices.Contains(stay, id) })
				require.Equal(w, stay, got)
			}
		},
	},
}
