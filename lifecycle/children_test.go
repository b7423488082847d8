package lifecycle

import (
	"bytes"
	"context"
	"log/slog"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/lifecycle/internal/decide"
	"github.com/interlude-go/interlude/lifecycle/internal/node"
	"github.com/interlude-go/interlude/store"
	"github.com/interlude-go/interlude/store/memory"
)

// family is an engine whose run "r" does what its turn does. Its children ask if their prompt says
// so, and otherwise end at once with it.
func family(turn func(ctx context.Context, in engine.Turn, p engine.Parent) (engine.Outcome, error)) engine.Engine {
	return engine.Func(func(ctx context.Context, in engine.Turn, s engine.Sink) (engine.Outcome, error) {
		switch {
		case in.RunID == "r":
			return turn(ctx, in, s.(engine.Parent))
		case in.Prompt == "ask" && len(in.Answers) == 0:
			return engine.Ask(engine.Question{Kind: engine.OpenText, Prompt: "?"}), nil
		case in.Prompt == "fail":
			return engine.Outcome{}, &engine.Failure{Code: engine.CodeEngineFailed, Detail: "of no use"}
		}
		return engine.Done(in.Prompt), nil
	})
}

// M3: a plain engine starts runs and waits for all of them. A key identifies one child, and a wait
// is neither a round nor a retry, and has no event except the turn's end.
func TestM3AnEngineStartsRunsAndWaitsForThem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var kids []string
		var ends []*engine.ChildEnd
		lc, stop := serve(t, Config{Engine: family(func(ctx context.Context, in engine.Turn, p engine.Parent) (
			engine.Outcome, error) {
			if in.Attempt == 1 {
				for _, prompt := range []string{"fail", "ask", "done", "ask"} {
					id, err := p.Spawn(ctx, engine.Child{Key: prompt, Prompt: prompt})
					require.NoError(t, err)
					kids = append(kids, id)
				}
				_, err := p.ChildEnd(ctx, "other")
				require.ErrorContains(t, err, "is no child of run r")
				time.Sleep(time.Minute) // the short ones have ended before the wait begins
				open, err := p.OpenChildren(ctx)
				require.NoError(t, err)
				require.Equal(t, kids[1:2], open)
				return engine.AwaitAll(kids[:3]...), nil
			}
			for _, id := range kids[:3] {
				end, err := p.ChildEnd(ctx, id)
				require.NoError(t, err)
				ends = append(ends, end)
			}
			return engine.Done("joined"), nil
		})})
		defer stop()
		_, err := lc.Submit(t.Context(), Spec{ID: "other", Prompt: "x"})
		require.NoError(t, err)
		_, err = lc.Submit(t.Context(), Spec{ID: "r", Prompt: "x", MaxAttempts: 1})
		require.NoError(t, err)
		pass(2 * time.Minute)
		require.Equal(t, kids[1], kids[3])
		run := in(t, lc.Client, "r", fsm.StateQueued)
		require.Equal(t, &store.Block{Kind: store.BlockChildren, Reason: "the run waits for runs that it has started",
			Children: kids[:3]}, run.Block)
		require.Equal(t, &store.Family{Children: 3}, run.Family)
		require.Equal(t, 1, run.Yielded)
		require.True(t, in(t, lc.Client, kids[2], fsm.StateSucceeded).Family.Kept)
		pass(time.Hour)
		n, err := lc.Prune(t.Context(), time.Now())
		require.NoError(t, err)
		require.Equal(t, 1, n, "children stay for their parent")
		_, err = lc.Reply(t.Context(), kids[1], Reply{ID: 1, Text: "yes"})
		require.NoError(t, err)
		synctest.Wait()
		run = in(t, lc.Client, "r", fsm.StateSucceeded)
		require.Equal(t, "joined", run.FinalText)
		require.Equal(t, 2, run.Attempt)
		require.Equal(t, []*engine.ChildEnd{
			{Code: engine.CodeEngineFailed, Message: "of no use"}, {Succeeded: true, FinalText: "ask"},
			{Succeeded: true, FinalText: "done"},
		}, ends)
		for _, id := range append(kids[:3], "r") {
			requireSoundLog(t, lc.proc.Store, id)
			first, err := lc.proc.Store.Events(t.Context(), id, 0, 1)
			require.NoError(t, err)
			require.Equal(t, id != "r", strings.Contains(string(first[0].Body), `"parent":"r"`), "%s", first[0].Body)
		}
		n, err = lc.Prune(t.Context(), time.Now().Add(time.Hour))
		require.NoError(t, err)
		require.Equal(t, 4, n)
	})
}

