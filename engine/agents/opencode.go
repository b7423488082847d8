package agents

import (
	"encoding/json"
	"errors"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/interlude-go/interlude/engine/exec"
)

// Opencode is opencode, opencode run --format json.
//
// Options.Model is PROVIDER/MODEL, and it logs in with the provider's key. With Options.BaseURL, a
// server with OpenAI's Chat Completions API, it is a MODEL of that server, whose key is
// OPENAI_API_KEY. Its own rules permit its shell and edits in interactive turns too, and refuse
// actions that need a person's permission, for example in other folders; a turn with a refusal
// fails. In auto mode it may do all of that. For stricter rules use its setting permission, for
// example with OPENCODE_PERMISSION in Options.Set.
func Opencode(o Options) (*Engine, error) {
	call := []string{"run", "--format", "json", autoArg}
	a := agent{
		name: "opencode", tried: [2]string{"1.18.33", "1.18.33"},
		keys: []string{
			"OPENCODE_API_KEY", "ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY", "GOOGLE_GENERATIVE_AI_API_KEY",
			"OPENROUTER_API_KEY",
		},
		set: map[string]string{
			"OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_DISABLE_SHARE": "1", "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
			"OPENCODE_PERMISSION": `{"external_directory":{"{artifacts}/**":"allow"}}`,
		},
		settings: markPluginsInstalled,
		help:     []string{"run", "--help"}, resumes: regexp.MustCompile(`(?m)^\s+(-s, )?--session\b`),
	}
	config, model, err := o.opencodeConfig()
	if err != nil {
		return nil, err
	}
	o.Model = model
	a.set["OPENCODE_CONFIG_CONTENT"] = config
	if o.BaseURL != "" {
		a.set["OPENCODE_DISABLE_MODELS_FETCH"] = "1" // the list of all models
	}
	if o.Model != "" {
		call = append(call, "--model", o.Model)
	}
	call = append(call, o.Args...)
	a.turns = exec.Config{
		Args:       call,
		ResumeArgs: with(call, "--session", "{session}"),
		AutoArgs:   []string{"--auto"},
		Stdin:      "{input}",
		Rules:      opencodeRules,
		// "Error: Session not found"
		ResumeFailed: regexp.MustCompile(`Session not found`),
		KeepsSession: true,
	}
	return assemble(o, a)
}

// opencodeConfig disables copies of the working folder, which exist to undo turns, and selects the
// host's server and its model. It uses a variable, because the settings may be the user's, and
// settings in the working folder must not override it.
func (o Options) opencodeConfig() (config, model string, err error) {
	settings := object{"snapshot": false}
	model = o.Model
	if o.BaseURL != "" {
		const provider = "interlude"
		name := strings.TrimPrefix(o.Model, provider+"/")
		if name == "" {
			return "", "", errors.New("agents: opencode: Options.BaseURL needs Options.Model: the server's name of " +
				"the model")
		}
		key := noKey
		if o.variable("OPENAI_API_KEY") != "" {
			key = "{env:OPENAI_API_KEY}"
		}
		model = provider + "/" + name
		settings["small_model"] = model // for titles
		settings["provider"] = object{provider: object{
			"npm": "@ai-sdk/openai-compatible", "name": provider, // built into the program
			"options": object{"baseURL": o.BaseURL + "/v1", "apiKey": key},
			"models":  object{name: object{"name": name}},
		}}
	}
	body, err := json.Marshal(settings)
	return string(body), model, err
}

// markPluginsInstalled makes the package for plugins appear installed. Otherwise each turn in a new
// home would download it with its dependencies, 100 MB, which only plugins in the home need.
func markPluginsInstalled(h *home) error {
	folder := filepath.Join(".config", "opencode")
	if err := h.MkdirAll(filepath.Join(folder, "node_modules"), 0o700); err != nil {
		return err
	}
	plugin := object{"dependencies": object{"@opencode-ai/plugin": "*"}}
	return h.writeSettings(object{"packages": object{"": plugin}}, folder, "package-lock.json")
}

// opencodeRules read the lines of --format json. Each has the session; the first comes with the
// model's first answer. A turn is complete with a step without a tool call; after a refused
// permission it ends earlier, and with status 0.
var opencodeRules = []exec.Rule{
	{Do: exec.Session, Path: "sessionID"},
	{Match: map[string]string{"type": "text"}, Do: exec.Message, Path: "part.text"},
	{Match: map[string]string{"type": "error"}, Do: exec.Failure, Path: "error.name"},
	{Match: map[string]string{"type": "error"}, Do: exec.Failure, Path: "error.data.message"},
	{Match: map[string]string{"type": "step_finish"}, Do: exec.InputTokens, Path: "part.tokens.input", Add: true},
	{Match: map[string]string{"type": "step_finish"}, Do: exec.OutputTokens, Path: "part.tokens.output", Add: true},
	{Match: map[string]string{"type": "step_finish"}, Do: exec.CostUSD, Path: "part.cost", Add: true},
	{Match: map[string]string{"type": "step_finish"}, Like: cutShort, Do: exec.Warning, Path: "part.reason"},
	{Match: map[string]string{"type": "step_finish"}, Like: complete, Do: exec.Complete},
}

var (
	complete = map[string]*regexp.Regexp{"part.reason": regexp.MustCompile(`^(stop|length|content-filter|other)$`)}
	cutShort = map[string]*regexp.Regexp{"part.reason": regexp.MustCompile(`^(length|content-filter)$`)}
)
