package flow_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/engine/flow"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/lifecycle/rehearsal"
	"github.com/interlude-go/interlude/store"
	"github.com/interlude-go/interlude/store/memory"
)

// task is the input of a run in a tree: its work and the levels below.
type task struct {
	Word  string
	Depth int
}

// tree is a function whose runs start two more each, down to the leaves, which ask and have an
// effect.
func tree(w *world) engine.Engine {
	return flow.New("tree", func(c *flow.Ctx, in task) (string, error) {
		if in.Depth == 0 {
			answer, err := flow.Ask[string](c, "leaf", ask(in.Word+"?"))
			if err != nil {
				return "", err
			}
			return flow.Step(c, "effect", w.effect(answer))
		}
		children := make([]engine.Child, 2)
		for i := range children {
			children[i].InputJSON = fmt.Appendf(nil, `{"Word":"%s%d","Depth":%d}`, in.Word, i, in.Depth-1)
		}
		parts, err := flow.RunAll[string](c, "half", children...)
		if err != nil {
			return "", err
		}
		return flow.Step(c, "join", w.effect(in.Word+"("+strings.Join(parts, " ")+")"))
	})
}

// M3 M5: a tree of three levels ends the same wherever its host crashes; each run starts once, and
// each end arrives once.
func TestM3ATreeSurvivesACrashAtEveryCommit(t *testing.T) {
	rehearsal.EveryCrash(t, func(*testing.T) rehearsal.Case {
		w := &world{tries: make(map[string]int)}
		return rehearsal.Case{Config: hosting(tree(w)), Spec: lifecycle.Spec{Input: []byte(`{"Word":"a","Depth":2}`)},
			Reply: people, Check: func(t *testing.T, run lifecycle.Run) {
				require.Equal(t, "a(a0(a00 a01) a1(a10 a11))", run.FinalText)
				w.mu.Lock()
				defer w.mu.Unlock()
				require.Len(t, w.tries, 7, "%v", w.tries)
				for key, n := range w.tries { // a crash may hit the commits of several runs
					require.LessOrEqual(t, n, 2, key)
				}
			}}
	})
}

// M3: the parent waits queued without a slot. Its children's questions are in the inbox with the
// path to the root, and are answered there.
func TestM3AChildsQuestionStandsInTheInbox(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{tries: make(map[string]int)}
		h := serve(t, memory.New(), tree(w))
		h.submit(lifecycle.Spec{Input: []byte(`{"Word":"a","Depth":2}`), Priority: 3, Key: "ada"})
		root := h.run()
		require.Equal(t, lifecycle.StateQueued, root.State)
		require.False(t, root.Slot)
		require.Equal(t, lifecycle.BlockChildren, root.Block.Kind)
		require.Len(t, root.Block.Children, 2)
		require.Equal(t, &lifecycle.Family{Children: 2}, root.Family)
		middle, err := h.Runs(t.Context(), lifecycle.Query{Parent: "r"})
		require.NoError(t, err)
		require.Len(t, middle.Runs, 2)
		page, err := h.Inbox(t.Context(), lifecycle.InboxQuery{Key: "ada"})
		require.NoError(t, err)
		require.Len(t, page.Questions, 4)
		for i, q := range page.Questions {
			require.Equal(t, "r", q.Ancestors[0])
			require.Len(t, q.Ancestors, 2)
			child, err := h.Get(t.Context(), q.RunID)
			require.NoError(t, err)
			require.Equal(t, q.Ancestors[1], child.Parent())
			require.Equal(t, 3, child.Priority)
			require.Equal(t, lifecycle.StateQueued, h.run().State, i)
			_, err = h.Reply(t.Context(), q.RunID, lifecycle.Reply{ID: 1, Text: people(q.Question).Text})
			require.NoError(t, err)
			synctest.Wait()
		}
		require.Equal(t, "a(a0(a00 a01) a1(a10 a11))", h.ended())
		require.Equal(t, 2, h.run().Attempt, "it is not started before all have ended")
		n, err := h.Prune(t.Context(), time.Now().Add(time.Hour))
		require.NoError(t, err)
		require.Equal(t, 7, n)
	})
}

