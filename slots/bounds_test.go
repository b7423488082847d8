package slots_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/interlude-go/interlude/slots"
)

// With k keys waiting at one priority, each is served within k picks, wherever the turns stand and however many one of them has.
func TestEachKeyIsServedWithinOneRound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k := rapid.IntRange(1, 8).Draw(t, "keys")
		q := &queue{}
		for i := range k {
			for j := range rapid.IntRange(10, 40).Draw(t, "queued") {
				q.runs = append(q.runs, ready{id: fmt.Sprintf("%d-%02d", i, j), key: fmt.Sprint("key", i), age: j})
			}
		}
		last := rapid.SampledFrom([]string{"", "key0", "key3", "zz", "a"}).Draw(t, "last")
		p := slots.Pool{Name: "p", Capacity: 100}
		var served []string
		for len(served) < 3*k {
			ids, next, err := slots.Select(p, use(nil), q, rapid.IntRange(1, 3).Draw(t, "want"), last)
			require.NoError(t, err)
			require.NotEmpty(t, ids)
			last = next
			served = append(served, q.start(ids)...)
		}
		for i := range len(served) - k + 1 {
			in := map[string]bool{}
			for _, key := range served[i : i+k] {
				in[key] = true
			}
			require.Len(t, in, k, "picks %d to %d of %v", i, i+k, served)
		}
	})
}

// I13: seeks follow what is picked, the keys that have no room, and the priorities; never what waits.
func TestSeeksAreBounded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q := drawQueue(t)
		for i := range rapid.IntRange(0, 300).Draw(t, "more of one key") {
			q.runs = append(q.runs, ready{id: fmt.Sprintf("big%03d", i), key: "b", age: i})
		}
		p := slots.Pool{Name: "p", Capacity: rapid.IntRange(1, 30).Draw(t, "capacity"), KeyCapacity: rapid.IntRange(0, 3).Draw(t, "keyCapacity")}
		ids, _, err := slots.Select(p, use(nil), q, rapid.IntRange(1, 30).Draw(t, "want"), rapid.SampledFrom([]string{"", "b"}).Draw(t, "last"))
		require.NoError(t, err)
		seeks := q.seeks

		type lane struct {
			priority int
			key      string
		}
		started, priorities, full := map[string]int{}, map[int]bool{}, map[lane]bool{}
		for _, key := range q.start(ids) {
			started[key]++
		}
		for _, r := range q.runs {
			priorities[r.priority] = true
			if p.KeyCapacity > 0 && r.key != "" && started[r.key] >= p.KeyCapacity {
				full[lane{r.priority, r.key}] = true
			}
		}
		require.LessOrEqual(t, seeks, 3*len(ids)+len(full)+4*len(priorities)+8)
	})
}

// broken is a queue whose store fails at the nth seek.
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

func (b *broken) Key(priority int, after string, inclusive bool) (string, bool, error) {
	if err := b.fails(); err != nil {
		return "", false, err
	}
	return b.queue.Key(priority, after, inclusive)
}

func (b *broken) Oldest(priority int, key string, n int) ([]string, error) {
	if err := b.fails(); err != nil {
		return nil, err
	}
	return b.queue.Oldest(priority, key, n)
}

// Wherever the store fails, its error is the answer, nothing is picked, and the turns stand where they stood.
func TestAFailedSeekPicksNothing(t *testing.T) {
	q := queue{runs: []ready{{"a1", "a", 1, 1}, {"b1", "b", 0, 2}, {"b2", "b", 0, 3}, {"n1", "", 0, 4}}}
	whole := q
	_, _, err := slots.Select(slots.Pool{Name: "p", Capacity: 9}, use(nil), &whole, 9, "b")
	require.NoError(t, err)
	require.Positive(t, whole.seeks)
	disk := errors.New("disk is gone")
	for at := range whole.seeks {
		ids, served, err := slots.Select(slots.Pool{Name: "p", Capacity: 9}, use(nil), &broken{queue: q, at: at, err: disk}, 9, "b")
		require.ErrorIs(t, err, disk, "at seek %d", at)
		require.Empty(t, ids)
		require.Equal(t, "b", served)
	}
}

// A pool that was made smaller than what is held in it starts nothing.
func TestAFullPoolStartsNothing(t *testing.T) {
	q := &queue{runs: []ready{{"a", "", 0, 1}}}
	for _, held := range []int{2, 3} {
		ids, served, err := slots.Select(slots.Pool{Name: "p", Capacity: 2}, slots.Use{Total: held}, q, 5, "k")
		require.NoError(t, err)
		require.Empty(t, ids)
		require.Equal(t, "k", served)
	}
	require.Zero(t, q.seeks, "and costs nothing")
}
