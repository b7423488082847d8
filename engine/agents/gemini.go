package agents

import (
	"regexp"

	"github.com/interlude-go/interlude/engine/exec"
)

// Gemini is the command line of Gemini, gemini --output-format stream-json.
//
// It logs in with GEMINI_API_KEY, or with Vertex AI if GOOGLE_GENAI_USE_VERTEXAI=true. In
// interactive turns it may read and edit files in the working and artifact folders, and has no
// shell; in auto mode it may do everything. Its input is at most 8 MiB; a leading slash is not a
// command, but @FILE is the content of a file in its folders.
func Gemini(o Options) (*Engine, error) {
	o, err := o.checked()
	if err != nil {
		return nil, err
	}
	call := []string{"--output-format", "stream-json", autoArg}
	if o.Model != "" {
		call = append(call, "--model", o.Model)
	}
	if o.Home == UserHome {
		call = append(call, "--include-directories", "{artifacts}") // which it splits at commas
	}
	call = append(call, o.Args...)
	a := agent{
		name: "gemini", tried: [2]string{"0.61.0", "0.61.0"},
		keys: []string{"GEMINI_API_KEY", "GOOGLE_API_KEY"},
		env: []string{
			"GEMINI_MODEL", "GOOGLE_GEMINI_BASE_URL", "GOOGLE_VERTEX_BASE_URL", "GOOGLE_GENAI_USE_VERTEXAI",
			"GOOGLE_GENAI_USE_GCA",
			"GOOGLE_CLOUD_PROJECT", "GOOGLE_CLOUD_LOCATION", "GOOGLE_APPLICATION_CREDENTIALS",
		},
		set: map[string]string{
			"GEMINI_CLI_TRUST_WORKSPACE": "true", // the host gave it this folder; it refuses to work in others
			// Otherwise it restarts itself with a larger heap, which takes a second.
			"GEMINI_CLI_NO_RELAUNCH": "true",
		},
		help: []string{"--help"}, resumes: regexp.MustCompile(`(?m)^\s+(-r, )?--resume\b`),
		turns: exec.Config{
			Args:       call,
			ResumeArgs: with(call, "--resume", "{session}"),
			AutoArgs:   []string{"--approval-mode", "yolo"},
			Stdin:      " {input}", // it would parse a leading slash as a command
			Rules:      geminiRules,
			// "Error resuming session: Invalid session identifier …", "Error resuming session: No
			// previous sessions found for this project."
			ResumeFailed: regexp.MustCompile(`Error resuming session`),
			KeepsSession: true,
		},
	}
	if home := o.home(); home != "" {
		a.settings = o.writeGeminiSettings
		a.set[artifactsVariable] = "{artifacts}"
	}
	if o.BaseURL != "" {
		a.set["GOOGLE_GEMINI_BASE_URL"] = o.BaseURL
		if o.variable("GEMINI_API_KEY") == "" {
			a.set["GEMINI_API_KEY"] = noKey
		}
	}
	return assemble(o, a)
}

// noKey is for agents that need a key for every server, if the host has none.
const noKey = "interlude-has-no-key"

// writeGeminiSettings writes settings that permit edits and disable updates, reports, and the removal
// of sessions after a month, which would affect waiting runs.
func (o Options) writeGeminiSettings(h *home) error {
	login := "gemini-api-key"
	switch {
	case o.variable("GOOGLE_GENAI_USE_VERTEXAI") == "true":
		login = "vertex-ai"
	case o.variable("GOOGLE_GENAI_USE_GCA") == "true":
		login = "oauth-personal"
	}
	return h.writeSettings(object{
		"general": object{
			"defaultApprovalMode": "auto_edit", "enableAutoUpdate": false, "enableAutoUpdateNotification": false,
			"sessionRetention": object{"enabled": false},
		},
		"context": object{"includeDirectories": []string{artifacts}},
		"privacy": object{"usageStatisticsEnabled": false}, "telemetry": object{"enabled": false},
		"security": object{"auth": object{"selectedType": login}},
	}, ".gemini", "settings.json")
}

// geminiRules read the lines of --output-format stream-json. A line of type error is a warning; if
// it ends the turn, the result reports that.
var geminiRules = []exec.Rule{
	{Match: map[string]string{"type": "init"}, Do: exec.Session, Path: "session_id"},
	{Match: map[string]string{"type": "message", "role": "assistant"}, Do: exec.Delta, Path: "content"},
	{Match: map[string]string{"type": "tool_use"}, Do: exec.Break},
	{Match: map[string]string{"type": "error"}, Do: exec.Warning, Path: "message"},
	{Match: map[string]string{"type": "result", "status": "error"}, Do: exec.Failure, Path: "error.message"},
	{Match: map[string]string{"type": "result"}, Do: exec.InputTokens, Path: "stats.input_tokens"},
	{Match: map[string]string{"type": "result"}, Do: exec.OutputTokens, Path: "stats.output_tokens"},
	{Match: map[string]string{"type": "result"}, Do: exec.Complete}, // after TERM it ends with status 0
	{Match: map[string]string{"type": "result"}, Do: exec.TurnEnd},
}