// M3: a cancel reaches the leaves, and their questions are closed.
func TestM3ACancelGoesDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{tries: make(map[string]int)}
		h := serve(t, memory.New(), tree(w))
		h.submit(lifecycle.Spec{Input: []byte(`{"Word":"a","Depth":2}`)})
		require.NoError(t, h.Cancel(t.Context(), "r", "no longer needed"))
		synctest.Wait()
		page, err := h.Runs(t.Context(), lifecycle.Query{})
		require.NoError(t, err)
		require.Len(t, page.Runs, 7)
		for _, r := range page.Runs {
			require.Equal(t, lifecycle.StateCanceled, r.State, r.ID)
			require.Zero(t, r.Family.Due, r.ID)
			if r.ID != "r" {
				require.Equal(t, "its parent run "+r.Parent()+" has ended: canceled", r.CancelReason)
			}
		}
		inbox, err := h.Inbox(t.Context(), lifecycle.InboxQuery{})
		require.NoError(t, err)
		require.Empty(t, inbox.Questions)
	})
}

// M3: a function continues when any child has ended and ends the others; a failed child's error
// says why.
func TestM3AnyChildIsEnough(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		agent := flow.New("race", func(c *flow.Ctx, in string) (string, error) {
			if in != "x" {
				answer, err := flow.Ask[string](c, "q", ask(in))
				if err == nil && answer == "fail" {
					err = errors.New("of no use")
				}
				return answer, err
			}
			var kids []flow.Child
			for _, word := range []string{"left", "right"} {
				kid, err := flow.Spawn(c, word, engine.Child{Prompt: word})
				if err != nil {
					return "", err
				}
				kids = append(kids, kid)
			}
			first, err := flow.WaitAny(c, kids...)
			if err != nil {
				return "", err
			}
			text, err := flow.Wait[string](c, kids[first])
			var failed *flow.ChildError
			if errors.As(err, &failed) {
				text, err = failed.Name+": "+failed.Message, nil
			}
			return text, err
		})
		h := serve(t, memory.New(), agent)
		h.submit(lifecycle.Spec{})
		kids, err := h.Runs(t.Context(), lifecycle.Query{Parent: "r"})
		require.NoError(t, err)
		require.True(t, h.run().Block.Any)
		_, err = h.Reply(t.Context(), kids.Runs[1].ID, lifecycle.Reply{ID: 1, Text: "fail"})
		require.NoError(t, err)
		require.Equal(t, "right: of no use", h.ended())
		other, err := h.Get(t.Context(), kids.Runs[0].ID)
		require.NoError(t, err)
		require.Equal(t, lifecycle.StateCanceled, other.State)
	})
}

// M3: branches that wait for children continue separately; a wait for children ends in time while
// another branch sleeps.
func TestM3BranchesWaitForTheirChildren(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var order []string
		agent := flow.New("branches", func(c *flow.Ctx, in string) (string, error) {
			if in != "x" {
				return flow.Ask[string](c, "q", ask(in))
			}
			branch := func(word string) func(c *flow.Ctx) error {
				return func(c *flow.Ctx) error {
					_, err := flow.Run[string](c, word, engine.Child{Prompt: word})
					if err == nil {
						c.Now()
						_, err = flow.Step(c, word, func(context.Context) (string, error) {
							order = append(order, word)
							return "", nil
						})
					}
					return err
				}
			}
			err := flow.All(c, branch("left"), branch("right"), func(c *flow.Ctx) error {
				err := c.Sleep(time.Minute)
				if err == nil {
					_, err = flow.Step(c, "slept", func(context.Context) (string, error) {
						order = append(order, "slept")
						return "", nil
					})
				}
				return err
			})
			return strings.Join(order, " "), err
		})
		h := serve(t, memory.New(), agent)
		h.submit(lifecycle.Spec{})
		kids, err := h.Runs(t.Context(), lifecycle.Query{Parent: "r"})
		require.NoError(t, err)
		ids := map[string]string{}
		for _, kid := range kids.Runs {
			ids[kid.Open[0].Prompt] = kid.ID
		}
		reply := func(word string) {
			_, err = h.Reply(t.Context(), ids[word], lifecycle.Reply{ID: 1, Text: "yes"})
			require.NoError(t, err)
			synctest.Wait()
		}
		reply("right")
		time.Sleep(time.Minute)
		synctest.Wait()
		require.Equal(t, lifecycle.BlockChildren, h.run().Block.Kind)
		reply("left")
		require.Equal(t, "right slept left", h.ended())
	})
}

