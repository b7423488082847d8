package memory_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/slots"
	"github.com/interlude-go/interlude/store"
	"github.com/interlude-go/interlude/store/memory"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// step is a commit on the record with one event of a usual size.
func step(r store.Run, change func(*store.Run)) store.Commit {
	expect := r.Version
	r.Version++
	r.Seq++
	change(&r)
	c := store.Commit{Run: r, Expect: expect, Events: []store.Event{{Seq: r.Seq, Body: body}}}
	if expect == 0 {
		c.Spec = body
	}
	return c
}

var body = fmt.Appendf(nil, "{%0300d}", 1)

func submit(id string) store.Commit {
	return step(store.Run{}, func(r *store.Run) {
		*r = store.Run{
			ID: id, Version: 1, Seq: 1, Pool: "p", Mode: fsm.ModeInteractive, State: fsm.StateQueued, CreatedAt: noon,
			UpdatedAt: noon, QueuedAt: noon,
			Recovery: store.RecoveryNone,
		}
	})
}

func startTurn(r store.Run, _ []byte) (store.Commit, error) {
	return step(r, func(r *store.Run) {
		r.State = fsm.StateRunning
		r.Attempt++
	}), nil
}

func ask(r store.Run) store.Commit {
	return step(r, func(r *store.Run) {
		r.State, r.Slot, r.Deadline = fsm.StateWaitingUser, false, noon.Add(time.Hour)
		r.Interactions++
		r.Open = []interaction.Question{{ID: r.Interactions, Prompt: "Go on?", AskedAt: noon}}
	})
}

func answer(r store.Run) store.Commit {
	a := interaction.Reply{ID: r.Open[0].ID, Text: "yes"}.Answer(noon)
	settled := interaction.Settle(r.Open[0], a, "k", "d")
	c := step(r, func(r *store.Run) {
		r.State, r.Owner, r.Open, r.Deadline, r.Answers = fsm.StateQueued, "", nil, time.Time{}, []interaction.Answer{a}
	})
	c.Settled = []interaction.Record{settled}
	return c
}

func finish(r store.Run) store.Commit {
	return step(r, func(r *store.Run) {
		r.State, r.FinishedAt, r.Slot, r.Owner, r.Answers = fsm.StateSucceeded, noon, false, "", nil
	})
}

func put(tb testing.TB, s store.Store, batch ...store.Commit) {
	tb.Helper()
	for _, err := range s.Commit(tb.Context(), batch) {
		require.NoError(tb, err)
	}
}

func claim(tb testing.TB, s store.Store, limit int) []store.Claimed {
	tb.Helper()
	claimed, err := s.Claim(tb.Context(), store.ClaimRequest{Node: "n", Now: noon, Max: limit, Start: startTurn})
	require.NoError(tb, err)
	return claimed
}

// withParked runs a benchmark on a store where nothing and where 100,000 runs are parked.
func withParked(b *testing.B, bench func(b *testing.B, s store.Store)) {
	b.Helper()
	for _, parked := range []int{0, 100_000} {
		b.Run(fmt.Sprintf("parked=%d", parked), func(b *testing.B) {
			s := memory.New()
			require.NoError(b, s.SetPool(b.Context(), slots.Pool{Name: "p", Capacity: slots.MaxCapacity}))
			require.NoError(b, s.Join(b.Context(), store.Node{ID: "n", Lease: time.Hour}, noon))
			for i := 0; i < parked; i += store.MaxBatch {
				for j := range store.MaxBatch {
					put(b, s, submit(fmt.Sprintf("parked-%d", i+j)))
				}
				for _, c := range claim(b, s, store.MaxBatch) {
					put(b, s, ask(c.Run))
				}
			}
			b.ReportAllocs()
			b.ResetTimer()
			bench(b, s)
		})
	}
}

// One run a claim, of a queue that is always 100 long.
func BenchmarkClaim(b *testing.B) {
	withParked(b, func(b *testing.B, s store.Store) {
		n := 0
		for ; n < 100; n++ {
			put(b, s, submit(fmt.Sprintf("run-%d", n)))
		}
		for b.Loop() {
			c := claim(b, s, 1)[0]
			b.StopTimer()
			put(b, s, finish(c.Run), submit(fmt.Sprintf("run-%d", n)))
			n++
			b.StartTimer()
		}
	})
}

// Sixteen runs a claim, of a pool where 256 keys have four ready ones each, and some of the keys
// have no room.
func BenchmarkClaimAmongKeys(b *testing.B) {
	for _, full := range []int{0, 128} {
		b.Run(fmt.Sprintf("full=%d", full), func(b *testing.B) {
			const keys = 256
			s := memory.New()
			require.NoError(b, s.SetPool(b.Context(), slots.Pool{Name: "p", Capacity: 1000, KeyCapacity: 2}))
			require.NoError(b, s.Join(b.Context(), store.Node{ID: "n", Lease: time.Hour}, noon))
			n := 0
			queue := func(key string) {
				c := submit(fmt.Sprintf("run-%d", n))
				c.Run.Key = key
				put(b, s, c)
				n++
			}
			for i := range 2 * full {
				queue(fmt.Sprintf("key-%03d", i%full*keys/full)) // between the others
			}
			require.Len(b, claim(b, s, 2*full+1), 2*full)
			for i := range 4 * keys {
				queue(fmt.Sprintf("key-%03d", i%keys))
			}
			b.ReportAllocs()
			for b.Loop() {
				claimed := claim(b, s, 16)
				b.StopTimer()
				require.Len(b, claimed, 16)
				for _, c := range claimed {
					put(b, s, finish(c.Run))
					queue(c.Run.Key)
				}
				b.StartTimer()
			}
		})
	}
}

// The time is for the whole batch.
func BenchmarkCommit(b *testing.B) {
	for _, size := range []int{1, 16, 256} {
		b.Run(fmt.Sprintf("batch=%d", size), func(b *testing.B) {
			withParked(b, func(b *testing.B, s store.Store) {
				runs := make([]store.Run, size)
				batch := make([]store.Commit, size)
				for i := range runs {
					c := submit(fmt.Sprintf("run-%d", i))
					put(b, s, c)
					runs[i] = c.Run
				}
				for b.Loop() {
					for i := range batch {
						batch[i] = step(runs[i], func(*store.Run) {})
						runs[i] = batch[i].Run
					}
					for _, err := range s.Commit(b.Context(), batch) {
						if err != nil {
							b.Fatal(err)
						}
					}
				}
			})
		})
	}
}

// A thousand events, a hundred at a time.
func BenchmarkEvents(b *testing.B) {
	withParked(b, func(b *testing.B, s store.Store) {
		c := submit("run")
		put(b, s, c)
		for range 999 {
			c = step(c.Run, func(*store.Run) {})
			put(b, s, c)
		}
		for b.Loop() {
			for after := uint64(0); after < 1000; {
				events, err := s.Events(b.Context(), "run", after, 100)
				if err != nil {
					b.Fatal(err)
				}
				after = events[len(events)-1].Seq
			}
		}
	})
}

// The store's part of submit, claim, ask, reply, claim, finish.
func BenchmarkRoundTrip(b *testing.B) {
	withParked(b, func(b *testing.B, s store.Store) {
		for n := 0; b.Loop(); n++ {
			put(b, s, submit(fmt.Sprintf("run-%d", n)))
			parked := ask(claim(b, s, 1)[0].Run)
			put(b, s, parked, answer(parked.Run))
			put(b, s, finish(claim(b, s, 1)[0].Run))
		}
	})
}
