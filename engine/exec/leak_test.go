package exec_test

import (
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/engine/enginetest"
	"github.com/interlude-go/interlude/engine/exec"
	"github.com/interlude-go/interlude/interaction"
)

// grace is short: some tests have processes that ignore TERM.
const grace = 200 * time.Millisecond

// patience bounds a wait; pause is the polling interval.
const (
	patience = time.Minute
	pause    = 2 * time.Millisecond
)

// until waits, in this goroutine, until the condition holds.
func until(tb testing.TB, what string, holds func() bool) {
	tb.Helper()
	look := time.NewTicker(pause)
	defer look.Stop()
	for deadline := time.Now().Add(patience); !holds(); <-look.C {
		require.False(tb, time.Now().After(deadline), "waited in vain until %s", what)
	}
}

func answered(text string) []interaction.Answer {
	return []interaction.Answer{{ID: 1, Resolution: interaction.UserReply, Text: text}}
}

// I6, D3: after the turn has returned and the engine is closed, no goroutine, file or record is
// left.
func TestRunTurnLeavesNothingBehind(t *testing.T) {
	dir := t.TempDir()
	warm := started(t, scripted(t, dir))
	_, err := warm.RunTurn(t.Context(), job(t, "final ok"), &enginetest.Recorder{})
	require.NoError(t, err)
	routines, files := runtime.NumGoroutine(), openFiles(t)

	e := started(t, scripted(t, dir))
	for _, steps := range [][]string{{"say one", "final ok"}, {"crash"}, {"long 3000000", "exit 3"},
		{"spawn child", "final ok"}} {
		_, err := e.RunTurn(t.Context(), job(t, steps...), &enginetest.Recorder{})
		require.NoError(t, err)
	}
	_, err = scriptedWith(t, func(c *exec.Config) {
		c.TurnLimit = grace
	}).RunTurn(t.Context(), job(t, "hang"), &enginetest.Recorder{})
	require.NoError(t, err)

	r := started(t, staying(t, dir))
	stop := r.OnLoss(func(string, error) {})
	for _, id := range []string{"r1", "r2", "r3"} {
		turn := job(t, "final ok")
		turn.RunID = id
		o, err := r.RunTurn(t.Context(), turn, &enginetest.Recorder{})
		require.NoError(t, err)
		require.Equal(t, engine.OK, o.Process.Status)
	}
	require.NoError(t, r.Close())
	stop()

	until(t, "all goroutines and files are given back", func() bool {
		return runtime.NumGoroutine() <= routines && openFiles(t) <= files
	})
	records, err := os.ReadDir(scripted(t, dir).StateDir)
	require.NoError(t, err)
	require.Empty(t, records)
}

// openFiles counts this process's open files, where visible.
func openFiles(tb testing.TB) int {
	tb.Helper()
	files, err := os.ReadDir("/proc/self/fd")
	if os.IsNotExist(err) {
		return 0
	}
	require.NoError(tb, err)
	return len(files)
}
