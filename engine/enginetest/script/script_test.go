package script_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/engine/enginetest/script"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
)

func TestStepsFindsStepsInAnyText(t *testing.T) {
	input := "Do this:\n  :: say one\n::final \"two\\n\\xff\"\nNot ::this, nor\n::\n:: done\n"
	require.Equal(t, []script.Step{{Word: "say", Rest: "one"}, {Word: "final", Rest: "two\n\xff"}, {Word: "done"}},
		script.Steps(input))
	require.Equal(t, []script.Step{{Word: "say", Rest: "one"}, {Word: "hang"}}, script.Steps(script.Script("say one",
		"hang")))
	require.Empty(t, script.Steps(""))
}

func TestRecallReturnsNotesAndPlainLines(t *testing.T) {
	inputs := []string{"first\n:: note a\n", "\n:: hang\n second ", ":: note \"b\""}
	require.Equal(t, "first | a | second | b", script.Recall(inputs))
	require.Equal(t, "a | b", script.Notes(inputs))
}

// B4, B10: the library reads what the agent writes.
func TestAskAndDoneMarkerMatchTheLibrary(t *testing.T) {
	require.Equal(t, interaction.DoneMarker, script.DoneMarker)
	q := interaction.Read(script.Ask("May \"I\"?\n"), nil).Question
	require.NotNil(t, q)
	require.Equal(t, "May \"I\"?\n", q.Prompt)
}

// J12: a scripted agent follows the library's prompts and notes.
func TestSignUsesTheNonceOfTheInput(t *testing.T) {
	const old, now = "aaaaaaaaaaaa", "bbbbbbbb2345"
	prompt := interaction.Patch(interaction.PromptParts{Task: "Do it.", Mode: fsm.ModeInteractive, Nonce: old})
	require.Equal(t, old, script.Nonce([]string{prompt}))
	input := engine.Turn{Nonce: now, Answers: []interaction.Answer{{Text: "yes"}}}.Input()
	require.Equal(t, now, script.Nonce([]string{prompt, input, "and then"}))
	require.Equal(t, "yes", script.Reply(input))
	require.Equal(t, "yes", script.Reply("yes"))
	require.Empty(t, script.Nonce([]string{"Do it."}))

	text := "Here.\n```json\n{}\n```\n" + script.DoneMarker + "\n"
	require.Equal(t, text, script.Signed(text, ""))
	r := interaction.ReadSigned(script.Signed(text, now), nil, now)
	require.True(t, r.Done)
	require.JSONEq(t, "{}", string(r.Output))
}
