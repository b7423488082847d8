package lifecycletest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/store"
)

// kin records the children of a world's runs, and the ends that their parents were told.
type kin struct {
	mu   sync.Mutex
	ids  map[string]string             // guarded by mu; by parent and key
	ends map[string][]*engine.ChildEnd // guarded by mu; the ends that a parent's turn found when it
	// continued
	errs []error // guarded by mu; of Spawn
}

func newKin() *kin {
	return &kin{ids: make(map[string]string), ends: make(map[string][]*engine.ChildEnd)}
}

func (k *kin) child(parent, prompt string) string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.ids[parent+"/"+prompt]
}

func (k *kin) note(f func()) {
	k.mu.Lock()
	defer k.mu.Unlock()
	f()
}

// joins starts children with these prompts, waits for all of them, and completes in the next turn.
func (k *kin) joins(prompts ...string) turnStep { return k.waits(engine.Outcome{}, prompts...) }

// waits is joins with additional content in the outcome.
func (k *kin) waits(o engine.Outcome, prompts ...string) turnStep {
	return func(ctx context.Context, t engine.Turn, s engine.Sink) (engine.Outcome, error) {
		parent := s.(engine.Parent)
		var ids []string
		for _, prompt := range prompts {
			child := engine.Child{Key: prompt, Prompt: prompt}
			if prompt == "elsewhere" {
				child.Engine = prompt
			}
			id, err := parent.Spawn(ctx, child)
			k.note(func() {
				k.ids[t.RunID+"/"+prompt] = id
				if err != nil {
					k.errs = append(k.errs, err)
				}
			})
			if err == nil {
				ids = append(ids, id)
			}
		}
		var ends []*engine.ChildEnd
		for _, id := range ids {
			end, err := parent.ChildEnd(ctx, id)
			if err != nil {
				return engine.Outcome{}, err
			}
			ends = append(ends, end)
		}
		over := !slices.Contains(ends, nil) || o.AnyChild && slices.ContainsFunc(ends, func(e *engine.ChildEnd) bool {
			return e != nil
		})
		if over {
			k.note(func() { k.ends[t.RunID] = ends })
			return completes("joined")(ctx, t, s)
		}
		waits := o
		waits.Process = engine.Process{Status: engine.OK}
		waits.Children = ids
		return waits, nil
	}
}

// descends starts a child that does the same, while one is allowed, and waits for it.
func (k *kin) descends(ctx context.Context, t engine.Turn, s engine.Sink) (engine.Outcome, error) {
	return k.joins("descend")(ctx, t, s)
}

// agent executes the runs without a plan by their prompts.
func (k *kin) agent(ctx context.Context, t engine.Turn, s engine.Sink) (engine.Outcome, error) {
	prompt, _, _ := strings.Cut(t.Prompt, "\n") // before the library's instructions
	switch {
	case prompt == "descend":
		return k.descends(ctx, t, s)
	case prompt == "leaf's parent":
		return k.joins("ask")(ctx, t, s)
	case prompt == "fail":
		return engine.Outcome{}, &engine.Failure{Code: engine.CodeEngineFailed, Detail: "of no use"}
	case prompt == "held" && t.Attempt == 1:
		return engine.Outcome{}, engine.Hold(engine.CodeEngineFailed, "needs repair")
	case prompt == "hang" || prompt == "once" && t.Attempt == 1:
		return hangs(ctx, t, s)
	case strings.HasPrefix(prompt, "ask") && len(t.Answers) == 0:
		return asksOne("Go on?")(ctx, t, s)
	}
	return completes(prompt)(ctx, t, s)
}

func family(step func(k *kin) turnStep, run func(w *world, k *kin), options ...option) func(*testing.T, Opener) {
	return func(t *testing.T, open Opener) {
		t.Helper()
		w, k := newWorld(t, open, options...), newKin()
		w.agent.Plan("", k.agent)
		w.agent.Plan("r", step(k))
		run(w, k)
		for _, id := range k.ids {
			if id != "" {
				if _, err := w.Get(w.ctx, id); err == nil {
					w.runs[id] = true
				}
			}
		}
		w.end()
	}
}

