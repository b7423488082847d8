//go:build unix

package agents_test

import (
	"testing"

	"github.com/interlude-go/interlude/engine/agents"
	"github.com/interlude-go/interlude/engine/agents/agentstest"
)

// D5, E4, I11: Gemini is an engine.
func TestGeminiPassesTheSuite(t *testing.T) {
	program := agentstest.Program(t, "gemini")
	t.Setenv(agentstest.EnvFolder+"_GEMINI", agentstest.Remember(t, t.TempDir(), program, "--version",
		"--help"))
	proven(t, "gemini", agents.Gemini, agents.Options{})
}
