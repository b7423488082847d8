//go:build unix

package agents_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine/agents"
	"github.com/interlude-go/interlude/engine/enginetest"
	"github.com/interlude-go/interlude/engine/redact"
	"github.com/interlude-go/interlude/fsm"
)

// The agent sees only the common variables, its own keys, and variables that the host names or
// sets.
func TestAgentSeesOnlyAllowedVariables(t *testing.T) {
	for name, v := range map[string]string{
		"CODEX_API_KEY": "the-key-of-codex", "ANTHROPIC_API_KEY": "somebody-elses-key", "NAMED": "yes", "UNNAMED": "no",
		"LANG": "C.UTF-8", "TERM": "xterm", "BOTH": "host",
	} {
		t.Setenv(name, v)
	}
	o := agents.Options{Env: []string{"NAMED", "BOTH"}, Set: map[string]string{"BOTH": "set", "WHERE": "{workdir}/x"}}
	turn := first(t, fsm.ModeInteractive)
	p := codex.play(t, o, turn, "answer", 0)
	require.NoError(t, p.err)
	env := p.lines(t, ".env")
	require.Subset(t, env, []string{"CODEX_API_KEY=the-key-of-codex", "NAMED=yes", "BOTH=set", "LANG=C.UTF-8",
		"NO_COLOR=1", "WHERE=" + turn.WorkDir + "/x"})
	for _, v := range env {
		name, _, _ := strings.Cut(v, "=")
		require.NotContains(t, []string{"ANTHROPIC_API_KEY", "UNNAMED", "TERM"}, name)
	}
}

// Values of its keys and of the host's secrets are redacted from an agent's output.
func TestKeysAreRemovedFromTheOutput(t *testing.T) {
	path, _ := program(t, "codex", `#!/bin/sh
case "$*" in --version) echo 0.169.0; exit ;; *--help) echo '  resume  Resume'; exit ;; esac
echo '{"type":"thread.started","thread_id":"1"}'
echo '{"type":"item.completed","item":{"type":"agent_message","text":"'"$CODEX_API_KEY and $MINE"'"}}'
echo '{"type":"turn.completed"}'
`)
	set := map[string]string{"CODEX_API_KEY": "the-key-of-codex", "MINE": "my-own-secret"}
	e, err := agents.Codex(agents.Options{Command: path, StateDir: t.TempDir(), Set: set, Secrets: []string{"MINE"}})
	require.NoError(t, err)
	turn := first(t, fsm.ModeInteractive)
	out, err := e.RunTurn(t.Context(), turn, &enginetest.Recorder{})
	require.NoError(t, err)
	require.Equal(t, redact.Mask+" and "+redact.Mask, out.FinalText)
	body, err := os.ReadFile(filepath.Join(turn.TranscriptDir, "attempt-1.out"))
	require.NoError(t, err)
	require.NotContains(t, string(body), "the-key-of-codex")
}

// Codex logs in with either key; a server named by the host gets the host's key, never the user's
// login.
func TestCodexUsesTheKeyOfTheHost(t *testing.T) {
	const provider = `model_providers.interlude={name="interlude",base_url="http://127.0.0.1:1/v1",wire_api="responses"`
	for name, tc := range map[string]struct {
		set  map[string]string
		o    agents.Options
		key  string // that Codex itself logs in with
		args []string
		not  string
	}{
		"its own key": {set: map[string]string{"CODEX_API_KEY": "the-key-of-codex"},
			key: "the-key-of-codex", not: `model_provider="interlude"`},
		"the key of OpenAI": {set: map[string]string{"OPENAI_API_KEY": "the-key-of-openai"},
			key: "the-key-of-openai", not: `model_provider="interlude"`},
		"the user's login is the user": {set: map[string]string{"OPENAI_API_KEY": "the-key-of-openai"},
			o: agents.Options{Home: agents.UserHome}, not: `model_provider="interlude"`},
		"a server without a key": {o: agents.Options{BaseURL: "http://127.0.0.1:1"},
			args: []string{`model_provider="interlude"`, provider + "}"}},
		"a server with a key": {
			set:  map[string]string{"OPENAI_API_KEY": "the-key-of-openai"},
			o:    agents.Options{BaseURL: "http://127.0.0.1:1"},
			args: []string{`model_provider="interlude"`, provider + `,env_key="OPENAI_API_KEY"}`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("HOME", t.TempDir())
			for _, name := range []string{"CODEX_API_KEY", "OPENAI_API_KEY"} {
				t.Setenv(name, "")
			}
			tc.o.Set = tc.set
			p := codex.play(t, tc.o, first(t, fsm.ModeInteractive), "answer", 0)
			require.NoError(t, p.err)
			args := p.lines(t, ".args")
			require.Subset(t, args, tc.args)
			require.NotContains(t, args, tc.not)
			require.Contains(t, p.lines(t, ".env"), "CODEX_API_KEY="+tc.key)
		})
	}
}

