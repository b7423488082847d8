//go:build unix

package agents_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/engine/agents"
	"github.com/interlude-go/interlude/engine/enginetest"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
)

// old is an agent that cannot resume a session until the file UPDATED exists. It notes each query
// for its help, and answers each line of its input.
const old = `#!/bin/sh
case "$*" in
--version) echo 2.1.197; exit ;;
*--help)
	echo help >>"$NOTES"; echo '  -p, --print  Print the response'
	[ ! -e "$NOTES.updated" ] || echo '  -r, --resume [value]  Resume'
	exit ;;
esac
case "$*" in *--input-format*) ;;
*)
	cat >/dev/null; echo '{"type":"system","subtype":"init","session_id":"s1"}'
	echo '{"type":"result","is_error":false,"result":"alone"}'
	exit ;;
esac
while read -r line; do
	echo '{"type":"system","subtype":"init","session_id":"s1"}'
	echo '{"type":"result","is_error":false,"result":"together","total_cost_usd":1}'
done
`

// program writes a program and returns a path for its notes.
func program(tb testing.TB, name, text string) (path, notes string) {
	tb.Helper()
	path, notes = filepath.Join(tb.TempDir(), name), filepath.Join(tb.TempDir(), "notes")
	require.NoError(tb, os.WriteFile(path, []byte(text), 0o700))
	return path, notes
}

// D1: an agent whose help lacks resume is used as a resident process if possible. It is queried
// once per installed program, and a run continues in the form in which it began.
func TestAgentThatCannotResumeIsResident(t *testing.T) {
	path, notes := program(t, "claude", old)
	e, err := agents.Claude(agents.Options{Command: path, StateDir: t.TempDir(),
		Set: map[string]string{"NOTES": notes}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, e.Close()) })
	for range 3 {
		p, err := e.Profile(t.Context())
		require.NoError(t, err)
		require.Equal(t, fsm.ProfileStickyProcess, p.Kind)
		require.Contains(t, p.Reason, "it cannot resume a session, according to its --help")
	}
	turn, told := first(t, fsm.ModeInteractive), &enginetest.Recorder{}
	o, err := e.RunTurn(t.Context(), turn, told)
	require.NoError(t, err)
	require.Equal(t, "together", o.FinalText, o.Process.Detail)
	require.Equal(t, "claude-resident", o.Session.Engine)
	require.Zero(t, o.Usage.CostUSD, "what it says is the cost of all turns so far")

	require.NoError(t, os.WriteFile(notes+".updated", nil, 0o600))
	require.NoError(t, os.WriteFile(path, []byte(old+"# updated\n"), 0o700))
	p, err := e.Profile(t.Context())
	require.NoError(t, err)
	require.Equal(t, fsm.ProfileResumable, p.Kind)
	turn.Attempt, turn.Session, turn.Answers = 2, o.Session, []interaction.Answer{{ID: 1, Text: "yes"}}
	o, err = e.RunTurn(t.Context(), turn, told)
	require.NoError(t, err)
	require.Equal(t, "together", o.FinalText, "its process is still there")

	other := first(t, fsm.ModeInteractive)
	other.RunID = "r2"
	o, err = e.RunTurn(t.Context(), other, told)
	require.NoError(t, err)
	require.Equal(t, "alone", o.FinalText)
	require.Equal(t, "claude", o.Session.Engine)
	body, err := os.ReadFile(notes)
	require.NoError(t, err)
	require.Equal(t, 2, strings.Count(string(body), "help"), "asked once for each program")
}

// D1: an agent that can neither resume nor stay is unavailable, like a missing one.
func TestAgentThatCanNeitherResumeNorStayIsUnavailable(t *testing.T) {
	path, notes := program(t, "codex", old)
	for command, want := range map[string]string{path: "cannot resume a session, according to its exec --help",
		notes: "help cannot be read"} {
		e, err := agents.Codex(agents.Options{Command: command, StateDir: t.TempDir(),
			Set: map[string]string{"NOTES": notes}})
		require.NoError(t, err)
		_, err = e.Profile(t.Context())
		require.ErrorContains(t, err, want)
		_, err = e.RunTurn(t.Context(), first(t, fsm.ModeInteractive), &enginetest.Recorder{})
		var f *engine.Failure
		require.ErrorAs(t, err, &f)
		require.Equal(t, fsm.CodeEngineUnavailable, f.Code)
	}
}

