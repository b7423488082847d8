package lifecycle

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/store"
)

// rules returns a policy that always rules so.
func rules(r Ruling) Policy {
	return func(context.Context, Proposal) (Ruling, error) { return r, nil }
}

func inboxOf(tb testing.TB, lc *Lifecycle) int {
	tb.Helper()
	page, err := lc.Inbox(tb.Context(), InboxQuery{})
	require.NoError(tb, err)
	count, err := lc.CountInbox(tb.Context(), InboxQuery{})
	require.NoError(tb, err)
	require.Equal(tb, len(page.Questions), count.Questions)
	return len(page.Questions)
}

// N9: a rule approves or rejects as a separate actor, for all people whom the approval needs, with
// its reason; history and events name rule and version; Authorize is not asked.
func TestN9ARuleDecidesForAll(t *testing.T) {
	for name, c := range map[string]struct {
		ruling Ruling
		state  State
		paid   int
	}{
		"approves": {Ruling{Decision: Approve, Rule: "small", Version: "7"}, StateSucceeded, 1},
		"rejects":  {Ruling{Decision: Reject, Rule: "small", Version: "7", Reason: "too much"}, StateSucceeded, 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, pays := newStore(t), &payer{asks: nil}
				pays.asks = append(pays.asks, payment())
				var saw Proposal
				lc, stop := serve(t, Config{Store: s, Engine: pays.engine(),
					Policy: func(_ context.Context, p Proposal) (Ruling, error) {
						saw = p
						return c.ruling, nil
					},
					Authorize: func(_ context.Context, a Access) error {
						if a.Action == ActionReply {
							return errors.New("nobody may reply")
						}
						return nil
					}})
				defer stop()
				run := answered(t, lc, forTwo(2))
				require.Equal(t, c.state, run.State)
				require.Equal(t, c.paid, pays.paid)
				require.Equal(t, []string{"r", "b", "pay"}, []string{saw.RunID, saw.Submitter,
					saw.Question.Subject.Tool})
				history, err := lc.History(t.Context(), "r")
				require.NoError(t, err)
				require.Len(t, history, 1)
				r := history[0]
				require.Equal(t, []string{"policy:small@7", "policy"}, []string{r.Actor, r.Via})
				require.Equal(t, []any{c.ruling.Decision, c.ruling.Reason, interaction.UserReply},
					[]any{r.Decision, r.Response, r.Resolution})
				again, err := lc.Proposal(t.Context(), "r", 1)
				require.NoError(t, err)
				require.Equal(t, []any{saw.Submitter, saw.RunID, saw.Question.Subject, saw.Engine},
					[]any{again.Submitter, again.RunID, again.Question.Subject, again.Engine})
				n, err := again.Rulings(t.Context(), "small")
				require.NoError(t, err)
				require.Equal(t, 1, n)
				_, err = lc.Proposal(t.Context(), "r", 2)
				require.ErrorIs(t, err, ErrNotFound)
				log := strings.Join(wholeLog(t, s, "r"), "")
				require.Contains(t, log, `"actor":"policy:small@7"`)
				require.Contains(t, log, `"protocol_version":"fcmp/1.3"`)
				require.Contains(t, log, `"policy_until":"`)
				requireSoundLog(t, s, "r")
				require.Zero(t, run.Votes)
				require.Zero(t, run.AutoDecisions)
			})
		})
	}
}

