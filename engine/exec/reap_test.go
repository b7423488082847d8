//go:build linux

package exec_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	osexec "os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/engine/enginetest"
	"github.com/interlude-go/interlude/engine/exec"
	"github.com/interlude-go/interlude/internal/procid"
)

// killedHost starts a host process and kills it with SIGKILL when the agent has made the files.
func killedHost(t *testing.T, stateDir string, turn engine.Turn, files ...string) {
	t.Helper()
	task, err := json.Marshal(hosting{stateDir, turn})
	require.NoError(t, err)
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := osexec.CommandContext(t.Context(), self)
	cmd.Env = append(os.Environ(), hostEnv+"="+string(task))
	cmd.Stderr = os.Stderr
	require.NoError(t, cmd.Start())
	for _, f := range files {
		pidIn(t, turn, f)
	}
	require.NoError(t, cmd.Process.Kill())
	require.Error(t, cmd.Wait())
}

// pidIn waits for an agent's file with a process number.
func pidIn(t *testing.T, turn engine.Turn, file string) int {
	t.Helper()
	var pid int
	until(t, file+" is made", func() bool {
		body, err := os.ReadFile(filepath.Join(turn.ArtifactDir, file))
		if err == nil {
			pid, err = strconv.Atoi(string(body))
		}
		return err == nil
	})
	return pid
}

func lives(pid int) bool {
	_, err := procid.Of(pid)
	return !errors.Is(err, os.ErrNotExist)
}

// reaper is an engine that shares only StateDir with the host.
func reaper(t *testing.T, stateDir string) *exec.Engine {
	t.Helper()
	cfg := scripted(t, t.TempDir())
	cfg.StateDir = stateDir
	return started(t, cfg)
}

// E7: the next host ends the processes of a killed host, also those outside of the agent's group or
// ignoring signals.
func TestReapEndsTheProcessesOfADeadHost(t *testing.T) {
	dir, turn := t.TempDir(), job(t, "pid self", "spawn child", "detach astray", "touch begun", "hang")
	killedHost(t, dir, turn, "self", "child", "astray")
	self, child, astray := pidIn(t, turn, "self"), pidIn(t, turn, "child"), pidIn(t, turn, "astray")
	until(t, "the agent has died with its host", func() bool { return !lives(self) })
	require.True(t, lives(child), "the kernel ends only the agent itself")
	require.True(t, lives(astray))

	e := reaper(t, dir)
	require.NoError(t, e.Reap(t.Context(), "another-run"))
	require.True(t, lives(child), "another run's processes are its own")
	require.NoError(t, e.Reap(t.Context(), "r1"))
	require.False(t, lives(child))
	require.False(t, lives(astray))
	require.NoError(t, e.Reap(t.Context(), "r1"), "reaping twice is reaping once (E6)")
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, left)
}

// E7: during a turn its record names its process, host and token.
func TestRunTurnRecordsItsProcess(t *testing.T) {
	cfg := scripted(t, t.TempDir())
	e, turn := started(t, cfg), job(t, "pid self", "touch begun", "hang")
	ctx, cancel := context.WithCancelCause(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = e.RunTurn(ctx, turn, &enginetest.Recorder{}) // it is canceled
	}()
	pid := pidIn(t, turn, "self")
	var record struct {
		RunID    string `json:"run_id"`
		Worker   string `json:"worker"`
		Identity string `json:"identity"`
	}
	until(t, "the record is complete", func() bool {
		files, err := filepath.Glob(filepath.Join(cfg.StateDir, "r1@*.json"))
		if err != nil || len(files) != 1 {
			return false
		}
		body, err := os.ReadFile(files[0])
		return err == nil && json.Unmarshal(body, &record) == nil && record.Identity != ""
	})
	require.Equal(t, "r1", record.RunID)
	require.Equal(t, procid.Self(), record.Worker)
	got, ok := procid.PID(record.Identity)
	require.True(t, ok)
	require.Equal(t, pid, got)
	require.NoError(t, e.Reap(t.Context(), "r1"))
	require.True(t, lives(pid), "its host lives")
	cancel(engine.ErrCanceled)
	<-done
}
