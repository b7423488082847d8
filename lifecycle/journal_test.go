package lifecycle

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/semaphore"

	"github.com/interlude-go/interlude/contract/fcmp"
	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/lifecycle/internal/decide"
	"github.com/interlude-go/interlude/lifecycle/internal/node"
	"github.com/interlude-go/interlude/store"
)

// entry is a turn's addition to its journal.
func entry(path string) engine.JournalEntry {
	return engine.JournalEntry{Path: path, Name: "n", Type: "step", Body: []byte(path)}
}

// M1: a run that sleeps is queued until its time, without its answer; sleeps are neither rounds nor
// retries, however many there are, and their events say so.
func TestM1ASleepIsNeitherARoundNorARetry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slept := 0
		lc, stop := serve(t, Config{Retry: &Retry{Max: 1}, Engine: agent{
			turn: func(_ context.Context, in engine.Turn) (engine.Outcome, error) {
				switch {
				case in.Attempt == 1:
					return asking("?"), nil
				case slept < 12:
					require.Equal(t, slept == 0, len(in.Answers) > 0, "the answer is of one turn")
					slept++
					return engine.SleepUntil(time.Now().Add(time.Minute + time.Nanosecond)), nil
				}
				return finished(), nil
			},
		}})
		defer stop()
		_, err := lc.Submit(t.Context(), Spec{ID: "r", Prompt: "x", MaxAttempts: 3})
		require.NoError(t, err)
		synctest.Wait()
		_, err = lc.Reply(t.Context(), "r", Reply{ID: 1, Text: "yes"})
		require.NoError(t, err)
		synctest.Wait()
		run := in(t, lc.Client, "r", fsm.StateQueued)
		until := run.UpdatedAt.Add(time.Minute + time.Microsecond)
		require.Equal(t, &store.Block{Kind: store.BlockSleep, Until: until, Reason: "the run sleeps"}, run.Block)
		require.Equal(t, until, run.NotBefore)
		require.False(t, run.Slot)
		pass(13 * time.Minute)
		run = in(t, lc.Client, "r", fsm.StateSucceeded)
		require.Equal(t, 14, run.Attempt)
		require.Equal(t, 12, run.Yielded)
		yields := 0
		for ev, err := range lc.Events(t.Context(), "r", 0) {
			require.NoError(t, err)
			if ev.Type == fcmp.TypeYielded {
				var y fcmp.Yielded
				require.NoError(t, ev.Decode(&y))
				require.Equal(t, "the run sleeps", y.Message)
				require.Empty(t, y.Code)
				require.Zero(t, y.Retry)
				require.False(t, y.NotBefore.IsZero())
				yields++
			}
		}
		require.Equal(t, 12, yields)
		requireSoundLog(t, lc.proc.Store, "r")
	})
}

// M1: a run whose engine holds a process cannot sleep, and a run that is done or asks does not.
func TestM1WhatASleepGivesWayTo(t *testing.T) {
	at := func(o engine.Outcome) engine.Outcome {
		o.Sleep = time.Now().Add(time.Hour)
		return o
	}
	for name, c := range map[string]struct {
		outcome func() engine.Outcome
		kind    fsm.Profile
		state   fsm.State
	}{
		"done": {func() engine.Outcome { return at(engine.Done("so")) }, fsm.ProfileResumable, fsm.StateSucceeded},
		"asks": {func() engine.Outcome { return at(asking("?")) }, fsm.ProfileResumable, fsm.StateWaitingUser},
		"sticky": {func() engine.Outcome { return engine.SleepUntil(time.Now()) }, fsm.ProfileStickyProcess,
			fsm.StateFailed},
		"failed": {func() engine.Outcome {
			return at(engine.Outcome{Process: engine.Process{Status: engine.Failed}})
		}, fsm.ProfileResumable, fsm.StateFailed},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				lc, stop := serve(t, Config{Engine: agent{
					profile: func() (engine.Profile, error) { return engine.Profile{Kind: c.kind}, nil },
					turn:    func(context.Context, engine.Turn) (engine.Outcome, error) { return c.outcome(), nil },
				}})
				defer stop()
				submit(t, lc, "r")
				synctest.Wait()
				in(t, lc.Client, "r", c.state)
			})
		})
	}
}

