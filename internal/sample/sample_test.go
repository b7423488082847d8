package sample_test

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/internal/sample"
)

// As many consecutive numbers as there are parts select each part once. Without a number, all parts
// are selected.
func TestConsecutiveNumbersSelectEachPartOnce(t *testing.T) {
	for _, parts := range []int{1, 2, 3, 4} {
		for i := range 3 * parts {
			t.Setenv(sample.Env, "")
			require.True(t, sample.Has(i, parts))
			chosen := 0
			for n := range parts {
				t.Setenv(sample.Env, strconv.Itoa(1000+n))
				if sample.Has(i, parts) {
					chosen++
				}
			}
			require.Equal(t, 1, chosen, "part %d of %d", i, parts)
		}
	}
}

// The printed selection names the agent that is driven.
func TestPartsNameTheSelection(t *testing.T) {
	t.Setenv(sample.Env, "")
	require.Equal(t, []string{"every case"}, sample.Parts())
	for n, agent := range sample.Agents {
		t.Setenv(sample.Env, strconv.Itoa(n))
		require.Equal(t, "real agents: "+agent, sample.Parts()[0])
		require.True(t, sample.Has(n, sample.AgentParts))
	}
}
