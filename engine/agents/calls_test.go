//go:build unix

package agents_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine/agents"
	"github.com/interlude-go/interlude/fsm"
)

// H4, D5: full-auto flags are in auto-mode calls only, in first and later turns; a session is named
// by its id, and a person's text is never an argument.
func TestArgumentsOfEachAgent(t *testing.T) {
	for _, tc := range []struct {
		agent    adapter
		o        agents.Options
		args     []string // of each call
		auto     []string
		resume   []string
		input    string // of the first turn
		answered string // of later turns
	}{
		{
			agent: codex, o: agents.Options{Model: "m", Args: []string{"--config", "a=1"}},
			args: []string{"exec", "--model", "m", "--config", `sandbox_mode="workspace-write"`, "--add-dir",
				"ARTIFACTS", "--config", "features.shell_snapshot=false", "--config", "a=1", "--json",
				"--skip-git-repo-check", "-"},
			auto: []string{"--dangerously-bypass-approvals-and-sandbox"}, resume: []string{"resume", codex.session},
			input: "/what time is it?", answered: "--yolo",
		},
		{
			agent: codex, o: agents.Options{AutoArgs: []string{}},
			args: []string{"exec", "--config", `sandbox_mode="workspace-write"`, "--add-dir", "ARTIFACTS", "--config",
				"features.shell_snapshot=false", "--json", "--skip-git-repo-check", "-"},
			resume: []string{"resume", codex.session}, input: "/what time is it?", answered: "--yolo",
		},
		{
			agent: claude, o: agents.Options{Model: "m", Args: []string{"--strict-mcp-config"}},
			args: []string{"-p", "--output-format", "stream-json", "--verbose", "--permission-mode", "acceptEdits",
				"--add-dir", "ARTIFACTS", "--model", "m", "--strict-mcp-config"},
			auto: []string{"--permission-mode", "bypassPermissions"}, resume: []string{"--resume", claude.session},
			input: " /what time is it?", answered: " --yolo",
		},
		{
			agent: gemini, o: agents.Options{Model: "m", Args: []string{"--policy", "p"}},
			args:   []string{"--output-format", "stream-json", "--model", "m", "--policy", "p"},
			auto:   []string{"--approval-mode", "yolo"},
			resume: []string{"--resume", gemini.session}, input: " /what time is it?", answered: " --yolo",
		},
		{
			agent: qwen, o: agents.Options{Model: "m", BaseURL: "http://127.0.0.1:1"},
			args: []string{"--output-format", "stream-json", "--exclude-tools", "ask_user_question", "--chat-recording",
				"--model", "m", "--auth-type", "openai"},
			auto: []string{"--approval-mode", "yolo"}, resume: []string{"--resume", qwen.session},
			input: " /what time is it?", answered: " --yolo",
		},
		{
			agent: opencode, o: agents.Options{Model: "p/m"},
			args: []string{"run", "--format", "json", "--model", "p/m"}, auto: []string{"--auto"},
			resume: []string{"--session", opencode.session}, input: "/what time is it?", answered: "--yolo",
		},
		{
			agent: opencode, o: agents.Options{Model: "m", BaseURL: "http://127.0.0.1:1"},
			args: []string{"run", "--format", "json", "--model", "interlude/m"}, auto: []string{"--auto"},
			resume: []string{"--session", opencode.session}, input: "/what time is it?", answered: "--yolo",
		},
		{
			agent: opencode, o: agents.Options{AutoArgs: []string{}},
			args: []string{"run", "--format", "json"}, resume: []string{"--session", opencode.session},
			input: "/what time is it?", answered: "--yolo",
		},
	} {
		for _, mode := range []fsm.Mode{fsm.ModeInteractive, fsm.ModeAuto} {
			t.Run(tc.agent.name+"/"+string(mode), func(t *testing.T) {
				want := slices.Clone(tc.args)
				if mode == fsm.ModeAuto {
					want = append(want, tc.auto...)
				}
				turn := first(t, mode)
				for i := range want {
					want[i] = strings.ReplaceAll(want[i], "ARTIFACTS", turn.ArtifactDir)
				}
				p := tc.agent.play(t, tc.o, turn, "answer", 0)
				require.NoError(t, p.err)
				require.ElementsMatch(t, want, p.lines(t, ".args"))
				require.Equal(t, []string{tc.input}, p.lines(t, ".in"))

				p = tc.agent.play(t, tc.o, tc.agent.later(turn), "answer", 0)
				require.NoError(t, p.err)
				require.ElementsMatch(t, append(want, tc.resume...), p.lines(t, ".args"))
				require.Equal(t, []string{tc.answered}, p.lines(t, ".in"))
			})
		}
	}
}

