package lifecycle

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/contract/fcmp"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/lifecycle/internal/decide"
	"github.com/interlude-go/interlude/slots"
	"github.com/interlude-go/interlude/store"
	"github.com/interlude-go/interlude/store/memory"
)

// newStore is a store in memory with room for a thousand turns.
func newStore(tb testing.TB) *memory.Store {
	tb.Helper()
	s := memory.New()
	require.NoError(tb, s.SetPool(tb.Context(), slots.Pool{Name: slots.DefaultPool, Capacity: 1000}))
	tb.Cleanup(func() { s.Close() })
	return s
}

// clientOf is a client that says nothing.
func clientOf(tb testing.TB, s store.Store) *Client {
	tb.Helper()
	c, err := NewClient(ClientConfig{Store: s, Logger: slog.New(slog.DiscardHandler)})
	require.NoError(tb, err)
	tb.Cleanup(c.Close)
	return c
}

// hintless hides that a store has hints.
type hintless struct{ store.Store }

// submitted submits a run and adds warnings until it has so many events.
func submitted(tb testing.TB, c *Client, id string, events uint64) {
	tb.Helper()
	run, err := c.Submit(tb.Context(), Spec{ID: id, Prompt: "x"})
	require.NoError(tb, err)
	for run.Seq < events {
		diagnostic := decide.Warning(interaction.Diagnostic{Code: fsm.WarnEngineDiagnostic})
		cm, err := decide.Report(&run, c.proc.Now(), nil, diagnostic)
		require.NoError(tb, err)
		require.NoError(tb, c.proc.Commit(tb.Context(), cm))
		run = cm.Run
	}
}

// TestEventsFollowsARunSubmittedAgain: a run of ten events is pruned while a reader that has seen
// five of them is busy, and another is submitted under the same id. Readers know a run only by its
// id, so a reader that returns after a prune cannot tell the two apart. Its result then depends on
// what it missed: the rest of the old run, if hints had brought it; an error, if the new run has
// ended before its cursor; nothing more, if it has ended at it; the new run's events beyond its
// cursor, otherwise. It never panics, never sees a number twice, and ends when the run with its id
// has.
func TestEventsFollowsARunSubmittedAgain(t *testing.T) {
	for _, c := range []struct {
		name   string
		hints  bool
		events uint64 // of the new run, including its end; 0: no new run
		last   uint64 // that the reader sees
		err    error
	}{
		{"hints brought the old run's end", true, 3, 10, nil},
		{"hints brought the old run's end, and there is no new one", true, 0, 10, nil},
		{"there is no new one", false, 0, 5, ErrNotFound},
		{"the new one is shorter", false, 3, 5, ErrCursorBeyondEnd},
		{"the new one ends at the cursor", false, 5, 5, nil},
		{"the new one ends just beyond the cursor", false, 6, 6, nil},
		{"the new one is as long", false, 10, 10, nil},
		{"the new one is longer", false, 15, 15, nil},
	} {
		for _, late := range []bool{false, true} { // the new run ends while a reader waits for its events
			name := c.name
			if late {
				name += ", and ends later"
			}
			t.Run(name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					var s store.Store = newStore(t)
					if !c.hints {
						s = hintless{s}
					}
					client := clientOf(t, s)
					submitted(t, client, "r", 5)

					var seqs []uint64
					var failure error
					busy := make(chan struct{})
					var reader sync.WaitGroup
					reader.Go(func() {
						for e, err := range client.Events(t.Context(), "r", 0) {
							if failure = err; err != nil {
								return
							}
							if seqs = append(seqs, e.Seq); e.Seq == 5 {
								<-busy
							}
						}
					})
					synctest.Wait()
					submitAgain(t, client, 5)
					n, err := client.Prune(t.Context(), time.Now().Add(time.Hour))
					require.NoError(t, err)
					require.Equal(t, 1, n)
					end := func() {}
					if c.events > 0 {
						submitted(t, client, "r", c.events-1)
						end = func() { require.NoError(t, client.Cancel(t.Context(), "r", "")) }
					}
					if !late {
						end()
					}
					close(busy)
					if late {
						time.Sleep(time.Hour) // the bubble's time
						end()
					}
					start := time.Now()
					reader.Wait()
					require.ErrorIs(t, failure, c.err)
					for i, seq := range seqs {
						require.EqualValues(t, i+1, seq, "in order and once")
					}
					require.Len(t, seqs, int(c.last))
					require.LessOrEqual(t, time.Since(start), (recheckAfter+1)*time.Second)
				})
			})
		}
	}
}

