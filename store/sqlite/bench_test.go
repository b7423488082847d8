package sqlite_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/slots"
	"github.com/interlude-go/interlude/store"
	"github.com/interlude-go/interlude/store/sqlite"
)

// bench opens a new store, with synchronous=FULL as hosts have it, the default pool without bounds
// and the node "n".
func bench(b *testing.B, o sqlite.Options) *sqlite.Store {
	b.Helper()
	s, err := sqlite.Open(b.Context(), filepath.Join(b.TempDir(), "runs.db"), o)
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, s.Close()) })
	require.NoError(b, s.SetPool(b.Context(), slots.Pool{Name: slots.DefaultPool, Capacity: slots.MaxCapacity}))
	require.NoError(b, s.Join(b.Context(), store.Node{ID: "n", Lease: time.Hour}, noon))
	return s
}

func put(tb testing.TB, s *sqlite.Store, batch ...store.Commit) {
	tb.Helper()
	for _, err := range s.Commit(tb.Context(), batch) {
		require.NoError(tb, err)
	}
}

// start has node "n" start up to limit runs.
func start(tb testing.TB, s *sqlite.Store, limit int) []store.Claimed {
	tb.Helper()
	req := claim("n")
	req.Max = limit
	claimed, err := s.Claim(tb.Context(), req)
	require.NoError(tb, err)
	return claimed
}

// park fills the store with parked runs, each with a deadline.
func park(tb testing.TB, s *sqlite.Store, runs int) {
	tb.Helper()
	for i := 0; i < runs; i += store.MaxBatch {
		batch := make([]store.Commit, min(store.MaxBatch, runs-i))
		for j := range batch {
			batch[j] = newRun(fmt.Sprintf("parked-%d", i+j), 300)
		}
		put(tb, s, batch...)
		for j, c := range start(tb, s, len(batch)) {
			batch[j] = ask(c.Run)
		}
		put(tb, s, batch...)
	}
}

// The time is for the whole batch, its fsync included.
func BenchmarkCommit(b *testing.B) {
	for _, size := range []int{1, 16, 256} {
		b.Run(fmt.Sprintf("batch=%d", size), func(b *testing.B) {
			s := bench(b, quiet)
			batch := make([]store.Commit, size)
			for i := range batch {
				batch[i] = newRun(fmt.Sprintf("run-%d", i), 300)
			}
			put(b, s, batch...)
			b.ReportAllocs()
			for b.Loop() {
				for i := range batch {
					batch[i] = report(batch[i].Run)
				}
				put(b, s, batch...)
			}
			b.ReportMetric(float64(size*b.N)/b.Elapsed().Seconds(), "commits/s")
		})
	}
}

// The cost of refusing a late reply, by the number of questions that its run has asked.
func BenchmarkLateReply(b *testing.B) {
	for _, questions := range []int{10, 10_000} {
		b.Run(fmt.Sprintf("questions=%d", questions), func(b *testing.B) {
			s := bench(b, quick)
			put(b, s, newRun("run", 300))
			for range questions {
				asked := ask(start(b, s, 1)[0].Run)
				put(b, s, asked, answer(asked.Run, ""))
			}
			c, err := lifecycle.NewClient(lifecycle.ClientConfig{Store: s})
			require.NoError(b, err)
			defer c.Close()
			for b.Loop() {
				_, err := c.Reply(b.Context(), "run", interaction.Reply{ID: 5, Text: "no"})
				require.ErrorIs(b, err, lifecycle.ErrSettled)
			}
		})
	}
}

// A listing by labels that nothing matches, next to runs with many long labels.
func BenchmarkListingByLabel(b *testing.B) {
	s := bench(b, quick)
	labels := make(map[string]string)
	for i := range lifecycle.MaxLabels {
		labels[fmt.Sprint("label-", i)] = strings.Repeat("x", 255)
	}
	for i := range 20 {
		batch := make([]store.Commit, 500)
		for j := range batch {
			batch[j] = newRun(fmt.Sprintf("run-%d-%d", i, j), 300)
			batch[j].Run.Labels = labels
		}
		put(b, s, batch...)
	}
	for name, query := range map[string]map[string]string{"none": {"label-1": "y"},
		"none of many": {"label-1": labels["label-1"], "label-2": "y"}, "all": {"label-1": labels["label-1"]}} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				_, err := s.Runs(b.Context(), store.Query{Labels: query})
				require.NoError(b, err)
			}
		})
	}
}

