package sqlite_test

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/slots"
	"github.com/interlude-go/interlude/store"
	"github.com/interlude-go/interlude/store/sqlite"
)

// grouped are the two ways in which claims come to the file.
var grouped = map[string]sqlite.Options{
	"group commit":   quick,
	"each by itself": {WatchInterval: -1, Synchronous: sqlite.Normal, NoGroupCommit: true},
}

// working is a store with the node "n", without the run "kept".
func working(t *testing.T, o sqlite.Options) *sqlite.Store {
	t.Helper()
	s, _ := openMade(t, o)
	join(t, s, "n")
	put(t, s, end(start(t, s, 1)[0].Run))
	return s
}

// queued puts runs in the queue, the first one the oldest.
func queued(t *testing.T, s *sqlite.Store, ids ...string) {
	t.Helper()
	for i, id := range ids {
		c := newRun(id, 10)
		c.Run.QueuedAt = noon.Add(time.Duration(i+1) * time.Second)
		put(t, s, c)
	}
}

func ids(claimed []store.Claimed) (all []string) {
	for _, c := range claimed {
		all = append(all, c.Run.ID)
	}
	return all
}

var errStart = errors.New("the workspace is missing")

// I3: a run whose Start fails, in whatever way, is unchanged and takes no slot. The others are
// claimed, the error names the run, and the store keeps working.
func TestClaimSkipsRunWhoseStartFails(t *testing.T) {
	plainly := claim("n").Start
	stores := map[string]*sqlite.Store{}
	for way, options := range grouped {
		stores[way] = working(t, options)
	}
	for name, c := range map[string]struct {
		start func(r store.Run, spec []byte) (store.Commit, error)
		want  error
	}{
		"an error": {func(store.Run, []byte) (store.Commit, error) { return store.Commit{}, errStart }, errStart},
		"a panic":  {func(store.Run, []byte) (store.Commit, error) { panic(errStart) }, store.ErrInvalid},
		"a nil map": {func(r store.Run, _ []byte) (store.Commit, error) {
			r.Labels["x"] = "y"
			return store.Commit{}, nil
		}, store.ErrInvalid},
		"no commit": {func(store.Run, []byte) (store.Commit, error) { return store.Commit{}, nil }, store.ErrInvalid},
		"another's run": {func(r store.Run, spec []byte) (store.Commit, error) {
			c, err := plainly(r, spec)
			c.Run.Owner = "m"
			return c, err
		}, store.ErrInvalid},
		"events with a gap": {func(r store.Run, spec []byte) (store.Commit, error) {
			c, err := plainly(r, spec)
			c.Run.Seq++
			c.Events[0].Seq++
			return c, err
		}, store.ErrInvalid},
	} {
		for way, s := range stores {
			for first, bad := range []int{0, 2} { // the first in the queue, and one amid others
				t.Run(fmt.Sprintf("%s/%s/%d", name, way, bad), func(t *testing.T) {
					var all []string
					for _, letter := range []string{"a", "b", "c", "d"} {
						all = append(all, fmt.Sprintf("%s-%d-%s", strings.ReplaceAll(name, " ", "-"), first, letter))
					}
					queued(t, s, all...)
					before, err := s.Run(t.Context(), all[bad])
					require.NoError(t, err)
					req := claim("n")
					req.Max = 4
					req.Start = func(r store.Run, spec []byte) (store.Commit, error) {
						if r.ID == all[bad] {
							return c.start(r, spec)
						}
						return plainly(r, spec)
					}
					claimed, err := s.Claim(t.Context(), req)
					require.ErrorIs(t, err, c.want)
					require.ErrorContains(t, err, "run "+all[bad])
					require.Equal(t, slices.Delete(slices.Clone(all), bad, bad+1), ids(claimed))
					after, err := s.Run(t.Context(), all[bad])
					require.NoError(t, err)
					require.Equal(t, before, after)
					pools, err := s.Pools(t.Context())
					require.NoError(t, err)
					require.Equal(t, 3, pools[0].Held)

					last := start(t, s, 4)
					require.Equal(t, all[bad:bad+1], ids(last))
					for _, r := range append(claimed, last...) {
						put(t, s, end(r.Run))
					}
				})
			}
		}
	}
}

