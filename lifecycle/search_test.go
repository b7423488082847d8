package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/store"
)

// N7: a search finds a text in all displayed parts of a question and in no other part. It ignores case
// and JSON escapes.
func TestN7ASearchFindsWhatAPersonReads(t *testing.T) {
	run := withQuestion("order-7", interaction.Approval)
	run.Title = "Lamps for the hall"
	run.Labels = map[string]string{"team": "web"}
	q := &run.Open[0]
	q.Prompt, q.Context = "Shall I pay the mill?", "It delivers on Friday."
	q.Subject = &interaction.Subject{Tool: "bank.transfer", Title: "Pay", Risk: "It cannot be undone.",
		Arguments: []byte(`{"to":"M\u00fcller & Söhne","iban":"DE02 1203","say \"hi\"":9007199254740993}`)}
	for text, want := range map[string]int{
		"ORDER-7": 1, "lamps": 1, "the mill": 1, "friday": 1, "Bank.T": 1, "undone": 1, "de02 1203": 1, "müller": 1,
		"SÖHNE": 1, `say "hi"`: 1, "9007199254740993": 1, "web": 0, "nothing": 0, "": 1,
	} {
		s := &waitingPages{Store: newStore(t), pages: [][]Run{{run, withQuestion("other", interaction.Confirm)}}}
		page, err := clientOf(t, s).Inbox(t.Context(), InboxQuery{Text: text, Kinds: []Kind{interaction.Approval}})
		require.NoError(t, err)
		require.Len(t, page.Questions, want, text)
		require.Equal(t, min(len(text), 1), page.Searched, "%s: only questions of this inbox are searched", text)
	}
	_, err := clientOf(t, newStore(t)).Inbox(t.Context(), InboxQuery{Text: string(make([]byte, MaxSearchText+1))})
	var fault *ArgumentError
	require.ErrorAs(t, err, &fault)
}

// manyWaiting is a store with an endless list of waiting runs.
type manyWaiting struct {
	store.Store
	pause time.Duration // for each page
	pages int
}

func (s *manyWaiting) Waiting(_ context.Context, q store.WaitingQuery) (page Page, _ error) {
	time.Sleep(s.pause)
	s.pages++
	for i := range q.Limit {
		page.Runs = append(page.Runs, withQuestion(fmt.Sprintf("r-%d-%d", s.pages, i), interaction.Confirm))
	}
	page.Next = afterRun(&page.Runs[len(page.Runs)-1])
	return page, nil
}

// N7: a search stops after MaxInboxRead questions or runs, or MaxSearchTime, and returns where to
// continue.
func TestN7ASearchIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for pause, want := range map[time.Duration][]int{0: {MaxInboxRead, MaxInboxRead},
			90 * time.Millisecond: {101 + 202 + 1, 100 + 200 + 400}} {
			questions := clientOf(t, &manyWaiting{Store: newStore(t), pause: pause})
			inbox, err := questions.Inbox(t.Context(), InboxQuery{Text: "nothing has this"})
			require.NoError(t, err)
			require.Empty(t, inbox.Questions)
			runs, err := clientOf(t, &manyRuns{Store: newStore(t), pause: pause}).SearchRuns(t.Context(),
				SearchQuery{Text: "nothing has this"})
			require.NoError(t, err)
			require.Empty(t, runs.Runs)
			require.Equal(t, want, []int{inbox.Searched, runs.Searched})
			require.NotEmpty(t, inbox.Next)
			require.NotEmpty(t, runs.Next)
		}
	})
}

// N7: SearchRuns finds runs by their displayed texts and creation time, in both orders, page by page.
func TestN7RunsAreFoundByTextAndTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		answers := func(_ context.Context, turn engine.Turn, _ engine.Sink) (engine.Outcome, error) {
			switch turn.Prompt {
			case "ask":
				return engine.Ask(engine.Question{Prompt: "Which COLOR?"}), nil
			case "fail":
				return engine.Outcome{}, errors.New("the disk is full")
			}
			return engine.Outcome{Done: true, FinalText: "paid", Output: []byte(`{"to":"M\u00fcller"}`)}, nil
		}
		refuse := func(_ context.Context, a Access) error {
			if a.Actor.ID == "eve" && a.Query != nil && a.Query.Pool == "" {
				return errors.New("only of a pool")
			}
			return nil
		}
		lc, stop := serve(t, Config{Store: newStore(t), Engine: engine.Func(answers), Authorize: refuse})
		defer stop()
		begun := time.Now()
		for i, spec := range []Spec{{Prompt: "pay", Title: "Lamps"}, {Prompt: "ask", Labels: map[string]string{
			"team": "web"}}, {Prompt: "fail"}, {Prompt: "ask"}} {
			spec.ID = fmt.Sprintf("r-%d", i)
			_, err := lc.Submit(t.Context(), spec)
			require.NoError(t, err)
			time.Sleep(time.Hour)
		}
		require.NoError(t, lc.Cancel(t.Context(), "r-3", "Not needed"))
		hour := func(n int) time.Time { return begun.Add(time.Duration(n) * time.Hour) }
		list := func(q SearchQuery) (ids []string, _ SearchPage) {
			page, err := lc.SearchRuns(t.Context(), q)
			require.NoError(t, err)
			for i := range page.Runs {
				ids = append(ids, page.Runs[i].ID)
			}
			return ids, page
		}
		for text, want := range map[string][]string{"R-2": {"r-2"}, "lamps": {"r-0"}, "team=W": {"r-1"},
			"color": {"r-1"}, "DISK": {"r-2"}, "paid": {"r-0"}, "müll": {"r-0"}, "not needed": {"r-3"}, "nothing": nil,
			"": {"r-3", "r-2", "r-1", "r-0"}} {
			ids, page := list(SearchQuery{Query: Query{Newest: true}, Text: text})
			require.Equal(t, want, ids, text)
			require.Equal(t, 4, page.Searched)
			require.Empty(t, page.Next)
		}
		for _, newest := range []bool{true, false} {
			at := SearchQuery{Query: Query{Newest: newest}, From: hour(1), Until: hour(3)}
			ids, page := list(at)
			require.ElementsMatch(t, []string{"r-1", "r-2"}, ids)
			require.LessOrEqual(t, page.Searched, 3, "runs before the time are not read")
			at.Limit = 1
			first, page := list(at)
			at.After = page.Next
			second, _ := list(at)
			require.Equal(t, ids, append(first, second...))
			ids, _ = list(SearchQuery{Query: Query{Newest: newest}, From: hour(3), Until: hour(3)})
			require.Empty(t, ids)
		}
		ids, _ := list(SearchQuery{From: hour(1).Add(1), Text: "r-"})
		require.Equal(t, []string{"r-2", "r-3"}, ids)
		_, err := lc.As(Actor{ID: "eve"}).SearchRuns(t.Context(), SearchQuery{})
		require.ErrorIs(t, err, ErrNotAllowed)
		for _, q := range []SearchQuery{{Text: string(make([]byte, MaxSearchText+1))}, {Query: Query{Limit: -1}},
			{From: time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)}} {
			_, err = lc.SearchRuns(t.Context(), q)
			var fault *ArgumentError
			require.ErrorAs(t, err, &fault)
		}
	})
}

// manyRuns is a store with an endless list of runs.
type manyRuns struct {
	store.Store
	pause time.Duration // for each page
}

func (s *manyRuns) Runs(_ context.Context, q store.Query) (page Page, _ error) {
	time.Sleep(s.pause)
	page.Runs = make([]Run, q.Limit)
	page.Next = store.Cursor{At: noon, ID: "next"}.String()
	return page, nil
}
