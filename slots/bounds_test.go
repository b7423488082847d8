package slots_test

import (
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/interlude-go/interlude/slots"
)

// I13: the number of calls depends only on the priorities, except for a logarithm; the read rows
// depend on the picks and on the keys without room; nothing depends on the number of waiting runs.
func TestSelectBoundsItsCallsAndWhatTheyRead(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawScene(t)
		for i := range rapid.IntRange(0, 300).Draw(t, "more of one key") {
			s.runs = append(s.runs, ready{id: fmt.Sprintf("big%03d", i), key: "b", age: i})
		}
		q := &queue{runs: s.runs}
		ids, _, err := q.choose(s.pool, s.held, s.want, s.last)
		require.NoError(t, err)

		type lane struct {
			priority int
			key      string
		}
		started, lanes, full := map[string]int{}, map[int]map[string]bool{}, map[lane]bool{}
		for _, r := range s.runs {
			if lanes[r.priority] == nil {
				lanes[r.priority] = map[string]bool{}
			}
			lanes[r.priority][r.key] = true
		}
		rounds := q.keys // priorities at which something was looked for
		for _, key := range q.start(ids) {
			started[key]++
		}
		for priority, keys := range lanes {
			for key := range keys {
				if s.pool.KeyCapacity > 0 && key != "" && s.held[key]+started[key] >= s.pool.KeyCapacity {
					full[lane{priority, key}] = true
				}
			}
		}
		require.LessOrEqual(t, rounds, len(lanes))
		require.LessOrEqual(t, q.priorities, rounds+1)
		looks := 0.0 // at most, each time that keys share slots
		for _, keys := range lanes {
			looks += 1 + math.Log2(float64(max(1, s.want)*len(keys)))/2
		}
		require.LessOrEqual(t, float64(q.looks), looks)
		require.LessOrEqual(t, q.passed, len(full))
		require.LessOrEqual(t, q.rows, 5*len(ids)+2*len(full))
	})
}

// I13: with hundreds of keys, all of them waiting with as much as you like, a claim is three calls:
// which priority, which keys, which runs.
func TestSelectCallsDoNotGrowWithKeysOrRuns(t *testing.T) {
	for _, keys := range []int{1, 7, 256} {
		for _, each := range []int{20, 200} {
			q := &queue{}
			for i := range keys * each {
				q.runs = append(q.runs, ready{fmt.Sprintf("%06d", i), fmt.Sprintf("k%03d", i%keys), 0, i})
			}
			ids, _, err := q.choose(slots.Pool{Name: "p", Capacity: 100, KeyCapacity: 30}, nil, 16, "k100")
			require.NoError(t, err)
			require.Len(t, ids, 16)
			require.Equal(t, 3, q.calls(), "%d keys", keys)
			require.Less(t, q.rows, 3*16)
		}
	}
}

// Keys that were filled at a higher priority are passed over at a lower one, and the next ones are
// found without another call.
func TestSelectSkipsFullKeysWithoutACall(t *testing.T) {
	q, held := &queue{}, map[string]int{}
	for i := range 50 {
		key := fmt.Sprintf("k%02d", i)
		held[key] = 1
		q.runs = append(q.runs, ready{"low-" + key, key, 0, i})
		if i < 20 {
			q.runs = append(q.runs, ready{"high-" + key, key, 1, i})
		}
	}
	ids, served, err := q.choose(slots.Pool{Name: "p", Capacity: 100, KeyCapacity: 2}, held, 25, "k09")
	require.NoError(t, err)
	require.Equal(t, "high-k09", ids[19], "where the turns stand then: before ten keys that have what they may have")
	require.Equal(t, []string{"low-k20", "low-k21", "low-k22", "low-k23", "low-k24"}, ids[20:])
	require.Equal(t, "k24", served)
	require.Equal(t, 6, q.calls())
	require.Equal(t, 20+20+25+5, q.rows, "keys and runs at 1, keys and runs at 0")
}

// broken is a queue whose store fails at the nth call.
type broken struct {
	queue
	at  int
	err error
}

func (b *broken) fails() error {
	if b.at--; b.at < 0 {
		return b.err
	}
	return nil
}

func (b *broken) Priority(below int) (int, bool, error) {
	if err := b.fails(); err != nil {
		return 0, false, err
	}
	return b.queue.Priority(below)
}

func (b *broken) Keys(priority int, last string, n int) ([]slots.Key, error) {
	if err := b.fails(); err != nil {
		return nil, err
	}
	return b.queue.Keys(priority, last, n)
}

func (b *broken) Oldest(priority int, wants []slots.Want) ([][]string, error) {
	if err := b.fails(); err != nil {
		return nil, err
	}
	return b.queue.Oldest(priority, wants)
}

// If a call of the store fails, its error is returned, nothing is picked, and the turns do not
// change.
func TestSelectPicksNothingWhenACallFails(t *testing.T) {
	q := queue{runs: []ready{{"a1", "a", 1, 1}, {"b1", "b", 0, 2}, {"b2", "b", 0, 3}, {"n1", "", 0, 4}}}
	p, whole := slots.Pool{Name: "p", Capacity: 9, KeyCapacity: 9}, q
	_, _, err := whole.choose(p, nil, 9, "b")
	require.NoError(t, err)
	require.Greater(t, whole.calls(), 6)
	disk := errors.New("disk is gone")
	for at := range whole.calls() {
		ids, served, err := slots.Select(p, 0, &broken{queue: q, at: at, err: disk}, 9, "b")
		require.ErrorIs(t, err, disk, "at call %d", at)
		require.Empty(t, ids)
		require.Equal(t, "b", served)
	}
}

// A pool reduced below its held slots starts nothing.
func TestSelectPicksNothingFromAFullPool(t *testing.T) {
	q := &queue{runs: []ready{{"a", "", 0, 1}}}
	for _, held := range []int{2, 3} {
		ids, served, err := slots.Select(slots.Pool{Name: "p", Capacity: 2}, held, q, 5, "k")
		require.NoError(t, err)
		require.Empty(t, ids)
		require.Equal(t, "k", served)
	}
	require.Zero(t, q.calls(), "and costs nothing")
}