// M3: an invalid child or a tree that is too deep ends the run with a reason.
func TestM3RefusedChildren(t *testing.T) {
	for name, test := range map[string]struct {
		child engine.Child
		want  string
	}{
		"engine":  {engine.Child{Prompt: "x", Engine: "no name"}, `Engine is "no name"`},
		"nothing": {engine.Child{}, "Prompt"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				agent := flow.New("wrong", func(c *flow.Ctx, _ string) (string, error) {
					return flow.Run[string](c, "kid", test.child)
				})
				h := serve(t, memory.New(), agent)
				h.submit(lifecycle.Spec{})
				require.Equal(t, lifecycle.StateFailed, h.run().State)
				require.ErrorContains(t, errors.New(h.run().Error.Message), test.want)
			})
		})
	}
	t.Run("depth", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			agent := flow.New("deep", func(c *flow.Ctx, _ string) (string, error) {
				return flow.Run[string](c, "kid", engine.Child{Prompt: "x"})
			})
			h := serve(t, memory.New(), agent)
			h.submit(lifecycle.Spec{})
			page, err := h.Runs(t.Context(), lifecycle.Query{})
			require.NoError(t, err)
			require.Len(t, page.Runs, engine.MaxDepth+1)
			require.Equal(t, lifecycle.StateFailed, h.run().State)
			require.Contains(t, page.Runs[engine.MaxDepth].Error.Message, "too many runs in a tree")
		})
	})
}

// M3: the first child stays the first, also after another one has ended.
func TestM3WaitAnyKeepsItsIndex(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := serve(t, memory.New(), flow.New("race", func(c *flow.Ctx, prompt string) (string, error) {
			if d, err := time.ParseDuration(prompt); err == nil {
				return prompt, c.Sleep(d)
			}
			slow, err := flow.Spawn(c, "slow", engine.Child{Prompt: "2h"})
			if err != nil {
				return "", err
			}
			fast, err := flow.Spawn(c, "fast", engine.Child{Prompt: "1h"})
			if err != nil {
				return "", err
			}
			first, err := flow.WaitAny(c, slow, fast)
			if err != nil {
				return "", err
			}
			answer, err := flow.Ask[string](c, "q", ask("?"))
			return fmt.Sprint(first, " ", answer), err
		}))
		h.submit(lifecycle.Spec{})
		time.Sleep(5 * time.Hour)
		h.reply(1, "x")
		require.Equal(t, "1 x", h.ended())
	})
}

// M2 M3: a child's output has the type that the code expects, or the run is held.
func TestM3AChildsOutputIsTyped(t *testing.T) {
	for expected, call := range map[string]func(c *flow.Ctx) (string, error){
		"its own": func(c *flow.Ctx) (string, error) {
			got, err := flow.Run[out](c, "kid", engine.Child{Prompt: "child"})
			return got.Text, err
		},
		"another": func(c *flow.Ctx) (string, error) {
			got, err := flow.Run[struct{ Text int }](c, "kid", engine.Child{Prompt: "child"})
			return fmt.Sprint(got), err
		},
	} {
		t.Run(expected, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				h := serve(t, memory.New(), flow.New("typed", func(c *flow.Ctx, prompt string) (out, error) {
					if prompt == "child" {
						return out{"worked"}, nil
					}
					text, err := call(c)
					return out{text}, err
				}))
				h.submit(lifecycle.Spec{})
				if expected == "another" {
					require.Contains(t, h.held(), "has another output than the code expects")
					return
				}
				h.ended()
				require.JSONEq(t, `{"text":"worked"}`, string(h.run().Output))
			})
		})
	}
}

// metered counts the reads of runs, single and paged.
type metered struct {
	*memory.Store

	reads atomic.Int64
}

