package lifecycle

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/store"
)

// spender asks for one call at a time, and executes approved calls.
type spender struct {
	mu    sync.Mutex
	calls []engine.Question // guarded by mu
	spent []string          // guarded by mu; the arguments
	block chan struct{}     // if not nil, turns with an answer wait for it
	turns int
}

func call(tool, arguments string) engine.Question {
	return engine.Question{Kind: interaction.Approval, Prompt: tool + "?",
		Subject: &interaction.Subject{Tool: tool, Arguments: json.RawMessage(arguments)}}
}

func (s *spender) engine() engine.Engine {
	return engine.Func(func(ctx context.Context, t engine.Turn, sink engine.Sink) (engine.Outcome, error) {
		for _, a := range t.Answers {
			if a.Decision == Approve || a.Decision == Edit {
				s.spent = append(s.spent, string(a.Arguments))
			}
		}
		if len(t.Answers) > 0 && s.block != nil {
			select {
			case <-s.block:
			case <-ctx.Done():
			}
			if err := sink.Message(ctx, engine.Message{Text: "spent"}); err != nil {
				return engine.Outcome{}, err
			}
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.turns == len(s.calls) {
			return engine.Done("spent"), nil
		}
		s.turns++
		return engine.AskAll(s.calls[s.turns-1]).WithState([]byte("s")), nil
	})
}

var inAnHour = func() time.Time { return time.Now().Add(time.Hour) }

func approveAlso(number int, r Remember) Reply {
	r.Until = inAnHour()
	return Reply{ID: number, Decision: Approve, Remember: &r, AcceptRisk: true}
}

// N9: "the same for the rest of this run": a remembered decision approves later calls within its bound,
// and the actor names the decision. People are asked about other calls.
func TestN9ADecisionCountsForLaterCalls(t *testing.T) {
	risky := call("pay", `{"amount":5}`)
	risky.Subject.Risk = "high"
	forTwoPeople := call("pay", `{"amount":5}`)
	forTwoPeople.Need = 2
	forOthers := call("pay", `{"amount":5}`)
	forOthers.To = &Audience{Users: []string{"eve"}}
	withFile := call("pay", `{"amount":5}`)
	withFile.Files = &interaction.Files{List: []interaction.File{{Name: "a", MediaType: "text/plain", Path: "a",
		SHA256: strings.Repeat("0a", 32)}}}
	amount := Remember{Most: []Limit{{Path: "/amount", Limit: "100"}}}
	for name, c := range map[string]struct {
		first, then engine.Question
		remember    Remember
		covered     bool
	}{
		"the same call":           {call("pay", `{"a":1,"b":2}`), call("pay", `{ "b":2, "a":1 }`), Remember{}, true},
		"other arguments":         {call("pay", `{"a":1}`), call("pay", `{"a":2}`), Remember{}, false},
		"a number spelled anew":   {call("pay", `{"a":1}`), call("pay", `{"a":1.0}`), Remember{}, false},
		"another tool":            {call("pay", `{"a":1}`), call("mail", `{"a":1}`), Remember{Any: true}, false},
		"any arguments":           {call("pay", `{"a":1}`), call("pay", `{"b":2}`), Remember{Any: true}, true},
		"no arguments":            {call("stop", ``), call("stop", ``), Remember{}, true},
		"an equal argument":       {call("pay", `{"to":{"n":"a"},"x":1}`), call("pay", `{"to":{"n":"a"},"x":2}`), Remember{Equal: []string{"/to/n"}}, true},
		"an equal entry":          {call("pay", `{"a~/b":["x","y"]}`), call("pay", `{"a~/b":["z","y"]}`), Remember{Equal: []string{"/a~0~1b/1"}}, true},
		"another recipient":       {call("pay", `{"to":"a"}`), call("pay", `{"to":"b"}`), Remember{Equal: []string{"/to"}}, false},
		"a missing argument":      {call("pay", `{"to":"a"}`), call("pay", `{}`), Remember{Equal: []string{"/to"}}, false},
		"another spelling beside": {call("pay", `{"to":"a"}`), call("pay", `{"to":"a","To":"b"}`), Remember{Equal: []string{"/to"}}, false},
		"within the limit":        {call("pay", `{"amount":5}`), call("pay", `{"amount":100.00}`), amount, true},
		"above the limit":         {call("pay", `{"amount":5}`), call("pay", `{"amount":100.01}`), amount, false},
		"a little above":          {call("pay", `{"amount":5}`), call("pay", `{"amount":100.00000000000000000001}`), amount, false},
		"a negative amount":       {call("pay", `{"amount":5}`), call("pay", `{"amount":-5}`), amount, false},
		"an exponent":             {call("pay", `{"amount":5}`), call("pay", `{"amount":1e1}`), amount, false},
		"a text as the amount":    {call("pay", `{"amount":5}`), call("pay", `{"amount":"5"}`), amount, false},
		"a risk":                  {call("pay", `{"amount":5}`), risky, Remember{}, false},
		"the same risk":           {risky, risky, Remember{}, true},
		"several people":          {call("pay", `{"amount":5}`), forTwoPeople, Remember{}, false},
		"other people":            {call("pay", `{"amount":5}`), forOthers, Remember{}, false},
		"a file":                  {call("pay", `{"amount":5}`), withFile, Remember{}, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				st, s := newStore(t), &spender{calls: []engine.Question{c.first, c.then}}
				lc, stop := serve(t, Config{Store: st, Engine: s.engine(), Remember: 8 * time.Hour})
				defer stop()
				answered(t, lc, Spec{ID: "r", Prompt: "x"})
				_, err := lc.As(by("ada")).Reply(t.Context(), "r", approveAlso(1, c.remember))
				require.NoError(t, err)
				synctest.Wait()
				if !c.covered {
					require.Equal(t, 1, inboxOf(t, lc))
					run, err := lc.Get(t.Context(), "r")
					require.NoError(t, err)
					require.Len(t, run.Remembered, 1)
					m := run.Remembered[0]
					require.Equal(t, []any{1, "pay", "ada"}, []any{m.ID, m.Tool, m.Actor})
					requireSoundLog(t, st, "r")
					return
				}
				run, err := lc.Get(t.Context(), "r")
				require.NoError(t, err)
				require.Equal(t, StateSucceeded, run.State)
				require.Empty(t, run.Remembered, "an ended run remembers nothing")
				require.Equal(t, []string{string(c.first.Subject.Arguments), string(c.then.Subject.Arguments)}, s.spent)
				history, err := lc.History(t.Context(), "r")
				require.NoError(t, err)
				require.Equal(t, []string{"ada", "memory:1", "memory"}, []string{history[0].Actor, history[1].Actor,
					history[1].Via})
				log := strings.Join(wholeLog(t, st, "r"), "")
				require.Contains(t, log, `"remember":{`)
				require.Contains(t, log, `"actor":"memory:1"`)
				requireSoundLog(t, st, "r")
			})
		})
	}
}

