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
