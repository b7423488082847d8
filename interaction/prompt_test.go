package interaction_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
)

const markBegin, markEnd = "<!-- interlude:begin -->", "<!-- interlude:end -->"

// H3: to patch a prompt a second time changes nothing, whatever the task is, even if it contains
// the marks of a patch. Each part is in the prompt once.
func TestPatchIsIdempotent(t *testing.T) {
	piece := rapid.SampledFrom([]string{
		"Do it.", " ", "\n", "\n\n", "é", "```", markBegin, markEnd, "<!-- interlude:be", "gin -->", "<!-- interlude:e",
		"nd -->", "<!--", "-->",
	})
	text := rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(piece, 0, 12).Draw(t, "pieces"), "")
	})
	rapid.Check(t, func(t *rapid.T) {
		parts := interaction.PromptParts{
			Task: text.Draw(t, "task"), Mode: rapid.SampledFrom(fsm.Modes()).Draw(t, "mode"),
			ArtifactDir: rapid.SampledFrom([]string{"", "/runs/r/artifacts"}).Draw(t, "folder"),
		}
		if rapid.Bool().Draw(t, "schema") {
			parts.OutputSchema = []byte(`{"type":"object","description":"` + strings.ReplaceAll(text.Draw(t,
				"description"), "\n", " ") + `"}`)
		}
		once := interaction.Patch(parts)
		again := parts
		again.Task = once
		require.Equal(t, once, interaction.Patch(again))
		again.Mode = fsm.ModeAuto
		if parts.Mode == fsm.ModeAuto {
			again.Mode = fsm.ModeInteractive
		}
		again.Task = interaction.Patch(again)
		again.Mode = parts.Mode
		require.Equal(t, once, interaction.Patch(again), "nothing of the other mode is left")
	})
}

// H3: a prompt that contains the marks many times is read in linear time.
func TestPatchTakesLinearTime(t *testing.T) {
	for _, task := range []string{
		strings.Repeat(markBegin+"x"+markEnd, 100_000), strings.Repeat(markBegin, 100_000) + strings.Repeat(markEnd,
			100_000), strings.Repeat(markBegin, 200_000),
	} {
		began := time.Now()
		interaction.Patch(interaction.PromptParts{Task: task, Mode: fsm.ModeAuto})
		require.Less(t, time.Since(began), 20*time.Second, "were it quadratic, this would take minutes")
	}
}

// H1 H3: the text before and after an earlier patch stays, and stays separate.
func TestPatchKeepsTheTextAroundAnEarlierPatch(t *testing.T) {
	before := interaction.Patch(interaction.PromptParts{Task: "Do it.", Mode: fsm.ModeInteractive})
	got := interaction.Patch(interaction.PromptParts{Task: before + "And this.", Mode: fsm.ModeAuto})
	inOrder(t, got, "Do it.\n", "And this.", "Working alone")
	require.NotContains(t, got, "ask_user")
	got = interaction.Patch(interaction.PromptParts{Task: "Do it." + strings.TrimSpace(strings.TrimPrefix(before,
		"Do it.")) + "And this.", Mode: fsm.ModeAuto})
	inOrder(t, got, "Do it.\n\nAnd this.\n", "Working alone")
	patch := strings.TrimSpace(strings.TrimPrefix(before, "Do it."))
	got = interaction.Patch(interaction.PromptParts{Task: "Do it." + patch + "And this <!-- interlude: word -->.",
		Mode: fsm.ModeAuto})
	inOrder(t, got, "Do it.\n\nAnd this <!-- interlude: word -->.\n", "Working alone")
	got = interaction.Patch(interaction.PromptParts{Task: "Do it." + patch + patch + "<!-- interlude: word -->",
		Mode: fsm.ModeAuto})
	inOrder(t, got, "Do it.\n\n<!-- interlude: word -->\n", "Working alone")
	require.Equal(t, 1, strings.Count(got, markBegin))
}

// B3, B5: the text of a repair names the fault. It mentions the done marker only in interactive
// runs (H1).
func TestRepairSaysWhatIsWrong(t *testing.T) {
	auto := interaction.RepairText(fsm.ModeAuto, "", "answer: want integer")
	require.Contains(t, auto, "answer: want integer")
	require.NotContains(t, auto, interaction.DoneMarker)
	inOrder(t, interaction.RepairText(fsm.ModeInteractive, "", "answer: want integer"), "answer: want integer",
		"Write your final message again", "\n"+interaction.DoneMarker+"\n")
}

// FuzzPatch: whatever the task is, patching it again changes nothing, and nothing of the other mode
// is left (H3).
func FuzzPatch(f *testing.F) {
	f.Add("Do it.", true)
	f.Add(markBegin+"x"+markEnd+" y "+markBegin, false)
	f.Add(markEnd+markBegin+markBegin+markEnd, true)
	f.Add("<!-- interlude:be"+markBegin+markEnd+"gin -->", false)
	f.Fuzz(func(t *testing.T, task string, interactive bool) {
		mode, other := fsm.ModeAuto, fsm.ModeInteractive
		if interactive {
			mode, other = other, mode
		}
		once := interaction.Patch(interaction.PromptParts{Task: task, Mode: mode})
		require.Equal(t, once, interaction.Patch(interaction.PromptParts{Task: once, Mode: mode}))
		turned := interaction.Patch(interaction.PromptParts{Task: once, Mode: other})
		require.Equal(t, once, interaction.Patch(interaction.PromptParts{Task: turned, Mode: mode}))
	})
}