// N9: until the policy has decided, inboxes and watches leave the question out; anyone can read it,
// and whoever answers first wins. The default is to ask.
func TestN9AHiddenQuestionBecomesVisible(t *testing.T) {
	const soon, asked = 2 * time.Second, `"policy:default"`
	to := Audience{Users: []string{"eve"}}
	for name, c := range map[string]struct {
		policy Policy
		after  time.Duration // until it is visible
		to     *Audience
		need   int
		change string
	}{
		"the rule asks":  {rules(Ruling{}), soon, nil, 0, `"actor":"policy:default","change":"ask"`},
		"it asks others": {rules(Ruling{Rule: "big", Version: "2", To: &to}), soon, &to, 0, `"change":"reassign"`},
		"it asks more people": {rules(Ruling{Rule: "big", Version: "2", Need: 2}), soon, nil, 2,
			`"actor":"policy:big@2","change":"ask","interaction_id":1,"need":2`},
		"it fails": {func(context.Context, Proposal) (Ruling, error) { return Ruling{}, errors.New("no") }, soon, nil,
			0, asked},
		"it panics": {func(context.Context, Proposal) (Ruling, error) { panic("no") },
			soon, nil, 0, asked},
		"its ruling is invalid":  {rules(Ruling{Decision: "maybe"}), soon, nil, 0, asked},
		"its ruling has no rule": {rules(Ruling{Decision: Approve}), soon, nil, 0, asked},
		"its audience admits no one": {rules(Ruling{Rule: "x", Version: "1", To: &Audience{}}), soon, nil, 0,
			asked},
		"it takes too long": {func(ctx context.Context, _ Proposal) (Ruling, error) {
			<-ctx.Done()
			return Ruling{}, ctx.Err()
		}, 5 * time.Second, nil, 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, pays := newStore(t), &payer{}
				pays.asks = append(pays.asks, payment())
				slow := func(ctx context.Context, p Proposal) (Ruling, error) {
					select {
					case <-time.After(2 * time.Second):
					case <-ctx.Done():
					}
					return c.policy(ctx, p)
				}
				lc, stop := serve(t, Config{Store: s, Engine: pays.engine(), Policy: slow})
				defer stop()
				w := watching(t, lc.Client, InboxQuery{})
				defer w.Close()
				answered(t, lc, Spec{ID: "r", Prompt: "x"})
				pass(c.after - 1500*time.Millisecond)
				require.Zero(t, inboxOf(t, lc))
				require.Empty(t, changesOf(t, w))
				q, err := lc.Pending(t.Context(), "r")
				require.NoError(t, err)
				require.True(t, q.Hidden(time.Now()))
				pass(1500 * time.Millisecond)
				require.Equal(t, 1, inboxOf(t, lc))
				require.Equal(t, []string{"r: 1"}, changesOf(t, w))
				q, err = lc.Pending(t.Context(), "r")
				require.NoError(t, err)
				require.False(t, q.Hidden(time.Now()))
				require.Equal(t, []any{c.to, c.need}, []any{q.To, int(q.Need)})
				require.Contains(t, strings.Join(wholeLog(t, s, "r"), ""), c.change)
				requireSoundLog(t, s, "r")
				_, err = lc.As(by("eve")).Reply(t.Context(), "r", Reply{ID: 1, Decision: Approve})
				require.NoError(t, err)
				requireSoundLog(t, s, "r")
			})
		})
	}
}

// N9: a person who changes or answers the hidden question wins over a slow policy.
func TestN9PeopleWinOverASlowPolicy(t *testing.T) {
	for name, act := range map[string]func(*Client) error{
		"reply": func(c *Client) error {
			_, err := c.Reply(context.Background(), "r", Reply{ID: 1, Decision: Reject})
			return err
		},
		"claim": func(c *Client) error {
			return c.Claim(context.Background(), "r", 1, time.Now().Add(time.Minute))
		},
		"reassign": func(c *Client) error {
			return c.Reassign(context.Background(), "r", 1, nil, Audience{Users: []string{"c"}})
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, pays := newStore(t), &payer{}
				pays.asks = append(pays.asks, payment())
				var calls atomic.Int32
				lc, stop := serve(t, Config{Store: s, Engine: pays.engine(),
					Policy: func(ctx context.Context, _ Proposal) (Ruling, error) {
						calls.Add(1)
						select {
						case <-time.After(3 * time.Second):
						case <-ctx.Done():
						}
						return Ruling{Decision: Approve, Rule: "all", Version: "1"}, nil
					}})
				defer stop()
				answered(t, lc, Spec{ID: "r", Prompt: "x"})
				require.NoError(t, act(lc.As(by("ada"))))
				pass(10 * time.Second)
				require.Equal(t, int32(1), calls.Load(), "a slow policy is not called again on the same node")
				require.NotContains(t, strings.Join(wholeLog(t, s, "r"), ""), `"actor":"policy:`)
				requireSoundLog(t, s, "r")
				require.Equal(t, name != "reply", inboxOf(t, lc) == 1)
			})
		})
	}
}