// The duration of a read next to followers of runs that do not change, while another process
// writes.
func BenchmarkReadBesideFollowers(b *testing.B) {
	for _, followers := range []int{0, 20_000} {
		b.Run(fmt.Sprintf("followers=%d", followers), func(b *testing.B) {
			path := filepath.Join(b.TempDir(), "runs.db")
			var both [2]*sqlite.Store
			for i := range both {
				s, err := sqlite.Open(b.Context(), path, sqlite.Options{Synchronous: sqlite.Normal})
				require.NoError(b, err)
				both[i] = s
			}
			s, other := both[0], both[1]
			require.NoError(b, s.SetPool(b.Context(), slots.Pool{Name: slots.DefaultPool, Capacity: slots.MaxCapacity}))
			require.NoError(b, s.Join(b.Context(), store.Node{ID: "n", Lease: time.Hour}, noon))
			park(b, s, max(followers, 1))
			c, err := lifecycle.NewClient(lifecycle.ClientConfig{Store: s, Poll: time.Hour})
			require.NoError(b, err)
			ctx, cancel := context.WithCancel(b.Context())
			var work sync.WaitGroup
			for i := range followers {
				work.Go(func() { _, _ = c.Wait(ctx, fmt.Sprintf("parked-%d", i)) })
			}
			work.Go(func() {
				pace := time.NewTicker(time.Millisecond)
				defer pace.Stop()
				for next := newRun("busy", 10); ctx.Err() == nil; next = report(next.Run) {
					put(b, other, next)
					<-pace.C
				}
			})
			for b.Loop() {
				_, err := s.Run(b.Context(), "parked-0")
				require.NoError(b, err)
			}
			cancel()
			work.Wait()
			c.Close()
			require.NoError(b, s.Close())
			require.NoError(b, other.Close())
		})
	}
}

// Callers with one commit each: the case for a shared flush.
func BenchmarkConcurrentCommits(b *testing.B) {
	for _, callers := range []int{64, 256} {
		for _, alone := range []bool{false, true} {
			b.Run(fmt.Sprintf("callers=%d/group=%t", callers, !alone), func(b *testing.B) {
				s := bench(b, sqlite.Options{WatchInterval: -1, NoGroupCommit: alone})
				runs := make([]store.Commit, callers)
				for i := range runs {
					runs[i] = newRun(fmt.Sprintf("run-%d", i), 300)
				}
				put(b, s, runs...)
				b.ReportAllocs()
				b.ResetTimer()
				shareOut(b, callers, func(caller, _ int) {
					runs[caller] = report(runs[caller].Run)
					put(b, s, runs[caller])
				})
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "commits/s")
			})
		}
	}
}

// The store's part of a run that asks once: submit, claim, ask, reply, claim, finish.
func BenchmarkRoundTrip(b *testing.B) {
	for _, callers := range []int{1, 64, 256} {
		b.Run(fmt.Sprintf("callers=%d", callers), func(b *testing.B) {
			s := bench(b, quiet)
			b.ReportAllocs()
			b.ResetTimer()
			shareOut(b, callers, func(_, n int) {
				put(b, s, newRun(fmt.Sprintf("run-%d", n), 300))
				for _, c := range start(b, s, 1) { // whichever is next
					if len(c.Run.Answers) > 0 {
						put(b, s, end(c.Run))
						continue
					}
					parked := ask(c.Run)
					put(b, s, parked)
					put(b, s, answer(parked.Run, "k"))
				}
				for _, c := range start(b, s, 1) {
					if len(c.Run.Answers) > 0 {
						put(b, s, end(c.Run))
						continue
					}
					parked := ask(c.Run)
					put(b, s, parked)
					put(b, s, answer(parked.Run, "k"))
				}
			})
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "runs/s")
		})
	}
}