// M3: a wait for any child ends with the first, or in time; the remaining children end with the
// run.
func TestM3AWaitForAnyEndsWithTheFirstOrInTime(t *testing.T) {
	for name, text := range map[string]string{"first": "yes", "time": ""} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var kids []string
				lc, stop := serve(t, Config{Engine: family(func(ctx context.Context, in engine.Turn, p engine.Parent) (
					engine.Outcome, error) {
					if in.Attempt > 1 {
						return engine.Done("on"), nil
					}
					for _, key := range []string{"a", "b"} {
						id, err := p.Spawn(ctx, engine.Child{Key: key, Prompt: "ask"})
						require.NoError(t, err)
						kids = append(kids, id)
					}
					o := engine.AwaitAny(kids...)
					o.Sleep = time.Now().Add(time.Hour)
					return o, nil
				})})
				defer stop()
				_, err := lc.Submit(t.Context(), Spec{ID: "r", Prompt: "x"})
				require.NoError(t, err)
				pass(time.Hour - time.Minute)
				in(t, lc.Client, "r", fsm.StateQueued)
				ended := fsm.StateCanceled
				if text == "" {
					pass(2 * time.Minute)
				} else {
					_, err = lc.Reply(t.Context(), kids[1], Reply{ID: 1, Text: text})
					require.NoError(t, err)
					synctest.Wait()
					ended = fsm.StateSucceeded
				}
				in(t, lc.Client, "r", fsm.StateSucceeded)
				require.Equal(t, "its parent run r has ended: succeeded", in(t, lc.Client, kids[0],
					fsm.StateCanceled).CancelReason)
				in(t, lc.Client, kids[1], ended)
			})
		})
	}
}

// M3: an engine is not called for a child whose parent has ended, or is gone.
func TestM3AChildOfARunThatHasEndedIsNotExecuted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var called []string
		var logged bytes.Buffer
		lc, stop := serve(t, Config{Logger: slog.New(slog.NewTextHandler(&logged, nil)), Engine: engine.Func(func(
			_ context.Context, in engine.Turn, _ engine.Sink) (engine.Outcome, error) {
			called = append(called, in.RunID)
			return engine.Done("done"), nil
		})})
		defer stop()
		_, err := lc.Submit(t.Context(), Spec{ID: "r", Prompt: "x"})
		require.NoError(t, err)
		synctest.Wait()
		in(t, lc.Client, "r", fsm.StateSucceeded)
		for _, parent := range []string{"r", "gone"} {
			run, body, err := Spec{ID: "of-" + parent, Prompt: "done"}.record(lc.proc.Now())
			require.NoError(t, err)
			run.Family = &store.Family{Ancestors: []string{parent}}
			cm, err := decide.Submission(&run, body)
			require.NoError(t, err)
			require.NoError(t, lc.proc.Commit(t.Context(), cm))
			pass(time.Minute)
			child := in(t, lc.Client, run.ID, fsm.StateCanceled)
			require.Zero(t, child.Family.Due)
			requireSoundLog(t, lc.proc.Store, run.ID)
		}
		require.Equal(t, []string{"r"}, called)
		require.Empty(t, logged.String())
	})
}

// M3: a run has a limit of children, and can only wait for its own.
func TestM3LimitsOfChildren(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lc, stop := serve(t, Config{Engine: family(func(ctx context.Context, _ engine.Turn, p engine.Parent) (
			engine.Outcome, error) {
			for i, want := range []error{nil, engine.ErrTooManyChildren} {
				key := strings.Repeat(string(rune('a'+i)), engine.MaxChildKey)
				_, err := p.Spawn(ctx, engine.Child{Key: key, Prompt: "done"})
				require.ErrorIs(t, err, want)
			}
			for _, key := range []string{"", strings.Repeat("a", engine.MaxChildKey+1)} {
				_, err := p.Spawn(ctx, engine.Child{Key: key, Prompt: "done"})
				require.ErrorContains(t, err, "a child has a key")
			}
			return engine.AwaitAll(make([]string, engine.MaxChildren+1)...), nil
		})})
		defer stop()
		run, body, err := Spec{ID: "r", Prompt: "x"}.record(lc.proc.Now())
		require.NoError(t, err)
		run.Family = &store.Family{Children: engine.MaxChildren - 1}
		cm, err := decide.Submission(&run, body)
		require.NoError(t, err)
		require.NoError(t, lc.proc.Commit(t.Context(), cm))
		pass(time.Minute)
		run = in(t, lc.Client, "r", fsm.StateFailed)
		require.Contains(t, run.Error.Message, "waits for 1001 children")
		require.Equal(t, engine.MaxChildren, run.Family.Children)
	})
	synctest.Test(t, func(t *testing.T) {
		lc, stop := serve(t, Config{Engine: family(func(context.Context, engine.Turn, engine.Parent) (
			engine.Outcome, error) {
			return engine.AwaitAll("x"), nil
		})})
		defer stop()
		_, err := lc.Submit(t.Context(), Spec{ID: "r", Prompt: "x"})
		require.NoError(t, err)
		synctest.Wait()
		require.Contains(t, in(t, lc.Client, "r", fsm.StateFailed).Error.Message, "has started none")
	})
}

