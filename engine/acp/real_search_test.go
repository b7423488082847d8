//go:build search

package acp_test

import (
	"fmt"
	"testing"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/engine/agents/agentstest"
	"github.com/interlude-go/interlude/engine/enginetest"
)

// D3, D6: Qwen Code passes the suite, with one process for all turns and resumed by its session.
// All cases share an engine, which probes the agent once.
func TestQwenPassesTheSuite(t *testing.T) {
	for _, resident := range []bool{true, false} {
		t.Run(fmt.Sprintf("resident %t", resident), func(t *testing.T) {
			m := model(t)
			cfg := qwen(agentstest.Program(t, "qwen"), m.URL)
			cfg.Resident, cfg.StateDir = resident, t.TempDir()
			e := started(t, cfg)
			enginetest.Run(t, enginetest.Harness{Model: m, New: func(testing.TB, string) engine.Engine { return e }})
		})
	}
}

// B1, B11, D5, E2: an agent that resumes sessions without replaying them passes the suite.
func TestAgentThatResumesSessionsPassesTheSuite(t *testing.T) { suite(t, "resume") }
