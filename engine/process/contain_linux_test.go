package process_test

import (
	"bytes"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine/process"
)

// hidden starts a process that leaves its group and drops its environment. Its argument identifies
// it to the test.
const hidden = `setsid env -i sleep "$0" & wait`

// sleeping lists the processes that sleep for the time.
func sleeping(t *testing.T, forTime string) (pids []int) {
	t.Helper()
	all, err := os.ReadDir("/proc")
	require.NoError(t, err)
	for _, p := range all {
		pid, err := strconv.Atoi(p.Name())
		args, readErr := os.ReadFile("/proc/" + p.Name() + "/cmdline")
		if err == nil && readErr == nil && bytes.Equal(args, []byte("sleep\x00"+forTime+"\x00")) {
			pids = append(pids, pid)
		}
	}
	return pids
}

func uniqueTime() string { return "1000." + strconv.FormatInt(time.Now().UnixNano(), 10) }

// J11, I6: a process that leaves its group and drops its environment cannot be found; if contained,
// the kernel ends it with its parent.
func TestContainEndsProcessesThatHide(t *testing.T) {
	for name, sandbox := range map[string]func(*exec.Cmd) error{"contained": process.Contain, "not contained": nil} {
		t.Run(name, func(t *testing.T) {
			forTime := uniqueTime()
			p, err := process.NewTable(t.TempDir()).Start(process.Command{
				RunID: "r", Path: "/bin/sh", Args: []string{"-c", hidden, forTime},
				Env: []string{"PATH=" + os.Getenv("PATH")}, Sandbox: sandbox, Grace: grace / 10,
			})
			require.NoError(t, err)
			require.Eventually(t, func() bool { return len(sleeping(t, forTime)) == 1 }, time.Minute, time.Millisecond)
			p.End()
			p.Release()
			if sandbox != nil {
				require.Empty(t, sleeping(t, forTime))
				return
			}
			for _, pid := range sleeping(t, forTime) {
				require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
				name = ""
			}
			require.Empty(t, name, "without it, it is left: the README says so")
		})
	}
}

// J11, E7: a contained agent's killed host leaves no process, even without a later host.
func TestContainedProcessesDieWithTheirHost(t *testing.T) {
	dir, forTime := t.TempDir(), uniqueTime()
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), self)
	cmd.Env = append(os.Environ(), hostEnv+"="+strings.Join([]string{contained, dir, forTime}, " "))
	cmd.Stderr = os.Stderr
	require.NoError(t, cmd.Start())
	require.Eventually(t, func() bool { return len(sleeping(t, forTime)) == 1 }, time.Minute, time.Millisecond)
	require.NoError(t, cmd.Process.Kill())
	require.Error(t, cmd.Wait())
	require.Eventually(t, func() bool { return len(sleeping(t, forTime)) == 0 }, time.Minute, time.Millisecond)
	require.NoError(t, process.NewTable(dir).CleanUp(t.Context()))
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, left)
}

// contained is a task: the host holds a contained process that hides another, in the folder, for
// the time.
const contained = "contained"

func holdContained(dir, forTime string) int {
	p, err := process.NewTable(dir).Start(process.Command{
		RunID: "r", Path: "/bin/sh", Args: []string{"-c", hidden, forTime}, Env: []string{"PATH=" + os.Getenv("PATH")},
		Sandbox: process.Contain,
	})
	if err != nil {
		_, _ = os.Stderr.WriteString(err.Error() + "\n") // nothing else can report it
		return 1
	}
	<-p.Ended()
	return 0
}
