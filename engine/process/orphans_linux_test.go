package process_test

import (
	"bufio"
	"bytes"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine/process"
	"github.com/interlude-go/interlude/internal/sample"
)

var kills = flag.Int("kills", 40, "how many hosts TestReapEndsAllProcessesOfAKilledHost kills")

// marked lists the machine's processes that carry a mark of the runs, as NUMBER COMMAND.
func marked(tb testing.TB, runs []string) (all []string) {
	tb.Helper()
	names, err := os.ReadDir("/proc")
	require.NoError(tb, err)
	for _, n := range names {
		if _, err := strconv.Atoi(n.Name()); err != nil {
			continue
		}
		env, err := os.ReadFile("/proc/" + n.Name() + "/environ")
		if err != nil {
			continue // it has ended
		}
		for _, run := range runs {
			if bytes.Contains(env, []byte(process.EnvRun+"="+run+"\x00")) {
				line, _ := os.ReadFile("/proc/" + n.Name() + "/cmdline") // it may end now
				all = append(all, n.Name()+" "+strings.ReplaceAll(string(line), "\x00", " "))
			}
		}
	}
	return all
}

// E7: the next host's Reap removes all processes, temporary folders and records of a killed host's
// runs. The host is killed while it starts and ends processes, and while they fork and change their
// process group.
func TestReapEndsAllProcessesOfAKilledHost(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	dir, temp := t.TempDir(), tempHome(t)
	var runs []string
	for i := range 4 {
		runs = append(runs, fmt.Sprintf("orphans-%d-%d", os.Getpid(), i))
	}
	table := process.NewTable(dir)
	turns := 0
	for round := range *kills {
		cmd := exec.CommandContext(t.Context(), self)
		cmd.Env = append(os.Environ(), hostEnv+"="+dir+" "+temp+" "+strings.Join(runs, " "), "GORACE=atexit_sleep_ms=0")
		cmd.Stderr = os.Stderr
		out, err := cmd.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		wait := time.Duration(sample.N(200)) * time.Millisecond
		said := bufio.NewScanner(out)
		require.True(t, said.Scan(), "it is ready")
		kill := time.AfterFunc(wait, func() { _ = cmd.Process.Kill() })
		for said.Scan() {
			turns++
		}
		kill.Stop()
		require.Error(t, cmd.Wait(), "killed")
		for _, run := range runs {
			require.NoError(t, table.Reap(t.Context(), run))
		}
		require.Empty(t, marked(t, runs), "left after round %d, killed after %v", round, wait)
		records, err := os.ReadDir(dir)
		require.NoError(t, err)
		require.Empty(t, records)
		left, err := os.ReadDir(temp)
		require.NoError(t, err)
		require.Empty(t, left, "temporary folders")
	}
	t.Logf("%d hosts were killed after %d turns", *kills, turns)
}
