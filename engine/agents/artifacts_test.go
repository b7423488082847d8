//go:build unix

package agents_test

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/engine/agents"
	"github.com/interlude-go/interlude/engine/agents/agentstest"
	"github.com/interlude-go/interlude/engine/enginetest"
	"github.com/interlude-go/interlude/engine/modeltest"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
)

// scripted is an agent with a scripted model, and a turn of it.
func scripted(t *testing.T, a adapter, o agents.Options) (*agents.Engine, *modeltest.Server) {
	t.Helper()
	model, err := modeltest.Start(modeltest.Config{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, model.Close()) })
	o.Command, o.BaseURL, o.Model = agentstest.Remembered(t, a.name), model.URL, "modeltest"
	o.StateDir, o.Grace = t.TempDir(), 2*time.Second
	e, err := a.build(o)
	require.NoError(t, err)
	return e, model
}

// tried returns the agents that the tests drive.
func tried(all ...adapter) []adapter {
	return slices.DeleteFunc(all, func(a adapter) bool { return len(agentstest.Tried(a.name)) == 0 })
}

// J11: no secret of the agent is left in a run's home, transcripts, artifacts or working folder.
func TestAgentsLeaveNoSecretInTheirFolders(t *testing.T) {
	const key, mine = "sk-test-2fb1c07e5a9d4c3e", "my-own-secret-93ac"
	variables := map[string]string{
		"codex": "CODEX_API_KEY", "claude": "ANTHROPIC_API_KEY", "gemini": "GEMINI_API_KEY", "qwen": "OPENAI_API_KEY",
		"opencode": "OPENAI_API_KEY",
	}
	for _, a := range tried(codex, claude, gemini, qwen, opencode) {
		t.Run(a.name, func(t *testing.T) {
			e, model := scripted(t, a, agents.Options{Set: map[string]string{variables[a.name]: key, "MINE": mine,
				"IS_SANDBOX": "1"}, Secrets: []string{"MINE"}})
			turn := first(t, fsm.ModeAuto)
			dir := filepath.Dir(turn.HomeDir)
			// of an earlier release's turn
			old := filepath.Join(turn.HomeDir, ".codex", "shell_snapshots", "1.sh")
			require.NoError(t, os.MkdirAll(filepath.Dir(old), 0o700))
			require.NoError(t, os.WriteFile(old, []byte("declare -x CODEX_API_KEY="+key), 0o600))
			if a.name != "codex" {
				require.NoError(t, os.Remove(old))
			}
			for turn.Attempt = 1; turn.Attempt <= 2; turn.Attempt++ {
				turn.Prompt = enginetest.Script("tool touch made", "final done")
				if turn.Attempt > 1 {
					turn.Answers = []interaction.Answer{{ID: 1, Text: turn.Prompt}}
				}
				o, err := e.RunTurn(t.Context(), turn, &enginetest.Recorder{})
				require.NoError(t, err)
				require.Equal(t, engine.OK, o.Process.Status, o.Process.Detail)
				turn.Session = o.Session
			}
			require.FileExists(t, filepath.Join(turn.WorkDir, "made"), "it ran its shell: %+v", model.Requests())
			files := 0
			require.NoError(t, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
				if err != nil || !d.Type().IsRegular() {
					return err
				}
				files++
				body, err := os.ReadFile(path)
				for _, secret := range []string{key, mine, base64.StdEncoding.EncodeToString([]byte(key))} {
					require.NotContains(t, string(body), secret, path)
				}
				return err
			}))
			require.Greater(t, files, 3)
		})
	}
}

// sizes are the files' sizes, -1 for missing ones.
func sizes(tb testing.TB, files []string) []int64 {
	tb.Helper()
	var all []int64
	for _, file := range files {
		info, err := os.Stat(file)
		if os.IsNotExist(err) {
			all = append(all, -1)
			continue
		}
		require.NoError(tb, err)
		all = append(all, info.Size())
	}
	return all
}
