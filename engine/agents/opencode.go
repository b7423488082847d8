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
// Options.Model is PROVIDER/MODEL, and the provider's key is what it logs in with. With
// Options.BaseURL, a server that speaks OpenAI's Chat Completions, it is a MODEL of that server,
// whose key is OPENAI_API_KEY. By its own rules it may use its shell and edit files in interactive
// turns, too, and is refused what these rules ask a person about, such as other folders; a turn
// that is refused something ends as failed. In auto mode it may do all of that, unless
// Options.AutoArgs is empty and not nil. Tighter rules are settings of its own (permission), in
// OPENCODE_PERMISSION of Options.Set say. Its input goes to its standard input, so that no other
// user of the machine sees it and it may be of any length.
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
		settings: opencodeSettings,
		help:     []string{"run", "--help"}, resumes: regexp.MustCompile(`(?m)^\s+(-s, )?--session\b`),
	}
	config, model, err := o.opencodeConfig()
	if err != nil {
		return nil, err
	}
	o.Model = model
	a.set["OPENCODE_CONFIG_CONTENT"] = config
	if o.BaseURL != "" {
		a.set["OPENCODE_DISABLE_MODELS_FETCH"] = "1" // the list of all models of the world
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

// opencodeConfig keeps no copies of the working folder, which are for undoing turns; and names a
// server that the host wants, with its model. It is said in a variable, since the settings may be
// the user's own, and those of the working folder must not count more.
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
			"npm": "@ai-sdk/openai-compatible", "name": provider, // a part of the program
			"options": object{"baseURL": o.BaseURL + "/v1", "apiKey": key},
			"models":  object{name: object{"name": name}},
		}}
	}
	body, err := json.Marshal(settings)
	return string(body), model, err
}

// opencodeSettings say that the package for plugins is there. Otherwise each turn in a new home
// would fetch it and all that it needs, 100 MB, for nothing but plugins that are files in the home.
func opencodeSettings(h *home) error {
	folder := filepath.Join(".config", "opencode")
	if err := h.MkdirAll(filepath.Join(folder, "node_modules"), 0o700); err != nil {
		return err
	}
	plugin := object{"dependencies": object{"@opencode-ai/plugin": "*"}}
	return h.writeSettings(object{"packages": object{"": plugin}}, folder, "package-lock.json")
}

// opencodeRules read the lines of --format json. Each names the session; the first comes with the
// first answer of the model. A turn is complete with a step that calls no tool; one that was
// refused a permission ends without it, and with status 0.
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
