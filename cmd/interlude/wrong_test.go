package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A fault in a call or a skill is printed in one line, with status 2; no run is submitted.
func TestRunRefusesWrongInputInOneLine(t *testing.T) {
	broken, empty, file := hello(t), t.TempDir(), filepath.Join(t.TempDir(), "file")
	runner := filepath.Join(broken, "assets", "runner.json")
	require.NoError(t, os.WriteFile(runner, []byte("{\n  \"id\": \"hello\",\n}"), 0o600))
	autoOnly := hello(t)
	require.NoError(t, os.WriteFile(filepath.Join(autoOnly, "assets", "runner.json"),
		[]byte(`{"id": "hello", "execution_modes": ["auto"], "engine": "mine"}`), 0o600))
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	program, err := os.Executable() // replaces an installed agent
	require.NoError(t, err)
	good := hello(t)
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"no folder named":      {nil, "want a skill folder"},
		"two folders":          {[]string{good, broken}, "want one skill folder, not 2"},
		"no such folder":       {[]string{good + "x"}, "is not a folder"},
		"a file":               {[]string{file}, "is not a folder"},
		"no skill":             {[]string{empty}, "SKILL.md is missing in " + empty},
		"a broken runner.json": {[]string{broken}, "assets/runner.json: line 3, column 1"},
		"an unknown agent": {[]string{"-agent", "hal", good},
			`-agent is "hal", want codex, claude, gemini, opencode, qwen, acp:CMD, demo`},
		"the skill's agent": {[]string{autoOnly}, `-agent is "mine"`},
		"no ACP command":    {[]string{"-agent", "acp:", good}, "want a command after the colon"},
		"no ACP agent":      {[]string{"-agent", "acp:no-such-agent acp", good}, "no-such-agent is not installed"},
		"no agent": {[]string{"-agent", "codex", "-command", "no-such-codex", good},
			"no-such-codex is not installed: npm install -g @openai/codex"},
		"no key": {[]string{"-agent", "codex", "-command", program, good},
			"codex has no key: set CODEX_API_KEY or OPENAI_API_KEY"},
		"codex cannot stay": {[]string{"-agent", "codex", "-sticky", "-login", "-command", program, good},
			"codex has no resident mode"},
		"demo cannot stay":  {[]string{"-sticky", good}, "leave -sticky out"},
		"an unknown mode":   {[]string{"-mode", "manual", good}, `-mode is "manual", want interactive or auto`},
		"a mode it has not": {[]string{"-mode", "interactive", autoOnly}, "execution_modes"},
		"a short timeout":   {[]string{"-timeout", "10ms", good}, "-timeout is 10ms"},
		"no timeout":        {[]string{"-timeout", "soon", good}, `invalid value "soon"`},
		"an unknown flag":   {[]string{"-dance", good}, "flag provided but not defined: -dance"},
		"an unknown kill":   {[]string{"-kill", "bill", good}, `-kill is "bill", want parked or running`},
		"new and old":       {[]string{"-new", "-run", "x", good}, "leave one of them out"},
		"offline and login": {[]string{"-offline", "-login", "-agent", "codex", good}, "leave -login out"},
		"no working folder": {[]string{"-work", file, good}, "which is not a folder"},
		"no such run":       {[]string{"-run", "x", good}, `-run is "x", which is not a run in`},
		"data in a file":    {[]string{"-data", file, good}, "choose another folder with -data"},
	} {
		t.Run(name, func(t *testing.T) {
			s := play(t, "", c.args...)
			require.Equal(t, misused, s.status, s.out+s.side)
			require.Contains(t, s.side, c.want)
			require.Equal(t, 1, strings.Count(s.side, "\n"), s.side)
			require.Empty(t, s.out)
		})
	}
}