// N9: the node that asked dies before its policy decides: another node decides, once.
func TestN9AnotherNodeDecides(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, pays := newStore(t), &payer{}
		pays.asks = append(pays.asks, payment())
		first, stopFirst := serveBeside(t, Config{Store: s, Engine: pays.engine(),
			Policy: func(ctx context.Context, _ Proposal) (Ruling, error) {
				<-ctx.Done() // until its node ends
				return Ruling{}, ctx.Err()
			}})
		answered(t, first, Spec{ID: "r", Prompt: "x"})
		stopFirst()
		require.Contains(t, strings.Join(wholeLog(t, s, "r"), ""), `"policy_until"`)
		var calls atomic.Int32
		policy := func(context.Context, Proposal) (Ruling, error) {
			calls.Add(1)
			return Ruling{Decision: Approve, Rule: "all", Version: "2"}, nil
		}
		var stops []func()
		for range 3 {
			_, stop := serveBeside(t, Config{Store: s, Engine: pays.engine(), Policy: policy})
			stops = append(stops, stop)
		}
		pass(3 * time.Second)
		for _, stop := range stops {
			stop()
		}
		run, err := s.Run(t.Context(), "r")
		require.NoError(t, err)
		require.Equal(t, StateSucceeded, run.State)
		require.Equal(t, 1, pays.paid)
		require.Equal(t, 1, strings.Count(strings.Join(wholeLog(t, s, "r"), ""), `"actor":"policy:all@2"`))
		requireSoundLog(t, s, "r")
	})
}

// N9: a rule sees how often it has decided in the run. Questions of other kinds are not hidden.
func TestN9ARuleCountsItsDecisions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pays := &payer{}
		pays.asks = append(pays.asks, payment(), payment(), payment())
		lc, stop := serve(t, Config{Store: newStore(t), Engine: pays.engine(),
			Policy: func(ctx context.Context, p Proposal) (Ruling, error) {
				for p.Question.ID > 1 { // one after the other
					if n, err := p.Rulings(ctx, "twice"); err != nil || n >= min(p.Question.ID-1, 2) {
						break
					}
					time.Sleep(100 * time.Millisecond)
				}
				n, err := p.Rulings(ctx, "twice")
				if err != nil || n >= 2 {
					return Ruling{}, err
				}
				return Ruling{Decision: Approve, Rule: "twice", Version: "1"}, nil
			}})
		defer stop()
		answered(t, lc, Spec{ID: "r", Prompt: "x"})
		pass(time.Second)
		require.Equal(t, 1, inboxOf(t, lc))
		_, err := lc.Reply(t.Context(), "r", Reply{ID: 3, Decision: Approve})
		require.NoError(t, err)
		pass(time.Second)
		run, err := lc.Get(t.Context(), "r")
		require.NoError(t, err)
		require.Equal(t, StateSucceeded, run.State)

		text, stop := serveBeside(t, Config{Store: newStore(t), Engine: asksOnce(), Policy: rules(Ruling{})})
		defer stop()
		answered(t, text, Spec{ID: "r", Prompt: "x"})
		require.Equal(t, 1, inboxOf(t, text))
	})
}

// N9: no person can have the name of a policy, and no configuration an impossible time.
func TestN9NamesOfPoliciesAreReserved(t *testing.T) {
	lc, err := New(Config{Engine: asksOnce()})
	require.NoError(t, err)
	defer lc.Close()
	fake := Actor{ID: "policy:small@7"}
	_, err = lc.As(fake).Get(t.Context(), "r")
	require.ErrorIs(t, err, ErrInvalidArgument)
	_, err = lc.Reply(t.Context(), "r", Reply{ID: 1, Text: "yes", Actor: fake})
	require.ErrorIs(t, err, ErrInvalidReply)
	require.Error(t, Actor{ID: "Policy:small@7"}.Validate(), "another spelling misleads, too")
	require.NoError(t, Actor{ID: "policy"}.Validate())
	for _, timeout := range []time.Duration{-1, time.Millisecond, 1500 * time.Millisecond, 2 * time.Hour} {
		_, err := New(Config{Engine: asksOnce(), Policy: rules(Ruling{}), PolicyTimeout: timeout})
		require.ErrorIs(t, err, ErrInvalidArgument, timeout)
	}
	require.Contains(t, store.Needs(), "policy")
}