// The host's seed files are copied into the run's home before its first turn, private to the user,
// and never over the agent's changes.
func TestSeedIsCopiedIntoTheHomeOnce(t *testing.T) {
	source := filepath.Join(t.TempDir(), "gitconfig")
	require.NoError(t, os.WriteFile(source, []byte("[user]\nname = nobody\n"), 0o644))
	o := agents.Options{Seed: map[string]string{".gitconfig": source, "deep/er/file": source}}
	turn := first(t, fsm.ModeInteractive)
	require.NoError(t, codex.play(t, o, turn, "answer", 0).err)
	for _, name := range []string{".gitconfig", "deep/er/file"} {
		path := filepath.Join(turn.HomeDir, name)
		body, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, "[user]\nname = nobody\n", string(body))
		info, err := os.Stat(path)
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o600), info.Mode())
	}
	require.NoError(t, os.WriteFile(filepath.Join(turn.HomeDir, ".gitconfig"), []byte("changed"), 0o600))
	require.NoError(t, os.Remove(filepath.Join(turn.HomeDir, "deep/er/file")))
	require.NoError(t, codex.play(t, o, turn, "answer", 0).err, "the first turn again")
	body, err := os.ReadFile(filepath.Join(turn.HomeDir, ".gitconfig"))
	require.NoError(t, err)
	require.Equal(t, "changed", string(body))
	require.NoError(t, os.Remove(filepath.Join(turn.HomeDir, ".gitconfig")))
	require.NoError(t, codex.play(t, o, codex.later(turn), "answer", 0).err)
	require.NoFileExists(t, filepath.Join(turn.HomeDir, ".gitconfig"), "what the agent removed stays so")

	o.Seed["missing"] = filepath.Join(t.TempDir(), "missing")
	require.ErrorContains(t, codex.play(t, o, first(t, fsm.ModeInteractive), "answer", 0).err, "seed missing")
}

// Invalid options are refused at once.
func TestNewSaysWhatIsWrongInItsOptions(t *testing.T) {
	for want, o := range map[string]agents.Options{
		"leave Home empty":       {Home: agents.UserHome, Seed: map[string]string{"a": "b"}},
		"a path within":          {Seed: map[string]string{"../a": "b"}},
		"the file to copy":       {Seed: map[string]string{"a": ""}},
		"has no resident mode":   {Resident: true},
		"unknown placeholder":    {Args: []string{"{oops}"}},
		"must not be negative":   {Grace: -1},
		"in neither Env nor":     {Secrets: []string{"OOPS"}},
		"less than 6 bytes":      {Set: map[string]string{"CODEX_API_KEY": "short"}},
		"is not a variable that": {Set: map[string]string{"A=B": "c"}},
	} {
		_, err := agents.Codex(o)
		require.ErrorContains(t, err, want)
	}
}

// A shared home is the host's folder, wherever the agent works.
func TestSharedHomeIsTheFolderOfTheOptions(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	turn := first(t, fsm.ModeInteractive)
	p := codex.play(t, agents.Options{Home: "shared"}, turn, "answer", 0)
	require.NoError(t, p.err)
	require.Contains(t, p.lines(t, ".env"), "CODEX_HOME="+filepath.Join(dir, "shared", ".codex"))
}

// J11: files written into a run's home stay in it, despite links that the agent left there.
func TestSettingsAreNotWrittenThroughLinks(t *testing.T) {
	for _, a := range []adapter{gemini, qwen, opencode} {
		for _, seed := range []map[string]string{nil, {".gemini/seed": "options_test.go"}} {
			turn, elsewhere := first(t, fsm.ModeInteractive), t.TempDir()
			for _, folder := range []string{".gemini", ".qwen", ".config"} {
				require.NoError(t, os.Symlink(elsewhere, filepath.Join(turn.HomeDir, folder)))
			}
			require.Error(t, a.play(t, agents.Options{Seed: seed}, turn, "answer", 0).err)
			left, err := os.ReadDir(elsewhere)
			require.NoError(t, err)
			require.Empty(t, left)
		}
	}
}
