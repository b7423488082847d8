package exec_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/engine/enginetest"
	"github.com/interlude-go/interlude/engine/exec"
	"github.com/interlude-go/interlude/fsm"
)

// I11: an agent over its memory limit is ended, and its turn fails with that reason, even if it
// said that it is done.
func TestMaxMemoryFailsTheTurn(t *testing.T) {
	const limit = 300 << 20
	bounded := func(c *exec.Config) { c.MaxMemory = limit }
	for name, steps := range map[string][]string{
		"at once":             {"done all is well", "grow 400000000", "hang"},
		"and does not listen": {"ignoreterm", "done all is well", "grow 200000000", "grow 200000000", "hang"},
	} {
		t.Run(name, func(t *testing.T) {
			o, err := scriptedWith(t, bounded).RunTurn(t.Context(), job(t, steps...), &enginetest.Recorder{})
			require.NoError(t, err)
			require.Equal(t, engine.Failed, o.Process.Status)
			require.Equal(t, fsm.CodeEngineFailed, o.Process.Code)
			require.Regexp(t, "because of its memory: its processes held [0-9]+ bytes of memory, more than 314572800",
				o.Process.Detail)
		})
	}
	o, err := scriptedWith(t, bounded).RunTurn(t.Context(), job(t, "grow 1000000", "done all is well"),
		&enginetest.Recorder{})
	require.NoError(t, err)
	require.Equal(t, engine.OK, o.Process.Status, o.Process.Detail)
}

// I11: a resident agent over its memory limit between turns is lost, with that reason.
func TestMaxMemoryHoldsBetweenTheTurnsOfAResidentAgent(t *testing.T) {
	cfg := staying(t, t.TempDir())
	cfg.MaxMemory = 300 << 20
	e := started(t, cfg)
	lost := make(chan error, 1)
	defer e.OnLoss(func(_ string, reason error) { lost <- reason })()
	turn := job(t, "final ok", `raw "{\"type\":\"turn_end\"}\n"`, "await go", "grow 400000000", "hang")
	o, err := e.RunTurn(t.Context(), turn, &enginetest.Recorder{})
	require.NoError(t, err)
	require.Equal(t, engine.OK, o.Process.Status, o.Process.Detail)
	require.NoError(t, os.WriteFile(filepath.Join(turn.ArtifactDir, "go"), nil, 0o600))
	require.ErrorContains(t, <-lost, "more than 314572800")
	require.NoError(t, e.Close())
}

func TestNegativeMaxMemoryIsRefused(t *testing.T) {
	cfg := scripted(t, t.TempDir())
	cfg.MaxMemory = -1
	_, err := exec.New(cfg)
	require.ErrorContains(t, err, "must not be negative")
}
