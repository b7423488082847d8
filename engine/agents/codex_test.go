//go:build linux

package agents_test

import (
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

// H3, H4: in an interactive turn and its resume, Codex's sandbox permits writes only in the working
// and the artifact folder; in auto mode there is no sandbox, unless the host sets one.
func TestCodexSandboxLimitsWrites(t *testing.T) {
	model, err := modeltest.Start(modeltest.Config{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, model.Close()) })
	for name, tc := range map[string]struct {
		mode fsm.Mode
		auto []string
		free bool
	}{
		"interactive": {mode: fsm.ModeInteractive}, "auto": {mode: fsm.ModeAuto, free: true},
		"auto, with the sandbox": {mode: fsm.ModeAuto, auto: []string{}},
	} {
		t.Run(name, func(t *testing.T) {
			e, err := agents.Codex(agents.Options{
				Command: agentstest.Program(t, "codex"), BaseURL: model.URL, Model: "modeltest", StateDir: t.TempDir(),
				Grace: 2 * time.Second, AutoArgs: tc.auto,
				// The tests' folders are temporary folders, which it could write to otherwise.
				Args: []string{"--config", "sandbox_workspace_write.exclude_slash_tmp=true", "--config",
					"sandbox_workspace_write.exclude_tmpdir_env_var=true"},
			})
			require.NoError(t, err)
			turn := first(t, tc.mode)
			outside := filepath.Join(t.TempDir(), "outside")
			for attempt := 1; attempt <= 2; attempt++ {
				script := enginetest.Script("tool touch inside '"+turn.ArtifactDir+"/artifact'; touch "+outside,
					"final done")
				turn.Attempt, turn.Prompt = attempt, script
				if attempt > 1 {
					turn.Answers = []interaction.Answer{{ID: 1, Text: script}}
				}
				o, err := e.RunTurn(t.Context(), turn, &enginetest.Recorder{})
				require.NoError(t, err)
				require.Equal(t, engine.OK, o.Process.Status, o.Process.Detail)
				turn.Session = o.Session
			}
			require.FileExists(t, filepath.Join(turn.WorkDir, "inside"))
			require.FileExists(t, filepath.Join(turn.ArtifactDir, "artifact"))
			if tc.free {
				require.FileExists(t, outside)
			} else {
				require.NoFileExists(t, outside)
			}
		})
	}
}
