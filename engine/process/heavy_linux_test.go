package process_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine/process"
	"github.com/interlude-go/interlude/internal/procid"
)

// heavy is a task that holds much memory and ends slowly.
const heavy = "heavy"

func growHeavy() {
	if _, err := syscall.Mmap(-1, 0, 512<<20, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_PRIVATE|
		syscall.MAP_ANON|syscall.MAP_POPULATE); err != nil {
		panic(err)
	}
	fmt.Println("ready")
	<-time.After(5 * patience)
}

// E7: a killed process frees its memory first, then files, locks and ports; it counts as gone only
// then.
func TestReapedProcessHasClosedItsFiles(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	for name, script := range map[string]string{
		"by its token": `"$0" & echo $!; wait`, "with its group": `env -u INTERLUDE_TOKEN "$0" & echo $!; wait`,
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			cmd := exec.CommandContext(t.Context(), "sh", "-c", script, self)
			cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "INTERLUDE_TOKEN=TOKEN", hostEnv + "=" + heavy}
			leader(cmd)
			out, err := cmd.StdoutPipe()
			require.NoError(t, err)
			require.NoError(t, cmd.Start())
			said := bufio.NewScanner(out)
			require.True(t, said.Scan())
			pid, err := strconv.Atoi(said.Text())
			require.NoError(t, err)
			require.True(t, said.Scan(), "it has its memory")
			identity, err := procid.Of(cmd.Process.Pid)
			require.NoError(t, err)
			recorded(t, dir, "r1", "TOKEN", deadIdentity(t), identity)
			require.NoError(t, process.NewTable(dir).Reap(t.Context(), "r1"))
			require.False(t, lives(pid))
			require.Error(t, cmd.Wait(), "killed")
		})
	}
}
