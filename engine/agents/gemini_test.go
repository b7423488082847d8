//go:build unix

package agents_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine/agents"
	"github.com/interlude-go/interlude/engine/agents/agentstest"
)

// D5, E4, I11: Gemini is an engine.
func TestGeminiPassesTheSuite(t *testing.T) {
	program := agentstest.Program(t, "gemini")
	t.Setenv(agentstest.EnvFolder+"_GEMINI", remembering(t, program, "--version", "--help"))
	proven(t, "gemini", agents.Gemini, agents.Options{})
}

// remembering is the program, with its answers to these questions learnt by heart: the suite makes
// dozens of engines, each of which asks them, and the program takes a second to say anything.
func remembering(tb testing.TB, program string, questions ...string) string {
	tb.Helper()
	var script strings.Builder
	script.WriteString("#!/bin/sh\ncase \"$*\" in\n")
	for _, q := range questions {
		ask := exec.CommandContext(tb.Context(), program, q)
		ask.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + tb.TempDir()}
		answer, err := ask.Output()
		require.NoError(tb, err, "%s %s", program, q)
		file := filepath.Join(tb.TempDir(), "answer")
		require.NoError(tb, os.WriteFile(file, answer, 0o600))
		script.WriteString(q + ") exec cat '" + file + "' ;;\n")
	}
	script.WriteString("*) exec '" + program + "' \"$@\" ;;\nesac\n")
	path := filepath.Join(tb.TempDir(), filepath.Base(program))
	require.NoError(tb, os.WriteFile(path, []byte(script.String()), 0o700))
	return path
}