// A specification of any size is returned unchanged by a claim, by the next claim of the same
// run and by a read, also after the file is opened again.
func TestSpecIsReturnedUnchanged(t *testing.T) {
	path := closedFile(t)
	given := map[string][]byte{"kept": []byte("{}")}
	var s *sqlite.Store
	again := func() {
		if s != nil {
			require.NoError(t, s.Close())
		}
		var err error
		s, err = sqlite.Open(t.Context(), path, quick)
		require.NoError(t, err)
		require.NoError(t, s.SetPool(t.Context(), slots.Pool{Name: slots.DefaultPool, Capacity: 100}))
	}
	again()
	defer func() { require.NoError(t, s.Close()) }()
	join(t, s, "n")
	for _, size := range []int{1, sqlite.MaxInline - 1, sqlite.MaxInline, sqlite.MaxInline + 1, 50 << 10} {
		c := newRun(fmt.Sprint("spec-", size), 10)
		for i := range size {
			c.Spec = append(c.Spec[:i], byte(i*7)) // any bytes, zeros and line breaks too
		}
		given[c.Run.ID] = bytes.Clone(c.Spec)
		put(t, s, c)
	}
	require.Equal(t, 2, number(t, plain(t, path), `SELECT count(*) FROM specs`), "the others stand in their run's row")
	asGiven := func() {
		t.Helper()
		claimed := start(t, s, 100)
		require.Len(t, claimed, len(given))
		for _, c := range claimed {
			require.Equal(t, given[c.Run.ID], c.Spec, c.Run.ID)
			told := report(c.Run)
			parked := ask(told.Run)
			put(t, s, told, parked, answer(parked.Run, fmt.Sprint("key", parked.Run.Interactions)))
		}
		for id, spec := range given {
			got, err := s.Spec(t.Context(), id)
			require.NoError(t, err)
			require.Equal(t, spec, got, id)
		}
	}
	asGiven()
	asGiven()
	again()
	asGiven()
	asGiven()
	claimed := start(t, s, 100)
	for _, c := range claimed {
		put(t, s, end(c.Run))
	}
	n, err := s.Prune(t.Context(), noon.Add(time.Hour), 100)
	require.NoError(t, err)
	require.Equal(t, len(given), n)
	require.Zero(t, number(t, plain(t, path), `SELECT count(*) FROM specs`))
}

// Without group commit each claimed run has a separate transaction, and a claim still starts up to
// Max runs; with it they share one transaction.
func TestClaimCountsTransactions(t *testing.T) {
	for way, options := range grouped {
		t.Run(way, func(t *testing.T) {
			s := working(t, options)
			queued(t, s, "a", "b", "c", "d", "e")
			flushes := func(runs int) uint64 {
				if options.NoGroupCommit {
					return uint64(runs)
				}
				return 1
			}
			before := s.Counters()
			require.Equal(t, []string{"a", "b", "c"}, ids(start(t, s, 3)))
			after := s.Counters()
			require.EqualValues(t, 3, after.Commits-before.Commits)
			require.Equal(t, flushes(3), after.Flushes-before.Flushes)
			before = after
			require.Equal(t, []string{"d"}, ids(start(t, s, 3)), "the pool has room for 4")
			require.Empty(t, start(t, s, 3))
			after = s.Counters()
			require.EqualValues(t, 1, after.Commits-before.Commits)
			require.EqualValues(t, 1, after.Flushes-before.Flushes, "a claim that finds nothing writes nothing")
		})
	}
}

// A claim starts as many runs as a pool has room for: the higher priority first, then by key, then
// by age. If there is not room for all, keys take turns, beginning after the key served last. The
// capacities of the pool and of the key are never exceeded. All this holds across the engines of a
// node, and queued runs of other engines change nothing (J4).
func TestClaimKeepsOrderAndCapacity(t *testing.T) {
	for name, engines := range map[string][]string{"any engine": nil, "two engines": {"e", "f", "unused"}} {
		t.Run(name, func(t *testing.T) { takesOfAPool(t, engines) })
	}
}

