package agents

import (
	"fmt"
	"regexp"
	"strconv"

	"github.com/interlude-go/interlude/engine/exec"
)

// Codex is the command line of Codex, codex exec.
//
// It logs in with CODEX_API_KEY, or OPENAI_API_KEY. In interactive turns its sandbox permits writes
// only in the working folder, the artifact folder and the temporary folders, and no network; in
// auto mode it has no sandbox. Options.Args can override this, for example with --config
// sandbox_workspace_write.network_access=true.
func Codex(o Options) (*Engine, error) {
	o, err := o.checked()
	if err != nil {
		return nil, err
	}
	call := append([]string{"exec"}, o.codexModel()...)
	// The host could not repeat --sandbox to override it.
	call = append(call, "--config", `sandbox_mode="workspace-write"`, "--add-dir", "{artifacts}", autoArg)
	// Otherwise it writes its whole environment, including keys, into its home.
	call = append(call, "--config", "features.shell_snapshot=false")
	call = append(call, o.Args...)
	const lines, fromStdin = "--json", "-"
	a := agent{
		name: "codex", tried: [2]string{"0.169.0", "0.169.0"},
		keys:     []string{"CODEX_API_KEY", "OPENAI_API_KEY"},
		env:      []string{"CODEX_CA_CERTIFICATE"},
		set:      map[string]string{},
		settings: prepareCodexHome,
		help:     []string{"exec", "--help"}, resumes: regexp.MustCompile(`(?m)^\s+resume\s`),
		turns: exec.Config{
			Args:       with(call, lines, "--skip-git-repo-check", fromStdin),
			ResumeArgs: with(call, "resume", lines, "--skip-git-repo-check", "{session}", fromStdin),
			AutoArgs:   []string{"--dangerously-bypass-approvals-and-sandbox"},
			Stdin:      "{input}",
			Rules:      codexRules,
			// "thread/resume failed: no rollout found for thread id …", "thread/resume failed:
			// failed to read thread: …"
			ResumeFailed: regexp.MustCompile(`thread/resume failed`),
			KeepsSession: true, // an unknown name begins a new session
		},
	}
	if home := o.home(); home != "" {
		a.set["CODEX_HOME"] = home + "/.codex"
	} else {
		a.env = append(a.env, "CODEX_HOME")
	}
	// In a new home Codex accepts only CODEX_API_KEY; the user's login must not be overridden.
	if o.perRun() && o.BaseURL == "" && o.variable("CODEX_API_KEY") == "" {
		if key := o.variable("OPENAI_API_KEY"); key != "" {
			a.set["CODEX_API_KEY"] = key
		}
	}
	return assemble(o, a)
}

// prepareCodexHome creates the folder of CODEX_HOME, which Codex requires, and removes keys left
// there by turns executed before shell_snapshot was disabled.
func prepareCodexHome(h *home) error {
	if err := h.RemoveAll(".codex/shell_snapshots"); err != nil {
		return err
	}
	return h.MkdirAll(".codex", 0o700)
}

// codexModel selects the model and its server. It uses arguments, because the settings may be the
// user's. A server named by the host gets the host's key, never the user's login.
func (o Options) codexModel() []string {
	var args []string
	if o.Model != "" {
		args = append(args, "--model", o.Model)
	}
	if o.BaseURL == "" {
		return args
	}
	provider := fmt.Sprintf(`{name="interlude",base_url=%s,wire_api="responses"`, strconv.Quote(o.BaseURL+"/v1"))
	for _, name := range []string{"CODEX_API_KEY", "OPENAI_API_KEY"} {
		if o.variable(name) != "" {
			provider += fmt.Sprintf(`,env_key=%q`, name)
			break
		}
	}
	return append(args, "--config", `model_provider="interlude"`, "--config", "model_providers.interlude="+provider+"}")
}

// codexRules read the lines of codex exec --json. An item of type error is a warning. A line of
// type error is also a warning: it announces a retry, or precedes turn.failed.
var codexRules = []exec.Rule{
	{Match: map[string]string{"type": "thread.started"}, Do: exec.Session, Path: "thread_id"},
	{Match: map[string]string{"type": "item.completed", "item.type": "agent_message"}, Do: exec.Message,
		Path: "item.text"},
	{Match: map[string]string{"type": "item.completed", "item.type": "error"}, Do: exec.Warning, Path: "item.message"},
	{Match: map[string]string{"type": "error"}, Do: exec.Warning, Path: "message"},
	{Match: map[string]string{"type": "turn.failed"}, Do: exec.Failure, Path: "error.message"},
	{Match: map[string]string{"type": "turn.completed"}, Do: exec.InputTokens, Path: "usage.input_tokens"},
	{Match: map[string]string{"type": "turn.completed"}, Do: exec.OutputTokens, Path: "usage.output_tokens"},
	{Match: map[string]string{"type": "turn.completed"}, Do: exec.Complete},
	{Match: map[string]string{"type": "turn.completed"}, Do: exec.TurnEnd},
	{Match: map[string]string{"type": "turn.failed"}, Do: exec.TurnEnd},
}
