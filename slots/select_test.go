package slots_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/interlude-go/interlude/slots"
)

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