// takesOfAPool claims runs of the engines "e" and "f"; in addition, unless engines is nil, runs of
// "other" come before all of them by priority, key and age.
func takesOfAPool(t *testing.T, engines []string) {
	t.Helper()
	// Written as key-priority-age, in the order of their creation.
	ready := []string{"b-0-2", "b-0-1", "a-0-3", "c-9-5", "-0-4", "a-9-6", "a-9-1", "b-0-0"}
	ofE := []int{0, 4, 7} // of these, for the engine "e": it has none of the highest priority, and not all keys
	all := []string{"a-9-1", "a-9-6", "c-9-5", "-0-4", "a-0-3", "b-0-0", "b-0-1", "b-0-2"}
	s := working(t, quick)
	for n, c := range []struct {
		name string
		pool slots.Pool
		held []string // hold a slot already, by key
		want []string
		max  int
	}{
		{"room for all", slots.Pool{Capacity: 100}, nil, all, 100},
		{"room for just all", slots.Pool{Capacity: 8}, nil, all, 8},
		{"room for all beside others", slots.Pool{Capacity: 10}, []string{"a", "z"}, all, 100},
		{"no room", slots.Pool{Capacity: 2}, []string{"a", "z"}, nil, 100},
		{"less than no room", slots.Pool{Capacity: 1}, []string{"a", "z"}, nil, 100},
		{"room for one less: keys take turns", slots.Pool{Capacity: 7}, nil,
			[]string{"a-9-1", "c-9-5", "a-9-6", "b-0-0", "-0-4", "a-0-3", "b-0-1"}, 100},
		{"room for two beside another", slots.Pool{Capacity: 3}, []string{"z"}, []string{"a-9-1", "c-9-5"}, 100},
		{"fewer asked for", slots.Pool{Capacity: 100}, nil, []string{"a-9-1"}, 1},
		{"two for each key", slots.Pool{Capacity: 100, KeyCapacity: 2}, nil,
			[]string{"a-9-1", "c-9-5", "a-9-6", "b-0-0", "-0-4", "b-0-1"}, 100},
		{"one for each key, a and c have theirs", slots.Pool{Capacity: 100, KeyCapacity: 1}, []string{"a", "c"},
			[]string{"b-0-0", "-0-4"}, 100},
		{"one for each key, and none in the pool", slots.Pool{Capacity: 1, KeyCapacity: 1}, []string{"z"}, nil, 100},
		{"one for each key, and two in the pool", slots.Pool{Capacity: 3, KeyCapacity: 1}, []string{"z"},
			[]string{"a-9-1", "c-9-5"}, 100},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.pool.Name = fmt.Sprint("pool-", n)
			before := c.pool
			before.Capacity, before.KeyCapacity = 100, 0
			require.NoError(t, s.SetPool(t.Context(), before))
			queue := func(engine, id, key string, priority, age int) {
				q := newRun(c.pool.Name+id, 10)
				q.Run.Engine = engine
				q.Run.Pool, q.Run.Key, q.Run.Priority, q.Run.QueuedAt = c.pool.Name, key, priority,
					noon.Add(time.Duration(age)*time.Second)
				put(t, s, q)
			}
			for i, key := range c.held {
				queue("e", fmt.Sprint("held", i), key, 0, 0)
			}
			held := start(t, s, 100)
			require.Len(t, held, len(c.held))
			require.NoError(t, s.SetPool(t.Context(), c.pool))
			for i, name := range ready {
				key, rest, _ := strings.Cut(name, "-")
				engine := "f"
				if slices.Contains(ofE, i) {
					engine = "e"
				}
				queue(engine, "run"+name, key, int(rest[0]-'0'), int(rest[2]-'0'))
			}
			var want []string
			for _, name := range c.want {
				want = append(want, c.pool.Name+"run"+name)
			}
			if engines != nil {
				for _, key := range []string{"", "a", "b"} {
					queue("other", "other"+key, key, 9, 0)
				}
			}
			req := claim("n")
			req.Max, req.Engines = c.max, engines
			claimed, err := s.Claim(t.Context(), req)
			require.NoError(t, err)
			require.Equal(t, want, ids(claimed))

			require.NoError(t, s.SetPool(t.Context(), before)) // for the next case, everything ends
			for _, r := range slices.Concat(held, claimed, start(t, s, 100)) {
				put(t, s, end(r.Run))
			}
		})
	}
}
