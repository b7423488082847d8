//go:build unix

package agents_test

import (
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
)

// H3, H4: in an interactive turn, without its full-auto flags, an agent may write in the artifact folder, whatever that is called.
func TestAgentsWriteArtifactsInInteractiveTurns(t *testing.T) {
	for _, a := range []adapter{claude, gemini, qwen, opencode} {
		t.Run(a.name, func(t *testing.T) {
			model, err := modeltest.Start(modeltest.Config{})
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, model.Close()) })
			e, err := a.build(agents.Options{
				Command: agentstest.Program(t, a.name), BaseURL: model.URL, Model: "modeltest", StateDir: t.TempDir(), Grace: 2 * time.Second,
			})
			require.NoError(t, err)
			turn := first(t, fsm.ModeInteractive)
			turn.ArtifactDir = filepath.Join(filepath.Dir(turn.ArtifactDir), "artifacts,all") // of which no part is a folder
			require.NoError(t, os.Mkdir(turn.ArtifactDir, 0o700))
			file := filepath.Join(turn.ArtifactDir, "report.txt")
			turn.Prompt = enginetest.Script("write "+file+" all is well", "final I wrote it")
			o, err := e.RunTurn(t.Context(), turn, &enginetest.Recorder{})
			require.NoError(t, err)
			require.Equal(t, engine.OK, o.Process.Status, o.Process.Detail)
			require.Equal(t, "I wrote it", o.FinalText)
			body, err := os.ReadFile(file)
			require.NoError(t, err, "%+v", model.Requests())
			require.Contains(t, string(body), "all is well")
			require.NotZero(t, o.Usage.OutputTokens)
			require.NoDirExists(t, filepath.Join(turn.HomeDir, ".npm"), "nothing was fetched")
		})
	}
}
