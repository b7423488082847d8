package sample_test

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/internal/sample"
)

// As many numbers as there are parts choose each part once, and without a number all are chosen.
func TestNumbersInARowChooseEachPartOnce(t *testing.T) {
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

// What is printed names the agent that is shown in full.
func TestPartsNameWhatIsChosen(t *testing.T) {
	t.Setenv(sample.Env, "")
	require.Equal(t, []string{"everything is run"}, sample.Parts())
	for n, agent := range sample.Agents {
		t.Setenv(sample.Env, strconv.Itoa(n))
		require.Contains(t, sample.Parts()[0], "real agents: "+agent)
		require.True(t, sample.Has(n, len(sample.Agents)))
		if n < len(sample.AgentsOverACP) {
			require.Contains(t, sample.Parts()[0], "over ACP, "+sample.AgentsOverACP[n])
			require.NotEqual(t, agent, sample.AgentsOverACP[n])
		}
	}
}
