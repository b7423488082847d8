package main

import (
	"context"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/engine/acp"
)

func (j *job) acpAgent(cmd string) (engine.Engine, error) {
	words := strings.Fields(cmd)
	if len(words) == 0 {
		return nil, misusef("-agent is %q, want a command after the colon, for example acp:opencode acp", j.agent)
	}
	if err := j.installed(words[0], "install it"); err != nil {
		return nil, err
	}
	cfg := acp.Config{
		Name: "acp", Command: words[0], Args: words[1:], StateDir: filepath.Join(j.dir, "processes"),
		AutoPermission: acp.Allow, Resident: j.sticky, AuthMethod: j.auth,
		Env: append([]string{
			"PATH", "SHELL", "USER", "LOGNAME", "TMPDIR", "TZ", "LANG", "LC_ALL", "LC_CTYPE",
			"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS",
		}, j.env...),
		Set: map[string]string{"NO_COLOR": "1"},
	}
	if j.command != "" {
		cfg.Command = j.command
	}
	switch {
	case j.offline:
		maps.Copy(cfg.Set, offlineEnv(j.server.URL))
	default:
		for _, k := range commandLines {
			cfg.Env = append(cfg.Env, k.keys...)
		}
		cfg.Env = append(cfg.Env, "OPENAI_BASE_URL", "OPENAI_MODEL", "ANTHROPIC_BASE_URL")
	}
	if j.login {
		cfg.Env = append(cfg.Env, "HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME")
	} else {
		cfg.Set["HOME"] = "{home}"
		cfg.Prepare = writeHomeFiles
	}
	cfg.Env = slices.DeleteFunc(cfg.Env, func(name string) bool { _, set := cfg.Set[name]; return set })
	for _, name := range cfg.Env {
		if secret.MatchString(name) && os.Getenv(name) != "" && !slices.Contains(cfg.Secrets, name) {
			cfg.Secrets = append(cfg.Secrets, name)
		}
	}
	return acp.New(cfg)
}

// secret matches the names of variables whose values are redacted from transcripts.
var secret = regexp.MustCompile(`(?i)(KEY|TOKEN|SECRET|PASSWORD)$`)

// offlineEnv has the variables that direct each agent to the scripted model.
func offlineEnv(url string) map[string]string {
	const provider = "offline"
	config, _ := json.Marshal(object{ // only strings
		"model": provider + "/" + scriptedModel, "small_model": provider + "/" + scriptedModel,
		"provider": object{provider: object{
			"npm": "@ai-sdk/openai-compatible", "name": provider, "options": object{"baseURL": url + "/v1",
				"apiKey": noKey},
			"models": object{scriptedModel: object{"name": scriptedModel}},
		}},
	})
	return map[string]string{
		"OPENAI_BASE_URL": url + "/v1", "OPENAI_API_KEY": noKey, "OPENAI_MODEL": scriptedModel,
		"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": noKey,
		"GOOGLE_GEMINI_BASE_URL": url, "GEMINI_API_KEY": noKey, "GEMINI_CLI_TRUST_WORKSPACE": "true",
		"OPENCODE_CONFIG_CONTENT": string(config), "OPENCODE_DISABLE_AUTOUPDATE": "1",
		"OPENCODE_DISABLE_MODELS_FETCH": "1",
		"OPENCODE_PERMISSION":           `{"external_directory":{"{artifacts}/**":"allow"}}`,
	}
}

type object = map[string]any

// homeFiles are files for a run's home. Without them opencode would download its plugin package
// (100 MB) in each run, and Qwen Code would update itself, and ask its model for memories and
// suggestions.
var homeFiles = map[string]object{
	".config/opencode/package-lock.json": {
		"packages": object{"": object{"dependencies": object{"@opencode-ai/plugin": "*"}}},
	},
	".config/opencode/node_modules/.package-lock.json": {},
	".qwen/settings.json": {
		"general": object{"enableAutoUpdate": false}, "privacy": object{"usageStatisticsEnabled": false},
		"memory": object{"enableManagedAutoMemory": false}, "ui": object{"enableFollowupSuggestions": false},
	},
}

func writeHomeFiles(_ context.Context, t engine.Turn) error {
	for name, content := range homeFiles {
		file := filepath.Join(t.HomeDir, filepath.FromSlash(name))
		body, err := json.Marshal(content)
		if err == nil {
			err = os.MkdirAll(filepath.Dir(file), 0o700)
		}
		if err == nil {
			err = os.WriteFile(file, body, 0o600)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
