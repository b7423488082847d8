package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/store"
)

// guard is an Authorize that records its calls, and refuses on request.
type guard struct {
	asked   []Access
	refusal error
}

func (g *guard) authorize(_ context.Context, a Access) error {
	g.asked = append(g.asked, a)
	return g.refusal
}

// drain returns the calls since the last one, in words.
func (g *guard) drain() (asked []string) {
	for _, a := range g.asked {
		text := string(a.Action) + " by " + a.Actor.String()
		if a.Run != nil {
			text += " of " + a.Run.ID
		}
		if a.Question != nil {
			text += fmt.Sprintf(" question %d", a.Question.ID)
		}
		if a.Inbox != nil {
			text += " for " + a.Inbox.For.ID
		}
		if a.Query != nil {
			text += " in pool " + a.Query.Pool
		}
		asked = append(asked, text)
	}
	g.asked = nil
	return asked
}

// K6: one function sees each call that reads or changes runs, once, with its actor. Refused calls
// have no effect.
func TestK6AuthorizeSeesEveryCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g guard
		s := newStore(t)
		lc, stop := serve(t, Config{Store: s, Engine: collector(), Authorize: g.authorize})
		defer stop()
		submit(t, lc, "r")
		synctest.Wait()
		require.Equal(t, []string{"submit by an actor without a name of r"}, g.drain(), "the turn has not asked")
		ada := lc.As(Actor{ID: "ada", Groups: []string{"finance"}, Via: "web"})
		const viewed = "view by ada (by web) of r question 1"
		calls := []struct {
			asked string
			call  func(c *Client) error
		}{
			{"submit by ada (by web) of s", func(c *Client) error {
				return second(c.Submit(t.Context(), Spec{ID: "s", Prompt: "p", NotBefore: time.Now().Add(time.Hour)}))
			}},
			{viewed, func(c *Client) error { return second(c.Get(t.Context(), "r")) }},
			{viewed, func(c *Client) error { return second(c.Pending(t.Context(), "r")) }},
			{viewed, func(c *Client) error { return second(c.History(t.Context(), "r")) }},
			{viewed, func(c *Client) error { return second(c.Inherited(t.Context(), "r")) }},
			{viewed, func(c *Client) error { return second(c.Usage(t.Context(), "r")) }},
			{viewed, func(c *Client) error {
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				if _, err := c.Wait(ctx, "r"); !errors.Is(err, context.DeadlineExceeded) {
					return err
				}
				return nil
			}},
			{viewed, func(c *Client) error {
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				for _, err := range c.Events(ctx, "r", 0) {
					if err != nil && !errors.Is(err, context.DeadlineExceeded) {
						return err
					}
				}
				return nil
			}},
			{"list by ada (by web) in pool p", func(c *Client) error {
				return second(c.Runs(t.Context(), Query{Pool: "p"}))
			}},
			{"list by ada (by web) for bob", func(c *Client) error {
				return second(c.Inbox(t.Context(), InboxQuery{For: Actor{ID: "bob"}}))
			}},
			{"list by ada (by web) for bob", func(c *Client) error {
				return second(c.CountInbox(t.Context(), InboxQuery{For: Actor{ID: "bob"}}))
			}},
			{"stats by ada (by web)", func(c *Client) error { return second(c.Stats(t.Context())) }},
			{"stats by ada (by web)", func(c *Client) error { return second(c.Nodes(t.Context())) }},
			{"prune by ada (by web)", func(c *Client) error { return second(c.Prune(t.Context(), time.Now())) }},
			{"claim by ada (by web) of r question 1", func(c *Client) error {
				return c.Claim(t.Context(), "r", 1, time.Now().Add(time.Hour))
			}},
			{"release by ada (by web) of r question 1", func(c *Client) error {
				return c.Release(t.Context(), "r", 1)
			}},
			{"reassign by ada (by web) of r question 1", func(c *Client) error {
				return c.Reassign(t.Context(), "r", 1, nil, Audience{Users: []string{"bob"}})
			}},
			{"overrule by ada (by web) of r question 1", func(c *Client) error {
				asked := &Audience{Users: []string{"bob"}}
				return c.Reassign(t.Context(), "r", 1, asked, Audience{Users: []string{"ada"}})
			}},
			{"reply by ada (by web) of r question 1", func(c *Client) error {
				return second(c.Reply(t.Context(), "r", Reply{ID: 1, Text: "yes", Key: "k"}))
			}},
			{"reply by ada (by web) of r question 1", func(c *Client) error { // it comes again
				return second(c.Reply(t.Context(), "r", Reply{ID: 1, Text: "yes", Key: "k"}))
			}},
			{"fork by ada (by web) of r question 1", func(c *Client) error {
				at := At{Question: 1, ID: "f", Change: func(s *Spec) { s.Labels = map[string]string{"a": "b"} }}
				return second(c.Fork(t.Context(), "r", at))
			}},
			{"cancel by ada (by web) of s", func(c *Client) error { return c.Cancel(t.Context(), "s", "enough") }},
		}
		for _, call := range calls {
			before := stateOf(t, s)
			g.refusal = errors.New("not today")
			err := call.call(ada)
			require.ErrorIs(t, err, ErrNotAllowed, call.asked)
			require.ErrorIs(t, err, g.refusal)
			require.ErrorContains(t, err, "ada (by web) may not ")
			require.Equal(t, []string{call.asked}, g.drain())
			require.Equal(t, before, stateOf(t, s), "%s: nothing was done", call.asked)

			g.refusal = nil
			require.NoError(t, call.call(ada), call.asked)
			synctest.Wait()
			require.Equal(t, []string{call.asked}, g.drain())
		}
		history, err := lc.History(t.Context(), "r")
		require.NoError(t, err)
		require.Equal(t, "ada", history[0].Actor)
	})
}

