package process_test

import (
	"os"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/internal/procid"
)

// leaveFirstThread ends this process's first thread. Another keeps the process alive for a while.
func leaveFirstThread() {
	time.AfterFunc(5*patience, func() { os.Exit(0) })
	_, _, errno := syscall.Syscall(syscall.SYS_EXIT, 0, 0, 0)
	panic(errno) // it cannot return
}

// E7: a process whose first thread has ended looks like a zombie without environment, but lives and
// is found by its token.
func TestEndFindsAProcessWithoutItsFirstThread(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	c := shell(t, `setsid "$SELF" & echo $! > pid`, "sleep 1000")
	c.Env = append(c.Env, "SELF="+self, hostEnv+"="+headless)
	p := started(t, c)
	pid := pidIn(t, c, "pid")
	until(t, "its first thread has ended", func() bool {
		_, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
		return err != nil
	})
	identity, err := procid.Of(pid)
	require.NoError(t, err, "it lives")
	require.Equal(t, procid.Living, procid.Alive(identity))
	p.End()
	require.Equal(t, procid.Dead, procid.Alive(identity))
}