// N9: a decision is remembered only if the host allows it, within its limit, and only if a person
// approves for themselves.
func TestN9WhatIsNotRemembered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &spender{calls: []engine.Question{call("pay", `{"amount":5,"to":"a"}`)}}
		st := newStore(t)
		lc, stop := serve(t, Config{Store: st, Engine: s.engine(), Remember: time.Hour})
		defer stop()
		answered(t, lc, Spec{ID: "r", Prompt: "x"})
		for name, change := range map[string]func(*Reply){
			"a rejection":         func(r *Reply) { r.Decision = Reject },
			"too long":            func(r *Reply) { r.Remember.Until = time.Now().Add(2 * time.Hour) },
			"over":                func(r *Reply) { r.Remember.Until = time.Now() },
			"without an end":      func(r *Reply) { r.Remember.Until = time.Time{} },
			"by nobody":           func(r *Reply) { r.Actor = Actor{} },
			"no pointer":          func(r *Reply) { r.Remember.Equal = []string{"amount"} },
			"no such escape":      func(r *Reply) { r.Remember.Equal = []string{"/~2"} },
			"an argument twice":   func(r *Reply) { r.Remember.Equal = []string{"/to", "/to"} },
			"no such argument":    func(r *Reply) { r.Remember.Equal = []string{"/amount/0"} },
			"too many":            func(r *Reply) { r.Remember.Equal = make([]string, 17) },
			"no number":           func(r *Reply) { r.Remember.Most = []Limit{{Path: "/to", Limit: "5"}} },
			"above its own limit": func(r *Reply) { r.Remember.Most = []Limit{{Path: "/amount", Limit: "4.99"}} },
			"no limit":            func(r *Reply) { r.Remember.Most = []Limit{{Path: "/amount", Limit: "1e9"}} },
			"two limits": func(r *Reply) {
				r.Remember.Most = []Limit{{Path: "/amount", Limit: "9"}, {Path: "/amount", Limit: "8"}}
			},
			"a limit of the whole": func(r *Reply) { r.Remember.Most = []Limit{{Path: "", Limit: "9"}} },
			"any, but some":        func(r *Reply) { r.Remember.Any, r.Remember.Equal = true, []string{"/to"} },
		} {
			reply := approveAlso(1, Remember{})
			reply.Actor = by("ada")
			change(&reply)
			_, err := lc.Reply(t.Context(), "r", reply)
			require.ErrorIs(t, err, ErrInvalidReply, name)
		}
		off, err := NewClient(ClientConfig{Store: st})
		require.NoError(t, err)
		defer off.Close()
		_, err = off.As(by("ada")).Reply(t.Context(), "r", approveAlso(1, Remember{}))
		require.ErrorIs(t, err, ErrInvalidReply)
		require.ErrorContains(t, err, "this host remembers no decisions")
		require.Error(t, by("memory:1").Validate())
		run, err := lc.Get(t.Context(), "r")
		require.NoError(t, err)
		require.Equal(t, StateWaitingUser, run.State)
	})
}

