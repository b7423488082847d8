//go:build unix

package agents_test

import (
	"encoding/base64"
	"os"
	"path/filepath"
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

// scripted is an agent that asks a scripted model, and a turn of it.
func scripted(t *testing.T, a adapter, o agents.Options) (*agents.Engine, *modeltest.Server) {
	t.Helper()
	agentstest.RequireInFull(t, a.name)
	model, err := modeltest.Start(modeltest.Config{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, model.Close()) })
	o.Command, o.BaseURL, o.Model = agentstest.Remembered(t, a.name), model.URL, "modeltest"
	o.StateDir, o.Grace = t.TempDir(), 2*time.Second
	e, err := a.build(o)
	require.NoError(t, err)
	return e, model
}

// H3, H4: in an interactive turn, without its full-auto flags, an agent may write in the working
// and the artifact folder, whatever these are called, and nowhere else.
func TestAgentsWriteOnlyInTheirFolders(t *testing.T) {
	for _, a := range []adapter{claude, gemini, qwen, opencode} {
		t.Run(a.name, func(t *testing.T) {
			e, model := scripted(t, a, agents.Options{})
			turn := first(t, fsm.ModeInteractive)
			// of which no part is a folder
			turn.ArtifactDir = filepath.Join(filepath.Dir(turn.ArtifactDir), "artifacts,all[1](new)")
			require.NoError(t, os.Mkdir(turn.ArtifactDir, 0o700))
			play := func(files ...string) engine.Outcome {
				var steps []string
				for _, file := range files {
					steps = append(steps, "write "+file+" all is well")
				}
				turn.Prompt = enginetest.Script(append(steps, "final I tried")...)
				o, err := e.RunTurn(t.Context(), turn, &enginetest.Recorder{})
				require.NoError(t, err)
				return o
			}
			inside := []string{filepath.Join(turn.ArtifactDir, "report.txt"), filepath.Join(turn.WorkDir, "src",
				"main.go")}
			o := play(inside...)
			require.Equal(t, engine.OK, o.Process.Status, o.Process.Detail)
			require.Equal(t, "I tried", o.FinalText)
			require.NotZero(t, o.Usage.OutputTokens)
			for _, file := range inside {
				body, err := os.ReadFile(file)
				require.NoError(t, err, "%+v", model.Requests())
				require.Contains(t, string(body), "all is well")
			}
			require.NoDirExists(t, filepath.Join(turn.HomeDir, ".npm"), "nothing was fetched")

			outside := []string{
				filepath.Join(filepath.Dir(turn.WorkDir), "report.txt"), turn.ArtifactDir + "-too.txt",
				filepath.Join(turn.HomeDir, "notes.txt"),
			}
			if a.name == "qwen" { // which could allow itself more
				outside = append(outside, filepath.Join(turn.WorkDir, ".qwen", "settings.json"),
					filepath.Join(turn.HomeDir, ".qwen-turn.json"))
			}
			before := sizes(t, outside)
			asked := len(model.Requests())
			if a.name == "opencode" { // its turn ends with the first refusal
				play(outside[0])
				play(outside[2])
			} else {
				play(outside...)
			}
			require.Greater(t, len(model.Requests()), asked)
			require.Equal(t, before, sizes(t, outside))
		})
	}
}

// J11: nothing that a run leaves, in its home, its transcripts, its artifacts or its working
// folder, has a secret of the agent's.
func TestAgentsLeaveNoSecretInTheirFolders(t *testing.T) {
	const key, mine = "sk-test-2fb1c07e5a9d4c3e", "my-own-secret-93ac"
	variables := map[string]string{
		"codex": "CODEX_API_KEY", "claude": "ANTHROPIC_API_KEY", "gemini": "GEMINI_API_KEY", "qwen": "OPENAI_API_KEY",
		"opencode": "OPENAI_API_KEY",
	}
	for _, a := range []adapter{codex, claude, gemini, qwen, opencode} {
		t.Run(a.name, func(t *testing.T) {
			e, model := scripted(t, a, agents.Options{Set: map[string]string{variables[a.name]: key, "MINE": mine,
				"IS_SANDBOX": "1"}, Secrets: []string{"MINE"}})
			turn := first(t, fsm.ModeAuto)
			dir := filepath.Dir(turn.HomeDir)
			// of a turn that an earlier release executed
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

// sizes are those of the files, -1 for what is not there.
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