// I13 J4: a claim of one of a hundred ready runs, next to parked ones, and queued ones of an engine
// that the node does not have.
func BenchmarkClaim(b *testing.B) {
	for _, c := range []struct{ parked, foreign int }{{0, 0}, {100_000, 0}, {0, 100_000}} {
		b.Run(fmt.Sprintf("parked=%d/foreign=%d", c.parked, c.foreign), func(b *testing.B) {
			s := bench(b, quiet)
			park(b, s, c.parked)
			for i := 0; i < c.foreign; i += store.MaxBatch {
				batch := make([]store.Commit, min(store.MaxBatch, c.foreign-i))
				for j := range batch {
					batch[j] = newRun(fmt.Sprintf("foreign-%d", i+j), 300)
					batch[j].Run.Engine, batch[j].Run.Priority = "foreign", 1
				}
				put(b, s, batch...)
			}
			req := claim("n")
			req.Max, req.Engines = 1, []string{"e"}
			n := 0
			for ; n < 100; n++ {
				put(b, s, newRun(fmt.Sprintf("run-%d", n), 300))
			}
			b.ReportAllocs()
			b.ResetTimer()
			for range b.N {
				claimed, err := s.Claim(b.Context(), req)
				b.StopTimer()
				require.NoError(b, err)
				require.Len(b, claimed, 1)
				put(b, s, end(claimed[0].Run), newRun(fmt.Sprintf("run-%d", n), 300))
				n++
				b.StartTimer()
			}
		})
	}
}

// I13: a claim of 16 runs of a pool where 256 keys have four ready ones each, and some of the keys
// have no room.
func BenchmarkClaimAmongKeys(b *testing.B) {
	for _, full := range []int{0, 128} {
		b.Run(fmt.Sprintf("full=%d", full), func(b *testing.B) {
			const keys = 256
			s := bench(b, quiet)
			require.NoError(b, s.SetPool(b.Context(), slots.Pool{Name: slots.DefaultPool, Capacity: 1000,
				KeyCapacity: 2}))
			n := 0
			submit := func(key string) {
				c := newRun(fmt.Sprintf("run-%d", n), 10)
				c.Run.Key = key
				put(b, s, c)
				n++
			}
			for i := range 2 * full {
				submit(fmt.Sprintf("key-%03d", i%full*keys/full)) // between the others
			}
			require.Len(b, start(b, s, 2*full+1), 2*full)
			for i := range 4 * keys {
				submit(fmt.Sprintf("key-%03d", i%keys))
			}
			b.ReportAllocs()
			b.ResetTimer()
			for range b.N {
				claimed := start(b, s, 16)
				b.StopTimer()
				require.Len(b, claimed, 16)
				for _, c := range claimed {
					put(b, s, end(c.Run))
					submit(c.Run.Key)
				}
				b.StartTimer()
			}
		})
	}
}

// shareOut has the callers do b.N pieces of work, numbered from 0.
func shareOut(b *testing.B, callers int, do func(caller, n int)) {
	b.Helper()
	var next atomic.Int64
	var all sync.WaitGroup
	for caller := range callers {
		all.Go(func() {
			for n := int(next.Add(1)) - 1; n < b.N; n = int(next.Add(1)) - 1 {
				do(caller, n)
			}
		})
	}
	all.Wait()
}

// F8: a reader of a run of 10,000 events, a page at a time, from the first one; and one who
// follows, from the last but one.
func BenchmarkEvents(b *testing.B) {
	s := bench(b, quiet)
	const total, page = 10_000, 256
	c := newRun("run", 300)
	put(b, s, c)
	for c.Run.Seq < total {
		c = report(c.Run)
		put(b, s, c)
	}
	b.Run("replay", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			for after := uint64(0); after < total; {
				events, err := s.Events(b.Context(), "run", after, page)
				require.NoError(b, err)
				after += uint64(len(events))
			}
		}
		b.ReportMetric(float64(total*b.N)/b.Elapsed().Seconds(), "events/s")
	})
	b.Run("follow", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			events, err := s.Events(b.Context(), "run", total-1, page)
			require.NoError(b, err)
			require.Len(b, events, 1)
		}
	})
}