// stateOf is a store's content.
func stateOf(tb testing.TB, s store.Store) []Run {
	tb.Helper()
	page, err := s.Runs(tb.Context(), Query{})
	require.NoError(tb, err)
	return page.Runs
}

// K5 K6: an actor without a right to a question takes it from others only if Authorize allows that,
// or as the host itself.
func TestK5OnlyTheHostOverrules(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := guard{}
		s := newStore(t)
		lc, stop := serve(t, Config{Store: s, Engine: collector()})
		defer stop()
		guarded, err := NewClient(ClientConfig{Store: s, Authorize: g.authorize})
		require.NoError(t, err)
		defer guarded.Close()
		_, err = lc.Submit(t.Context(), Spec{ID: "r", Prompt: "p", Ask: &AskPolicy{To: &Audience{
			Users: []string{"ada", "bob"}}}})
		require.NoError(t, err)
		synctest.Wait()
		asked := &Audience{Users: []string{"ada", "bob"}}
		claim := func() {
			require.NoError(t, lc.As(Actor{ID: "ada"}).Claim(t.Context(), "r", 1, time.Now().Add(time.Hour)))
		}
		move := func(c *Client) error { return c.Reassign(t.Context(), "r", 1, asked, *asked) }
		calls := []struct {
			what, who string
			err       error
			call      func(c *Client) error
		}{
			{"release", "bob", ErrClaimed, func(c *Client) error { return c.Release(t.Context(), "r", 1) }},
			{"reassign", "bob", ErrClaimed, move},
			{"reassign", "eve", ErrNotAsked, move},
		}
		for _, tc := range calls {
			claim()
			require.ErrorIs(t, tc.call(lc.As(Actor{ID: tc.who})), tc.err, tc.what)
			require.Error(t, tc.call(lc.As(Actor{Via: "web"})), "it may be anybody")
			require.NoError(t, tc.call(lc.As(Actor{})), "the host itself")
			claim()
			g.refusal = errors.New("no")
			require.ErrorIs(t, tc.call(guarded.As(Actor{ID: tc.who})), ErrNotAllowed)
			require.ErrorIs(t, tc.call(guarded.As(Actor{})), ErrNotAllowed, "where a hook is set, it decides")
			g.refusal = nil
			g.drain()
			require.NoError(t, tc.call(guarded.As(Actor{ID: tc.who})))
			require.Equal(t, []string{"overrule by " + tc.who + " of r question 1"}, g.drain())
		}
		claim()
		_, err = guarded.As(Actor{ID: "bob"}).Reply(t.Context(), "r", Reply{ID: 1, Text: "yes"})
		require.ErrorIs(t, err, ErrClaimed, "nobody answers in place of who has claimed it")
		requireSoundLog(t, s, "r")
	})
}