// listedRuns counts the runs that a store returns in listings.
type listedRuns struct {
	*memory.Store

	rows atomic.Int64
}

func (s *listedRuns) Runs(ctx context.Context, q store.Query) (store.Page, error) {
	page, err := s.Store.Runs(ctx, q)
	s.rows.Add(int64(len(page.Runs)))
	return page, err
}

// M3: children that end one after the other are not all read at each end, in whatever order they
// end, and the last one continues the parent.
func TestM3TheEndOfAChildDoesNotReadAllOthers(t *testing.T) {
	const children = 100
	for name, nth := range map[string]func(i int) int{
		"forwards":  func(i int) int { return i },
		"backwards": func(i int) int { return children - 1 - i },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var kids []string
				s := &listedRuns{Store: memory.New()}
				lc, stop := serve(t, Config{Store: s, Engine: family(func(ctx context.Context, in engine.Turn,
					p engine.Parent) (engine.Outcome, error) {
					for i := 0; i < children && in.Attempt == 1; i++ {
						id, err := p.Spawn(ctx, engine.Child{Key: strconv.Itoa(i), Prompt: "ask"})
						require.NoError(t, err)
						kids = append(kids, id)
					}
					if in.Attempt > 1 {
						return engine.Done("joined"), nil
					}
					return engine.AwaitAll(kids...), nil
				})})
				defer stop()
				_, err := lc.Submit(t.Context(), Spec{ID: "r", Prompt: "x"})
				require.NoError(t, err)
				pass(time.Minute)
				s.rows.Store(0)
				for i := range children {
					in(t, lc.Client, "r", fsm.StateQueued)
					_, err := lc.Reply(t.Context(), kids[nth(i)], Reply{ID: 1, Text: "yes"})
					require.NoError(t, err)
					synctest.Wait()
				}
				require.Equal(t, 2, in(t, lc.Client, "r", fsm.StateSucceeded).Attempt)
				require.Less(t, s.rows.Load(), int64(7*children))
			})
		})
	}
}

// M3: fields that an engine.Child does not set are its parent's, and limits are not inherited.
func TestM3WhatAChildInherits(t *testing.T) {
	parent, err := encodeSpec(&Spec{Prompt: "x", Engine: "e", Mode: Auto, Pool: "p", MaxAttempts: 3})
	require.NoError(t, err)
	child := func(c engine.Child) (Spec, error) {
		run, stored, err := specs{}.Child("r", &node.Spec{Stored: parent}, "c", &c, time.Now())
		if err != nil {
			return Spec{}, err
		}
		require.Equal(t, "c", run.ID)
		return decodeSpec("c", stored)
	}
	spec, err := child(engine.Child{Key: "k", Prompt: "y", WorkDir: "there"})
	require.NoError(t, err)
	require.True(t, filepath.IsAbs(spec.WorkDir), spec.WorkDir)
	spec.WorkDir = ""
	require.Equal(t, Spec{ID: "c", Prompt: "y", Engine: "e", Mode: Auto, Pool: "p"}.withDefaults(), spec)
	spec, err = child(engine.Child{Key: "k", Prompt: "y", Engine: "f", Mode: Interactive})
	require.NoError(t, err)
	require.Equal(t, Spec{ID: "c", Prompt: "y", Engine: "f", Mode: Interactive, Pool: "p"}.withDefaults(), spec)
	_, err = child(engine.Child{Key: "k"})
	require.ErrorIs(t, err, ErrInvalidSpec, "it has nothing to do")
}
