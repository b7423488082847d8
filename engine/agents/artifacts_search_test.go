//go:build unix && search

package agents_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/engine/agents"
	"github.com/interlude-go/interlude/engine/enginetest"
	"github.com/interlude-go/interlude/fsm"
)

// H3, H4: in an interactive turn, an agent that was started without full-auto flags can write only
// to the working folder and the artifact folder, whatever their names.
func TestAgentsWriteOnlyInTheirFolders(t *testing.T) {
	for _, a := range tried(claude, gemini, qwen, opencode) {
		t.Run(a.name, func(t *testing.T) {
			e, model := scripted(t, a, agents.Options{})
			turn := first(t, fsm.ModeInteractive)
			// no part of it is a folder
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
			if a.name == "qwen" { // it could allow itself more
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
