package agents

import (
	"encoding/json"
	"path/filepath"
	"regexp"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/engine/exec"
	"github.com/interlude-go/interlude/fsm"
)

// Qwen is Qwen Code, qwen --output-format stream-json.
//
// It logs in with OPENAI_API_KEY at any server of that protocol, selected by OPENAI_BASE_URL and
// OPENAI_MODEL or Options.BaseURL and Options.Model. In interactive turns it may read files, write
// only in the working and artifact folders, and has no shell; in auto mode it may do everything.
// The rules are passed as system settings, which override all others. Its own question tool is
// disabled: it asks by the end of its turn. Its input is at most 8 MiB; a leading slash is not a
// command, but @FILE is the content of a file in its folders.
func Qwen(o Options) (*Engine, error) {
	call := []string{"--output-format", "stream-json", "--exclude-tools", "ask_user_question", "--chat-recording",
		autoArg}
	if o.Model != "" {
		call = append(call, "--model", o.Model)
	}
	if o.BaseURL != "" {
		call = append(call, "--auth-type", "openai")
	}
	if o.Home == UserHome {
		call = append(call, "--include-directories", "{artifacts}") // which it splits at commas
	}
	call = append(call, o.Args...)
	a := agent{
		name: "qwen", tried: [2]string{"0.15.10", "0.24.4"},
		keys:     []string{"OPENAI_API_KEY"},
		env:      []string{"OPENAI_BASE_URL", "OPENAI_MODEL", "QWEN_MODEL"},
		settings: writeQwenSettings, turn: o.qwenTurn,
		set: map[string]string{
			artifactsVariable:                "{artifacts}",
			"QWEN_CODE_SYSTEM_SETTINGS_PATH": "{home}/" + qwenTurnFile,
			// Otherwise it restarts itself with a larger heap, which takes a second.
			"QWEN_CODE_NO_RELAUNCH": "true",
		},
		help: []string{"--help"}, resumes: regexp.MustCompile(`(?m)^\s+(-r, )?--resume\b`),
		turns: exec.Config{
			Args:       call,
			ResumeArgs: with(call, "--resume", "{session}"),
			AutoArgs:   []string{"--approval-mode", "yolo"},
			Stdin:      " {input}", // it would parse a leading slash as a command
			Rules:      qwenRules,
			// "No saved session found with ID …", "No saved session found with title …"
			ResumeFailed: regexp.MustCompile(`No saved session found`),
			KeepsSession: true,
		},
	}
	if o.BaseURL != "" {
		a.set["OPENAI_BASE_URL"] = o.BaseURL + "/v1"
		if o.variable("OPENAI_API_KEY") == "" {
			a.set["OPENAI_API_KEY"] = noKey
		}
	}
	return assemble(o, a)
}

// qwenTurnFile has the settings of a turn, in the run's own folder. The agent's own file tools
// cannot write there.
const qwenTurnFile = ".qwen-turn.json"

// qwenTurn writes the settings that limit the agent's writes. Without them, in its edit mode, the
// agent may write any file of the user. In its asking mode the agent is refused everything without
// a rule, because there is no one to ask. Settings in the working folder count too, and could allow
// more, so the agent may not write them.
func (o Options) qwenTurn(h *home, t engine.Turn) error {
	settings := object{}
	if full := o.AutoArgs == nil || len(o.AutoArgs) > 0; t.Mode != fsm.ModeAuto || !full {
		allow, deny := make([]string, 0, 4), make([]string, 0, 2)
		for _, dir := range []string{t.WorkDir, t.ArtifactDir} {
			place := "/" + escapeGlob(filepath.ToSlash(dir))
			allow = append(allow, "Edit("+place+"/**)", "WriteFile("+place+"/**)")
			deny = append(deny, "Edit("+place+"/**/.qwen/**)", "Edit("+place+"/**/.mcp.json)")
		}
		settings = object{
			"tools":       object{"approvalMode": "default"},
			"permissions": object{"allow": allow, "deny": deny},
		}
	}
	body, err := json.MarshalIndent(settings, "", "  ")
	if err != nil {
		return err
	}
	return h.write(qwenTurnFile, append(body, '\n'))
}

// escapeGlob returns a path as a pattern that matches just this path.
func escapeGlob(path string) string { return special.ReplaceAllString(path, `\$0`) }

var special = regexp.MustCompile(`[][\\*?{}()!+@|^$"]`)

// writeQwenSettings writes settings that disable updates, reports, and the extra requests after each
// turn for memories and suggestions.
func writeQwenSettings(h *home) error {
	return h.writeSettings(object{
		"general": object{"enableAutoUpdate": false},
		"privacy": object{"usageStatisticsEnabled": false}, "telemetry": object{"enabled": false},
		"context": object{"includeDirectories": []string{artifacts}},
		"memory":  object{"enableManagedAutoMemory": false},
		"ui":      object{"enableFollowupSuggestions": false},
	}, ".qwen", "settings.json")
}

// refusedByModel matches the agent's own text in place of the model's after a failed request.
var refusedByModel = regexp.MustCompile(`(?s)\[API Error: .*\]\s*$`)

// qwenRules read the lines of --output-format stream-json. Messages of subagents have a parent. A
// failed request looks like a free answer of the model, with a successful result.
var qwenRules = []exec.Rule{
	{Match: map[string]string{"type": "system", "subtype": "init"}, Do: exec.Session, Path: "session_id"},
	{Match: map[string]string{"type": "assistant", "parent_tool_use_id!": ""}, Do: exec.Message,
		Path: "message.content.*.text"},
	{
		Match: map[string]string{"type": "assistant", "parent_tool_use_id!": "", "message.usage.output_tokens": "0",
			"message.usage.total_tokens!": ""},
		Like: map[string]*regexp.Regexp{"message.content.*.text": refusedByModel},
		Do:   exec.Failure, Path: "message.content.*.text",
	},
	{Match: map[string]string{"type": "result", "is_error": "false"}, Do: exec.Final, Path: "result"},
	{Match: map[string]string{"type": "result", "is_error": "true"}, Do: exec.Failure, Path: "subtype"},
	{Match: map[string]string{"type": "result", "is_error": "true"}, Do: exec.Failure, Path: "error.message"},
	{Match: map[string]string{"type": "result"}, Do: exec.InputTokens, Path: "usage.input_tokens"},
	{Match: map[string]string{"type": "result"}, Do: exec.OutputTokens, Path: "usage.output_tokens"},
	{Match: map[string]string{"type": "result"}, Do: exec.Complete},
	{Match: map[string]string{"type": "result"}, Do: exec.TurnEnd},
}