// M1: a turn's journal entries are found by the next one, with the entries of its outcome, and in
// one commit each; entries that cannot be stored fail the turn or are refused, and nothing is
// stored after the turn.
func TestM1AJournalIsOfTheRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var late engine.Journal
		kept := newStore(t)
		version := func() uint64 {
			run, err := kept.Run(t.Context(), "r")
			require.NoError(t, err)
			return run.Version
		}
		lc, stop := serve(t, Config{Store: kept, Engine: sinking(func(ctx context.Context, in engine.Turn,
			s engine.Sink) (engine.Outcome, error) {
			j := s.(engine.Journal)
			late = j
			have, err := j.Entries(ctx)
			require.NoError(t, err)
			if in.Attempt > 1 {
				require.Equal(t, []engine.JournalEntry{entry("1"), entry("2"), entry("3"), entry("end")}, have)
				o := finished()
				o.Journal = []engine.JournalEntry{{Path: "no body", Type: "step"}}
				return o, nil
			}
			require.Empty(t, have)
			before := version()
			require.NoError(t, j.Append(ctx))
			require.NoError(t, j.Append(ctx, entry("1")))
			require.NoError(t, j.Append(ctx, entry("2"), entry("3")))
			require.Equal(t, before+2, version())
			large := entry("4")
			large.Body = make([]byte, engine.MaxJournalBody+1)
			require.ErrorIs(t, j.Append(ctx, large), engine.ErrJournalFull)
			o := asking("?")
			o.Journal = []engine.JournalEntry{entry("end")}
			return o, nil
		})})
		defer stop()
		submit(t, lc, "r")
		synctest.Wait()
		require.ErrorIs(t, late.Append(t.Context(), entry("late")), engine.ErrStale)
		require.Equal(t, 4, in(t, lc.Client, "r", fsm.StateWaitingUser).Journal.Entries)
		_, err := lc.Reply(t.Context(), "r", Reply{ID: 1, Text: "yes"})
		require.NoError(t, err)
		synctest.Wait()
		run := in(t, lc.Client, "r", fsm.StateFailed)
		require.Contains(t, run.Error.Message, `journal entry "" at no body: it has a path, a type and a body`)
		requireSoundLog(t, lc.proc.Store, "r")
	})
}

// M1: turns read only as many journals concurrently as fit into the process's limit. A waiting turn
// can be canceled, a turn that releases its journal lets others read, and a journal larger than the
// limit is read by itself.
func TestM1JournalsThatAreReadAtOnceAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		reading, most, bytes := 0, 0, int64(0)
		count := func(n int) {
			mu.Lock()
			defer mu.Unlock()
			reading += n
			most = max(most, reading)
		}
		lc, stop := serve(t, Config{Concurrency: 20, Engine: sinking(func(ctx context.Context, in engine.Turn,
			s engine.Sink) (engine.Outcome, error) {
			j := s.(engine.Journal)
			if in.Attempt == 1 {
				return asking("?"), j.Append(ctx, engine.JournalEntry{Path: "1", Type: "step", Body: make([]byte, 95)})
			}
			have, err := j.Entries(ctx)
			if err != nil {
				return engine.Outcome{}, err
			}
			require.Len(t, have, 1)
			count(1)
			mu.Lock()
			bytes = int64(have[0].Size())
			mu.Unlock()
			time.Sleep(time.Minute)
			count(-1)
			if in.RunID != "keeps" {
				j.Release()
				j.Release()
				time.Sleep(time.Hour)
			}
			return finished(), nil
		})})
		defer stop()
		lc.proc.Journals = semaphore.NewWeighted(250)
		ids := []string{"keeps", "a", "b", "c", "d", "e", "canceled"}
		for _, id := range ids {
			submit(t, lc, id)
		}
		synctest.Wait()
		for _, id := range ids {
			_, err := lc.Reply(t.Context(), id, Reply{ID: 1, Text: "yes"})
			require.NoError(t, err)
			synctest.Wait()
		}
		require.NoError(t, lc.Cancel(t.Context(), "canceled", "enough"))
		synctest.Wait()
		pass(4 * time.Minute) // and not 6 hours
		mu.Lock()
		require.Equal(t, [3]int64{0, 2, 100}, [3]int64{int64(reading), int64(most), bytes})
		mu.Unlock()
		pass(2 * time.Hour)
		for _, id := range ids[:len(ids)-1] {
			in(t, lc.Client, id, fsm.StateSucceeded)
		}
		require.True(t, lc.proc.Journals.TryAcquire(250), "everything is released")
	})
	huge := &interaction.JournalSize{Bytes: 3 * node.MaxJournalsRead}
	require.EqualValues(t, node.MaxJournalsRead, node.JournalSize(nil, huge))
	inherits := &decide.Origin{Journal: []engine.JournalEntry{entry("1")}}
	require.EqualValues(t, len("1nstep1"), node.JournalSize(inherits, nil))
}

// M1: a turn that was interrupted adds nothing with its outcome.
func TestM1AnInterruptedTurnAddsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lc, stop := serve(t, Config{Engine: agent{turn: func(ctx context.Context, _ engine.Turn) (
			engine.Outcome, error) {
			<-ctx.Done()
			o := engine.SleepUntil(time.Now().Add(time.Hour))
			o.Journal = []engine.JournalEntry{entry("1")}
			return o, nil
		}}})
		defer stop()
		_, err := lc.Submit(t.Context(), Spec{ID: "r", Prompt: "x", TurnTimeout: time.Second})
		require.NoError(t, err)
		pass(time.Minute)
		run := in(t, lc.Client, "r", fsm.StateFailed)
		require.Equal(t, fsm.CodeTurnTimeout, run.Error.Code)
		require.Nil(t, run.Journal)
	})
}
