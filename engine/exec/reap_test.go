//go:build linux

package exec_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	osexec "os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/engine/enginetest"
	"github.com/interlude-go/interlude/engine/exec"
	"github.com/interlude-go/interlude/internal/procid"
)

// killedHost starts a host in a process of its own and kills it with SIGKILL when the agent has made the files.
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

// pidIn waits for the file of the agent that names a process.
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

// reaper is an engine that has nothing to do with the host but its StateDir.
func reaper(t *testing.T, stateDir string) *exec.Engine {
	t.Helper()
	cfg := scripted(t, t.TempDir())
	cfg.StateDir = stateDir
	return started(t, cfg)
}

// E7: what a host that was killed left is ended by the next one, also what left the agent's group or ignores signals.
func TestWhatADeadHostLeftIsReaped(t *testing.T) {
	dir, turn := t.TempDir(), job(t, "pid self", "spawn child", "stray astray", "touch begun", "hang")
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

// recorded writes a record as a host would have left it.
func recorded(t *testing.T, dir, runID, token, worker, identity string) string {
	t.Helper()
	body, err := json.Marshal(map[string]string{"run_id": runID, "token": token, "worker": worker, "identity": identity})
	require.NoError(t, err)
	path := filepath.Join(dir, runID+"@"+token+".json")
	require.NoError(t, os.WriteFile(path, body, 0o600))
	return path
}

// bystander is a process that lives until the test is over, with the environment.
func bystander(t *testing.T, env ...string) (pid int, identity string) {
	t.Helper()
	cmd := osexec.CommandContext(t.Context(), "sleep", "1000")
	cmd.Env = env
	leader(cmd)
	require.NoError(t, cmd.Start())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = cmd.Wait() // it is killed
	}()
	t.Cleanup(func() { _ = cmd.Process.Kill(); <-ended })
	identity, err := procid.Of(cmd.Process.Pid)
	require.NoError(t, err)
	return cmd.Process.Pid, identity
}

// deadIdentity is that of a process that has ended.
func deadIdentity(t *testing.T) string {
	t.Helper()
	parts := strings.Fields(procid.Self())
	parts[3] = "1"
	return strings.Join(parts, " ")
}

// E7: nothing is ended on its number alone: not a process that has a recorded number, not one that has its very identity
// but does not carry the token, not one with another token.
func TestNothingIsEndedOnItsNumberAlone(t *testing.T) {
	dir := t.TempDir()
	reused, identity := bystander(t)
	parts := strings.Fields(identity)
	parts[3] = "1" // it started at another time
	recorded(t, dir, "r1", "TOKEN1", deadIdentity(t), strings.Join(parts, " "))
	require.NoError(t, reaper(t, dir).Reap(t.Context(), "r1"))
	require.True(t, lives(reused))

	other, otherIdentity := bystander(t, "INTERLUDE_TOKEN=TOKEN22", "X=INTERLUDE_TOKEN=TOKEN2")
	recorded(t, dir, "r2", "TOKEN2", deadIdentity(t), otherIdentity)
	require.NoError(t, reaper(t, dir).Reap(t.Context(), "r2"))
	require.True(t, lives(other))

	marked, markedIdentity := bystander(t, "INTERLUDE_TOKEN=TOKEN3")
	recorded(t, dir, "r3", "TOKEN3", deadIdentity(t), markedIdentity)
	require.NoError(t, reaper(t, dir).Reap(t.Context(), "r3"))
	until(t, "the marked process has ended", func() bool { return !lives(marked) })
}

// E7: also those of a group are ended that dropped their environment.
func TestAGroupIsEndedWithItsLeader(t *testing.T) {
	dir, out := t.TempDir(), filepath.Join(t.TempDir(), "pid")
	cmd := osexec.CommandContext(t.Context(), "sh", "-c", `env -i sleep 1000 & echo $! > "$0.new"; mv "$0.new" "$0"; wait`, out)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "INTERLUDE_TOKEN=TOKEN"}
	leader(cmd)
	require.NoError(t, cmd.Start())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = cmd.Wait() // it is killed
	}()
	t.Cleanup(func() { _ = cmd.Process.Kill(); <-ended })
	var bare int
	until(t, "the process without an environment runs", func() bool {
		body, err := os.ReadFile(out)
		if err != nil {
			return false
		}
		bare, err = strconv.Atoi(strings.TrimSpace(string(body)))
		env, readErr := os.ReadFile(fmt.Sprintf("/proc/%d/environ", bare))
		return err == nil && readErr == nil && len(env) == 0
	})
	identity, err := procid.Of(cmd.Process.Pid)
	require.NoError(t, err)
	recorded(t, dir, "r1", "TOKEN", deadIdentity(t), identity)
	require.NoError(t, reaper(t, dir).Reap(t.Context(), "r1"))
	until(t, "the whole group has ended", func() bool { return !lives(bare) && !lives(cmd.Process.Pid) })
}

// E6, E7: a host that lives ends its own processes: a late reaper must not end those of the host that took the run over.
func TestTheProcessesOfALivingHostAreItsOwn(t *testing.T) {
	dir := t.TempDir()
	pid, identity := bystander(t, "INTERLUDE_TOKEN=TOKEN")
	path := recorded(t, dir, "r1", "TOKEN", procid.Self(), identity)
	require.NoError(t, reaper(t, dir).Reap(t.Context(), "r1"))
	require.True(t, lives(pid))
	require.FileExists(t, path)
}

// E7: a record that cannot be read is reported, and does not keep the others from being reaped.
func TestABrokenRecordIsReported(t *testing.T) {
	dir := t.TempDir()
	pid, identity := bystander(t, "INTERLUDE_TOKEN=TOKEN")
	recorded(t, dir, "r1", "TOKEN", deadIdentity(t), identity)
	for name, body := range map[string]string{"r1@HALF.json": `{"run_id":"r1","tok`, "r1@STOLEN.json": `{"run_id":"r2","token":"STOLEN"}`} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(body), 0o600))
	}
	err := reaper(t, dir).Reap(t.Context(), "r1")
	require.ErrorContains(t, err, "r1@HALF.json")
	require.ErrorContains(t, err, "r1@STOLEN.json")
	until(t, "the readable one is reaped", func() bool { return !lives(pid) })
}

// E7: while a turn executes, its record names its process, its host and its token.
func TestARunningTurnIsOnRecord(t *testing.T) {
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

// A run whose id could lead out of the folder is refused before anything is started.
func TestARunIDIsAFileName(t *testing.T) {
	for _, id := range []string{"", "../r1", "a/b", ".hidden", "a@b", strings.Repeat("x", 129)} {
		turn := job(t, "pid self")
		turn.RunID = id
		_, err := started(t, scripted(t, t.TempDir())).RunTurn(t.Context(), turn, &enginetest.Recorder{})
		require.ErrorContains(t, err, "process record")
		require.NoFileExists(t, filepath.Join(turn.ArtifactDir, "self"))
	}
}