// N9: an edited approval covers the executed arguments. A repeated key with another end returns the
// receipt; with another bound it is a conflict.
func TestN9AnEditIsRemembered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &spender{calls: []engine.Question{call("pay", `{"amount":500}`), call("pay", `{"amount":500}`), call("pay", `{"amount":50}`)}}
		lc, stop := serve(t, Config{Store: newStore(t), Engine: s.engine(), Remember: time.Hour})
		defer stop()
		answered(t, lc, Spec{ID: "r", Prompt: "x"})
		reply := approveAlso(1, Remember{})
		reply.Decision, reply.Value, reply.Key = Edit, json.RawMessage(`{"amount":50}`), "k"
		_, err := lc.As(by("ada")).Reply(t.Context(), "r", reply)
		require.NoError(t, err)
		synctest.Wait()
		require.Equal(t, 1, inboxOf(t, lc), "the arguments are not those that were executed")
		reply.Remember.Until = reply.Remember.Until.Add(-time.Minute)
		receipt, err := lc.As(by("ada")).Reply(t.Context(), "r", reply)
		require.NoError(t, err)
		require.True(t, receipt.Replayed)
		reply.Remember.Any = true
		_, err = lc.As(by("ada")).Reply(t.Context(), "r", reply)
		require.ErrorIs(t, err, ErrKeyConflict)
		_, err = lc.As(by("ada")).Reply(t.Context(), "r", Reply{ID: 2, Decision: Approve})
		require.NoError(t, err)
		synctest.Wait()
		require.Equal(t, []string{`{"amount":50}`, `{"amount":500}`, `{"amount":50}`}, s.spent)
	})
}

