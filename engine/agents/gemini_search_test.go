//go:build search

package agents_test

import (
	"testing"

	"github.com/interlude-go/interlude/engine/agents"
)

// D5, E4, I11: Gemini passes the suite.
func TestGeminiPassesTheSuite(t *testing.T) { proven(t, "gemini", agents.Gemini, agents.Options{}) }
