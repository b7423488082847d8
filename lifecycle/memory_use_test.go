package lifecycle

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine"
)

// N9: a ruling that leaves the question to people takes precedence over a remembered decision.
func TestN9ARuleThatAsksComesBeforeAMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pay := call("pay", `{"amount":5}`)
		st, s := newStore(t), &spender{calls: []engine.Question{pay, pay}}
		lc, stop := serve(t, Config{Store: st, Engine: s.engine(), Remember: time.Hour,
			Policy: func(_ context.Context, p Proposal) (Ruling, error) {
				if p.Question.ID == 2 {
					return Ruling{Rule: "risky", Version: "1"}, nil
				}
				return Ruling{}, nil
			}})
		defer stop()
		answered(t, lc, Spec{ID: "r", Prompt: "x"})
		_, err := lc.As(by("ada")).Reply(t.Context(), "r", approveAlso(1, Remember{}))
		require.NoError(t, err)
		pass(time.Second)
		require.Equal(t, 1, inboxOf(t, lc), "the rule says that people decide")
	})
}

// N9: a node does not use decisions older than its Config.Remember.
func TestN9TheHostsLimitHolds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pay := call("pay", `{"amount":5}`)
		st, s := newStore(t), &spender{calls: []engine.Question{pay, call("mail", `{}`), pay}}
		lc, stop := serve(t, Config{Store: st, Engine: s.engine(), Remember: time.Hour})
		defer stop()
		answered(t, lc, Spec{ID: "r", Prompt: "x"})
		cli, err := NewClient(ClientConfig{Store: st, Remember: 366 * 24 * time.Hour})
		require.NoError(t, err)
		defer cli.Close()
		reply := approveAlso(1, Remember{})
		reply.Remember.Until = time.Now().Add(300 * time.Hour)
		_, err = cli.As(by("ada")).Reply(t.Context(), "r", reply)
		require.NoError(t, err)
		pass(2 * time.Hour)
		_, err = lc.Reply(t.Context(), "r", Reply{ID: 2, Decision: Approve})
		require.NoError(t, err)
		pass(time.Second)
		require.Equal(t, 1, inboxOf(t, lc), "the host allows one hour")
	})
}

type atkSlow struct {
	leavers
	wait map[string]time.Duration
}

func (s atkSlow) Member(_ context.Context, id string) (bool, error) {
	time.Sleep(s.wait[id])
	return id != "eve", nil
}

// N9: the checked person must be the person of the used decision.
func TestN9ThePersonOfTheUsedMemoryIsChecked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pay, other := call("pay", `{"amount":5}`), call("pay", `{"amount":6}`)
		st, s := newStore(t), &spender{calls: []engine.Question{pay, other, pay}}
		lc, stop := serve(t, Config{Store: st, Engine: s.engine(), Remember: time.Hour,
			Directory: atkSlow{wait: map[string]time.Duration{"ada": 3 * time.Second}}})
		defer stop()
		answered(t, lc, Spec{ID: "r", Prompt: "x"})
		reply := approveAlso(1, Remember{})
		reply.Remember.Until = time.Now().Add(2 * time.Second)
		_, err := lc.As(by("ada")).Reply(t.Context(), "r", reply)
		require.NoError(t, err)
		synctest.Wait()
		_, err = lc.As(by("eve")).Reply(t.Context(), "r", approveAlso(2, Remember{Any: true}))
		require.NoError(t, err)
		pass(4 * time.Second)
		require.NotContains(t, strings.Join(wholeLog(t, st, "r"), ""), `"actor":"memory:2"`, "eve has left")
	})
}

// N9: if the directory is slow, people see the question, and the decision is not used later.
func TestN9AMemoryIsNotUsedOncePeopleSeeTheQuestion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pay := call("pay", `{"amount":5}`)
		st, s := newStore(t), &spender{calls: []engine.Question{pay, pay}}
		lc, stop := serve(t, Config{Store: st, Engine: s.engine(), Remember: time.Hour,
			Directory: atkSlow{wait: map[string]time.Duration{"ada": time.Minute}}})
		defer stop()
		answered(t, lc, Spec{ID: "r", Prompt: "x"})
		_, err := lc.As(by("ada")).Reply(t.Context(), "r", approveAlso(1, Remember{}))
		require.NoError(t, err)
		pass(6 * time.Second)
		require.Equal(t, 1, inboxOf(t, lc))
		pass(2 * time.Minute)
		require.Equal(t, 1, inboxOf(t, lc), "people see the question, and it is not left to them")
	})
}

// N9: a former member's decision does not prevent the use of another person's decision.
func TestN9TheNextMemoryCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pay, other := call("pay", `{"amount":5}`), call("pay", `{"amount":6}`)
		st, s := newStore(t), &spender{calls: []engine.Question{pay, other, pay}}
		lc, stop := serve(t, Config{Store: st, Engine: s.engine(), Remember: time.Hour, Directory: atkSlow{}})
		defer stop()
		answered(t, lc, Spec{ID: "r", Prompt: "x"})
		_, err := lc.As(by("eve")).Reply(t.Context(), "r", approveAlso(1, Remember{}))
		require.NoError(t, err)
		synctest.Wait()
		_, err = lc.As(by("bob")).Reply(t.Context(), "r", approveAlso(2, Remember{Any: true}))
		require.NoError(t, err)
		pass(4 * time.Second)
		require.Equal(t, 0, inboxOf(t, lc), "bob's decision covers it")
	})
}

// N9: a repeated reply returns its receipt even if the host does not allow Remember any more.
func TestN9ARepeatedReplyGetsItsReceiptThoughTheHostRemembersNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, s := newStore(t), &spender{calls: []engine.Question{call("pay", `{}`)}}
		lc, stop := serve(t, Config{Store: st, Engine: s.engine(), Remember: time.Hour})
		defer stop()
		answered(t, lc, Spec{ID: "r", Prompt: "x"})
		reply := approveAlso(1, Remember{})
		reply.Key = "k"
		_, err := lc.As(by("ada")).Reply(t.Context(), "r", reply)
		require.NoError(t, err)
		receipt, err := clientOf(t, st).As(by("ada")).Reply(t.Context(), "r", reply)
		require.NoError(t, err)
		require.True(t, receipt.Replayed)
	})
}
