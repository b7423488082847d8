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
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/store/memory"
)

// spending is an outcome with usage: n of each figure.
func spending(o engine.Outcome, n int64) engine.Outcome {
	o.Usage = engine.Usage{InputTokens: n, OutputTokens: n, CostUSD: float64(n) / 1e6}
	return o
}

// used is usage with n of each figure and the working time.
func used(n int64, worked time.Duration) Usage {
	return Usage{InputTokens: n, OutputTokens: n, CostMicroUSD: n, Worked: worked}
}

// J13: each turn's usage is stored with its end, whatever that is: a transient error, a shutdown, a
// repair round, a question, an end. It is summed for the run, and over the unfinished runs, and the
// observer gets it. A person's time is never counted.
func TestUsageOfEachTurnIsStored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore(t)
		var mu sync.Mutex
		var observed []Usage
		cfg := Config{Store: s, Retry: &Retry{Max: 3}, Grace: -1, Observer: Observer{Turn: func(n EndedTurn) {
			mu.Lock()
			defer mu.Unlock()
			observed = append(observed, n.Usage)
		}}, Engine: agent{turn: func(ctx context.Context, in engine.Turn) (engine.Outcome, error) {
			switch {
			case in.Attempt == 1: // tried again
				time.Sleep(time.Second)
				return spending(engine.Outcome{}, 1), engine.Later(0, "overloaded")
			case in.Attempt == 2: // interrupted
				<-ctx.Done()
				return spending(engine.Outcome{}, 2), ctx.Err()
			case in.Attempt == 3:
				time.Sleep(3 * time.Second)
				return spending(asking("Go on?"), 4), nil
			case in.Attempt == 4 && in.Repair == "":
				time.Sleep(time.Second)
				return spending(finished(), 8), nil // without output
			}
			time.Sleep(time.Second)
			o := spending(finished(), 16)
			o.Output = json.RawMessage(`{"ok": true}`)
			return o, nil
		}}}
		spec := Spec{ID: "r", Prompt: "x", Repeatable: true, RepairRounds: 1,
			OutputSchema: json.RawMessage(`{"type": "object", "required": ["ok"]}`)}
		lc, stop := serve(t, cfg)
		_, err := lc.Submit(t.Context(), spec)
		require.NoError(t, err)
		pass(10 * time.Second)
		in(t, lc.Client, "r", fsm.StateRunning)
		stop() // the second turn has worked for 8 s
		lc, stop = serve(t, cfg)
		defer stop()
		pass(20 * time.Second)
		in(t, lc.Client, "r", fsm.StateWaitingUser)
		want := []TurnUsage{
			{Attempt: 1, Usage: used(1, time.Second)}, {Attempt: 2, Usage: used(2, 8*time.Second)},
			{Attempt: 3, Usage: used(4, 3*time.Second)},
		}
		u, err := lc.Usage(t.Context(), "r")
		require.NoError(t, err)
		require.Equal(t, RunUsage{want, used(7, 12*time.Second)}, u)
		stats, err := lc.Stats(t.Context())
		require.NoError(t, err)
		require.Equal(t, u.Total, stats.Usage)

		pass(time.Hour) // not working time
		_, err = lc.Reply(t.Context(), "r", interaction.Reply{ID: 1, Text: "yes"})
		require.NoError(t, err)
		pass(10 * time.Second)
		in(t, lc.Client, "r", fsm.StateSucceeded)
		want = append(want, TurnUsage{Attempt: 4, Usage: used(8+16, 2*time.Second)})
		u, err = lc.Usage(t.Context(), "r")
		require.NoError(t, err)
		require.Equal(t, RunUsage{want, used(31, 14*time.Second)}, u)
		stats, err = lc.Stats(t.Context())
		require.NoError(t, err)
		require.Zero(t, stats.Usage, "it has ended")
		mu.Lock()
		defer mu.Unlock()
		require.Len(t, observed, len(want))
		for i := range want {
			require.Equal(t, want[i].Usage, observed[i])
		}
	})
}

// J13: the usage of a turn whose run was canceled is reported to the observer, and not stored. A
// turn whose engine reports nothing has no usage in the store, and its working time in the
// observer.
func TestUsageThatIsNotStored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := make(map[string]EndedTurn)
		lc, stop := serve(t, Config{Observer: Observer{Turn: func(n EndedTurn) { turns[n.RunID] = n }},
			Engine: agent{turn: func(ctx context.Context, in engine.Turn) (engine.Outcome, error) {
				if in.RunID == "plain" {
					time.Sleep(time.Second)
					return finished(), nil
				}
				<-ctx.Done()
				return spending(engine.Outcome{}, 1), ctx.Err()
			}}})
		for _, id := range []string{"plain", "canceled"} {
			_, err := lc.Submit(t.Context(), Spec{ID: id, Prompt: "x"})
			require.NoError(t, err)
		}
		pass(2 * time.Second)
		require.NoError(t, lc.Cancel(t.Context(), "canceled", ""))
		synctest.Wait()
		for id, want := range map[string]Usage{"plain": used(0, time.Second), "canceled": used(1, 2*time.Second)} {
			u, err := lc.Usage(t.Context(), id)
			require.NoError(t, err)
			require.Equal(t, RunUsage{}, u)
			require.Equal(t, want, turns[id].Usage)
			require.Equal(t, id == "plain", turns[id].Stored)
		}
		stop()
	})
}

