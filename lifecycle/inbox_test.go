package lifecycle

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/store"
)

// waitingPages is a store whose runs that wait come in the pages that are given, however many are
// asked for.
type waitingPages struct {
	store.Store
	pages  [][]Run
	limits []int // of the pages that were read
}

func (s *waitingPages) Waiting(_ context.Context, q store.WaitingQuery) (Page, error) {
	page := Page{Runs: s.pages[len(s.limits)]}
	if s.limits = append(s.limits, q.Limit); len(s.limits) < len(s.pages) {
		page.Next = afterRun(&page.Runs[len(page.Runs)-1])
	}
	return page, nil
}

func afterRun(run *Run) string { return store.Cursor{At: run.Open[0].AskedAt, ID: run.ID}.String() }

// withQuestion is a run that waits with a question of the kind.
func withQuestion(id string, kind Kind) Run {
	return Run{ID: id, Open: []interaction.Question{{ID: 1, Kind: kind, Prompt: "?", AskedAt: noon}}}
}

// K9: a page is filled from as many pages of the store as it takes, each asked for with room to see
// whether another question follows, and no page is read for a full one.
func TestK9InboxReadsUntilThePageIsFull(t *testing.T) {
	a, b, other := withQuestion("a", interaction.OpenText), withQuestion("b", interaction.OpenText),
		withQuestion("o", interaction.Confirm)
	for name, c := range map[string]struct {
		pages  [][]Run
		limit  int
		want   []string
		limits []int
		next   string
	}{
		"all fit":              {[][]Run{{a}, {other}, {b}}, 3, []string{"a", "b"}, []int{4, 8, 16}, ""},
		"one, and more follow": {[][]Run{{a}, {b}}, 1, []string{"a"}, []int{2}, afterRun(&a)},
		"one of another page":  {[][]Run{{other}, {a, b}}, 1, []string{"a"}, []int{2, 4}, afterRun(&a)},
		"just as many":         {[][]Run{{a, b}}, 2, []string{"a", "b"}, []int{3}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := &waitingPages{Store: newStore(t), pages: c.pages}
			query := InboxQuery{Kinds: []Kind{interaction.OpenText}, Limit: c.limit}
			page, err := clientOf(t, s).Inbox(t.Context(), query)
			require.NoError(t, err)
			var got []string
			for _, q := range page.Questions {
				got = append(got, q.RunID)
			}
			require.Equal(t, c.want, got)
			require.Equal(t, c.limits, s.limits)
			require.Equal(t, c.next, page.Next)
		})
	}
}

// K9: an inbox has the titles of its questions' runs, as submitted.
func TestK9QuestionsHaveTheTitleOfTheirRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lc, stop := serve(t, Config{Store: newStore(t), Engine: asksOnce()})
		defer stop()
		spec := Spec{ID: "r", Prompt: "x", Title: "Lamps for order 7"}
		_, err := lc.Submit(t.Context(), spec)
		require.NoError(t, err)
		synctest.Wait()
		page, err := lc.Inbox(t.Context(), InboxQuery{})
		require.NoError(t, err)
		require.Len(t, page.Questions, 1)
		require.Equal(t, spec.Title, page.Questions[0].Title)
		require.Equal(t, spec.Title, in(t, lc.Client, "r", fsm.StateWaitingUser).Title)
		spec.Title = "Lamps"
		_, err = lc.Submit(t.Context(), spec)
		require.ErrorIs(t, err, ErrSpecConflict)
	})
}

// K9: one call reads no more than about MaxInboxRead runs, whatever it finds, and says where it
// stopped.
func TestK9InboxReadsNoMoreThanItsBound(t *testing.T) {
	for limit, reads := range map[int]int{
		store.MaxBatch: MaxInboxRead / store.MaxBatch,
		3:              8 + 9, // 4, 8, … 512, and batches: 10020 runs
	} {
		s := &waitingPages{Store: newStore(t)}
		for i := range 2 * reads {
			s.pages = append(s.pages, []Run{withQuestion(fmt.Sprintf("r-%d", i), interaction.Confirm)})
		}
		page, err := clientOf(t, s).Inbox(t.Context(), InboxQuery{Kinds: []Kind{interaction.OpenText}, Limit: limit})
		require.NoError(t, err)
		require.Empty(t, page.Questions)
		require.Len(t, s.limits, reads)
		require.Equal(t, afterRun(&s.pages[reads-1][0]), page.Next)
	}
}

// I5: a page of large questions ends at about store.MaxPage, and the count of them keeps none.
func TestI5InboxPagesOfLargeQuestionsAreShort(t *testing.T) {
	s := &waitingPages{Store: newStore(t), pages: [][]Run{nil}}
	for i := range 200 {
		run := withQuestion(fmt.Sprintf("r-%03d", i), interaction.OpenText)
		run.Open[0].Context = strings.Repeat("x", store.MaxPage/80)
		s.pages[0] = append(s.pages[0], run)
	}
	page, err := clientOf(t, s).Inbox(t.Context(), InboxQuery{Limit: store.MaxBatch})
	require.NoError(t, err)
	require.Len(t, page.Questions, 80)
	require.Equal(t, afterRun(&s.pages[0][79]), page.Next)
	s.limits = nil
	count, err := clientOf(t, s).CountInbox(t.Context(), InboxQuery{})
	require.NoError(t, err)
	require.Equal(t, InboxCount{Questions: 200}, count)
}

// K9: the pages of the inbox list each question once, ordered by run and then by number, even if a
// page ends between two questions of one run.
func TestK9InboxPagesAreDisjoint(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		question := func(prompt string) engine.Question {
			return engine.Question{Kind: engine.OpenText, Prompt: prompt}
		}
		lc, stop := serve(t, Config{Store: newStore(t), Engine: engine.Func(func(context.Context, engine.Turn,
			engine.Sink) (engine.Outcome, error) {
			return engine.AskAll(question("1?"), question("2?"), question("3?")), nil
		})})
		defer stop()
		var want []string
		for _, id := range []string{"a", "b"} {
			_, err := lc.Submit(t.Context(), Spec{ID: id, Prompt: "x", MaxQuestions: 3})
			require.NoError(t, err)
			pass(1)
			want = append(want, id+" 1", id+" 2", id+" 3")
		}
		for limit := 1; limit <= 7; limit++ {
			var got []string
			query := InboxQuery{Limit: limit}
			for {
				page, err := lc.Inbox(t.Context(), query)
				require.NoError(t, err)
				require.LessOrEqual(t, len(page.Questions), limit)
				for _, q := range page.Questions {
					got = append(got, fmt.Sprint(q.RunID, " ", q.Question.ID))
				}
				require.LessOrEqual(t, len(got), len(want), "none comes again")
				if query.After = page.Next; page.Next == "" {
					break
				}
			}
			require.Equal(t, want, got, "%d a page", limit)
		}
	})
}
