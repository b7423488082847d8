package acp_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/engine/acp"
	"github.com/interlude-go/interlude/engine/modeltest"
)

// model is the scripted model behind the real agents. After a decision on a permission, it repeats
// the request.
func model(tb testing.TB) *modeltest.Server {
	tb.Helper()
	m, err := modeltest.Start(modeltest.Config{Answer: func(c modeltest.Conversation) modeltest.Answer {
		if strings.Contains(c.Last(), "The person decided") {
			wanted := c.Users()[len(c.Users())-2]
			c.Messages = append([]modeltest.Message(nil), c.Messages...)
			for i := len(c.Messages) - 1; i >= 0; i-- {
				if c.Messages[i].Role == modeltest.User {
					c.Messages[i].Text = wanted
					break
				}
			}
		}
		return modeltest.ByScript(c, time.Millisecond)
	}})
	require.NoError(tb, err)
	tb.Cleanup(func() { require.NoError(tb, m.Close()) })
	return m
}

// settings writes a file below the home or another folder of the run.
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

// opencode is opencode acp, which asks before each command.
func opencode(program, url string) acp.Config {
	config, _ := json.Marshal(object{ // texts can be encoded
		"model": "here/modeltest", "small_model": "here/modeltest", "permission": object{"bash": "ask"},
		"provider": object{"here": object{
			"npm": "@ai-sdk/openai-compatible", "name": "here", "options": object{"baseURL": url + "/v1",
				"apiKey": "none-needed"},
			"models": object{"modeltest": object{"name": "modeltest"}},
		}},
	})
	return acp.Config{
		Command: program, Args: []string{"acp"}, Env: []string{"PATH"},
		Set: map[string]string{
			"HOME": "{home}", "OPENCODE_CONFIG_CONTENT": string(config), "OPENCODE_DISABLE_AUTOUPDATE": "1",
			"OPENCODE_DISABLE_MODELS_FETCH": "1", "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
			"OPENCODE_PERMISSION": `{"external_directory":{"{artifacts}/**":"allow"}}`,
		},
		Prepare: func(_ context.Context, t engine.Turn) error { // prevents fetching the plugin package
			folder := filepath.Join(t.HomeDir, ".config", "opencode")
			if err := os.MkdirAll(filepath.Join(folder, "node_modules"), 0o700); err != nil {
				return err
			}
			return settings(folder,
				object{"packages": object{"": object{"dependencies": object{"@opencode-ai/plugin": "*"}}}},
				"package-lock.json")
		},
		AutoPermission: acp.Allow, Grace: 2 * time.Second,
	}
}

// qwen is qwen --acp, which asks before each command.
func qwen(program, url string) acp.Config {
	return acp.Config{
		Command: program, Args: []string{"--acp", "--auth-type", "openai"}, Env: []string{"PATH"},
		Set: map[string]string{
			"HOME": "{home}", "OPENAI_API_KEY": "none-needed", "OPENAI_BASE_URL": url + "/v1",
			"OPENAI_MODEL":          "modeltest",
			"QWEN_CODE_NO_RELAUNCH": "true",
		},
		Prepare: func(_ context.Context, t engine.Turn) error {
			return settings(t.HomeDir, object{
				"general": object{"enableAutoUpdate": false}, "privacy": object{"usageStatisticsEnabled": false},
				"telemetry": object{"enabled": false}, "memory": object{"enableManagedAutoMemory": false},
				"ui": object{"enableFollowupSuggestions": false},
			}, ".qwen", "settings.json")
		},
		AutoPermission: acp.Allow, Grace: 2 * time.Second,
	}
}
