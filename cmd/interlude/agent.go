package main

import (
	"os"
	osexec "os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/engine/agents"
)

var commandLines = []struct {
	name    string // also the program's name
	install string // the npm package
	// keys are the variables with an API key; one is enough.
	keys  []string
	build func(agents.Options) (*agents.Engine, error)
}{
	{"codex", "@openai/codex", []string{"CODEX_API_KEY", "OPENAI_API_KEY"}, agents.Codex},
	{"claude", "@anthropic-ai/claude-code", []string{"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN",
		"CLAUDE_CODE_OAUTH_TOKEN"}, agents.Claude},
	{"gemini", "@google/gemini-cli", []string{"GEMINI_API_KEY"}, agents.Gemini},
	{"opencode", "opencode-ai", []string{
		"OPENCODE_API_KEY", "ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY", "GOOGLE_GENERATIVE_AI_API_KEY",
		"OPENROUTER_API_KEY",
	}, agents.Opencode},
	{"qwen", "@qwen-code/qwen-code", []string{"OPENAI_API_KEY"}, agents.Qwen},
}

const acpPrefix = "acp:"

func agentNames() []string {
	names := make([]string, 0, len(commandLines)+2)
	for _, k := range commandLines {
		names = append(names, k.name)
	}
	return append(names, acpPrefix+"CMD", demo)
}

// engine creates the chosen agent's engine. With -offline, a scripted model replaces the language
// model.
func (j *job) engine(d *death) (engine.Engine, error) {
	if j.agent == demo {
		if j.sticky {
			return nil, misusef("-sticky needs an agent with a process, which demo is not: leave -sticky out")
		}
		return engine.Func(demoAgent), nil
	}
	if err := j.rehearse(d); err != nil {
		return nil, err
	}
	if cmd, ok := strings.CutPrefix(j.agent, acpPrefix); ok {
		return j.acpAgent(cmd)
	}
	for _, k := range commandLines {
		if k.name != j.agent {
			continue
		}
		if err := j.installed(k.name, "npm install -g "+k.install); err != nil {
			return nil, err
		}
		o := agents.Options{
			Command: j.command, Model: j.model, Env: j.env, Set: map[string]string{}, Resident: j.sticky,
			StateDir: filepath.Join(j.dir, "processes"),
		}
		switch {
		case j.offline:
			o.BaseURL, o.Model = j.server.URL, scriptedModel
			for _, key := range k.keys { // the server needs no key, and must not see one
				o.Set[key] = noKey
			}
		case j.login:
			o.Home = agents.UserHome
		case !slices.ContainsFunc(k.keys, func(key string) bool { return os.Getenv(key) != "" }):
			return nil, misusef("%s has no key: set %s, use your login with -login, or try it with -offline",
				k.name, strings.Join(k.keys, " or "))
		}
		e, err := k.build(o)
		if err != nil {
			return nil, misusef("%w", err) // the options are invalid
		}
		return e, nil
	}
	return nil, misusef("-agent is %.80q, want %s", j.agent, strings.Join(agentNames(), ", "))
}

// installed says what to do if the agent's program is missing.
func (j *job) installed(program, install string) error {
	if j.command != "" {
		program = j.command
	}
	if _, err := osexec.LookPath(program); err != nil {
		return misusef("%s is not installed: %s, or give its path with -command", program, install)
	}
	return nil
}