// The agent's environment and data: the run's home, unless the host names another.
func TestHomeOptionSetsTheHome(t *testing.T) {
	for _, tc := range []struct {
		agent    adapter
		o        agents.Options
		settings string
		says     string
		env      []string // in each home
		own      []string // in a home other than the user's
	}{
		{
			agent: codex, o: agents.Options{BaseURL: "http://127.0.0.1:1"},
			env: []string{"CODEX_API_KEY="}, own: []string{"CODEX_HOME=HOME/.codex"},
		},
		{
			agent: claude, o: agents.Options{BaseURL: "http://127.0.0.1:1"},
			env: []string{"ANTHROPIC_BASE_URL=http://127.0.0.1:1", "ANTHROPIC_API_KEY=interlude-has-no-key",
				"DISABLE_AUTOUPDATER=1"},
		},
		{
			agent: gemini, o: agents.Options{BaseURL: "http://127.0.0.1:1"}, settings: ".gemini/settings.json",
			says: `"defaultApprovalMode": "auto_edit"`,
			env:  []string{"GEMINI_CLI_TRUST_WORKSPACE=true", "GOOGLE_GEMINI_BASE_URL=http://127.0.0.1:1"},
			own:  []string{"INTERLUDE_ARTIFACTS=ARTIFACTS"},
		},
		{
			agent: qwen, o: agents.Options{BaseURL: "http://127.0.0.1:1"}, settings: ".qwen/settings.json",
			says: `"enableManagedAutoMemory": false`,
			env:  []string{"OPENAI_BASE_URL=http://127.0.0.1:1/v1"},
			own:  []string{"INTERLUDE_ARTIFACTS=ARTIFACTS"},
		},
		{
			agent: opencode, o: agents.Options{Model: "m", BaseURL: "http://127.0.0.1:1"},
			settings: ".config/opencode/package-lock.json", says: "@opencode-ai/plugin",
			env: []string{
				"OPENCODE_DISABLE_AUTOUPDATE=1", `OPENCODE_PERMISSION={"external_directory":{"ARTIFACTS/**":"allow"}}`,
				`OPENCODE_CONFIG_CONTENT={"provider":{"interlude":{"models":{"m":{"name":"m"}},"name":"interlude","npm":"@ai-sdk/openai-compatible",` +
					`"options":{"apiKey":"interlude-has-no-key","baseURL":"http://127.0.0.1:1/v1"}}},"small_model":"interlude/m","snapshot":false}`,
			},
		},
	} {
		t.Run(tc.agent.name, func(t *testing.T) {
			users := t.TempDir()
			t.Setenv("HOME", users)
			for _, name := range []string{"GEMINI_API_KEY", "OPENAI_API_KEY", "CODEX_API_KEY", "ANTHROPIC_API_KEY"} {
				t.Setenv(name, "")
			}
			for name, home := range map[string]string{"the run's": "", "a shared one": filepath.Join(t.TempDir(),
				"missing"), "the user's": agents.UserHome} {
				turn := first(t, fsm.ModeInteractive)
				o := tc.o
				o.Home = home
				p := tc.agent.play(t, o, turn, "answer", 0)
				require.NoError(t, p.err, name)
				env := p.lines(t, ".env")
				want := tc.env
				switch home {
				case "":
					home, want = turn.HomeDir, slices.Concat(want, tc.own)
				case agents.UserHome:
					home = users
				default:
					want = slices.Concat(want, tc.own)
				}
				for _, v := range append(want, "HOME=HOME") {
					require.Contains(t, env, filled(v, home, turn.ArtifactDir), name)
				}
				if home == users {
					found, err := os.ReadDir(users)
					require.NoError(t, err)
					require.Empty(t, found, "the user's home is left alone")
					continue
				}
				if tc.settings != "" {
					body, err := os.ReadFile(filepath.Join(home, tc.settings))
					require.NoError(t, err, name)
					require.Contains(t, string(body), tc.says, name)
				}
			}
		})
	}
}

// Settings that the host has put there stay.
func TestOptionsOverrideTheAdaptersSettings(t *testing.T) {
	own := filepath.Join(t.TempDir(), "own.json")
	require.NoError(t, os.WriteFile(own, []byte(`{"mine":true}`), 0o600))
	for settings, a := range map[string]adapter{".gemini/settings.json": gemini, ".qwen/settings.json": qwen} {
		turn := first(t, fsm.ModeInteractive)
		p := a.play(t, agents.Options{Seed: map[string]string{settings: own}}, turn, "answer", 0)
		require.NoError(t, p.err)
		body, err := os.ReadFile(filepath.Join(turn.HomeDir, settings))
		require.NoError(t, err)
		require.JSONEq(t, `{"mine":true}`, string(body))
	}
}

// Gemini logs in as the host's variables say.
func TestGeminiLoginFollowsTheHostsVariables(t *testing.T) {
	for login, set := range map[string]map[string]string{
		"gemini-api-key": {"GEMINI_API_KEY": "a-key-of-gemini"}, "vertex-ai": {"GOOGLE_GENAI_USE_VERTEXAI": "true"},
		"oauth-personal": {"GOOGLE_GENAI_USE_GCA": "true"},
	} {
		turn := first(t, fsm.ModeInteractive)
		require.NoError(t, gemini.play(t, agents.Options{Set: set}, turn, "answer", 0).err)
		body, err := os.ReadFile(filepath.Join(turn.HomeDir, ".gemini", "settings.json"))
		require.NoError(t, err)
		require.Contains(t, string(body), `"selectedType": "`+login+`"`)
	}
}

// A server without the name of a model is refused at once.
func TestOpencodeWithBaseURLNeedsAModel(t *testing.T) {
	_, err := agents.Opencode(agents.Options{BaseURL: "http://127.0.0.1:1"})
	require.ErrorContains(t, err, "Options.Model")
	_, err = agents.Gemini(agents.Options{Resident: true})
	require.ErrorContains(t, err, "has no resident mode")
}

func filled(v, home, artifacts string) string {
	if v == "HOME=HOME" {
		return "HOME=" + home
	}
	return strings.NewReplacer("=HOME/", "="+home+"/", "ARTIFACTS=ARTIFACTS", "ARTIFACTS="+artifacts, `"ARTIFACTS/`,
		`"`+artifacts+"/").Replace(v)
}