// Help succeeds, for the program and for a verb, in either order.
func TestHelpSucceedsForTheProgramAndAVerb(t *testing.T) {
	for _, args := range [][]string{{"run", "-help"}, {"help", "run"}} {
		s := called(t, "", args...)
		require.Equal(t, succeeded, s.status, s.side)
		require.Contains(t, s.out, "interlude run -agent demo DIR")
		require.Contains(t, s.out, "-auto-decide")
	}
	for _, args := range [][]string{nil, {"help"}, {"-h"}, {"--help"}} {
		s := called(t, "", args...)
		require.Equal(t, succeeded, s.status, s.side)
		for _, v := range program.Verbs {
			require.Contains(t, s.out, "\n  "+v.Name+" ")
		}
	}
	s := called(t, "", "version")
	require.Equal(t, succeeded, s.status, s.side)
	require.True(t, strings.HasPrefix(s.out, "interlude "), s.out)
}

// An unknown verb, or an extra argument, is reported in one line, with status 2.
func TestWrongVerbsAndArgumentsAreRefusedInOneLine(t *testing.T) {
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"an unknown one":     {[]string{"dance"}, `there is no verb "dance"; interlude help lists all verbs`},
		"half of one":        {[]string{"ver"}, `there is no verb "ver": did you mean version?`},
		"a flag before it":   {[]string{"-agent", "demo", "run"}, `there is no verb "-agent"`},
		"help for none":      {[]string{"help", "dance"}, `there is no verb "dance"`},
		"help for two":       {[]string{"help", "run", "new"}, `there is no verb "run new" to describe`},
		"new without folder": {[]string{"new"}, "want DIR, got 0 arguments"},
		"new with a flag":    {[]string{"new", "-dance", "x"}, "flag provided but not defined: -dance"},
		"new over another":   {[]string{"new", hello(t)}, "already has files with these names"},
		"version of what":    {[]string{"version", "x"}, "want no arguments"},
	} {
		t.Run(name, func(t *testing.T) {
			s := called(t, "", c.args...)
			require.Equal(t, misused, s.status, s.out+s.side)
			require.Contains(t, s.side, c.want)
			require.Equal(t, 1, strings.Count(s.side, "\n"), s.side)
			require.Empty(t, s.out)
		})
	}
}

// A new skill folder can be run.
func TestNewMakesASkillThatCanBeRun(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "a b", "mine")
	s := called(t, "", "new", folder)
	require.Equal(t, succeeded, s.status, s.side)
	require.Contains(t, s.out, " run '"+folder+"'\n")
	done := play(t, "1\nno\n", folder)
	require.Equal(t, succeeded, done.status, done.out+done.side)
}

// An output that violates the skill's schema fails the run, with status 1.
func TestAFailedRun(t *testing.T) {
	folder := hello(t)
	schema := []byte(`{"type": "object", "required": ["code"], "properties": {"code": {"type": "string", "pattern": "^[0-9]+$"}}}`)
	require.NoError(t, os.WriteFile(filepath.Join(folder, "assets", "output.schema.json"), schema, 0o600))
	s := play(t, "", "-mode", "auto", folder)
	require.Equal(t, failed, s.status, s.out+s.side)
	require.Contains(t, s.out, "✗ failed: OUTPUT_INVALID: ")
}

// The agent gets a copy of the skill's files, except hidden ones.
func TestTheSkillIsFurnished(t *testing.T) {
	folder, work := hello(t), filepath.Join(t.TempDir(), "work")
	require.NoError(t, os.WriteFile(filepath.Join(folder, ".env"), []byte("secret"), 0o600))
	require.NoError(t, os.Mkdir(filepath.Join(folder, ".git"), 0o700))
	require.NoError(t, os.Symlink("/etc", filepath.Join(folder, "link")))
	require.NoError(t, copySkill(work, folder))
	require.FileExists(t, filepath.Join(work, "assets", "runner.json"))
	for _, name := range []string{".env", ".git", "link"} {
		_, err := os.Lstat(filepath.Join(work, name))
		require.ErrorIs(t, err, os.ErrNotExist, name)
	}
}
