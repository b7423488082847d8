//go:build unix

package pglocal

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// caller is a process that starts a server; its log comes line by line.
func caller(tb testing.TB, tmp, dir string) (*exec.Cmd, io.Reader, io.Reader) {
	tb.Helper()
	self, err := os.Executable()
	require.NoError(tb, err)
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), "PGLOCAL_CALLER=1", "PGLOCAL_DIR="+dir, "TMPDIR="+tmp)
	out, err := cmd.StdoutPipe()
	require.NoError(tb, err)
	log, err := cmd.StderrPipe()
	require.NoError(tb, err)
	require.NoError(tb, cmd.Start())
	return cmd, out, log
}

// When the test process is killed, its server ends too.
func TestServerDiesWithItsCaller(t *testing.T) {
	for _, keep := range []bool{false, true} {
		t.Run(fmt.Sprintf("keep=%t", keep), func(t *testing.T) {
			tmp, dir := open(t), ""
			if keep {
				dir = open(t)
			}
			cmd, out, log := caller(t, tmp, dir)
			go io.Copy(io.Discard, log)
			var pid int
			var folder, dsn string
			_, err := fmt.Fscan(out, &pid, &folder, &dsn)
			require.NoError(t, err)
			connect(t, dsn)
			all, err := processes()
			require.NoError(t, err)
			pids := living(t, append(descendants(all, pid), pid)) // a worker of the server may have ended by itself
			require.Contains(t, pids, pid)
			require.Greater(t, len(pids), 2, "the caller, the server and its workers")

			require.NoError(t, cmd.Process.Kill())
			require.Error(t, cmd.Wait())
			require.Eventually(t, func() bool {
				return len(living(t, pids)) == 0
			}, 30*time.Second, 10*time.Millisecond, "the server lives on")
			if !keep {
				require.Eventually(t, func() bool {
					_, err := os.Stat(folder)
					return os.IsNotExist(err)
				}, 30*time.Second, 10*time.Millisecond, "the folder is left")
				return
			}
			require.Equal(t, dir, folder)
			connect(t, start(t, Options{Dir: dir}).DSN("")) // it is there for the next
		})
	}
}

// When the caller is killed before its server runs, the files of initdb are deleted too.
func TestInitdbDiesWithItsCaller(t *testing.T) {
	tmp := open(t)
	t.Setenv("TMPDIR", tmp)
	cmd, _, log := caller(t, tmp, "")
	for lines := bufio.NewReader(log); ; {
		line, err := lines.ReadString('\n')
		require.NoError(t, err)
		if strings.Contains(line, "creating configuration files") { // the bootstrap is next
			break
		}
	}
	require.Len(t, leftovers(t), 1)
	require.NoError(t, cmd.Process.Kill())
	require.Error(t, cmd.Wait())
	require.Eventually(t, func() bool {
		return len(leftovers(t)) == 0
	}, 30*time.Second, 10*time.Millisecond, "the folder is left")
}