// children are attacks on families of runs (M3).
var children = append([]testCase{
	{"M3/the cancel of a root ends a grandchild that asks and its question once",
		family(func(k *kin) turnStep { return k.joins("leaf's parent") }, func(w *world, k *kin) {
			w.submit("r")
			middle := k.child("r", "leaf's parent")
			leaf := k.child(middle, "ask")
			require.Equal(w, []string{"r", middle}, w.is(leaf, fsm.StateWaitingUser).Family.Ancestors)
			require.NoError(w, w.Cancel(w.ctx, "r", "enough"))
			require.Equal(w, "enough", w.is("r", fsm.StateCanceled).CancelReason)
			require.Equal(w, "its parent run r has ended: canceled", w.is(middle, fsm.StateCanceled).CancelReason)
			ended := w.is(leaf, fsm.StateCanceled)
			history, err := w.History(w.ctx, leaf)
			require.NoError(w, err)
			require.Len(w, history, 1)
			require.Equal(w, interaction.Abandoned, history[0].Resolution)
			inbox, err := w.Inbox(w.ctx, lifecycle.InboxQuery{Limit: 10})
			require.NoError(w, err)
			require.Empty(w, inbox.Questions)
			_, err = w.Reply(w.ctx, leaf, interaction.Reply{ID: 1, Text: "late"})
			require.ErrorIs(w, err, lifecycle.ErrSettled)
			require.ErrorIs(w, w.Cancel(w.ctx, "r", "again"), lifecycle.ErrTerminal)
			w.advance(time.Minute)
			require.Equal(w, ended.Seq, w.is(leaf, fsm.StateCanceled).Seq, "nothing more is written")
		})},
	{"M3 C8/a reply to a child races with the cancel of its root",
		func(t *testing.T, open Opener) {
			w, k := newWorld(t, open), newKin()
			w.agent.Plan("", k.agent)
			for i := range 20 {
				root := fmt.Sprint("root", i)
				w.agent.Plan(root, k.joins("leaf's parent"))
				w.submit(root)
				leaf := k.child(k.child(root, "leaf's parent"), "ask")
				w.is(leaf, fsm.StateWaitingUser)
				var replied, canceled error
				var both sync.WaitGroup
				both.Go(func() { _, replied = w.Reply(w.ctx, leaf, interaction.Reply{ID: 1, Text: "on"}) })
				both.Go(func() { canceled = w.Cancel(w.ctx, root, "no") })
				both.Wait()
				synctest.Wait()
				run, err := w.Get(w.ctx, root)
				require.NoError(w, err)
				require.True(w, run.State.Terminal())
				require.True(w, canceled == nil || errors.Is(canceled, lifecycle.ErrTerminal), "%v", canceled)
				require.Equal(w, canceled == nil, run.State == fsm.StateCanceled)
				end, err := w.Get(w.ctx, leaf)
				require.NoError(w, err)
				require.True(w, end.State.Terminal())
				history, err := w.History(w.ctx, leaf)
				require.NoError(w, err)
				require.Len(w, history, 1)
				if replied == nil {
					require.Equal(w, interaction.UserReply, history[0].Resolution)
				} else {
					require.ErrorIs(w, replied, lifecycle.ErrSettled)
					require.Equal(w, interaction.Abandoned, history[0].Resolution)
				}
				w.checkLog(leaf)
			}
			w.end()
		}},
	{"M3/a tree has a maximal depth with a clear error, and nothing is lost",
		family(func(k *kin) turnStep { return k.descends }, func(w *world, k *kin) {
			w.submit("r")
			w.is("r", fsm.StateSucceeded)
			require.Len(w, k.errs, 1)
			require.ErrorIs(w, k.errs[0], engine.ErrTooManyChildren)
			require.ErrorContains(w, k.errs[0], fmt.Sprintf("has %d ancestors", store.MaxDepth))
			id := "r"
			for depth := range store.MaxDepth + 1 {
				run := w.is(id, fsm.StateSucceeded)
				if depth == store.MaxDepth {
					require.Zero(w, run.Family.Children, "what was refused is not counted")
					require.Empty(w, k.child(id, "descend"))
				} else {
					require.Equal(w, 1, run.Family.Children)
				}
				id = k.child(id, "descend")
			}
		})},
	{"M3/a child has its parent's priority, key, wait and policies, and no budget",
		family(func(k *kin) turnStep { return k.joins("ask") }, func(w *world, k *kin) {
			w.submit("r", func(s *lifecycle.Spec) {
				s.Priority, s.Key, s.SessionTimeout, s.AutoDecide = 7, "tenant", 3*time.Minute, true
				s.Hold, s.OnInterrupt = lifecycle.HoldOn, lifecycle.Repeat
				s.Budget = store.Budget{Turns: 9}
			})
			parent, child := w.is("r", fsm.StateQueued), w.is(k.child("r", "ask"), fsm.StateWaitingUser)
			require.Equal(w, parent.Priority, child.Priority)
			require.Equal(w, parent.Key, child.Key)
			require.Equal(w, []any{parent.Hold, parent.OnInterrupt, parent.Strict},
				[]any{child.Hold, child.OnInterrupt, child.Strict})
			require.Nil(w, child.Budget)
			require.Equal(w, child.Open[0].AskedAt.Add(3*time.Minute), child.Deadline)
			w.advance(3 * time.Minute)
			w.is(k.child("r", "ask"), fsm.StateSucceeded)
			w.is("r", fsm.StateSucceeded)
		})},
	{"M3/the ends of a failed, a canceled and a held child arrive once each",
		family(func(k *kin) turnStep { return k.joins("fail", "ask", "held", "done") }, func(w *world, k *kin) {
			w.submit("r")
			require.NoError(w, w.Cancel(w.ctx, k.child("r", "ask"), "not needed"))
			w.advance(time.Second)
			require.Len(w, w.agent.Turns("r"), 1)
			held := w.is(k.child("r", "held"), fsm.StateQueued)
			require.True(w, held.Held())
			require.NoError(w, w.Resume(w.ctx, held.ID, lifecycle.Resume{Choice: lifecycle.ChoiceRepeat,
				Version: held.Version}))
			w.is("r", fsm.StateSucceeded)
			require.Len(w, w.agent.Turns("r"), 2)
			require.Equal(w, []*engine.ChildEnd{
				{Code: engine.CodeEngineFailed, Message: "of no use"},
				{Code: fsm.CodeRunCanceled, Message: "not needed"},
				{Succeeded: true, FinalText: "held"}, {Succeeded: true, FinalText: "done"},
			}, k.ends["r"])
		})},
	{"M3/held and running children are canceled with their parent",
		family(func(k *kin) turnStep { return k.joins("held", "hang") }, func(w *world, k *kin) {
			w.submit("r")
			require.True(w, func() bool { r := w.is(k.child("r", "held"), fsm.StateQueued); return r.Held() }())
			w.is(k.child("r", "hang"), fsm.StateRunning)
			require.NoError(w, w.Cancel(w.ctx, "r", "enough"))
			for _, prompt := range []string{"held", "hang"} {
				w.is(k.child("r", prompt), fsm.StateCanceled)
				require.Len(w, w.agent.Turns(k.child("r", prompt)), 1)
			}
			n, err := w.Prune(w.ctx, time.Now().Add(time.Hour))
			require.NoError(w, err)
			require.Equal(w, 3, n)
			delete(w.runs, "r")
		})},
	{"M3 J4/a child whose engine the parent's node lacks waits for a node with it",
		family(func(k *kin) turnStep { return k.joins("elsewhere") }, func(w *world, k *kin) {
			w.submit("r")
			w.advance(20 * time.Second)
			child := k.child("r", "elsewhere")
			require.Equal(w, "elsewhere", w.is(child, fsm.StateQueued).Engine)
			require.True(w, func() bool { r := w.is("r", fsm.StateQueued); return r.AwaitsChildren() }())
			require.Empty(w, k.errs)
			there := newAgent(fsm.ProfileResumable)
			there.Plan("", completes("from elsewhere"))
			other, err := lifecycle.New(lifecycle.Config{Logger: w.cfg.Logger, Lease: w.cfg.Lease, Store: w.store,
				Engines: map[string]engine.Engine{"elsewhere": there}})
			require.NoError(w, err)
			ctx, stop := context.WithCancel(w.ctx)
			served := make(chan error, 1)
			go func() { served <- other.Serve(ctx) }()
			w.advance(10 * time.Second)
			w.is(child, fsm.StateSucceeded)
			w.is("r", fsm.StateSucceeded)
			require.Equal(w, []*engine.ChildEnd{{Succeeded: true, FinalText: "from elsewhere"}}, k.ends["r"])
			stop()
			require.NoError(w, <-served)
			other.Close()
		})},
	{"M3/a submitted run cannot occupy the id of a child",
		family(func(k *kin) turnStep { return k.joins("ask") }, func(w *world, k *kin) {
			w.submit("other")
			w.is("other", fsm.StateSucceeded)
			w.submit("r")
			child := k.child("r", "ask") // anyone can compute it before the parent has started its child
			for _, id := range []string{child, "child-", "child-x"} {
				_, err := w.Submit(w.ctx, lifecycle.Spec{ID: id, Prompt: "x"})
				require.ErrorIs(w, err, lifecycle.ErrInvalidSpec)
				require.ErrorContains(w, err, `"child-", which begins the ids of children`)
				_, err = w.Fork(w.ctx, "other", lifecycle.At{ID: id})
				var refused *lifecycle.ArgumentError
				require.ErrorAs(w, err, &refused)
				require.Equal(w, "at.ID", refused.Argument)
			}
			w.submit("children-are-welcome")
			w.is(child, fsm.StateWaitingUser)
			_, err := w.Reply(w.ctx, child, interaction.Reply{ID: 1, Text: "yes"})
			require.NoError(w, err)
			w.is("r", fsm.StateSucceeded)
		})},
	{"M3 J13/a run with a used-up budget waits for its children and is then held",
		family(func(k *kin) turnStep { return k.joins("ask") }, func(w *world, k *kin) {
			w.submit("r", func(s *lifecycle.Spec) { s.Budget = store.Budget{Turns: 1} })
			require.True(w, func() bool { r := w.is("r", fsm.StateQueued); return r.AwaitsChildren() }())
			_, err := w.Reply(w.ctx, k.child("r", "ask"), interaction.Reply{ID: 1, Text: "yes"})
			require.NoError(w, err)
			run := w.is("r", fsm.StateQueued)
			require.True(w, run.Held())
			require.Equal(w, fsm.CodeBudgetExhausted, run.Block.Code)
			require.Len(w, w.agent.Turns("r"), 1)
			require.NoError(w, w.Resume(w.ctx, "r", lifecycle.Resume{Choice: lifecycle.ChoiceRaise,
				Version: run.Version, Budget: store.Budget{Turns: 2}}))
			w.is("r", fsm.StateSucceeded)
			require.Len(w, w.agent.Turns("r"), 2)
		})},
	{"M3/children are kept for their parent and finally pruned, in any order",
		family(func(k *kin) turnStep { return k.joins("done", "leaf's parent", "ask") }, func(w *world, k *kin) {
			prune := func(all int) {
				w.Helper()
				for i := range all + 1 {
					n, err := w.store.Prune(w.ctx, time.Now().Add(time.Hour), 1)
					require.NoError(w, err)
					require.Equal(w, i < all, n == 1, "prune %d of %d", i, all)
					w.advance(time.Minute)
				}
			}
			reply := func(id string) {
				w.Helper()
				_, err := w.Reply(w.ctx, id, interaction.Reply{ID: 1, Text: "yes"})
				require.NoError(w, err)
				synctest.Wait()
			}
			w.submit("r")
			prune(0)
			middle := k.child("r", "leaf's parent")
			reply(k.child(middle, "ask"))
			w.is(middle, fsm.StateSucceeded)
			prune(1) // the leaf, whose parent has ended
			reply(k.child("r", "ask"))
			w.is("r", fsm.StateSucceeded)
			require.Len(w, k.ends["r"], 3)
			prune(4)
			delete(w.runs, "r")
		})},
	{"M3/a parent of many children that end at once continues once", inWorld(func(w *world) {
		const many = 100
		k := newKin()
		var prompts []string
		for i := range many {
			prompts = append(prompts, fmt.Sprint("ask", i))
		}
		w.agent.Plan("", k.agent)
		for id, o := range map[string]engine.Outcome{"all": {}, "any": {AnyChild: true}} {
			w.agent.Plan(id, k.waits(o, prompts...))
			w.submit(id, func(s *lifecycle.Spec) {
				s.Ask = &lifecycle.AskPolicy{Wait: &interaction.Wait{Then: interaction.ThenFail, End: time.Minute}}
			})
			w.advance(2 * time.Minute)
			w.is(id, fsm.StateSucceeded)
			require.Len(w, w.agent.Turns(id), 2)
			require.Len(w, k.ends[id], many)
			for i, end := range k.ends[id] {
				require.NotNil(w, end)
				require.Equal(w, fsm.CodeInteractionWaitTimeout, end.Code)
				child := w.is(k.child(id, prompts[i]), fsm.StateFailed)
				require.Zero(w, child.Family.Due)
			}
		}
	})},
	{"M3 E4/when their node is gone, a parent continues elsewhere, and its child's turn is repeated",
		family(func(k *kin) turnStep { return k.joins("once", "done") }, func(w *world, k *kin) {
			w.submit("r", func(s *lifecycle.Spec) { s.OnInterrupt = lifecycle.Repeat })
			child := k.child("r", "once")
			w.is(child, fsm.StateRunning)
			w.fence()
			w.advance(5 * time.Minute)
			require.Equal(w, 2, w.is(child, fsm.StateSucceeded).Attempt)
			require.Equal(w, 2, w.is("r", fsm.StateSucceeded).Attempt)
			require.Len(w, k.ends["r"], 2)
		})},
}, append(oddWaits(), familyOutages()...)...)