// N9: a remembered decision ends at its time, by Forget in each state, and by a refusal of the host's
// policy. Forget does not interrupt a running turn.
func TestN9ARememberedDecisionEnds(t *testing.T) {
	pay := call("pay", `{"amount":5}`)
	forget := func(t *testing.T, lc *Lifecycle) {
		t.Helper()
		require.NoError(t, lc.As(by("bob")).Forget(t.Context(), "r", 1))
		require.ErrorIs(t, lc.As(by("bob")).Forget(t.Context(), "r", 1), ErrNotFound)
	}
	for name, c := range map[string]struct {
		calls []engine.Question
		then  func(t *testing.T, lc *Lifecycle)
		log   string
	}{
		"by time": {[]engine.Question{pay, pay}, func(*testing.T, *Lifecycle) { pass(61 * time.Minute) }, `"until":"`},
		"by a person, while it is running": {[]engine.Question{pay, pay}, forget,
			`"data":{"actor":"bob","interaction_id":1}`},
		"by a person, while it waits": {[]engine.Question{pay, call("mail", `{}`), pay},
			func(t *testing.T, lc *Lifecycle) {
				pass(time.Second)
				forget(t, lc)
			}, `"type":"interaction.forgotten"`},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				st, s := newStore(t), &spender{calls: c.calls, block: make(chan struct{})}
				lc, stop := serve(t, Config{Store: st, Engine: s.engine(), Remember: 8 * time.Hour})
				defer stop()
				answered(t, lc, Spec{ID: "r", Prompt: "x"})
				_, err := lc.As(by("ada")).Reply(t.Context(), "r", approveAlso(1, Remember{}))
				require.NoError(t, err)
				synctest.Wait()
				if len(c.calls) > 2 {
					close(s.block)
				}
				c.then(t, lc)
				if len(c.calls) > 2 {
					_, err = lc.Reply(t.Context(), "r", Reply{ID: 2, Decision: Approve})
					require.NoError(t, err)
				} else {
					close(s.block)
				}
				pass(time.Second)
				require.Equal(t, 1, inboxOf(t, lc))
				log := strings.Join(wholeLog(t, st, "r"), "")
				require.Contains(t, log, c.log)
				require.NotContains(t, log, `"actor":"memory:`)
				requireSoundLog(t, st, "r")
				run, err := lc.Get(t.Context(), "r")
				require.NoError(t, err)
				require.Equal(t, len(c.calls), run.Attempt, "no turn was repeated")
			})
		})
	}
}

// N9: the host's policy takes precedence, and its refusal ends the remembered decisions about the tool.
// If it fails, people decide.
func TestN9APolicyComesBeforeAMemory(t *testing.T) {
	pay := call("pay", `{"amount":5}`)
	for name, c := range map[string]struct {
		second Ruling
		err    error
		actors string
		left   int
	}{
		"it asks":            {Ruling{}, nil, "ada, memory:1, memory:1", 0},
		"it approves":        {Ruling{Decision: Approve, Rule: "x", Version: "1"}, nil, "ada, policy:x@1, memory:1", 0},
		"it refuses":         {Ruling{Decision: Reject, Rule: "x", Version: "1"}, nil, "ada, policy:x@1", 1},
		"it asks others":     {Ruling{Rule: "x", Version: "1", To: &Audience{Users: []string{"eve"}}}, nil, "ada", 1},
		"it asks for two":    {Ruling{Rule: "x", Version: "1", Need: 2}, nil, "ada", 1},
		"it fails":           {Ruling{}, context.Canceled, "ada", 1},
		"it is not a ruling": {Ruling{Decision: "perhaps"}, nil, "ada", 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				st, s := newStore(t), &spender{calls: []engine.Question{pay, pay, pay}}
				lc, stop := serve(t, Config{Store: st, Engine: s.engine(), Remember: time.Hour,
					Policy: func(_ context.Context, p Proposal) (Ruling, error) {
						if p.Question.ID == 2 {
							return c.second, c.err
						}
						return Ruling{}, nil
					}})
				defer stop()
				answered(t, lc, Spec{ID: "r", Prompt: "x"})
				_, err := lc.As(by("ada")).Reply(t.Context(), "r", approveAlso(1, Remember{}))
				require.NoError(t, err)
				pass(time.Second)
				history, err := lc.History(t.Context(), "r")
				require.NoError(t, err)
				var actors []string
				for i := range history {
					if history[i].Resolution != "" {
						actors = append(actors, history[i].Actor)
					}
				}
				require.Equal(t, c.actors, strings.Join(actors, ", "))
				require.Equal(t, c.left, inboxOf(t, lc))
				requireSoundLog(t, st, "r")
			})
		})
	}
}

