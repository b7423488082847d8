package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/lifecycle/rehearsal"
)

// asProgram makes this test program run the quickstart.
const asProgram = "INTERLUDE_QUICKSTART"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// play runs the quickstart in the folder, with lines of standard input.
func play(t *testing.T, folder, lines string, args ...string) (status int, out, side string) {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(self, args...)
	cmd.Dir, cmd.Env = folder, append(os.Environ(), asProgram+"=1", "TMPDIR="+folder)
	var stdout, stderr bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(lines), &stdout, &stderr
	var ended *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &ended) {
		require.NoError(t, err)
	}
	return cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()
}

func left(t *testing.T, folder string) []string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(folder, "*"))
	require.NoError(t, err)
	return names
}

const all = "2\nyes\nlemonade\n"

// A2, A4: a run that is answered to its end leaves no file.
func TestAnsweredRunSucceedsAndLeavesNothing(t *testing.T) {
	folder := t.TempDir()
	status, out, side := play(t, folder, all)
	require.Equal(t, 0, status, out+side)
	require.Contains(t, out, "✓ The party is planned, in 4 turns.\n  Place  roof\n  Music  yes\n  Wish   lemonade\n")
	require.NotContains(t, out, "\x1b", "no colours outside a terminal")
	require.Empty(t, left(t, folder))
}

// E1: a parked run is continued by the same command, one answer at a time.
func TestParkedAndResumed(t *testing.T) {
	folder := t.TempDir()
	for _, answer := range []string{"", "2\n", "\n yes \n"} {
		status, out, side := play(t, folder, answer)
		require.Equal(t, 0, status, out+side)
		require.Contains(t, out, "‖ Parked.")
		require.Contains(t, out, "Continue with the same command: the run is in garden-party.db.")
	}
	status, out, side := play(t, folder, "what a \x1b[31mday\u202e\n", "-decide", "1s")
	require.Equal(t, 0, status, out+side)
	require.Contains(t, out, "Continuing the garden party.")
	require.Contains(t, out, "  Wish   what a ?[31mday?\n", "typed text does not control the terminal")
	require.Empty(t, left(t, folder))
}

// C6, D2: there is no answer in time.
func TestAgentDecidesWhenNobodyAnswersInTime(t *testing.T) {
	status, out, side := play(t, t.TempDir(), "", "-decide", "1s")
	require.Equal(t, 0, status, out+side)
	require.Equal(t, 3, strings.Count(out, "! There was no answer in time: the agent decides."), out)
	require.Contains(t, out, "  Wish   lanterns\n")
}

// E1, E4: the program kills itself immediately after an event; the same command continues.
func TestKilledRunGoesOnWithTheSameCommand(t *testing.T) {
	for _, event := range []string{"conversation.started", "user.input.required", "interaction.reply.accepted"} {
		t.Run(event, func(t *testing.T) {
			folder := t.TempDir()
			status, out, _ := play(t, folder, "2\n", "-kill-after", event)
			require.Equal(t, -1, status, out)
			require.Contains(t, out, "✗ kill -9, immediately after "+event)
			status, out, side := play(t, folder, all)
			require.Equal(t, 0, status, out+side)
			require.Contains(t, out, "✓ The party is planned")
		})
	}
}

// F1: standard output has the events and nothing else.
func TestEventsFlagPrintsOnlyEventsOnStandardOutput(t *testing.T) {
	status, out, side := play(t, t.TempDir(), all, "-events")
	require.Equal(t, 0, status, side)
	require.Contains(t, side, "Where shall the party be?")
	for line := range strings.Lines(out) {
		var e struct{ Type string }
		require.NoError(t, json.Unmarshal([]byte(line), &e), line)
		require.NotEmpty(t, e.Type)
	}
}

func TestWrongCommandLines(t *testing.T) {
	for want, args := range map[string][]string{
		"unexpected argument":        {"now"},
		"provided but not defined":   {"-dance"},
		"invalid value \"soon\"":     {"-decide", "soon"},
		"want whole seconds":         {"-decide", "10ms"},
		"user.input.required":        {"-kill-after", "nothing"},
		"-kill-after is \"nothing\"": {"-kill-after", "nothing"},
	} {
		status, out, side := play(t, t.TempDir(), "", args...)
		require.Equal(t, 2, status, out)
		require.Contains(t, side, want)
		require.Empty(t, out)
	}
	status, out, side := play(t, t.TempDir(), "", "-kill-after", "nothing")
	require.Equal(t, 2, status, out)
	require.NotRegexp(t, `.{81}`, side, "wider than a terminal")
	status, out, side = play(t, t.TempDir(), "", "-db", t.TempDir())
	require.Equal(t, 1, status, out)
	require.Contains(t, side, "quickstart: ")
}

// N1: the plan says what the people have decided.
func TestN1ANoIsNoYes(t *testing.T) {
	for text, want := range map[string]string{"yes": "Music  yes", "no": "Music  no"} {
		run := rehearsal.Play(t, rehearsal.Case{Config: lifecycle.Config{Engine: engine.Func(planner)},
			Spec: lifecycle.Spec{Prompt: "Plan a party."}, Reply: rehearsal.Says(text)})
		require.Contains(t, run.FinalText, want)
	}
}