func (m *metered) Run(ctx context.Context, id string) (store.Run, error) {
	m.reads.Add(1)
	return m.Store.Run(ctx, id)
}

func (m *metered) Runs(ctx context.Context, q store.Query) (store.Page, error) {
	m.reads.Add(1)
	return m.Store.Runs(ctx, q)
}

func (m *metered) Confirm(ctx context.Context, read func(store.Reader) error) error {
	m.reads.Add(1)
	return m.Store.Confirm(ctx, read)
}

// napper is a function whose children sleep for the given minutes.
func napper(f func(c *flow.Ctx, spawn func(minutes int) flow.Child) error) engine.Engine {
	return flow.New("many", func(c *flow.Ctx, minutes int) (string, error) {
		if minutes > 0 { // a child
			return "ok", c.Sleep(time.Duration(minutes) * time.Minute)
		}
		return "ok", f(c, func(minutes int) flow.Child { // the function ends where it waits
			child, _ := flow.Spawn(c, "nap", engine.Child{InputJSON: fmt.Append(nil, minutes)})
			return child
		})
	})
}

// M3: a function that waits for many children by WaitAny or in branches reads a bounded number of
// runs per end, however many children there are.
func TestM3ManyChildrenAreNotReadAtEachEnd(t *testing.T) {
	oneByOne := func(c *flow.Ctx, children []flow.Child) error {
		for len(children) > 0 {
			i, err := flow.WaitAny(c, children...)
			if err != nil {
				return err
			}
			if _, err := flow.Wait[string](c, children[i]); err != nil {
				return err
			}
			children = slices.Delete(children, i, i+1)
		}
		return nil
	}
	inBranches := func(c *flow.Ctx, children []flow.Child) error {
		var branches []func(*flow.Ctx) error
		for _, child := range children {
			branches = append(branches, func(c *flow.Ctx) error {
				_, err := flow.Wait[string](c, child)
				return err
			})
		}
		return flow.All(c, branches...)
	}
	const readsForEach = 16 // usually 12; it was half the number of children
	for name, wait := range map[string]func(*flow.Ctx, []flow.Child) error{"one by one": oneByOne,
		"in branches": inBranches} {
		for _, n := range []int{30, 60} {
			t.Run(fmt.Sprint(name, " ", n), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := &metered{Store: memory.New()}
					h := serve(t, s, napper(func(c *flow.Ctx, spawn func(int) flow.Child) error {
						var children []flow.Child
						for i := range n {
							children = append(children, spawn(10*(1+(i*7+3)%n))) // each ends at another time
						}
						return wait(c, children)
					}))
					h.submit(lifecycle.Spec{Input: []byte("0")})
					started := s.reads.Load()
					time.Sleep(time.Duration(n+1) * 10 * time.Minute)
					require.Less(t, s.reads.Load()-started, int64(readsForEach*n))
					require.Equal(t, "ok", h.ended())
					require.Equal(t, 1+n, h.run().Attempt)
				})
			})
		}
	}
}

// M3: a child that ends during a step is found in the same turn, so the branch that waits for it
// need not wait for the answer in another branch.
func TestM3AChildThatEndsDuringAStepIsFoundAfterIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l ledger
		h := serve(t, memory.New(), napper(func(c *flow.Ctx, spawn func(int) flow.Child) error {
			long, short := spawn(60), spawn(1)
			if i, err := flow.WaitAny(c, long, short); err != nil || i != 1 {
				return cmp.Or(err, errors.New("the long one has ended"))
			}
			_, err := flow.Step(c, "takes long", func(context.Context) (bool, error) {
				time.Sleep(2 * time.Hour)
				return true, nil
			})
			if err != nil {
				return err
			}
			return flow.All(c, func(c *flow.Ctx) error {
				_, err := flow.Ask[string](c, "q", ask("?"))
				return err
			}, func(c *flow.Ctx) error {
				if _, err := flow.Wait[string](c, long); err != nil {
					return err
				}
				_, err := flow.Step(c, "after it", l.do("after it"))
				return err
			})
		}))
		h.submit(lifecycle.Spec{Input: []byte("0")})
		time.Sleep(3 * time.Hour)
		require.Equal(t, lifecycle.StateWaitingUser, h.run().State)
		require.Equal(t, "after it", l.String())
	})
}

