package procid_test

import (
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/internal/procid"
)

// E7: a process is identified by more than its number.
func TestAliveDistinguishesProcessesWithOneNumber(t *testing.T) {
	if runtime.GOOS != "linux" {
		require.Equal(t, procid.Unknown, procid.Alive(procid.Self()), "nothing is guessed")
		return
	}
	self := procid.Self()
	require.Equal(t, procid.Living, procid.Alive(self))
	pid, ok := procid.PID(self)
	require.True(t, ok)
	require.Equal(t, os.Getpid(), pid)

	parts := strings.Fields(self)
	require.Equal(t, procid.Dead, procid.Alive(strings.Join([]string{parts[0], parts[1], parts[2], "1"}, " ")),
		"same number, other start")
	require.Equal(t, procid.Unknown, procid.Alive(strings.Join([]string{parts[0], "another-boot", parts[2], parts[3]},
		" ")))
	require.True(t, procid.OfEarlierBoot(strings.Join([]string{parts[0], "another-boot/pid:[1]", parts[2], parts[3]},
		" ")))
	boot, _, _ := strings.Cut(parts[1], "/")
	require.False(t, procid.OfEarlierBoot(strings.Join([]string{parts[0], boot + "/pid:[1]", parts[2], parts[3]}, " ")),
		"another container of this boot may live")
	require.False(t, procid.OfEarlierBoot(self))
	for _, nonsense := range []string{"", "v1", "v2 a 1 1", "v1 a x 1", "v1 a -1 1", strings.Repeat("x ", 100)} {
		require.Equal(t, procid.Unknown, procid.Alive(nonsense), nonsense)
	}
}

// E7: a process that ended is dead, even before its parent has waited for it.
func TestAliveReportsAZombieAsDead(t *testing.T) {
	if runtime.GOOS != "linux" {
		require.Empty(t, procid.Self())
		return
	}
	cmd := exec.Command("sleep", "1000")
	require.NoError(t, cmd.Start())
	id, err := procid.Of(cmd.Process.Pid)
	require.NoError(t, err)
	require.Equal(t, procid.Living, procid.Alive(id))
	require.NoError(t, cmd.Process.Kill())
	require.Error(t, cmd.Wait())
	require.Equal(t, procid.Dead, procid.Alive(id))
}
