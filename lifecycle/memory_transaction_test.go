package lifecycle

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/fsm"
)

// asksFirst asks for a call, and then writes in a hung transaction.
type asksFirst struct{ hangingTransaction }

func (e asksFirst) RunTurn(ctx context.Context, t engine.Turn, s engine.Sink) (engine.Outcome, error) {
	if len(t.Answers) == 0 {
		return engine.AskAll(call("pay", `{}`)).WithState([]byte("s")), nil
	}
	return e.hangingTransaction.RunTurn(ctx, t, s)
}

func TestN9AForgetDuringAHungTransaction(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := newStore(t)
		e := asksFirst{hangingTransaction{transactionView{st}, make(chan struct{}), make(chan error, 1)}}
		lc, err := New(Config{Store: st, Engine: e, Grace: -1, Remember: time.Hour})
		require.NoError(t, err)
		defer lc.Close()
		ctx, cancel := context.WithCancel(t.Context())
		served := make(chan error, 1)
		go func() { served <- lc.Serve(ctx) }()
		answered(t, lc, Spec{ID: "r", Prompt: "x", TurnTimeout: 10 * time.Second})
		_, err = lc.As(by("ada")).Reply(t.Context(), "r", approveAlso(1, Remember{}))
		require.NoError(t, err)
		pass(time.Second)
		require.NoError(t, lc.As(by("bob")).Forget(t.Context(), "r", 1))
		pass(5 * time.Minute)
		run, err := lc.Get(t.Context(), "r")
		close(e.hang)
		<-e.returned
		cancel()
		<-served
		require.NoError(t, err)
		require.Equal(t, fsm.StateFailed, run.State)
		require.NotContains(t, run.Error.Message, "the store does not have the turn's outcome")
	})
}
