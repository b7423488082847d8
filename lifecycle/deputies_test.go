package lifecycle

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// N10: a call that does not ask the directory acts for nobody, whatever its caller says: Authorize
// sees no principal, and a fork's answer names none.
func TestN10AnUnconfirmedPrincipalIsDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var seen []Action
		lc, stop := serve(t, Config{Store: newStore(t), Engine: collector(),
			Authorize: func(_ context.Context, a Access) error {
				if a.Actor.For != "" || len(a.Actor.Principals) > 0 {
					seen = append(seen, a.Action)
				}
				return nil
			}})
		defer stop()
		answered(t, lc, Spec{ID: "r", Prompt: "x"}, "a")
		eve := Actor{ID: "eve", For: "ann", Principals: []Principal{{ID: "ann"}}}
		_, err := lc.As(eve).Fork(t.Context(), "r", At{ID: "f", Question: 1, Answer: Reply{Text: "b"}})
		require.NoError(t, err)
		synctest.Wait()
		history, err := lc.As(eve).History(t.Context(), "f")
		require.NoError(t, err)
		for i := range history {
			require.Empty(t, history[i].For())
		}
		run, err := lc.As(eve).Get(t.Context(), "f")
		require.NoError(t, err)
		for _, a := range run.Answers {
			require.Empty(t, a.For)
		}
		_, err = lc.As(eve).Inbox(t.Context(), InboxQuery{})
		require.NoError(t, err)
		require.NoError(t, lc.As(eve).Cancel(t.Context(), "f", ""))
		require.Empty(t, seen)
	})
}

// manyAbsent are people whose deputy everybody is.
type manyAbsent int

func (n manyAbsent) Principals(context.Context, string, time.Time) (all []Principal, _ error) {
	for i := range int(n) {
		all = append(all, Principal{ID: fmt.Sprint("p", i)})
	}
	return all, nil
}

// N10: whoever is the deputy of more people than an inbox shows may still answer for each of them.
func TestN10ADeputyOfManyPeople(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lc, stop := serve(t, Config{Store: newStore(t), Engine: asksOnce(), Directory: manyAbsent(MaxPrincipals + 1)})
		defer stop()
		last := fmt.Sprint("p", MaxPrincipals)
		answered(t, lc, Spec{ID: "r", Prompt: "x", Ask: &AskPolicy{To: &Audience{Users: []string{last}}}})
		_, err := lc.As(by("eve")).Reply(t.Context(), "r", Reply{ID: 1, Text: "a"})
		require.ErrorIs(t, err, ErrNotAsked)
		_, err = lc.As(Actor{ID: "eve", For: last}).Reply(t.Context(), "r", Reply{ID: 1, Text: "a"})
		require.NoError(t, err)
	})
}
