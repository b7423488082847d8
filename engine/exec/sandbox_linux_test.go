package exec_test

import (
	"os"
	osexec "os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/engine/enginetest"
	"github.com/interlude-go/interlude/engine/exec"
)

// alone hides all runs' folders (first argument) except one (second) from the program that follows.
const alone = `mount --bind "$2" /mnt && mount -t tmpfs none "$1" && mkdir -p "$2" && mount --move /mnt "$2" && cd "$2/work" && shift 2 && exec "$@"`

// J11: runs of one user can read each other's homes; a sandbox limits each to its own. The example
// uses tools of every Linux; bwrap does it in one call.
func TestSandboxHidesOtherRuns(t *testing.T) {
	for name, sandbox := range map[string]func(*osexec.Cmd, engine.Turn) error{
		"the other's\n": nil,
		"": func(cmd *osexec.Cmd, t engine.Turn) error {
			path, err := osexec.LookPath("unshare")
			if err != nil {
				return err
			}
			run := filepath.Dir(t.WorkDir)
			cmd.Args = append([]string{
				"unshare", "--user", "--map-root-user", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c", alone,
				"sh", filepath.Dir(run), run, cmd.Path,
			}, cmd.Args[1:]...)
			cmd.Path = path
			return nil
		},
	} {
		runs := t.TempDir()
		var homes []string
		var turns []engine.Turn
		for _, id := range []string{"mine", "other"} {
			base := filepath.Join(runs, id)
			turn := engine.Turn{
				RunID: id, Attempt: 1, Prompt: filepath.Join(runs, "other", "home", "login"),
				WorkDir:     filepath.Join(base, "work"),
				ArtifactDir: filepath.Join(base, "artifacts"), TranscriptDir: filepath.Join(base, "transcripts"),
				HomeDir: filepath.Join(base, "home"),
			}
			for _, dir := range []string{turn.WorkDir, turn.ArtifactDir, turn.TranscriptDir, turn.HomeDir} {
				require.NoError(t, os.MkdirAll(dir, 0o700))
			}
			homes, turns = append(homes, turn.HomeDir), append(turns, turn)
		}
		require.NoError(t, os.WriteFile(filepath.Join(homes[1], "login"), []byte("the other's\n"), 0o600))
		e := started(t, exec.Config{
			Command: "sh", Args: []string{"-c", `cat "$0" || true; pwd > "$1/kept"`, "{input}", "{home}"},
			Format: exec.Text,
			Env:    []string{"PATH"}, StateDir: t.TempDir(), Sandbox: sandbox,
		})
		o, err := e.RunTurn(t.Context(), turns[0], &enginetest.Recorder{})
		require.NoError(t, err)
		require.Equal(t, engine.OK, o.Process.Status, o.Process.Detail)
		require.Equal(t, name, o.FinalText)
		entry, err := os.ReadFile(filepath.Join(homes[0], "kept"))
		require.NoError(t, err)
		require.Equal(t, turns[0].WorkDir+"\n", string(entry), "its own folders are as ever")
	}
}