type family struct {
	desk

	refusal error // of each child
	end     engine.ChildEnd
	undone  int
}

func (f *family) Spawn(_ context.Context, c engine.Child) (string, error) {
	return "r/" + c.Key, f.refusal
}

func (f *family) ChildEnd(context.Context, string) (*engine.ChildEnd, error) { return &f.end, nil }

func (f *family) OpenChildren(context.Context) ([]string, error) { return nil, nil }

func (f *family) runTurn(t *testing.T) (engine.Outcome, error) {
	t.Helper()
	return flow.New("f", func(c *flow.Ctx, _ string) (string, error) {
		c.Defer("undo", func(context.Context) error { f.undone++; return nil })
		text, err := flow.Run[string](c, "kid", engine.Child{Prompt: "x"})
		if err != nil {
			return "", err
		}
		return flow.Step(c, "read", func(context.Context) (string, error) { return text, nil })
	}).RunTurn(t.Context(), engine.Turn{RunID: "r"}, f)
}

// M3: a refused child fails the run and names its place; a turn that is over, and a refusal that is
// not final, do not fail it.
func TestM3WhyAChildIsNotStarted(t *testing.T) {
	f := &family{refusal: engine.ErrTooManyChildren}
	_, err := f.runTurn(t)
	require.ErrorContains(t, err, `spawn "kid" at 1: engine: too many runs in a tree`)
	require.Equal(t, 1, f.undone)
	for _, refusal := range []error{engine.ErrStale, engine.Later(time.Hour, "busy")} {
		f := &family{refusal: refusal}
		_, err = f.runTurn(t)
		require.Equal(t, refusal, err)
		require.Zero(t, f.undone)
	}
}

// crowd is a run with many children, all of them open.
type crowd struct {
	desk

	children     []string
	reads, lists int
}

func (d *crowd) Spawn(_ context.Context, c engine.Child) (string, error) {
	d.children = append(d.children, c.Key)
	return c.Key, nil
}

func (d *crowd) ChildEnd(context.Context, string) (*engine.ChildEnd, error) {
	d.reads++
	return nil, nil //nolint:nilnil // the child is open
}

func (d *crowd) OpenChildren(context.Context) ([]string, error) {
	d.lists++
	return d.children, nil
}

// M3: up to eight open children are read one by one; if there are more, the other ones are read in one listing.
func TestM3HowOpenChildrenAreRead(t *testing.T) {
	for n, want := range map[int][2]int{1: {1, 0}, 8: {8, 0}, 9: {8, 1}, 100: {8, 1}} {
		d := new(crowd)
		_, err := flow.New("f", func(c *flow.Ctx, _ string) (string, error) {
			var children []flow.Child
			for range n {
				child, err := flow.Spawn(c, "kid", engine.Child{Prompt: "x"})
				if err != nil {
					return "", err
				}
				children = append(children, child)
			}
			_, err := flow.WaitAny(c, children...)
			return "", err
		}).RunTurn(t.Context(), engine.Turn{RunID: "r"}, d)
		require.NoError(t, err)
		require.Equal(t, want, [2]int{d.reads, d.lists}, "%d children", n)
	}
}

// M3: a result of up to 16 KiB is copied into the journal; a larger one is read from the child's
// record.
func TestM3WhichResultsAreCopied(t *testing.T) {
	const most = 16 << 10
	for size, copied := range map[int]bool{1: true, most: true, most + 1: false} {
		text := strings.Repeat("x", size)
		f := &family{end: engine.ChildEnd{Succeeded: true, FinalText: text}}
		o, err := f.runTurn(t)
		require.NoError(t, err)
		require.Equal(t, text, o.FinalText)
		require.Equal(t, "end", f.entries[1].Type)
		require.Equal(t, copied, strings.Contains(string(f.entries[1].Body), text), "%d bytes", size)
		o, err = f.runTurn(t)
		require.NoError(t, err)
		require.Equal(t, text, o.FinalText, "in the next turn, too")
	}
}
