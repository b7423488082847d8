package slots_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/interlude-go/interlude/slots"
)

// moving is a queue where runs come and go before each call, and slots come free.
type moving struct {
	queue
	t    *rapid.T
	seen map[string]ready // every run that ever waited
}

func (m *moving) move() {
	for range rapid.SampledFrom([]int{0, 0, 1, 5}).Draw(m.t, "gone") {
		if n := len(m.runs); n > 0 {
			i := rapid.IntRange(0, n-1).Draw(m.t, "which")
			m.runs = slices.Delete(m.runs, i, i+1)
		}
	}
	for range rapid.SampledFrom([]int{0, 0, 1, 5}).Draw(m.t, "come") {
		m.runs = append(m.runs, ready{
			id: fmt.Sprint("new", len(m.seen)), key: rapid.SampledFrom([]string{"", "a", "b", "e"}).Draw(m.t,
				"its key"),
			priority: rapid.IntRange(-1, 1).Draw(m.t, "its priority"), age: rapid.IntRange(-9, 9).Draw(m.t, "its age"),
		})
		m.seen[m.runs[len(m.runs)-1].id] = m.runs[len(m.runs)-1]
	}
	for _, key := range []string{"a", "b"} {
		if m.held[key] > 0 && rapid.Bool().Draw(m.t, "freed") {
			m.held[key]--
		}
	}
}

func (m *moving) Priority(below int) (int, bool, error) {
	m.move()
	return m.queue.Priority(below)
}

func (m *moving) Keys(priority int, last string, n int) ([]slots.Key, error) {
	m.move()
	return m.queue.Keys(priority, last, n)
}

func (m *moving) Oldest(priority int, wants []slots.Want) ([][]string, error) {
	m.move()
	return m.queue.Oldest(priority, wants)
}

// Runs that come and go between the calls lead neither to a run picked twice, nor to more than
// there is room for, nor to a look without end.
func TestSelectWhileRunsComeAndGo(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q := drawQueue(t)
		p := slots.Pool{Name: "p", Capacity: rapid.IntRange(1, 30).Draw(t, "capacity"), KeyCapacity: rapid.IntRange(0,
			4).Draw(t, "keyCapacity")}
		held := map[string]int{"a": rapid.IntRange(0, 4).Draw(t, "held"), "b": rapid.IntRange(0, 4).Draw(t, "held")}
		free := min(p.Capacity-total(held), rapid.IntRange(1, 30).Draw(t, "want"))
		m := &moving{queue: queue{runs: q.runs, pool: p, held: held}, t: t, seen: map[string]ready{}}
		for _, r := range q.runs {
			m.seen[r.id] = r
		}
		ids, _, err := slots.Select(p, total(held), m, free, "a")
		require.NoError(t, err)
		require.LessOrEqual(t, len(ids), max(0, free))
		started := map[string]int{}
		for i, id := range ids {
			require.NotContains(t, ids[:i], id)
			r := m.seen[id]
			if started[r.key]++; p.KeyCapacity > 0 && r.key != "" {
				require.LessOrEqual(t, m.held[r.key]+started[r.key], p.KeyCapacity, r.key)
			}
		}
	})
}

// fading is a queue of which a run goes between the look at the keys and the look at their runs.
type fading struct {
	queue

	goes string
}

func (f *fading) Keys(priority int, last string, n int) ([]slots.Key, error) {
	keys, err := f.queue.Keys(priority, last, n)
	f.runs = slices.DeleteFunc(f.runs, func(r ready) bool { return r.id == f.goes })
	return keys, err
}

// A run that waits all the time is not skipped for a run of lower priority because another run
// left.
func TestSelectFillsAVanishedRunsPlaceByPriority(t *testing.T) {
	runs := []ready{{"a1", "a", 1, 1}, {"b1", "b", 1, 2}, {"c1", "c", 0, 0}}
	q := &fading{queue: queue{runs: runs}, goes: "a1"}
	ids, served, err := slots.Select(slots.Pool{Name: "p", Capacity: 1}, 0, q, 1, "")
	require.NoError(t, err)
	require.Equal(t, []string{"b1"}, ids)
	require.Equal(t, "b", served)

	q = &fading{queue: queue{runs: append([]ready{{"b2", "b", 1, 3}}, runs...)}, goes: "a1"}
	ids, _, err = slots.Select(slots.Pool{Name: "p", Capacity: 2}, 0, q, 2, "")
	require.NoError(t, err)
	require.Equal(t, []string{"b1", "b2"}, ids, "each once, though the queue shows it until the claim is stored")
}

// changing is a queue in which something happens after each look at its keys.
type changing struct {
	queue

	after []func(q *queue) // of the first look, of the second, …
}

func (c *changing) Keys(priority int, last string, n int) ([]slots.Key, error) {
	keys, err := c.queue.Keys(priority, last, n)
	if len(c.after) > 0 {
		c.after[0](&c.queue)
		c.after = c.after[1:]
	}
	return keys, err
}

// gone makes runs go.
func gone(q *queue, ids ...string) {
	q.runs = slices.DeleteFunc(q.runs, func(r ready) bool { return slices.Contains(ids, r.id) })
}

// A key with picked runs is read again past them: new runs are not skipped for lower priorities.
func TestSelectSeesRunsThatArriveMeanwhile(t *testing.T) {
	q := &changing{queue: queue{runs: []ready{{"a1", "a", 1, 1}, {"b1", "b", 1, 1}, {"c1", "c", 1, 1},
		{"e1", "e", 1, 1}, {"z1", "z", 0, 0}}}}
	q.after = []func(*queue){
		func(q *queue) {
			gone(q, "a1", "c1", "e1")
			q.runs = append(q.runs, ready{"d1", "d", 1, 1})
		},
		func(q *queue) {
			gone(q, "d1")
			q.runs = append(q.runs, ready{"b2", "b", 1, 2}, ready{"b3", "b", 1, 3}, ready{"b4", "b", 1, 4})
		},
	}
	ids, served, err := slots.Select(slots.Pool{Name: "p", Capacity: 4}, 0, q, 4, "")
	require.NoError(t, err)
	require.Equal(t, []string{"b1", "b2", "b3", "b4"}, ids)
	require.Equal(t, "b", served)
}

// fleeting is a queue that has runs of as many keys as are asked for, which are gone when it is
// asked for them.
type fleeting struct{ rounds map[int]int } // by priority

func (f fleeting) Priority(below int) (int, bool, error) {
	return min(2, below-1), below > 1, nil
}

func (f fleeting) Keys(priority int, _ string, n int) ([]slots.Key, error) {
	f.rounds[priority]++
	keys := make([]slots.Key, n)
	for i := range keys {
		keys[i].Name = fmt.Sprint("key", i)
	}
	return keys, nil
}

func (f fleeting) Oldest(_ int, wants []slots.Want) ([][]string, error) {
	return make([][]string, len(wants)), nil
}

// I13: runs that are always gone when they are looked at cost eight looks more, in all, and then
// the lower priorities have their turn.
func TestSelectGivesUpRunsThatAlwaysVanish(t *testing.T) {
	f := fleeting{rounds: map[int]int{}}
	ids, served, err := slots.Select(slots.Pool{Name: "p", Capacity: 3}, 0, f, 3, "k")
	require.NoError(t, err)
	require.Empty(t, ids)
	require.Equal(t, "k", served)
	require.Equal(t, map[int]int{2: 9, 1: 1}, f.rounds)
}
