package agents_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/engine/agents"
	"github.com/interlude-go/interlude/engine/agents/agentstest"
	"github.com/interlude-go/interlude/engine/enginetest"
	"github.com/interlude-go/interlude/engine/modeltest"
)

func TestMain(m *testing.M) { os.Exit(agentstest.Main(m)) }

// proven runs the suite with a real agent that asks a scripted model.
func proven(t *testing.T, name string, build func(agents.Options) (*agents.Engine, error), o agents.Options) {
	t.Helper()
	o.Command = agentstest.Remembered(t, name)
	model, err := modeltest.Start(modeltest.Config{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, model.Close()) })
	o.BaseURL, o.Model, o.Grace = model.URL, "modeltest", 2*time.Second
	enginetest.Run(t, enginetest.Harness{Model: model, Patience: 3 * time.Minute, New: func(tb testing.TB,
		dir string) engine.Engine {
		tb.Helper()
		o := o
		o.StateDir = filepath.Join(dir, "processes")
		e, err := build(o)
		require.NoError(tb, err)
		return e
	}})
}

// D5, E4, I11: Codex passes the suite.
func TestCodexPassesTheSuite(t *testing.T) {
	proven(t, "codex", agents.Codex, agents.Options{})
}

// asNobody lets Claude Code use full-auto mode in tests run by root.
var asNobody = map[string]string{"ANTHROPIC_API_KEY": "none-needed", "IS_SANDBOX": "1"}