// oddWaits are waits for runs that are not children.
func oddWaits() (all []testCase) {
	for _, c := range []struct {
		what, says string
		ids        []string
	}{
		{"what is no text", "is not UTF-8", []string{"\xff"}},
		{"too many children", "the engine waits for 1001 children", make([]string, engine.MaxChildren+1)},
	} {
		name := "M3/a run that waits for " + c.what + " fails, and its child with it"
		all = append(all, testCase{name, family(func(*kin) turnStep {
			return func(ctx context.Context, _ engine.Turn, s engine.Sink) (engine.Outcome, error) {
				_, err := s.(engine.Parent).Spawn(ctx, engine.Child{Key: "k", Prompt: "ask"})
				return engine.AwaitAll(c.ids...), err
			}
		}, func(w *world, _ *kin) {
			w.submit("r")
			w.advance(time.Minute)
			require.Contains(w, w.is("r", fsm.StateFailed).Error.Message, c.says)
			page, err := w.Runs(w.ctx, store.Query{Parent: "r", Limit: 9})
			require.NoError(w, err)
			require.Len(w, page.Runs, 1)
			require.Equal(w, fsm.StateCanceled, page.Runs[0].State)
		})})
	}
	return all
}

// familyOutages are families on a store that fails each of its writes in turn.
func familyOutages() (all []testCase) {
	for write := 2; write <= 13; write++ {
		for how, lost := range map[string]bool{"fails": false, "is not acknowledged": true} {
			all = append(all, testCase{
				fmt.Sprintf("M3 J8/a child is started once and its end arrives once when write %d %s", write, how),
				inOutage(write, lost, func(w *world) {
					k := newKin()
					w.agent.Plan("", k.agent)
					w.agent.Plan("r", k.joins("ask", "done"))
					for {
						_, err := w.Submit(w.ctx, lifecycle.Spec{ID: "r", Prompt: "x"})
						if err == nil {
							break
						}
						require.ErrorIs(w, err, errOutage)
					}
					w.advance(time.Minute)
					child := k.child("r", "ask")
					for {
						_, err := w.Reply(w.ctx, child, interaction.Reply{ID: 1, Text: "yes", Key: "k"})
						if err == nil {
							break
						}
						require.ErrorIs(w, err, errOutage)
					}
					w.advance(time.Minute)
					require.Equal(w, 2, w.is("r", fsm.StateSucceeded).Attempt)
					require.Equal(w, 2, w.is(child, fsm.StateSucceeded).Attempt)
					require.Equal(w, []*engine.ChildEnd{{Succeeded: true, FinalText: "ask"},
						{Succeeded: true, FinalText: "done"}}, k.ends["r"])
					page, err := w.Runs(w.ctx, store.Query{Parent: "r", Limit: 9})
					require.NoError(w, err)
					require.Len(w, page.Runs, 2)
					w.runs["r"], w.runs[child] = true, true
				}),
			})
		}
	}
	return all
}
