//go:build search

package agents_test

import (
	"testing"

	"github.com/interlude-go/interlude/engine/agents"
)

// D5, E4, I11: Claude Code passes the suite, with a process per turn.
func TestClaudePassesTheSuite(t *testing.T) {
	proven(t, "claude", agents.Claude, agents.Options{Set: asNobody})
}

// D3, D6: Claude Code passes the suite, with one process for all turns.
func TestResidentClaudePassesTheSuite(t *testing.T) {
	proven(t, "claude", agents.Claude, agents.Options{Set: asNobody, Resident: true})
}

// D5, E4, I11: Qwen Code passes the suite, with a process per turn.
func TestQwenPassesTheSuite(t *testing.T) { proven(t, "qwen", agents.Qwen, agents.Options{}) }