// K6: a held run is resumed by whom Authorize allows to.
func TestK6AuthorizeSeesResume(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := guard{refusal: errors.New("no")}
		s := newStore(t)
		lc, err := NewClient(ClientConfig{Store: s, Authorize: g.authorize})
		require.NoError(t, err)
		defer lc.Close()
		held := Run{ID: "r", State: fsm.StateQueued, Block: &store.Block{Kind: store.BlockHeld}}
		shown := &showing{Store: s, run: &held}
		err = lc.On(shown).As(Actor{ID: "olga"}).Resume(t.Context(), "r", Resume{Choice: ChoiceRepeat})
		require.ErrorIs(t, err, ErrNotAllowed)
		require.Equal(t, []string{"resume by olga of r"}, g.drain())
	})
}

// rival is a store with a concurrent change of the run before each commit, a few times.
type rival struct {
	store.Store
	times int
}

func (s *rival) Commit(ctx context.Context, batch []store.Commit) []error {
	if s.times > 0 {
		s.times--
		return []error{store.ErrConflict}
	}
	return s.Store.Commit(ctx, batch)
}

// K6: a call that loses a race and rereads the run asks again: the permission for the old record
// need not hold for the new one.
func TestK6ALostRaceAsksAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore(t)
		lc, stop := serve(t, Config{Store: s, Engine: collector()})
		defer stop()
		submit(t, lc, "r")
		synctest.Wait()
		var g guard
		c, err := NewClient(ClientConfig{Store: &rival{Store: s, times: 2}, Authorize: g.authorize})
		require.NoError(t, err)
		defer c.Close()
		_, err = c.Reply(t.Context(), "r", Reply{ID: 1, Text: "yes", Actor: Actor{ID: "ada"}})
		require.NoError(t, err)
		require.Equal(t, []string{"reply by ada of r question 1", "reply by ada of r question 1",
			"reply by ada of r question 1"}, g.drain())
	})
}

// K6, J10: an Authorize that panics refuses, and its changes to the given run have no effect.
func TestK6AnAuthorizeThatMisbehaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore(t)
		lc, stop := serve(t, Config{Store: s, Engine: collector(), Authorize: func(_ context.Context, a Access) error {
			if a.Action == ActionCancel {
				panic("out of order")
			}
			if a.Run != nil {
				a.Run.State, a.Run.Version = fsm.StateFailed, 99
			}
			return nil
		}})
		defer stop()
		submit(t, lc, "r")
		synctest.Wait()
		err := lc.Cancel(t.Context(), "r", "why not")
		require.ErrorIs(t, err, ErrNotAllowed)
		require.ErrorContains(t, err, "Authorize panicked")
		require.NotContains(t, err.Error(), "out of order")
		_, err = lc.Reply(t.Context(), "r", Reply{ID: 1, Text: "yes"})
		require.NoError(t, err)
	})
}

// K6: an actor's client makes no call in another actor's name.
func TestK6AClientOfAnActorIsNobodyElse(t *testing.T) {
	s := newStore(t)
	lc, err := NewClient(ClientConfig{Store: s})
	require.NoError(t, err)
	defer lc.Close()
	ada := lc.As(Actor{ID: "ada"})
	bob := Actor{ID: "bob"}
	for what, err := range map[string]error{
		"reply.Actor":  second(ada.Reply(t.Context(), "r", Reply{ID: 1, Text: "yes", Actor: bob})),
		"resume.Actor": ada.Resume(t.Context(), "r", Resume{Choice: ChoiceRepeat, Actor: bob}),
		"at.Actor":     second(ada.Fork(t.Context(), "r", At{Question: 1, Answer: Reply{Text: "yes"}, Actor: bob})),
	} {
		var fault *ArgumentError
		require.ErrorAs(t, err, &fault)
		require.Equal(t, what, fault.Argument)
	}
	_, err = ada.Reply(t.Context(), "r", Reply{ID: 1, Text: "yes", Actor: Actor{ID: "ada"}})
	require.ErrorIs(t, err, ErrNotFound)
}

// K6: the refusal says who may not do what, and about which run if it is about one.
func TestK6ARefusalSaysWhat(t *testing.T) {
	refusal := NotAllowedError{Actor: Actor{ID: "ada"}, Action: ActionCancel, Err: errAway}
	require.EqualError(t, &refusal, "lifecycle: not allowed: ada may not cancel: connection refused")
	refusal.RunID = "r"
	require.EqualError(t, &refusal, "lifecycle: not allowed: ada may not cancel run r: connection refused")
}