// N9 N11: a fork does not inherit remembered decisions.
func TestN9AForkRemembersNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pay := call("pay", `{"amount":5}`)
		st, s := newStore(t), &spender{calls: []engine.Question{pay, call("mail", `{}`), pay}}
		lc, stop := serve(t, Config{Store: st, Engine: s.engine(), Remember: time.Hour})
		defer stop()
		answered(t, lc, Spec{ID: "r", Prompt: "x"})
		_, err := lc.As(by("ada")).Reply(t.Context(), "r", approveAlso(1, Remember{}))
		require.NoError(t, err)
		synctest.Wait()
		_, err = lc.Fork(t.Context(), "r", At{ID: "fork", Question: 1, Actor: by("ada")})
		require.NoError(t, err)
		synctest.Wait()
		fork, err := lc.Get(t.Context(), "fork")
		require.NoError(t, err)
		require.Empty(t, fork.Remembered)
		require.Equal(t, StateWaitingUser, fork.State)
		require.False(t, fork.Open[0].Hidden(time.Now()))
		_, err = lc.Fork(t.Context(), "r", At{ID: "g", Question: 1, Actor: by("ada"),
			Answer: approveAlso(0, Remember{})})
		require.ErrorIs(t, err, ErrInvalidArgument, "an answer for the fork is not remembered")
	})
}

// N9: if the node that parked the run dies before it uses the decision, another node uses it once. A
// node without Remember leaves the question to people.
func TestN9AnotherNodeRemembers(t *testing.T) {
	for name, remember := range map[string]time.Duration{"it remembers": time.Hour, "it does not": 0} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				pay := call("pay", `{"amount":5}`)
				st, s := newStore(t), &spender{calls: []engine.Question{pay, pay}}
				first, stopFirst := serveBeside(t, Config{Store: st, Engine: s.engine(), Remember: time.Hour,
					Policy: func(ctx context.Context, p Proposal) (Ruling, error) {
						if p.Question.ID == 2 {
							<-ctx.Done() // until its node ends
							return Ruling{}, ctx.Err()
						}
						return Ruling{}, nil
					}})
				answered(t, first, Spec{ID: "r", Prompt: "x"})
				pass(time.Second)
				_, err := first.As(by("ada")).Reply(t.Context(), "r", approveAlso(1, Remember{}))
				require.NoError(t, err)
				pass(time.Second)
				stopFirst()
				var stops []func()
				var last *Lifecycle
				for range 3 {
					lc, stop := serveBeside(t, Config{Store: st, Engine: s.engine(), Remember: remember})
					last, stops = lc, append(stops, stop)
				}
				pass(6 * time.Second)
				waiting := inboxOf(t, last)
				for _, stop := range stops {
					stop()
				}
				used := strings.Count(strings.Join(wholeLog(t, st, "r"), ""), `"actor":"memory:1"`)
				if remember > 0 {
					require.Equal(t, []int{1, 0}, []int{used, waiting})
				} else {
					require.Equal(t, []int{0, 1}, []int{used, waiting})
				}
				requireSoundLog(t, st, "r")
			})
		})
	}
}

