package acp_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/engine/acp"
	"github.com/interlude-go/interlude/engine/agents/agentstest"
	"github.com/interlude-go/interlude/engine/enginetest"
	"github.com/interlude-go/interlude/engine/modeltest"
)

// model is the scripted model behind the real agents.
func model(tb testing.TB) *modeltest.Server {
	tb.Helper()
	m, err := modeltest.Start(modeltest.Config{})
	require.NoError(tb, err)
	tb.Cleanup(func() { require.NoError(tb, m.Close()) })
	return m
}

// settings puts a file into the home, or another of the run's folders.
func settings(dir string, content any, path ...string) error {
	file := filepath.Join(append([]string{dir}, path...)...)
	body, err := json.Marshal(content)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(file), 0o750)
	}
	if err == nil {
		err = os.WriteFile(file, body, 0o600)
	}
	return err
}

type object = map[string]any

// opencode is opencode acp, which asks before it runs a command.
func opencode(tb testing.TB, m *modeltest.Server) acp.Config {
	tb.Helper()
	config, err := json.Marshal(object{
		"model": "here/modeltest", "small_model": "here/modeltest", "permission": object{"bash": "ask"},
		"provider": object{"here": object{
			"npm": "@ai-sdk/openai-compatible", "name": "here", "options": object{"baseURL": m.URL + "/v1", "apiKey": "none-needed"},
			"models": object{"modeltest": object{"name": "modeltest"}},
		}},
	})
	require.NoError(tb, err)
	return acp.Config{
		Command: agentstest.Program(tb, "opencode"), Args: []string{"acp"}, Env: []string{"PATH"},
		Set: map[string]string{
			"HOME": "{home}", "OPENCODE_CONFIG_CONTENT": string(config), "OPENCODE_DISABLE_AUTOUPDATE": "1",
			"OPENCODE_DISABLE_MODELS_FETCH": "1", "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
			"OPENCODE_PERMISSION": `{"external_directory":{"{artifacts}/**":"allow"}}`,
		},
		Prepare: func(_ context.Context, t engine.Turn) error { // the package for plugins is not to be fetched
			folder := filepath.Join(t.HomeDir, ".config", "opencode")
			if err := os.MkdirAll(filepath.Join(folder, "node_modules"), 0o700); err != nil {
				return err
			}
			return settings(folder, object{"packages": object{"": object{"dependencies": object{"@opencode-ai/plugin": "*"}}}}, "package-lock.json")
		},
		AutoPermission: acp.Allow, Grace: 2 * time.Second,
	}
}

// qwen is qwen --acp, which asks before it runs a command.
func qwen(tb testing.TB, m *modeltest.Server) acp.Config {
	tb.Helper()
	return acp.Config{
		Command: agentstest.Program(tb, "qwen"), Args: []string{"--acp", "--auth-type", "openai"}, Env: []string{"PATH"},
		Set: map[string]string{
			"HOME": "{home}", "OPENAI_API_KEY": "none-needed", "OPENAI_BASE_URL": m.URL + "/v1", "OPENAI_MODEL": "modeltest",
			"QWEN_CODE_NO_RELAUNCH": "true",
		},
		Prepare: func(_ context.Context, t engine.Turn) error {
			return settings(t.HomeDir, object{
				"general": object{"enableAutoUpdate": false}, "privacy": object{"usageStatisticsEnabled": false},
				"telemetry": object{"enabled": false}, "memory": object{"enableManagedAutoMemory": false},
			}, ".qwen", "settings.json")
		},
		AutoPermission: acp.Allow, Grace: 2 * time.Second,
	}
}

// proven runs the suite with a real agent. All cases share an engine, which asks the agent once what it is.
func proven(t *testing.T, cfg acp.Config, m *modeltest.Server) {
	t.Helper()
	cfg.StateDir = t.TempDir()
	e := started(t, cfg)
	enginetest.Run(t, enginetest.Harness{Model: m, New: func(testing.TB, string) engine.Engine { return e }})
}

// D5, E4, I11: opencode is an engine, with a process for each turn.
func TestOpencodeIsAnEngine(t *testing.T) {
	m := model(t)
	proven(t, opencode(t, m), m)
}

// D3, D6: Qwen Code is an engine, with one process for all turns.
func TestQwenIsAResidentEngine(t *testing.T) {
	m := model(t)
	cfg := qwen(t, m)
	cfg.Sticky = true
	proven(t, cfg, m)
}
