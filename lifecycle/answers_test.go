package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/store"
)

// N7: a person finds their own answers, and what each led to; others' answers and runs that they
// may not view are not among them.
func TestN7APersonsOwnAnswersAreListed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		secret := func(_ context.Context, a Access) error {
			if a.Action == ActionView && a.Run.ID == "r-3" && !a.Actor.IsZero() {
				return errors.New("not yours")
			}
			return nil
		}
		lc, stop := serve(t, Config{Store: newStore(t), Engine: asksOnce(), Authorize: secret})
		defer stop()
		for i := range 5 {
			id := fmt.Sprintf("r-%d", i)
			_, err := lc.Submit(t.Context(), Spec{ID: id, Prompt: "x"})
			require.NoError(t, err)
			synctest.Wait()
			if i == 4 {
				continue // still open
			}
			by := []string{"ada", "bob", "bob"}[i%3] // 0 and 3 are ada's
			_, err = lc.Reply(t.Context(), id, Reply{ID: 1, Text: "yes", Actor: Actor{ID: by}})
			require.NoError(t, err)
			_, err = lc.Wait(t.Context(), id)
			require.NoError(t, err)
		}
		list := func(query AnswersQuery) (ids []string, _ AnswersPage) {
			page, err := lc.As(query.By).Answers(t.Context(), query)
			require.NoError(t, err)
			for _, a := range page.Answers {
				require.Equal(t, StateSucceeded, a.Run.State)
				require.Equal(t, "yes", a.Record.Response)
				ids = append(ids, a.Run.ID)
			}
			return ids, page
		}
		ids, page := list(AnswersQuery{By: Actor{ID: "bob"}})
		require.Equal(t, []string{"r-2", "r-1"}, ids)
		require.Equal(t, 5, page.Searched)
		ids, _ = list(AnswersQuery{By: Actor{ID: "ada"}})
		require.Equal(t, []string{"r-0"}, ids, "r-3 may not be viewed")
		ids, page = list(AnswersQuery{By: Actor{ID: "bob"}, Limit: 1})
		require.Equal(t, []string{"r-2"}, ids)
		ids, _ = list(AnswersQuery{By: Actor{ID: "bob"}, After: page.Next})
		require.Equal(t, []string{"r-1"}, ids)
		_, err := lc.Answers(t.Context(), AnswersQuery{})
		var fault *ArgumentError
		require.ErrorAs(t, err, &fault)
	})
}

// slowRuns is a store whose every run takes as long to read as its history.
type slowRuns struct {
	store.Store
	history int
}

func (s *slowRuns) Runs(_ context.Context, q store.Query) (page Page, _ error) {
	for i := range q.Limit {
		page.Runs = append(page.Runs, Run{ID: fmt.Sprintf("r-%d", i), CreatedAt: noon, Interactions: 1})
	}
	page.Next = store.Cursor{At: noon, ID: "next"}.String()
	return page, nil
}

func (s *slowRuns) History(_ context.Context, id string, _ store.HistoryQuery) (Run, []interaction.Record, error) {
	s.history++
	time.Sleep(30 * time.Millisecond)
	return Run{ID: id, Interactions: 1}, []interaction.Record{{Question: interaction.Question{ID: 1},
		Resolution: interaction.UserReply}}, nil
}

// N7: a search for answers ends after MaxSearchTime or MaxAnswersRead runs, and says where.
func TestN7ASearchForAnswersIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &slowRuns{Store: newStore(t)}
		page, err := clientOf(t, s).Answers(t.Context(), AnswersQuery{By: Actor{ID: "ada"}})
		require.NoError(t, err)
		require.Equal(t, 7, page.Searched)
		require.Equal(t, 7, s.history)
		require.NotEmpty(t, page.Next)
	})
}

// N7 I5: a page of answers ends at about store.MaxPage, however large the results of its runs are.
func TestI5APageOfAnswersWithLargeResultsIsShort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lc, stop := serve(t, Config{Store: newStore(t), Engine: engine.Func(func(_ context.Context, t engine.Turn,
			_ engine.Sink) (engine.Outcome, error) {
			if len(t.Answers) == 0 {
				return engine.Ask(engine.Question{Prompt: "Which?"}), nil
			}
			o := engine.Done("done")
			o.Output = []byte(`"` + strings.Repeat("x", 900<<10) + `"`)
			return o, nil
		})})
		defer stop()
		const runs = 12
		for i := range runs {
			id := fmt.Sprint("r-", i)
			_, err := lc.Submit(t.Context(), Spec{ID: id, Prompt: "x"})
			require.NoError(t, err)
			synctest.Wait()
			_, err = lc.Reply(t.Context(), id, Reply{ID: 1, Text: "yes", Actor: Actor{ID: "ada"}})
			require.NoError(t, err)
			synctest.Wait()
			require.NotEmpty(t, in(t, lc.Client, id, StateSucceeded).Output)
		}
		seen, pages := make(map[string]bool), 0
		for q := (AnswersQuery{By: Actor{ID: "ada"}, Limit: 1000}); ; {
			page, err := lc.Answers(t.Context(), q)
			require.NoError(t, err)
			require.LessOrEqual(t, len(page.Answers), 5)
			for _, a := range page.Answers {
				require.False(t, seen[a.Run.ID])
				seen[a.Run.ID] = true
			}
			pages++
			if q.After = page.Next; q.After == "" {
				break
			}
		}
		require.Len(t, seen, runs)
		require.Equal(t, 3, pages)
	})
}
