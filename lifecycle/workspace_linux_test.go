package lifecycle

import (
	"context"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/store"
)

// withoutFiles prevents this process from opening more files.
func withoutFiles(t *testing.T) (again func()) {
	t.Helper()
	var limit syscall.Rlimit
	require.NoError(t, syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit))
	none := limit
	none.Cur = 0
	require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &none))
	restored := false
	again = func() {
		if !restored {
			restored = true
			require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit))
		}
	}
	t.Cleanup(again)
	return again
}

// J2: a process that has too many open files cannot read whose folder a run has. That passes, so the
// turn is retried, and the run is not held for an operator.
func TestJ2ATurnWithoutFilesIsRetried(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		asks := func(_ context.Context, in engine.Turn) (engine.Outcome, error) {
			if in.Attempt == 1 {
				return asking("Go on?"), nil
			}
			return finished(), nil
		}
		lc, stop := serve(t, Config{Store: newStore(t), Dir: dir, Forgiving: true, Engine: agent{turn: asks}})
		submit(t, lc, "r")
		synctest.Wait()
		in(t, lc.Client, "r", fsm.StateWaitingUser)
		again := withoutFiles(t)
		_, err := lc.Reply(t.Context(), "r", interaction.Reply{ID: 1, Text: "yes"})
		require.NoError(t, err)
		synctest.Wait()
		run := in(t, lc.Client, "r", fsm.StateQueued)
		require.Equal(t, store.BlockRetry, run.Block.Kind, "%+v", run.Block)
		require.Contains(t, run.Block.Reason, "WORKSPACE_MISSING: workspace: ")
		require.Contains(t, run.Block.Reason, "too many open files")
		require.NotEmpty(t, run.Answers, "the answer waits for the retry")
		again()
		time.Sleep(10 * time.Second)
		synctest.Wait()
		in(t, lc.Client, "r", fsm.StateSucceeded)
		stop()
	})
}
