package process_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine/process"
)

// I11: descendants count, wherever they are.
func TestMaxMemoryCountsDescendants(t *testing.T) {
	const holds = "dd if=/dev/zero of=/dev/null bs=200M"
	for name, script := range map[string]string{
		"itself":                  "exec " + holds,
		"its group":               holds + " & " + "wait",
		"what left its group":     "setsid " + holds + " & sleep 1000",
		"what it knows no longer": "setsid sh -c '" + holds + " & exit' & sleep 1000",
	} {
		t.Run(name, func(t *testing.T) {
			c := shell(t, script)
			c.MaxMemory = 100 << 20
			p := started(t, c)
			var over *process.MemoryError
			require.ErrorAs(t, p.Err(), &over)
			require.Equal(t, c.MaxMemory, over.Limit)
			require.Greater(t, over.Used, over.Limit)
		})
	}
	c := shell(t, "sleep 0.6") // two samples
	c.MaxMemory = 100 << 20
	require.NoError(t, started(t, c).Err())
}