// N9: a fork asks again, and its approval is under the policy, too.
func TestN9AForkIsUnderThePolicy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, pays := newStore(t), &payer{fails: true}
		pays.asks = append(pays.asks, payment())
		lc, stop := serve(t, Config{Store: s, Engine: pays.engine(),
			Policy: rules(Ruling{Decision: Approve, Rule: "all", Version: "1"})})
		defer stop()
		answered(t, lc, Spec{ID: "r", Prompt: "x"})
		pays.fails = false
		_, err := lc.Fork(t.Context(), "r", At{ID: "fork", Question: 1})
		require.NoError(t, err)
		pass(time.Second)
		run, err := lc.Get(t.Context(), "fork")
		require.NoError(t, err)
		require.Equal(t, StateSucceeded, run.State)
		require.Equal(t, 2, pays.paid)
		requireSoundLog(t, s, "fork")
	})
}

// N9: a rule that counts its decisions keeps its limit among questions that are asked together.
func TestN9ARuleKeepsItsLimitAmongSiblings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, pays := newStore(t), &payer{}
		pays.asks = append(pays.asks, payment(), payment(), payment())
		lc, stop := serve(t, Config{Store: s, Engine: pays.engine(),
			Policy: func(ctx context.Context, p Proposal) (Ruling, error) {
				n, err := p.Rulings(ctx, "once")
				time.Sleep(100 * time.Millisecond)
				if err != nil || n > 0 {
					return Ruling{}, err
				}
				return Ruling{Decision: Approve, Rule: "once", Version: "1"}, nil
			}})
		defer stop()
		answered(t, lc, Spec{ID: "r", Prompt: "x"})
		pass(2 * time.Second)
		require.Equal(t, 2, inboxOf(t, lc))
		require.Equal(t, 1, strings.Count(strings.Join(wholeLog(t, s, "r"), ""), `"actor":"policy:once@1"`))
		requireSoundLog(t, s, "r")
	})
}

// N9: no key of a reply keeps a rule from deciding.
func TestN9APersonsKeyDoesNotStopARule(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, pays := newStore(t), &payer{}
		pays.asks = append(pays.asks, payment(), payment())
		ruling := Ruling{Decision: Reject, Rule: "no", Version: "1"}
		lc, stop := serve(t, Config{Store: s, Engine: pays.engine(),
			Policy: func(ctx context.Context, p Proposal) (Ruling, error) {
				if p.Question.ID == 1 {
					return Ruling{}, nil
				}
				time.Sleep(3 * time.Second)
				return ruling, nil
			}})
		defer stop()
		answered(t, lc, Spec{ID: "r", Prompt: "x"})
		sum := sha256.Sum256([]byte("r\x002\x00no@1")) // as rulings had it
		key := interaction.PolicyActor + hex.EncodeToString(sum[:16])
		_, err := lc.As(by("eve")).Reply(t.Context(), "r", Reply{ID: 1, Decision: Approve, Key: key})
		require.NoError(t, err)
		pass(10 * time.Second)
		require.Equal(t, 1, strings.Count(strings.Join(wholeLog(t, s, "r"), ""), `"actor":"policy:no@1"`))
	})
}

// N9: calls of a policy that never return do not grow without limit: people decide without them.
func TestN9AHangingPolicyIsCalledLess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		end := make(chan struct{})
		var calls atomic.Int32
		lc, stop := serve(t, Config{Store: newStore(t), PolicyTimeout: time.Second,
			Engine: engine.Func(func(context.Context, engine.Turn, engine.Sink) (engine.Outcome, error) {
				return engine.AskAll(payment()), nil
			}),
			Policy: func(context.Context, Proposal) (Ruling, error) {
				calls.Add(1)
				<-end
				return Ruling{}, nil
			}})
		defer stop()
		defer close(end)
		for i := range 1100 {
			_, err := lc.Submit(t.Context(), Spec{ID: fmt.Sprint(i), Prompt: "x"})
			require.NoError(t, err)
			if i%64 == 63 {
				pass(3 * time.Second)
			}
		}
		pass(3 * time.Second)
		require.Equal(t, int32(1024), calls.Load())
		count, err := lc.CountInbox(t.Context(), InboxQuery{})
		require.NoError(t, err)
		require.True(t, count.More, "people see all of them")
	})
}
