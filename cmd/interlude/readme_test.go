package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/store/sqlite"
)

// transcripts matches the calls in the README, each with its output.
var transcripts = regexp.MustCompile("(?s)```\n\\$ interlude (run [^\n]*)\n(.*?)```")

// variable matches the parts that differ from run to run.
var variable = regexp.MustCompile(`\d{8}-\d{6}-\w{4}|[\d.]+ (s|min|ms)\b`)

// E1, E4: the README shows the program's output: a question left open, a kill -9 in the middle of a
// turn, and the end.
func TestReadmeShowsWhatIsPrinted(t *testing.T) {
	page, err := os.ReadFile("README.md")
	require.NoError(t, err)
	dir := t.TempDir()
	require.NoError(t, os.CopyFS(filepath.Join(dir, "hello"), os.DirFS("hello")))
	calls := transcripts.FindAllStringSubmatch(string(page), -1)
	require.Len(t, calls, 3)
	for i, typed := range []string{"", "3\n", "yes\n"} {
		cmd := calling(t, strings.Fields(calls[i][1])...)
		var out bytes.Buffer
		cmd.Dir, cmd.Stdin, cmd.Stdout = dir, strings.NewReader(typed), &out
		_ = cmd.Run() // two of the calls end before the run
		printed := strings.ReplaceAll(out.String(), "go run ./cmd/interlude ", "interlude ")
		if i == 1 { // the agent may get that far before the kill
			printed = strings.Replace(printed, "  Noted: pirate.\n", "", 1)
		}
		shown := strings.Replace(calls[i][2], "> ^C\n", "> \n", 1)
		require.Equal(t, variable.ReplaceAllString(shown, "…"), variable.ReplaceAllString(printed, "…"))
	}
}

// asks is an agent that asks one question in each run; the run's prompt selects the question.
var asks = engine.Func(func(_ context.Context, t engine.Turn, _ engine.Sink) (engine.Outcome, error) {
	if len(t.Answers) > 0 {
		return engine.Done("done"), nil
	}
	q := engine.Question{Kind: lifecycle.Confirm, Prompt: "Ship it?"}
	switch t.Prompt {
	case "form":
		q = engine.Question{Kind: engine.FillFields, Prompt: "How many?", Schema: json.RawMessage(
			`{"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}`)}
	case "approval":
		var err error
		if q, err = engine.ApprovalOf("Pay?", "pay", map[string]int{"eur": 9}); err != nil {
			return engine.Outcome{}, err
		}
	case "ann":
		q.To = &engine.Audience{Users: []string{"ann"}}
	}
	return engine.Ask(q), nil
})

// L1: the interlude commands on the pages have the documented results, on a database with a
// question for each command.
func TestTheCommandsOfThePagesWork(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string, mode os.FileMode) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), mode))
	}
	self, err := os.Executable()
	require.NoError(t, err)
	require.NoError(t, os.Symlink(self, filepath.Join(dir, "interlude")))
	write("jq", "#!/bin/sh\nsed -n 's/.*\"run_id\":\"\\([^\"]*\\)\".*/\\1/p'\n", 0o700) // like jq -r .run_id
	write("answer.txt", "yes", 0o600)
	write("rules.yaml", "version: \"1\"\nrules:\n- {rule: small, when: 'tool == \"pay\"', do: approve}\n", 0o600)
	write("people.yaml", "people:\n- id: bob\n- {id: ann, deputies: [{id: bob, from: 2020-01-01, until: 2099-01-01}]}",
		0o600)

	ctx, stop := context.WithCancel(t.Context())
	st, err := sqlite.Open(ctx, filepath.Join(dir, "runs.db"), sqlite.Options{})
	require.NoError(t, err)
	defer st.Close()
	lc, err := lifecycle.New(lifecycle.Config{Store: st, Engine: asks, Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	defer lc.Close()
	served := make(chan error, 1)
	go func() { served <- lc.Serve(ctx) }()
	defer func() { stop(); require.NoError(t, <-served) }()
	asked := func(id, prompt string) {
		_, err := lc.Submit(ctx, lifecycle.Spec{ID: id, Prompt: prompt})
		require.NoError(t, err)
		for ev, err := range lc.Events(ctx, id, 0) {
			require.NoError(t, err)
			if ev.Type == lifecycle.TypeInputRequired {
				return
			}
		}
	}
	asked("hello", "text")
	token := ""
	for i, line := range pageCommands(t) {
		run := fmt.Sprint("run-", i)
		switch {
		case strings.Contains(line, "-value '{\"n\""):
			asked(run, "form")
		case strings.Contains(line, "-decision"):
			asked(run, "approval")
		case strings.Contains(line, "-for ann"):
			asked(run, "ann")
		case strings.Contains(line, "RUN"), strings.Contains(line, "-kind confirm"):
			asked(run, "text")
		}
		script := strings.NewReplacer("RUN", run, " ID", " "+token).Replace(line)
		cmd := exec.CommandContext(ctx, "bash", "-euo", "pipefail", "-c", script)
		cmd.Dir = dir
		cmd.Env = []string{asProgram + "=1", "PATH=" + dir + ":" + os.Getenv("PATH"), "HOME=" + dir, "USER=ada",
			"TMPDIR=" + os.TempDir(), "INTERLUDE_DB=runs.db"}
		cmd.Stdin = strings.NewReader("3\nyes\n") // a person's input
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s\n%s", line, out)
		if strings.Contains(line, "token list") {
			token = strings.Fields(string(out))[0]
		}
		if strings.Contains(line, "reply") {
			id := run
			if strings.Contains(line, "hello") {
				id = "hello"
			}
			_, err := lc.Wait(ctx, id)
			require.NoError(t, err)
		}
	}
}

// pageCommands returns the interlude commands on the pages that need no other setup. Other tests
// run serve (TestL1ServeShowsThePageOnAFreshMachine) and agents.
func pageCommands(t *testing.T) (all []string) {
	t.Helper()
	fence := regexp.MustCompile("(?ms)^```sh\n(.*?)^```")
	for _, page := range []string{"docs/cli.md", "docs/tutorials/deputies.md", "docs/tutorials/install.md",
		"docs/tutorials/rules.md", "cmd/interlude/README.md"} {
		text, err := os.ReadFile(filepath.Join("..", "..", page))
		require.NoError(t, err)
		for _, block := range fence.FindAllStringSubmatch(string(text), -1) {
			for line := range strings.Lines(block[1]) {
				line, _, _ = strings.Cut(strings.TrimSpace(line), "  #")
				others := regexp.MustCompile(`serve|DIR|codex`).MatchString(line)
				if strings.HasPrefix(line, "interlude ") && !others {
					all = append(all, strings.TrimSpace(line))
				}
			}
		}
	}
	require.Greater(t, len(all), 15)
	return all
}
