package lifecycle

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/store"
)

// TestServeLogsNothingWithoutFaults: every logged warning or error is worth reading.
func TestServeLogsNothingWithoutFaults(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := &journal{}
		process := newMortal()
		lc, stop := serve(t, Config{
			Store: newStore(t), Engine: asksOnce(), Engines: map[string]engine.Engine{"process": process},
			Logger: slog.New(log), Concurrency: 2,
		})
		for id, name := range map[string]string{"resumed": "", "replied": "process", "canceled": "process"} {
			_, err := lc.Submit(t.Context(), Spec{ID: id, Prompt: "x", Engine: name})
			require.NoError(t, err)
		}
		_, err := lc.Submit(t.Context(), Spec{ID: "decided", Prompt: "x", AutoDecide: true,
			SessionTimeout: time.Second})
		require.NoError(t, err)
		synctest.Wait()
		for _, id := range []string{"resumed", "replied"} {
			_, err := lc.Reply(t.Context(), id, interaction.Reply{ID: 1, Text: "yes"})
			require.NoError(t, err)
		}
		require.NoError(t, lc.Cancel(t.Context(), "canceled", ""))
		pass(time.Hour)
		for _, id := range []string{"resumed", "replied", "decided"} {
			in(t, lc.Client, id, fsm.StateSucceeded)
		}
		stop()
		require.Empty(t, log.logged())
	})
}

// troubled is a store that is away for one call, or all, and records the calls.
type troubled struct {
	*cut
	joins, claims, expires error

	mu       sync.Mutex
	requests []store.ClaimRequest // guarded by mu
}

func (s *troubled) Join(ctx context.Context, n store.Node, now time.Time) error {
	if s.joins != nil {
		return s.joins
	}
	return s.Store.Join(ctx, n, now)
}

func (s *troubled) Claim(ctx context.Context, req store.ClaimRequest) ([]store.Claimed, error) {
	s.mu.Lock()
	s.requests = append(s.requests, req)
	err := s.claims
	s.mu.Unlock()
	if err != nil {
		return nil, err
	}
	return s.Store.Claim(ctx, req)
}

func (s *troubled) Expire(ctx context.Context, now time.Time, ids ...string) ([]store.Node, error) {
	if s.expires != nil {
		return nil, s.expires
	}
	return s.Store.Expire(ctx, now, ids...)
}

// asked are the claims since the last call of it.
func (s *troubled) asked() []store.ClaimRequest {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.requests
	s.requests = nil
	return all
}

// TestServeFailsIfTheStoreCannotBeJoined, unless the host wants to end anyway.
func TestServeFailsIfTheStoreCannotBeJoined(t *testing.T) {
	s := &troubled{cut: &cut{Store: newStore(t)}, joins: errors.New("connection refused")}
	lc, err := New(Config{Store: s, Engine: agent{}})
	require.NoError(t, err)
	defer lc.Close()
	require.EqualError(t, lc.Serve(t.Context()), "lifecycle: join the store: connection refused")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.NoError(t, lc.Serve(ctx))
}

// TestServeLogsStoreErrorsAndRetries, once in a poll, and when something may have fallen due.
func TestServeLogsStoreErrorsAndRetries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, log := &troubled{cut: &cut{Store: newStore(t)}, claims: errors.New("connection refused")}, &journal{}
		lc, stop := serve(t, Config{Store: s, Engine: agent{}, Logger: slog.New(log), Poll: 2 * time.Second})
		pass(10*time.Second + 1)
		tries := log.logged()
		require.Len(t, tries, 1, "R5: one a minute")
		for _, line := range tries {
			require.Equal(t, "ERROR claim failed; trying again: connection refused", line)
		}
		s.mu.Lock()
		s.claims = nil
		s.mu.Unlock()
		submit(t, lc, "r")
		pass(2 * time.Second)
		in(t, lc.Client, "r", fsm.StateSucceeded)
		s.expires = errors.New("connection refused")
		stop()
		require.Equal(t, append(tries, "WARN lease not given back; it runs out by itself: connection refused"),
			log.logged())
	})
}

// TestClaimAsksForAsManyAsThereIsRoomFor: never more than would hold up the store.
func TestClaimAsksForAsManyAsThereIsRoomFor(t *testing.T) {
	for concurrency, most := range map[int]int{1: 1, 2: 2, 255: 255, 256: 256, 257: 256, 1000: 256} {
		synctest.Test(t, func(t *testing.T) {
			s := &troubled{cut: &cut{Store: newStore(t)}}
			_, stop := serve(t, Config{Store: s, Engine: agent{}, Concurrency: concurrency})
			requests := s.asked()
			require.NotEmpty(t, requests)
			for _, r := range requests {
				if !r.Suspects { // of which it claims one at a time
					require.Equal(t, most, r.Max, "room for %d", concurrency)
				}
			}
			stop()
		})
	}
}

// hinting is a store that is asked, and has hints.
type hinting struct {
	*troubled
	store.Watcher
}

// TestClaimIsHintedAfterAHint: a claim says whether a hint named a queued run since the last one.
func TestClaimIsHintedAfterAHint(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		below := newStore(t)
		s := hinting{&troubled{cut: &cut{Store: below}}, below}
		goOn := make(chan struct{})
		e, _ := until(goOn)
		lc, stop := serve(t, Config{Store: s, Engine: e})
		hinted := func() (all []bool) {
			for _, r := range s.asked() {
				all = append(all, r.Hinted)
			}
			return all
		}
		require.NotContains(t, hinted(), true)
		pass(3 * time.Second)
		looks := hinted()
		require.NotContains(t, looks, true)
		require.GreaterOrEqual(t, len(looks), 3, "in each poll, too")
		submit(t, lc, "r")
		synctest.Wait()
		require.Equal(t, []bool{true}, hinted(), "one that started a turn is no reason to ask again")
		close(goOn)
		synctest.Wait()
		require.NotContains(t, hinted(), true, "the end of a run makes room, and nothing to claim")
		stop()
	})
}

// TestServeEndsIfTheStoreNeverAnswers: what cannot be stored is given up when the grace is
// over, and fifteen seconds for telling it, and left to recovery.
func TestServeEndsIfTheStoreNeverAnswers(t *testing.T) {
	for grace, ends := range map[time.Duration]time.Duration{time.Second: 16 * time.Second,
		30 * time.Second: 45 * time.Second, -1: 15 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			s, log := &refuses{Store: newStore(t), which: func(*store.Commit) error {
				return errors.New("disk full")
			}}, &journal{}
			lc, stop := serve(t, Config{Store: s, Grace: grace, Lease: time.Hour, Logger: slog.New(log),
				Engine: agent{turn: func(ctx context.Context, _ engine.Turn) (engine.Outcome, error) {
					<-ctx.Done()
					return engine.Outcome{}, context.Cause(ctx)
				}}})
			submit(t, lc, "r")
			pass(time.Second)
			start := time.Now()
			stop()
			require.Equal(t, ends, time.Since(start))
			in(t, clientOf(t, s.Store), "r", fsm.StateRunning)
			require.Contains(t, log.logged(), "ERROR turn's result not stored; recovery settles the run: disk full")
		})
	}
}
