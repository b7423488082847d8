//go:build linux && search

package acp_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine/agents/agentstest"
	"github.com/interlude-go/interlude/engine/enginetest"
	"github.com/interlude-go/interlude/engine/process"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/store/memory"
)

// D3, D4, D6: a waiting run of a resident Qwen Code ends at its deadline, continues in its process,
// or is lost with it.
func TestRunsOfAResidentQwen(t *testing.T) {
	m := model(t)
	cfg := qwen(agentstest.Program(t, "qwen"), m.URL)
	cfg.Resident = true
	for name, story := range map[string]func(h *host){
		"strict": func(h *host) {
			h.submit(nil, "note alpha", "ask What next?")
			h.misses(1)
			h.ends(fsm.StateFailed, fsm.CodeInteractionWaitTimeout)
		},
		"lenient": func(h *host) {
			h.submit(lenient, "note alpha", "ask What next?")
			h.misses(1)
			h.asks(2) // the agent got the decision and said so
			h.reply(2, enginetest.Script("recall", "done ok"))
			h.ends(fsm.StateSucceeded, "")
			all := m.Requests()
			require.Len(h, all[len(all)-1].Users, 3, "the session has it all")
		},
		"lost": func(h *host) {
			h.submit(nil, "ask What next?")
			h.asks(1)
			kill(h, "r")
			h.ends(fsm.StateFailed, fsm.CodeInteractionProcessLost)
		},
		"a permission that waits": func(h *host) {
			h.submit(nil, "tool touch made", "done made it")
			run := h.asks(1)
			require.Contains(h, run.Open[0].Prompt, "touch made")
			require.NoFileExists(h, filepath.Join(h.dir, "runs", "r", "work", "made"))
			h.reply(1, "Allow")
			h.ends(fsm.StateSucceeded, "")
			require.FileExists(h, filepath.Join(h.dir, "runs", "r", "work", "made"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			cfg.PermissionWait = time.Hour
			story(servingBy(t, new(laterClock), t.TempDir(), cfg, memory.New()))
		})
	}
}

// E1, E4, E7: a run of opencode asks twice and for a permission, and continues after its host was
// killed, while it waited and during a turn; its model receives the whole history.
func TestRunOfOpencodeOutlivesItsHosts(t *testing.T) {
	m := model(t)
	program, dir, files := agentstest.Program(t, "opencode"), t.TempDir(), t.TempDir()
	agent := strings.Join([]string{"opencode", program, m.URL}, hostCanSeparator)
	c := submitted(t, dir, lifecycle.Spec{ID: "r", Repeatable: true, Prompt: enginetest.Script("note alpha",
		"ask First?")})
	killed(t, dir, agent, inState(t, c, fsm.StateWaitingUser))

	_, err := c.Reply(t.Context(), "r", interaction.Reply{ID: 1, Text: enginetest.Script("note beta", "in "+files,
		"touch begun", "await go", "ask Second?")})
	require.NoError(t, err)
	begun := filepath.Join(files, "begun")
	killed(t, dir, agent, func() bool { return exists(begun) })
	require.NoError(t, os.WriteFile(filepath.Join(files, "go"), nil, 0o600))

	h := serving(t, dir, opencode(program, m.URL), stores["sqlite"](t, dir))
	require.Equal(t, 3, h.asks(2).Attempt)
	h.reply(2, enginetest.Script("note gamma", "tool touch made", "done made it"))
	h.asks(3)
	made := filepath.Join(dir, "runs", "r", "work", "made")
	require.NoFileExists(t, made)
	h.reply(3, "Allow once")
	h.ends(fsm.StateSucceeded, "")
	require.FileExists(t, made)
	all := m.Requests()
	said := strings.Join(all[len(all)-1].Users, "\n")
	for _, note := range []string{"alpha", "beta", "gamma"} {
		require.Contains(t, said, "note "+note)
	}
}

func kill(tb testing.TB, runID string) {
	tb.Helper()
	names, err := filepath.Glob("/proc/[0-9]*")
	require.NoError(tb, err)
	found := 0
	for _, name := range names {
		env, _ := os.ReadFile(filepath.Join(name, "environ")) // another user's, or it has ended
		pid, err := strconv.Atoi(filepath.Base(name))
		if err != nil || !bytes.Contains(env, []byte("\x00"+process.EnvRun+"="+runID+"\x00")) {
			continue
		}
		p, err := os.FindProcess(pid)
		require.NoError(tb, err)
		_ = p.Kill() // it may have ended with the previous one
		found++
	}
	require.NotZero(tb, found)
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
