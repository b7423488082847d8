//go:build unix

package exec_test

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/engine/enginetest"
	"github.com/interlude-go/interlude/engine/exec"
	"github.com/interlude-go/interlude/fsm"
)

// shell is an agent of a few lines of shell.
func shell(tb testing.TB, lines ...string) exec.Config {
	tb.Helper()
	return exec.Config{
		Name: "sh", Command: "sh", Args: []string{"-c", strings.Join(lines, "\n")}, Grace: grace, Env: []string{"PATH"},
		StateDir: tb.TempDir(),
		Rules: []exec.Rule{
			{Match: map[string]string{"type": "final"}, Do: exec.Final, Path: "text"},
			{Match: map[string]string{"type": "failure"}, Do: exec.Failure, Path: "text"},
			{Match: map[string]string{"type": "lost"}, Do: exec.ResumeFailed},
			{Match: map[string]string{"type": "begin"}, Do: exec.Session, Path: "id"},
			{Match: map[string]string{"type": "end"}, Do: exec.TurnEnd},
		},
	}
}

// residentShell is a resident one; its input is JSON on standard input.
func residentShell(tb testing.TB, lines ...string) exec.Config {
	tb.Helper()
	cfg := shell(tb, lines...)
	cfg.Resident, cfg.Stdin, cfg.StdinJSON = true, "{input}", true
	return cfg
}

// The agents' output.
const (
	saysOK  = `echo '{"type":"final","text":"ok"}'`
	saysEnd = `echo '{"type":"end"}'`
)

// B1: the idle limit also holds for an agent that closed its output and continues.
func TestIdleLimitHoldsAfterTheOutputIsClosed(t *testing.T) {
	cfg := shell(t, saysOK, "exec >/dev/null 2>&1", "sleep 1000")
	cfg.IdleLimit = 200 * time.Millisecond
	o, err := started(t, cfg).RunTurn(t.Context(), job(t), &enginetest.Recorder{})
	require.NoError(t, err)
	require.Equal(t, engine.TimedOut, o.Process.Status)
	require.Contains(t, o.Process.Detail, "no output for 200ms")
}

// D6: a resident agent that exits right after its turn has done the turn; the exit is reported as a
// loss, once.
func TestResidentAgentMayExitRightAfterItsTurn(t *testing.T) {
	for _, last := range []string{"exit 0", "exit 3", "kill -9 $$"} {
		for range 10 { // the process may be gone when the turn is judged
			e := started(t, residentShell(t, "read -r input", saysOK, saysEnd, last))
			lost := make(chan string, 10)
			stop := e.OnLoss(func(id string, _ error) { lost <- id })
			o, err := e.RunTurn(t.Context(), job(t), &enginetest.Recorder{})
			require.NoError(t, err)
			require.Equal(t, engine.OK, o.Process.Status, o.Process.Detail)
			require.Equal(t, "ok", o.FinalText)
			require.Equal(t, "r1", <-lost)
			stop()
			require.NoError(t, e.Close())
			require.Empty(t, lost)
		}
	}
}

// A resident agent that ends its turn without reading its input has failed: the rest would begin
// its next turn.
func TestResidentAgentThatDoesNotReadItsInputFails(t *testing.T) {
	turn := job(t)
	turn.Prompt = strings.Repeat("x", 1<<20) // more than a pipe holds
	o, err := started(t, residentShell(t, saysOK, saysEnd, "sleep 1000")).RunTurn(t.Context(), turn,
		&enginetest.Recorder{})
	require.NoError(t, err)
	require.Equal(t, engine.Failed, o.Process.Status)
	require.Equal(t, fsm.CodeEngineFailed, o.Process.Code)
	require.Contains(t, o.Process.Detail, "without reading its input")
}

