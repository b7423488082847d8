package lifecycle

import (
	"context"
	"testing"
	"testing/synctest"

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