// E2: a handle of another agent is refused; a handle of either form is accepted.
func TestHandleOfAnotherAgentIsRefused(t *testing.T) {
	e, err := agents.Claude(agents.Options{StateDir: t.TempDir()})
	require.NoError(t, err)
	require.NoError(t, e.Check(t.Context(), "r1", engine.SessionHandle{Engine: "claude", Data: []byte(`"s1"`)}))
	require.NoError(t, e.Check(t.Context(), "r1", engine.SessionHandle{Engine: "claude-resident",
		Data: []byte(`"s1"`)}))
	for _, h := range []engine.SessionHandle{{Engine: "codex", Data: []byte(`"s1"`)}, {Engine: "claude",
		Data: []byte(`""`)},
		{Engine: "claude", Data: []byte(`"--x"`)}} {
		require.ErrorIs(t, e.Check(t.Context(), "r1", h), engine.ErrHandleRefused)
		turn := first(t, fsm.ModeInteractive)
		turn.Session = &h
		_, err := e.RunTurn(t.Context(), turn, &enginetest.Recorder{})
		var f *engine.Failure
		require.ErrorAs(t, err, &f)
		require.Equal(t, fsm.CodeSessionResumeFailed, f.Code)
	}
}

// forgetful is an agent that only begins sessions.
const forgetful = `#!/bin/sh
case "$*" in
--version) echo 0.169.0; exit ;;
*--help) echo '  resume  Resume'; exit ;;
*resume*) echo 'Error: thread/resume: thread/resume failed: no rollout found for thread id 1' >&2; exit 1 ;;
esac
echo '{"type":"thread.started","thread_id":"2"}'
echo '{"type":"item.completed","item":{"type":"agent_message","text":"anew"}}'
echo '{"type":"turn.completed"}'
`

// E4: a repeated first turn starts a new session if the agent died before it stored the session
// that it had named. A turn with an answer never does.
func TestRepeatedFirstTurnStartsANewSession(t *testing.T) {
	path, _ := program(t, "codex", forgetful)
	e, err := agents.Codex(agents.Options{Command: path, StateDir: t.TempDir()})
	require.NoError(t, err)
	turn, told := first(t, fsm.ModeInteractive), &enginetest.Recorder{}
	turn.Attempt, turn.Session = 2, &engine.SessionHandle{Engine: "codex", Data: []byte(`"1"`)}
	o, err := e.RunTurn(t.Context(), turn, told)
	require.NoError(t, err)
	require.Equal(t, engine.OK, o.Process.Status, o.Process.Detail)
	require.Equal(t, "anew", o.FinalText)
	require.Equal(t, `"2"`, string(told.Last().Data))
	require.Contains(t, o.Diagnostics[len(o.Diagnostics)-1].Detail, "has started over")

	for _, goesOn := range []engine.Turn{{Answers: []interaction.Answer{{ID: 1, Text: "yes"}}}, {Repair: "again"}} {
		later := first(t, fsm.ModeInteractive)
		later.Session, later.Answers, later.Repair = turn.Session, goesOn.Answers, goesOn.Repair
		o, err = e.RunTurn(t.Context(), later, told)
		require.NoError(t, err)
		require.Equal(t, fsm.CodeSessionResumeFailed, o.Process.Code)
	}
}

// An input of any length reaches the agent, which no argument could.
func TestLongInputReachesTheAgent(t *testing.T) {
	for _, a := range []adapter{codex, claude, gemini, qwen, opencode} {
		turn := first(t, fsm.ModeInteractive)
		turn.Prompt = "-" + strings.Repeat("long ", 60_000) + "end"
		p := a.play(t, agents.Options{}, turn, "answer", 0)
		require.NoError(t, p.err)
		require.Equal(t, turn.Prompt, strings.TrimPrefix(strings.Join(p.lines(t, ".in"), "\n"), " "), a.name)
	}
}
