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

func TestSelectByPriorityThenKeysInTurnThenAge(t *testing.T) {
	q := &queue{runs: []ready{
		{"a1", "a", 0, 1}, {"a2", "a", 0, 2}, {"a3", "a", 0, 3},
		{"b1", "b", 0, 9}, {"none", "", 0, 5}, {"urgent", "z", 7, 99},
	}}
	ids, served, err := q.choose(slots.Pool{Name: "p", Capacity: 10}, nil, 10, "a")
	require.NoError(t, err)
	require.Equal(t, []string{"urgent", "none", "a1", "b1", "a2", "a3"}, ids)
	require.Equal(t, "a", served)
}

func TestSelectSkipsAKeyAtItsCapacity(t *testing.T) {
	q := &queue{runs: []ready{{"a1", "a", 0, 1}, {"a2", "a", 0, 2}, {"b1", "b", 0, 3}, {"n1", "", 0, 4},
		{"n2", "", 0, 5}, {"n3", "", 0, 6}}}
	p := slots.Pool{Name: "p", Capacity: 10, KeyCapacity: 2}
	ids, _, err := q.choose(p, map[string]int{"a": 1, "b": 2}, 10, "")
	require.NoError(t, err)
	require.ElementsMatch(t, []string{"a1", "n1", "n2", "n3"}, ids, "the empty key has no bound of its own")
}

func TestPoolValidateNamesField(t *testing.T) {
	require.NoError(t, slots.Pool{Name: slots.DefaultPool, Capacity: 1}.Validate())
	longest := strings.Repeat("p", slots.MaxName)
	require.NoError(t, slots.Pool{Name: longest, Capacity: 1}.Validate())
	require.ErrorIs(t, slots.Pool{Name: longest + "p", Capacity: 1}.Validate(), slots.ErrInvalidPool)
	require.NoError(t, slots.Pool{Name: "p", Capacity: slots.MaxCapacity, KeyCapacity: slots.MaxCapacity}.Validate())
	for _, p := range []slots.Pool{
		{Capacity: 1}, {Name: "a b", Capacity: 1}, {Name: "p"}, {Name: "p", Capacity: -1},
		{Name: "p", Capacity: slots.MaxCapacity + 1}, {Name: "p", Capacity: 1, KeyCapacity: -1},
		{Name: "p", Capacity: 1, KeyCapacity: slots.MaxCapacity + 1},
	} {
		require.ErrorIs(t, p.Validate(), slots.ErrInvalidPool, "%+v", p)
	}
}

// drawQueue makes a random queue.
func drawQueue(t *rapid.T) *queue {
	q := &queue{}
	for i := range rapid.IntRange(0, 40).Draw(t, "queued") {
		q.runs = append(q.runs, ready{
			id:       fmt.Sprintf("r%02d", i),
			key:      rapid.SampledFrom([]string{"", "a", "b", "c", "d"}).Draw(t, "key"),
			priority: rapid.IntRange(-1, 1).Draw(t, "priority"),
			age:      rapid.IntRange(0, 9).Draw(t, "age"),
		})
	}
	return q
}

// D5: capacity is never exceeded, no free slot is left while a run could take it, and the order is
// kept.
func TestSelectFillsThePoolAndNeverMore(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q := drawQueue(t)
		p := slots.Pool{Name: "p", Capacity: rapid.IntRange(1, 12).Draw(t, "capacity"), KeyCapacity: rapid.IntRange(0,
			4).Draw(t, "keyCapacity")}
		held := map[string]int{}
		for _, key := range []string{"", "a", "b"} {
			held[key] = rapid.IntRange(0, 3).Draw(t, "held")
		}
		want := rapid.IntRange(1, 20).Draw(t, "want")
		last := rapid.SampledFrom([]string{"", "a", "c", "zz"}).Draw(t, "last")
		all := slices.Clone(q.runs)

		ids, _, err := q.choose(p, held, want, last)
		require.NoError(t, err)
		again, _, _ := q.choose(p, held, want, last)
		require.Equal(t, ids, again, "the selection is deterministic")

		free := min(want, p.Capacity-total(held))
		require.LessOrEqual(t, len(ids), max(0, free))
		byID := map[string]ready{}
		for _, r := range all {
			byID[r.id] = r
		}
		started := map[string]int{}
		for i, id := range ids {
			r := byID[id]
			started[r.key]++
			require.False(t, slices.Contains(ids[:i], id), "nothing is picked twice")
			if i > 0 {
				require.GreaterOrEqual(t, byID[ids[i-1]].priority, r.priority)
			}
			if p.KeyCapacity > 0 && r.key != "" {
				require.LessOrEqual(t, held[r.key]+started[r.key], p.KeyCapacity)
			}
		}
		q.start(ids)
		if len(ids) < free {
			for _, r := range q.runs {
				require.True(t, p.KeyCapacity > 0 && r.key != "" && held[r.key]+started[r.key] >= p.KeyCapacity,
					"run %s could have taken a free slot", r.id)
			}
		}
	})
}

// D5: what some keys do not need goes to the others, to the last slot, before anybody of lower
// priority has one.
func TestSelectGivesUnusedSharesToOtherKeys(t *testing.T) {
	q := &queue{runs: []ready{{"low", "a", 0, 0}}}
	for key, n := range map[string]int{"a": 30, "b": 2, "c": 2, "d": 5} {
		for i := range n {
			q.runs = append(q.runs, ready{fmt.Sprint(key, i), key, 1, i})
		}
	}
	ids, _, err := q.choose(slots.Pool{Name: "p", Capacity: 16}, nil, 16, "d")
	require.NoError(t, err)
	require.Equal(t, []string{"a0", "b0", "c0", "d0", "a1", "b1", "c1", "d1", "a2", "d2", "a3", "d3", "a4", "d4", "a5",
		"a6"}, ids)
}

// A tenant with 100,000 queued runs does not delay another's first.
func TestSelectServesKeysInTurn(t *testing.T) {
	q := &queue{}
	for i := range 300 {
		q.runs = append(q.runs, ready{fmt.Sprintf("big%03d", i), "big", 0, i})
	}
	for i, key := range []string{"x", "y", "z"} {
		q.runs = append(q.runs, ready{"first-" + key, key, 0, 1000 + i})
	}
	last := ""
	var keys []string
	for range 4 {
		ids, served, err := q.choose(slots.Pool{Name: "p", Capacity: 1}, nil, 1, last)
		require.NoError(t, err)
		last = served
		keys = append(keys, q.start(ids)...)
	}
	require.ElementsMatch(t, []string{"big", "x", "y", "z"}, keys, "each of four keys is served within four picks")
}