// again adds so many events to the run, the last of which ends it.
func submitAgain(tb testing.TB, c *Client, events int) {
	tb.Helper()
	run, err := c.Get(tb.Context(), "r")
	require.NoError(tb, err)
	for range events - 1 {
		diagnostic := decide.Warning(interaction.Diagnostic{Code: fsm.WarnEngineDiagnostic})
		cm, err := decide.Report(&run, c.proc.Now(), nil, diagnostic)
		require.NoError(tb, err)
		require.NoError(tb, c.proc.Commit(tb.Context(), cm))
		run = cm.Run
	}
	require.NoError(tb, c.Cancel(tb.Context(), "r", ""))
}

// TestWaitFollowsARunSubmittedAgain: Wait returns the end of the old run if a hint has brought it,
// and otherwise the new run's, or ErrNotFound if it reads the store before there is a new run.
func TestWaitFollowsARunSubmittedAgain(t *testing.T) {
	for _, hints := range []bool{true, false} {
		for _, made := range []bool{true, false} {
			synctest.Test(t, func(t *testing.T) {
				var s store.Store = newStore(t)
				if !hints {
					s = hintless{s}
				}
				client := clientOf(t, s)
				submitted(t, client, "r", 3)
				type answer struct {
					run Run
					err error
				}
				got := make(chan answer, 1)
				go func() {
					run, err := client.Wait(t.Context(), "r")
					got <- answer{run, err}
				}()
				synctest.Wait()
				submitAgain(t, client, 1)
				_, err := client.Prune(t.Context(), time.Now().Add(time.Hour))
				require.NoError(t, err)
				if made {
					submitted(t, client, "r", 7)
					time.Sleep(time.Minute) // the bubble's time
					require.NoError(t, client.Cancel(t.Context(), "r", ""))
				}
				a := <-got
				switch {
				case hints:
					require.NoError(t, a.err)
					require.EqualValues(t, 4, a.run.Seq)
				case made:
					require.NoError(t, a.err)
					require.EqualValues(t, 8, a.run.Seq)
				default:
					require.ErrorIs(t, a.err, ErrNotFound)
				}
			})
		}
	}
}

// counted is a store that counts how often its events are read.
type counted struct {
	store.Store
	store.Watcher
	looks atomic.Int64
}

func (s *counted) Events(ctx context.Context, id string, after uint64, limit int) ([]store.Event, error) {
	s.looks.Add(1)
	return s.Store.Events(ctx, id, after, limit)
}

func (s *counted) Run(ctx context.Context, id string) (store.Run, error) {
	s.looks.Add(1)
	return s.Store.Run(ctx, id)
}

func TestEventsReadsTheStoreOncePerPoll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		below := newStore(t)
		s := &counted{Store: below, Watcher: below}
		client, writer := clientOf(t, s), clientOf(t, below)
		submitted(t, writer, "r", 3)
		var last Event
		var failure error
		var reader sync.WaitGroup
		reader.Go(func() {
			for e, err := range client.Events(t.Context(), "r", 0) {
				last, failure = e, errors.Join(failure, err)
			}
		})
		synctest.Wait()
		before := s.looks.Load()
		run, err := writer.Get(t.Context(), "r")
		require.NoError(t, err)
		for range 1000 {
			cm, err := decide.Report(&run, writer.proc.Now(), nil,
				decide.Warning(interaction.Diagnostic{Code: fsm.WarnEngineDiagnostic}))
			require.NoError(t, err)
			require.NoError(t, writer.proc.Commit(t.Context(), cm))
			run = cm.Run
			synctest.Wait()
		}
		require.Equal(t, before, s.looks.Load(), "hints brought a thousand events")
		time.Sleep(160*time.Second + time.Millisecond) // the bubble's time
		synctest.Wait()
		require.LessOrEqual(t, s.looks.Load()-before, int64(160+160/recheckAfter),
			"a look for a poll, and now and then one "+
				"more")
		require.NoError(t, writer.Cancel(t.Context(), "r", ""))
		reader.Wait()
		require.NoError(t, failure)
		require.Equal(t, fcmp.TypeStateChanged, last.Type)
		require.EqualValues(t, 1004, last.Seq)
	})
}