// Meta reaches each turn and the observer, whatever happens to the run. It is no part of the
// comparison of repeated submissions, and of no event.
func TestMetaReachesTurnsAndTheObserver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		meta := map[string]string{"traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}
		var seen []map[string]string // by turns and the observer, one after the other
		lc, stop := serve(t, Config{Observer: Observer{Turn: func(n EndedTurn) { seen = append(seen, n.Meta) }},
			Engine: agent{turn: func(_ context.Context, in engine.Turn) (engine.Outcome, error) {
				seen = append(seen, in.Meta)
				if in.Attempt == 1 {
					return asking("Go on?"), nil
				}
				return finished(), nil
			}}})
		_, err := lc.Submit(t.Context(), Spec{ID: "r", Prompt: "x", Meta: meta})
		require.NoError(t, err)
		synctest.Wait()
		for _, other := range []map[string]string{nil, {"traceparent": "another"}} {
			_, known, err := lc.GetOrSubmit(t.Context(), Spec{ID: "r", Prompt: "x", Meta: other})
			require.NoError(t, err)
			require.True(t, known)
		}
		_, err = lc.Reply(t.Context(), "r", interaction.Reply{ID: 1, Text: "yes"})
		require.NoError(t, err)
		synctest.Wait()
		require.Equal(t, []map[string]string{meta, meta, meta, meta}, seen)
		for event, err := range lc.Events(t.Context(), "r", 0) {
			require.NoError(t, err)
			require.NotContains(t, string(event.Data), "traceparent")
		}
		stop()
	})
}

// L5: what Start calls a turn is stored by the commit that ends the turn, and the next turn is
// given it, also in another process. It stays as it is if Start returns no trace for a turn, and if
// the observer panics, which changes nothing else. The engine and the notice have Start's context.
func TestL5WhatStartCallsATurnIsStoredWithItsEnd(t *testing.T) {
	type mark struct{}
	synctest.Test(t, func(t *testing.T) {
		var seen []string
		start := func(ctx context.Context, s StartedTurn) (context.Context, string) {
			seen = append(seen, fmt.Sprintf("turn %d after %q", s.Attempt, s.Before))
			require.Equal(t, "of the run", s.Meta["meta"])
			require.True(t, time.Now().Equal(s.At))
			if s.Attempt == 2 {
				panic("no exporter")
			}
			name := map[int]string{1: "first", 3: strings.Repeat("x", maxTrace+1), 4: "last"}[s.Attempt]
			return context.WithValue(ctx, mark{}, s.Attempt), name
		}
		ended := func(n EndedTurn) {
			require.Equal(t, n.Attempt == 2, n.Context == nil)
			if n.Context != nil {
				require.Equal(t, n.Attempt, n.Context.Value(mark{}))
			}
		}
		cfg := Config{Store: memory.New(), Observer: Observer{Start: start, Turn: ended},
			Engine: agent{turn: func(ctx context.Context, in engine.Turn) (engine.Outcome, error) {
				require.Equal(t, in.Attempt == 2, ctx.Value(mark{}) == nil)
				if in.Attempt < 4 {
					return asking("Go on?"), nil
				}
				return finished(), nil
			}}}
		spec := Spec{ID: "r", Prompt: "x", Meta: map[string]string{"meta": "of the run"}}
		for attempt, stored := range []string{"first", "first", "first", "last"} {
			lc, stop := serve(t, cfg) // another process each time
			var err error
			if attempt == 0 {
				_, err = lc.Submit(t.Context(), spec)
			} else {
				_, err = lc.Reply(t.Context(), "r", interaction.Reply{ID: attempt, Text: "yes"})
			}
			require.NoError(t, err)
			synctest.Wait()
			run, err := lc.Get(t.Context(), "r")
			require.NoError(t, err)
			require.Equal(t, stored, run.Trace)
			require.Equal(t, attempt+1, run.Attempt)
			stop()
		}
		require.Equal(t, []string{`turn 1 after ""`, `turn 2 after "first"`, `turn 3 after "first"`,
			`turn 4 after "first"`}, seen)
	})
}