// E2: an agent can say in each of these ways that its session is gone.
func TestLostSessionIsRecognized(t *testing.T) {
	const says = `echo '{"type":"failure","text":"No conversation found: x"}'`
	gone := regexp.MustCompile("No conversation found")
	const another = `echo '{"type":"begin","id":"y"}'`
	for name, tc := range map[string]struct {
		lines  []string
		status []int
		text   *regexp.Regexp
		keeps  bool
		want   fsm.Code
	}{
		"by another session": {lines: []string{another, "sleep 1000"}, keeps: true,
			want: fsm.CodeSessionResumeFailed},
		"not by its own session":      {lines: []string{`echo '{"type":"begin","id":"x"}'`, saysOK}, keeps: true},
		"not by another that goes on": {lines: []string{another, saysOK}},
		"by a line, and lingers": {lines: []string{`echo '{"type":"lost"}'`, saysEnd, "sleep 1000"},
			want: fsm.CodeSessionResumeFailed},
		"by the text of its failure": {lines: []string{says}, text: gone, want: fsm.CodeSessionResumeFailed},
		"by such a text, and lingers": {lines: []string{says, saysEnd, "sleep 1000"}, text: gone,
			want: fsm.CodeSessionResumeFailed},
		"by its exit status": {lines: []string{saysOK, "exit 42"}, status: []int{41, 42},
			want: fsm.CodeSessionResumeFailed},
		"not by another status": {lines: []string{saysOK, "exit 3"}, status: []int{41, 42},
			want: fsm.CodeEngineFailed},
		"not by another text": {lines: []string{`echo '{"type":"failure","text":"no model"}'`}, text: gone,
			want: fsm.CodeEngineFailed},
		"not by an error output that is": {lines: []string{saysOK, "echo No conversation found >&2"}, text: gone},
		"beside an end that the host made": {lines: []string{saysOK, "echo No conversation found >&2", saysEnd,
			"sleep 1000"}, text: gone},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := shell(t, tc.lines...)
			cfg.KeepsSession = tc.keeps
			cfg.ResumeArgs, cfg.ResumeFailed, cfg.ResumeFailedStatus = slices.Concat(cfg.Args, []string{"{session}"}),
				tc.text, tc.status
			turn := job(t)
			turn.Session = &engine.SessionHandle{Engine: "sh", Data: []byte(`"x"`)}
			o, err := started(t, cfg).RunTurn(t.Context(), turn, &enginetest.Recorder{})
			require.NoError(t, err)
			require.Equal(t, tc.want, o.Process.Code, o.Process.Detail)
			require.Equal(t, tc.want == "", o.Process.Status == engine.OK)

			turn.Session, cfg.Args = nil, cfg.ResumeArgs
			// a session that was not resumed cannot be gone
			if tc.status != nil || tc.text != nil || tc.keeps && tc.want == "" {
				o, err = started(t, cfg).RunTurn(t.Context(), turn, &enginetest.Recorder{})
				require.NoError(t, err)
				require.NotEqual(t, fsm.CodeSessionResumeFailed, o.Process.Code)
			}
		})
	}
}

// Close takes one grace in total, not one per process: each process ends once all were signaled.
func TestCloseEndsResidentAgentsAtTheSameTime(t *testing.T) {
	const n = 3
	dir := t.TempDir()
	meet := fmt.Sprintf(
		`trap 'touch "$HERE/asked-$RUN"; until [ $(ls "$HERE" | grep -c asked) = %d ]; do sleep 0.01; done; touch "$HERE/met-$RUN"; exit 0' TERM`, n)
	cfg := residentShell(t, meet, "read -r input", saysOK, saysEnd, "sleep 1000 & wait")
	cfg.Set = map[string]string{"HERE": dir, "RUN": "{run}"}
	cfg.Grace = patience / n / 2
	e := started(t, cfg)
	for i := range n {
		turn := job(t)
		turn.RunID = fmt.Sprintf("r%d", i)
		_, err := e.RunTurn(t.Context(), turn, &enginetest.Recorder{})
		require.NoError(t, err)
	}
	require.NoError(t, e.Close())
	met, err := filepath.Glob(filepath.Join(dir, "met-*"))
	require.NoError(t, err)
	require.Len(t, met, n)
}