// N9: if a use and a Forget race, the first commit wins: no forgotten decision is used, and a successful
// Forget is stored once.
func TestN9AForgetRacesWithAUse(t *testing.T) {
	st := newStore(t)
	pay := call("pay", `{"amount":5}`)
	s := engine.Func(func(_ context.Context, turn engine.Turn, sink engine.Sink) (engine.Outcome, error) {
		if err := sink.Message(t.Context(), engine.Message{Text: "turn"}); err != nil {
			return engine.Outcome{}, err
		}
		return engine.AskAll(pay).WithState([]byte("s")), nil
	})
	lc, err := New(Config{Store: st, Engine: s, Remember: time.Hour, Poll: 10 * time.Millisecond})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- lc.Serve(ctx) }()
	for i := range 20 {
		id := fmt.Sprint("race-", i)
		_, err := lc.Submit(t.Context(), Spec{ID: id, Prompt: "x"})
		require.NoError(t, err)
		uses := 0
		for ev, err := range lc.Events(t.Context(), id, 0) {
			require.NoError(t, err)
			if ev.Type == TypeInputRequired && uses == 0 {
				_, err := lc.As(by("ada")).Reply(t.Context(), id, approveAlso(1, Remember{}))
				require.NoError(t, err)
			}
			if ev.Type == TypeReplyAccepted {
				uses++
			}
			if uses == 1+i%4 {
				break
			}
		}
		forgets := make(chan error, 3)
		for range cap(forgets) {
			go func() { forgets <- lc.As(by("bob")).Forget(t.Context(), id, 1) }()
		}
		forgotten := 0
		for range cap(forgets) {
			if err := <-forgets; err == nil {
				forgotten++
			} else {
				require.ErrorIs(t, err, ErrNotFound)
			}
		}
		require.Equal(t, 1, forgotten)
		require.NoError(t, lc.Cancel(t.Context(), id, ""))
		log := strings.Join(wholeLog(t, st, id), "")
		require.Equal(t, 1, strings.Count(log, `"type":"interaction.forgotten"`))
		require.NotContains(t, log, `"trigger":"restart`)
		requireSoundLog(t, st, id)
	}
	cancel()
	require.NoError(t, <-served)
}

// leavers is a directory that ada has left.
type leavers struct{ err error }

func (leavers) Principals(context.Context, string, time.Time) ([]Principal, error) { return nil, nil }

func (l leavers) Member(_ context.Context, id string) (bool, error) {
	if id == "crash" {
		panic("directory")
	}
	return id != "ada", l.err
}

// N9 N10: a decision is not used if its person has left or the directory fails.
func TestN9ADecisionOfAPersonWhoHasLeft(t *testing.T) {
	for name, c := range map[string]struct {
		person string
		err    error
		state  State
	}{
		"has left":     {"ada", nil, StateWaitingUser},
		"is there":     {"bob", nil, StateSucceeded},
		"is not known": {"bob", context.Canceled, StateWaitingUser},
		"panics":       {"crash", nil, StateWaitingUser},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				pay := call("pay", `{}`)
				st, s := newStore(t), &spender{calls: []engine.Question{pay, pay}}
				lc, stop := serve(t, Config{Store: st, Engine: s.engine(), Remember: time.Hour,
					Directory: leavers{c.err}})
				defer stop()
				answered(t, lc, Spec{ID: "r", Prompt: "x"})
				_, err := lc.As(by(c.person)).Reply(t.Context(), "r", approveAlso(1, Remember{}))
				require.NoError(t, err)
				pass(time.Second)
				run, err := lc.Get(t.Context(), "r")
				require.NoError(t, err)
				require.Equal(t, c.state, run.State)
				require.Equal(t, c.state == StateWaitingUser, inboxOf(t, lc) == 1)
				requireSoundLog(t, st, "r")
			})
		})
	}
}

// N9: Authorize gets the actor of a Reply with Remember and of a Forget.
func TestN9AuthorizeSeesMemories(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var denied Action
		s := &spender{calls: []engine.Question{call("pay", `{}`), call("mail", `{}`)}}
		lc, stop := serve(t, Config{Store: newStore(t), Engine: s.engine(), Remember: time.Hour,
			Authorize: func(_ context.Context, a Access) error {
				if a.Action == denied {
					return store.ErrInvalid
				}
				return nil
			}})
		defer stop()
		answered(t, lc, Spec{ID: "r", Prompt: "x"})
		denied = ActionRemember
		_, err := lc.As(by("ada")).Reply(t.Context(), "r", approveAlso(1, Remember{}))
		require.ErrorIs(t, err, ErrNotAllowed)
		denied = ActionForget
		_, err = lc.As(by("ada")).Reply(t.Context(), "r", approveAlso(1, Remember{}))
		require.NoError(t, err)
		require.ErrorIs(t, lc.As(by("bob")).Forget(t.Context(), "r", 1), ErrNotAllowed)
		require.ErrorIs(t, lc.Forget(t.Context(), "none", 1), ErrNotFound)
		require.ErrorIs(t, lc.Forget(t.Context(), "r", 0), ErrInvalidArgument)
	})
}
