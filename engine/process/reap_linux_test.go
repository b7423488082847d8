package process_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine/process"
	"github.com/interlude-go/interlude/internal/procid"
)

func lives(pid int) bool { return !gone(pid) }

func leader(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// recorded writes a record as a host would have left it.
func recorded(t *testing.T, dir, runID, token, worker, identity string) string {
	t.Helper()
	body, err := json.Marshal(map[string]string{"run_id": runID, "token": token, "worker": worker,
		"identity": identity})
	require.NoError(t, err)
	path := filepath.Join(dir, runID+"@"+token+".json")
	require.NoError(t, os.WriteFile(path, body, 0o600))
	return path
}

// bystander is a process with the environment that lives until the test ends.
func bystander(t *testing.T, env ...string) (pid int, identity string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "sleep", "1000")
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

// deadIdentity is the identity of an ended process.
func deadIdentity(t *testing.T) string {
	t.Helper()
	parts := strings.Fields(procid.Self())
	parts[3] = "1"
	return strings.Join(parts, " ")
}

// E7: a process number is never enough: a process with the recorded number, or even with its
// identity, is spared without the right token.
func TestReapNeverTrustsAProcessNumberAlone(t *testing.T) {
	dir := t.TempDir()
	reused, identity := bystander(t)
	parts := strings.Fields(identity)
	parts[3] = "1" // started at another time
	recorded(t, dir, "r1", "TOKEN1", deadIdentity(t), strings.Join(parts, " "))
	require.NoError(t, process.NewTable(dir).Reap(t.Context(), "r1"))
	require.True(t, lives(reused))

	other, otherIdentity := bystander(t, "INTERLUDE_TOKEN=TOKEN22", "X=INTERLUDE_TOKEN=TOKEN2")
	recorded(t, dir, "r2", "TOKEN2", deadIdentity(t), otherIdentity)
	require.NoError(t, process.NewTable(dir).Reap(t.Context(), "r2"))
	require.True(t, lives(other))

	marked, markedIdentity := bystander(t, "INTERLUDE_TOKEN=TOKEN3")
	recorded(t, dir, "r3", "TOKEN3", deadIdentity(t), markedIdentity)
	require.NoError(t, process.NewTable(dir).Reap(t.Context(), "r3"))
	require.False(t, lives(marked))
}

// E7: group members that dropped their environment are ended, too.
func TestReapEndsTheGroupOfARecordedProcess(t *testing.T) {
	dir, out := t.TempDir(), filepath.Join(t.TempDir(), "pid")
	cmd := exec.CommandContext(t.Context(), "sh", "-c",
		`env -i sleep 1000 & echo $! > "$0.new"; mv "$0.new" "$0"; wait`, out)
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
	require.NoError(t, process.NewTable(dir).Reap(t.Context(), "r1"))
	require.False(t, lives(bare))
	require.False(t, lives(cmd.Process.Pid))
}

// E6, E7: Reap ends no process of a living host, because that host ends its processes itself.
// Otherwise a late Reap could end the processes of the host that has taken over the run.
func TestReapLeavesTheProcessesOfALivingHost(t *testing.T) {
	dir := t.TempDir()
	pid, identity := bystander(t, "INTERLUDE_TOKEN=TOKEN")
	path := recorded(t, dir, "r1", "TOKEN", procid.Self(), identity)
	require.NoError(t, process.NewTable(dir).Reap(t.Context(), "r1"))
	require.True(t, lives(pid))
	require.FileExists(t, path)
}

// E7: an unreadable record is reported; the others are reaped.
func TestReapReportsABrokenRecord(t *testing.T) {
	dir := t.TempDir()
	pid, identity := bystander(t, "INTERLUDE_TOKEN=TOKEN")
	recorded(t, dir, "r1", "TOKEN", deadIdentity(t), identity)
	for name, body := range map[string]string{"r1@HALF.json": `{"run_id":"r1","tok`,
		"r1@STOLEN.json": `{"run_id":"r2","token":"STOLEN"}`} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(body), 0o600))
	}
	err := process.NewTable(dir).Reap(t.Context(), "r1")
	require.ErrorContains(t, err, "r1@HALF.json")
	require.ErrorContains(t, err, "r1@STOLEN.json")
	require.False(t, lives(pid), "the readable one is reaped")
}

// E7, J11: CleanUp ends the processes of hosts known to be dead, whatever their run. It spares
// processes that may belong to a host in another container.
func TestCleanUpEndsOnlyProcessesOfDeadHosts(t *testing.T) {
	dir := t.TempDir()
	parts := strings.Fields(procid.Self())
	boot, _, _ := strings.Cut(parts[1], "/")
	of := func(boot string) string { return strings.Join([]string{parts[0], boot, parts[2], parts[3]}, " ") }
	type left struct {
		record string
		pid    int
	}
	host := func(runID, worker string) left {
		token := "token-of-" + runID
		pid, identity := bystander(t, process.EnvToken+"="+token)
		return left{recorded(t, dir, runID, token, worker, identity), pid}
	}
	dead, living, elsewhere := host("dead", deadIdentity(t)), host("living", procid.Self()),
		host("elsewhere", of(boot+"/pid:[1]"))
	former := recorded(t, dir, "former", "token-of-former", of("former-boot/pid:[1]"), of("former-boot/pid:[1]"))
	half := filepath.Join(dir, "dead@half.json."+strings.NewReplacer(" ", "_", "/", "+").Replace(deadIdentity(t))+
		".new")
	require.NoError(t, os.WriteFile(half, nil, 0o600))

	require.NoError(t, process.NewTable(dir).CleanUp(t.Context()))
	for _, gone := range []string{dead.record, former, half} {
		require.NoFileExists(t, gone)
	}
	require.False(t, lives(dead.pid))
	for _, l := range []left{living, elsewhere} {
		require.FileExists(t, l.record)
		require.True(t, lives(l.pid))
	}
}

// J11: a pipe in place of a record is reported and does not block.
func TestReapReportsAPipeInThePlaceOfARecord(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, syscall.Mkfifo(filepath.Join(dir, "r@token.json"), 0o600))
	dead := recorded(t, dir, "other", "t", deadIdentity(t), deadIdentity(t))
	require.ErrorContains(t, process.NewTable(dir).CleanUp(t.Context()), "named pipe")
	require.NoFileExists(t, dead)
	require.ErrorContains(t, process.NewTable(dir).Reap(t.Context(), "r"), "named pipe")
}

// Other processes of this user could have written a record, so it can only remove a process's
// temporary folder.
func TestReapRemovesTemporaryFoldersOnly(t *testing.T) {
	dir, home := t.TempDir(), tempHome(t)
	for name, removed := range map[string]bool{"tabcdefg": true, "precious": false, "tmp": false} {
		temp := filepath.Join(home, name)
		require.NoError(t, os.MkdirAll(filepath.Join(temp, "sub"), 0o700))
		body := `{"run_id":"r","token":"` + strings.ToUpper(name) + `","worker":"` + deadIdentity(t) + `","identity":"` +
			deadIdentity(t) + `","temp":"` + temp + `"}`
		path := filepath.Join(dir, "r@"+strings.ToUpper(name)+".json")
		require.NoError(t, os.WriteFile(path, []byte(body), 0o600))
		require.NoError(t, process.NewTable(dir).Reap(t.Context(), "r"))
		require.NoFileExists(t, path)
		_, err := os.Stat(temp)
		require.Equal(t, removed, os.IsNotExist(err), name)
	}
}
