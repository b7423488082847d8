package slots_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/interlude-go/interlude/slots"
)

// scene is everything that a selection depends on.
type scene struct {
	pool slots.Pool
	held map[string]int // slots by key
	runs []ready
	want int
	last string
}

// drawScene draws keys and priorities with many runs and few, keys and pools with and without room,
// and turns that start at a key, between two, and beyond all.
func drawScene(t *rapid.T) scene {
	s := scene{held: map[string]int{}}
	keys := []string{"", "a", "aa", "b", "c", "d", "\x7f", "é", "ü"}
	for range rapid.SampledFrom([]int{0, 0, 10, 30}).Draw(t, "more keys") {
		keys = append(keys, fmt.Sprintf("k%02d", len(keys)))
	}
	keys = keys[rapid.IntRange(0, 1).Draw(t, "without the empty key"):]
	top := rapid.IntRange(0, 3).Draw(t, "priorities")
	for range rapid.SampledFrom([]int{0, 1, 3, 10, 30, 60}).Draw(t, "groups") {
		key, priority := rapid.SampledFrom(keys).Draw(t, "key"), rapid.IntRange(-1, top).Draw(t, "priority")
		for range rapid.SampledFrom([]int{1, 1, 2, 5, 20}).Draw(t, "runs") {
			s.runs = append(s.runs, ready{id: fmt.Sprintf("r%03d", len(s.runs)), key: key, priority: priority,
				age: rapid.IntRange(0, 9).Draw(t, "age")})
		}
	}
	total := 0
	for range rapid.SampledFrom([]int{0, 1, 5, 20}).Draw(t, "held") {
		s.held[rapid.SampledFrom(keys).Draw(t, "holder")]++
		total++
	}
	s.pool = slots.Pool{
		Name:        "p",
		Capacity:    max(1, total+rapid.SampledFrom([]int{-2, 0, 1, 3, 10, 30, 60}).Draw(t, "room")),
		KeyCapacity: rapid.SampledFrom([]int{0, 1, 2, 3, 8}).Draw(t, "key capacity"),
	}
	s.want = rapid.SampledFrom([]int{0, 1, 2, 5, 20, 60}).Draw(t, "want")
	s.last = rapid.SampledFrom(append(keys, "", "0", "bb", "zz", "ÿ")).Draw(t, "last")
	return s
}

// reference gives the slots away one by one, looking at everything each time: to the highest
// priority at which a key with room has a run, there to the first such key after the one served
// last, or else to the first of all, and of its runs to the oldest.
func reference(s scene) (ids []string, served string) {
	held, free, waiting := map[string]int{}, s.pool.Capacity, slices.Clone(s.runs)
	for key, n := range s.held {
		held[key] = n
		free -= n
	}
	served = s.last
	for range min(free, s.want) {
		next := -1
		for i, r := range waiting {
			full := s.pool.KeyCapacity > 0 && r.key != "" && held[r.key] >= s.pool.KeyCapacity
			if !full && (next < 0 || sooner(r, waiting[next], served)) {
				next = i
			}
		}
		if next < 0 {
			break
		}
		r := waiting[next]
		waiting = slices.Delete(waiting, next, next+1)
		held[r.key]++
		ids, served = append(ids, r.id), r.key
	}
	return ids, served
}

// sooner reports whether the one run's turn is before the other's, when the key was served last.
func sooner(a, b ready, served string) bool {
	if a.priority != b.priority {
		return a.priority > b.priority
	}
	if a.key != b.key {
		if behindA, behindB := a.key > served, b.key > served; behindA != behindB {
			return behindA
		}
		return a.key < b.key
	}
	if a.age != b.age {
		return a.age < b.age
	}
	return strings.Compare(a.id, b.id) < 0
}

// Looking at a few keys and runs, in bulk, comes to the same as looking at all of them for each
// slot (D5).
func TestSelectPicksWhatTheReferencePicks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawScene(t)
		want, last := reference(s)
		ids, served, err := (&queue{runs: s.runs}).choose(s.pool, s.held, s.want, s.last)
		require.NoError(t, err)
		require.Equal(t, want, ids)
		require.Equal(t, last, served)
	})
}
