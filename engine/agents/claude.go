package agents

import (
	"regexp"
	"slices"

	"github.com/interlude-go/interlude/engine/exec"
)

// Claude is Claude Code, claude -p: a process for each turn, or with Options.Resident one for all
// turns of a run.
//
// It logs in with ANTHROPIC_API_KEY, ANTHROPIC_AUTH_TOKEN or CLAUDE_CODE_OAUTH_TOKEN. In
// interactive turns it may edit files in the working and artifact folders, and is refused
// everything that would need a person's permission, for example most shell commands; in auto mode
// it has all permissions. As root it refuses these, unless IS_SANDBOX=1 is set. A leading slash of
// its input is not a command.
func Claude(o Options) (*Engine, error) {
	call := []string{"-p", "--output-format", "stream-json", "--verbose", "--permission-mode", "acceptEdits",
		"--add-dir", "{artifacts}", autoArg}
	if o.Model != "" {
		call = append(call, "--model", o.Model)
	}
	call = append(call, o.Args...)
	a := agent{
		name: "claude", tried: [2]string{"2.1.197", "2.1.332"},
		keys: []string{"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"},
		env:  []string{"ANTHROPIC_BASE_URL", "ANTHROPIC_MODEL", "IS_SANDBOX"},
		set:  map[string]string{"DISABLE_AUTOUPDATER": "1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"},
		help: []string{"--help"}, resumes: regexp.MustCompile(`(?m)^\s+(-r, )?--resume\b`),
		turns: exec.Config{
			Args:       call,
			ResumeArgs: with(call, "--resume", "{session}"),
			AutoArgs:   claudeAuto,
			Stdin:      " {input}", // it would parse a leading slash as a command
			Rules:      append(claudeRules[:len(claudeRules):len(claudeRules)], claudeCost),
			// "No conversation found with session ID: …", "--resume requires a valid session ID or
			// session title …"
			ResumeFailed: regexp.MustCompile(
				`No conversation found with session ID|--resume requires a valid session ID`),
			KeepsSession: true,
		},
		resident: &exec.Config{
			Args:     with(call, "--input-format", "stream-json"),
			AutoArgs: claudeAuto,
			// The trailing blank text also keeps a leading slash from being a command; the model
			// does not get it.
			Stdin: `{"type":"user","message":{"role":"user","content":[{"type":"text","text":{input}},{"type":"text","text":" "}]}}`,
			Rules: claudeRules,
		},
	}
	if o.BaseURL != "" {
		a.set["ANTHROPIC_BASE_URL"] = o.BaseURL
		if !slices.ContainsFunc(a.keys, func(name string) bool { return o.variable(name) != "" }) {
			a.set["ANTHROPIC_API_KEY"] = noKey // the user's login is not for that server
		}
	}
	if o.Home == UserHome {
		a.env = append(a.env, "CLAUDE_CONFIG_DIR")
	}
	return assemble(o, a)
}

var claudeAuto = []string{"--permission-mode", "bypassPermissions"} // the last one counts

// claudeRules read the lines of --output-format stream-json. Messages of subagents have a parent.
// An error result gives its reason in its result, its errors, or only by its subtype.
var claudeRules = []exec.Rule{
	{Match: map[string]string{"type": "system", "subtype": "init"}, Do: exec.Session, Path: "session_id"},
	{Match: map[string]string{"type": "system", "subtype": "api_retry"}, Do: exec.Warning, Path: "error"},
	{Match: map[string]string{"type": "assistant", "parent_tool_use_id!": ""}, Do: exec.Message,
		Path: "message.content.*.text"},
	{Match: map[string]string{"type": "result", "is_error": "false"}, Do: exec.Final, Path: "result"},
	{Match: map[string]string{"type": "result", "is_error": "true"}, Do: exec.Failure, Path: "subtype"},
	{Match: map[string]string{"type": "result", "is_error": "true"}, Do: exec.Failure, Path: "errors.*"},
	{Match: map[string]string{"type": "result", "is_error": "true"}, Do: exec.Failure, Path: "result"},
	{Match: map[string]string{"type": "result"}, Do: exec.InputTokens, Path: "usage.input_tokens"},
	{Match: map[string]string{"type": "result"}, Do: exec.OutputTokens, Path: "usage.output_tokens"},
	{Match: map[string]string{"type": "result"}, Do: exec.Complete},
	{Match: map[string]string{"type": "result"}, Do: exec.TurnEnd},
}

// claudeCost is the total cost of the process's turns, and so of the turn if there is only one.
var claudeCost = exec.Rule{Match: map[string]string{"type": "result"}, Do: exec.CostUSD, Path: "total_cost_usd"}
