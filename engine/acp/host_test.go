//go:build linux

package acp_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine/enginetest"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/lifecycle"
)

// killed lets another process serve until the condition holds, and kills it.
func killed(t *testing.T, dir, can string, holds func() bool) {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), self)
	cmd.Env = append(os.Environ(), hostEnv+"="+dir, hostCanEnv+"="+can)
	cmd.Stderr = os.Stderr
	require.NoError(t, cmd.Start())
	until(t, "the host has come so far", holds)
	require.NoError(t, cmd.Process.Kill())
	require.Error(t, cmd.Wait())
}

// submitted submits a run in a folder, and observes it.
func submitted(t *testing.T, dir string, spec lifecycle.Spec) *lifecycle.Lifecycle {
	t.Helper()
	st := stores["sqlite"](t, dir)
	t.Cleanup(func() { require.NoError(t, st.Close()) })
	c, err := lifecycle.New(lifecycle.Config{Store: st, Engine: started(t, scripted(t, dir, ""))}) // serves nothing
	require.NoError(t, err)
	t.Cleanup(c.Close)
	_, err = c.Submit(t.Context(), spec)
	require.NoError(t, err)
	return c
}

func inState(t *testing.T, c *lifecycle.Lifecycle, state fsm.State) func() bool {
	t.Helper()
	return func() bool {
		run, err := c.Get(t.Context(), "r")
		require.NoError(t, err)
		return run.State == state
	}
}

// E1: a host is killed while its run waits for a permission; another host applies the decision.
func TestDecisionIsAppliedByAnotherHost(t *testing.T) {
	dir := t.TempDir()
	c := submitted(t, dir, lifecycle.Spec{ID: "r", Prompt: enginetest.Script("pid self", permit(removing("build")),
		"done cleaned")})
	killed(t, dir, "load", inState(t, c, fsm.StateWaitingUser))
	h := serving(t, dir, scripted(t, dir, "load"), stores["sqlite"](t, dir))
	h.asks(1)
	h.reply(1, "once")
	h.ends(fsm.StateSucceeded, "")
	require.Equal(t, "rm -r build: canceled\nrm -r build: once", h.artifact("decisions"))
}

// K1 K4 I9: an agent asks for two permissions at once. The run parks once with two approvals; one
// is approved and one rejected, in either order, and the host is killed between the replies. Only
// the approved action is executed.
func TestK4HostIsKilledBetweenTheRepliesToTwoCalls(t *testing.T) {
	for _, order := range [][]int{{0, 1}, {1, 0}} {
		gathering(t, "load", func(can string) bool { return killedBetweenReplies(t, can, order) })
	}
}

func killedBetweenReplies(t *testing.T, can string, order []int) (inTime bool) {
	t.Helper()
	dir := t.TempDir()
	c := submitted(t, dir, lifecycle.Spec{ID: "r", Prompt: enginetest.Script(
		together(removing("build"), removing("src")), "done cleaned")})
	killed(t, dir, can, inState(t, c, fsm.StateWaitingUser))
	transcript, err := os.ReadFile(filepath.Join(dir, "runs", "r", "transcripts", "attempt-1.out"))
	require.NoError(t, err)
	if gathered(string(transcript)) < 2 {
		return false
	}
	run, err := c.Get(t.Context(), "r")
	require.NoError(t, err)
	open := run.Open
	require.Len(t, open, 2)
	decide := func(i int) {
		r := interaction.Reply{ID: open[i].ID, Seen: open[i].Digest(), Decision: interaction.Approve}
		if open[i].Subject.Title == "rm -r src" {
			r.Decision, r.Text = interaction.Reject, "src is needed"
		}
		_, err := c.Reply(t.Context(), "r", r)
		require.NoError(t, err)
	}
	decide(order[0])
	before, err := os.ReadFile(filepath.Join(dir, "runs", "r", "artifacts", "decisions"))
	require.NoError(t, err)
	require.Equal(t, 2, strings.Count(string(before), ": canceled"))
	h := serving(t, dir, scripted(t, dir, can), stores["sqlite"](t, dir))
	decide(order[1])
	ended := h.ends(fsm.StateSucceeded, "")
	require.Equal(t, 2, ended.Attempt)
	require.Equal(t, "rm -r src: no\nrm -r build: once",
		strings.TrimPrefix(h.artifact("decisions"), string(before)))
	return true
}

// E4, E7: a host is killed during a turn; the next host ends its processes, also outside of the
// agent's group, and repeats the turn in the same session.
func TestTurnIsRepeatedByAnotherHost(t *testing.T) {
	dir := t.TempDir()
	submitted(t, dir, lifecycle.Spec{ID: "r", Repeatable: true, Prompt: "once upon a time\n" +
		enginetest.Script("later recall", "later done there", "spawn child", "detach astray", "touch begun", "await go",
			"recall", "done here")})
	begun := func() bool {
		_, err := os.Stat(filepath.Join(dir, "runs", "r", "artifacts", "begun"))
		return err == nil
	}
	killed(t, dir, "load", begun)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "runs", "r", "artifacts", "go"), nil, 0o600))
	first := host{TB: t, dir: dir}
	child, astray := first.pid("child"), first.pid("astray")
	require.True(t, lives(child))
	h := serving(t, dir, scripted(t, dir, "load"), stores["sqlite"](t, dir))
	run := h.ends(fsm.StateSucceeded, "")
	require.Equal(t, 2, run.Attempt)
	require.False(t, lives(child))
	require.False(t, lives(astray))
	transcript, err := os.ReadFile(filepath.Join(dir, "runs", "r", "transcripts", "attempt-2.out"))
	require.NoError(t, err)
	require.Contains(t, string(transcript), "session/load")
	again, err := os.FindProcess(h.pid("astray")) // of the successful turn, which may leave one on purpose
	require.NoError(t, err)
	if err := again.Kill(); !errors.Is(err, os.ErrProcessDone) { // the next scan for lost processes may have ended it
		require.NoError(t, err)
	}
}

// E3: a host is killed while its run's process is resident; the process is lost.
func TestResidentProcessIsLostWithItsHost(t *testing.T) {
	dir := t.TempDir()
	c := submitted(t, dir, lifecycle.Spec{ID: "r", Prompt: enginetest.Script("pid self", "spawn child",
		permit(removing("build")), "done cleaned")})
	killed(t, dir, "", inState(t, c, fsm.StateWaitingUser))
	h := serving(t, dir, scripted(t, dir, ""), stores["sqlite"](t, dir))
	h.ends(fsm.StateFailed, fsm.CodeInteractionProcessLost)
	until(t, "nothing is left", func() bool { return !lives(h.pid("self")) && !lives(h.pid("child")) })
}
