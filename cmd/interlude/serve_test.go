package main

import (
	"bufio"
	"encoding/json"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// L1: on a fresh machine, serve shows the page with a first question of the demo agent, only on
// this machine. Another call answers the question, and the next serve continues the runs.
func TestL1ServeShowsThePageOnAFreshMachine(t *testing.T) {
	dir := t.TempDir()
	cmd := calling(t, "serve", "-json", "-listen", "127.0.0.1:0")
	cmd.Dir = dir
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	var said struct{ Page, DB, Agent string }
	require.NoError(t, json.Unmarshal([]byte(line), &said))
	require.Equal(t, ".interlude/runs.db", said.DB)
	require.Equal(t, "demo", said.Agent)
	require.Contains(t, fetch(t, said.Page), "<!doctype html>")

	events := calling(t, "events", "-f", "-db", said.DB, "hello")
	events.Dir = dir
	log, err := events.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, events.Start())
	lines := bufio.NewScanner(log)
	for lines.Scan() && !strings.Contains(lines.Text(), "user.input.required") {
	}
	require.Contains(t, fetch(t, said.Page+"api/inbox"), "How shall it sound?")
	reply := calling(t, "reply", "-db", said.DB, "-as", "ada", "hello", "3")
	reply.Dir = dir
	printed, err := reply.CombinedOutput()
	require.NoError(t, err, string(printed))
	for lines.Scan() && !strings.Contains(lines.Text(), "May I write it into a file?") {
	}
	require.NoError(t, events.Process.Signal(os.Interrupt))
	require.NoError(t, cmd.Process.Signal(os.Interrupt))
	require.NoError(t, events.Wait())
	require.NoError(t, cmd.Wait())
	inbox := calling(t, "inbox", "-db", said.DB)
	inbox.Dir = dir
	printed, err = inbox.CombinedOutput()
	require.NoError(t, err)
	require.Contains(t, string(printed), "May I write it into a file?")
}

func fetch(t *testing.T, address string) string {
	t.Helper()
	response, err := http.Get(address)
	require.NoError(t, err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, response.StatusCode, string(body))
	return string(body)
}

// L1: without a sign-in, serve refuses addresses that other machines can reach.
func TestL1ServeRefusesWhatOthersCouldReach(t *testing.T) {
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"another address": {[]string{"-listen", "0.0.0.0:0"}, "want an address of this machine"},
		"no address":      {[]string{"-listen", "here"}, "want an address of this machine"},
		"no secret":       {[]string{"-webhook", "https://example.com"}, "INTERLUDE_WEBHOOK_SECRET"},
		"no agent":        {[]string{"-agent", "hal"}, "want codex, claude"},
		"no such file":    {[]string{"-config", "none.json"}, "none.json: no such file"},
		"said twice":      {[]string{"-config", "none.json", "-agent", "demo"}, "-agent conflicts with -config"},
		"an argument":     {[]string{"hello"}, "want no arguments"},
	} {
		t.Run(name, func(t *testing.T) {
			cmd := calling(t, append([]string{"serve"}, c.args...)...)
			cmd.Dir = t.TempDir()
			out, err := cmd.CombinedOutput()
			require.Error(t, err)
			require.Equal(t, misused, cmd.ProcessState.ExitCode(), string(out))
			require.Contains(t, string(out), c.want)
			require.Equal(t, 1, strings.Count(string(out), "\n"), string(out))
		})
	}
}

// L1: a missing file that the configuration names is the caller's mistake, reported in one line.
func TestL1MissingFilesAreMistakes(t *testing.T) {
	for field, want := range map[string]string{"directory": "open none.yaml: no such file",
		"policy": "stat none.yaml: no such file"} {
		dir := t.TempDir()
		require.NoError(t, os.WriteFile(filepath.Join(dir, "host.json"),
			[]byte(`{"agents": {"demo": {"agent": "demo"}}, "`+field+`": "none.yaml"}`), 0o600))
		cmd := calling(t, "serve", "-config", "host.json", "-db", "runs.db")
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		require.Error(t, err)
		require.Equal(t, misused, cmd.ProcessState.ExitCode(), string(out))
		require.Contains(t, string(out), want)
		require.Equal(t, 1, strings.Count(string(out), "\n"), string(out))
	}
	err := explainOpen(&fs.PathError{Op: "open", Path: "host.json", Err: fs.ErrPermission})
	require.ErrorContains(t, err, "chmod 644")
}

// R2: with -log json the error that ends the program is also a JSON line in the log.
func TestR2TheLastErrorIsJSON(t *testing.T) {
	cmd := calling(t, "serve", "-log", "json", "-listen", "0.0.0.0:0")
	cmd.Dir = t.TempDir()
	out, err := cmd.CombinedOutput()
	require.Error(t, err)
	require.Equal(t, misused, cmd.ProcessState.ExitCode())
	var line struct{ Level, Err string }
	require.NoError(t, json.Unmarshal(out, &line), string(out))
	require.Equal(t, "ERROR", line.Level)
	require.Contains(t, line.Err, "want an address of this machine")
}

// R2: dev serves again at the same address after a change of a watched file. A mistake in it is
// printed, and its repair starts again. A parked run keeps its question, and what the program writes
// itself starts nothing.
func TestR2DevStartsAgainWhenFilesChange(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		name = filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o700))
		whole := filepath.Join(t.TempDir(), "file") // a rename is one change, also on a slow machine
		require.NoError(t, os.WriteFile(whole, []byte(text), 0o600))
		require.NoError(t, os.Rename(whole, name))
	}
	write("host.json", `{"agents": {"demo": {"agent": "demo"}}, "listen": "127.0.0.1:0", "dir": "work"}`)
	cmd := calling(t, "dev", "-json", "-config", "host.json", "-db", "runs.db")
	cmd.Dir = dir
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	side, err := cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	lines, notes := bufio.NewScanner(out), bufio.NewScanner(side)
	var page string
	started := func(agents string) {
		t.Helper()
		require.True(t, lines.Scan(), "it has ended")
		var said struct{ Page, Agent string }
		require.NoError(t, json.Unmarshal(lines.Bytes(), &said))
		require.Equal(t, agents, said.Agent)
		if page == "" {
			page = said.Page
		}
		require.Equal(t, page, said.Page)
		require.Contains(t, fetch(t, page), "<!doctype html>")
	}
	noted := func(part string) {
		t.Helper()
		for notes.Scan() {
			if strings.Contains(notes.Text(), part) {
				return
			}
		}
		require.Fail(t, "it has ended", "without %q", part)
	}
	started("demo")
	status, _, answer := request(t, http.MethodPost, page+"api/runs", `{"id": "hello", "prompt": "Say hello."}`)
	require.Equal(t, http.StatusCreated, status, answer)
	events := calling(t, "events", "-f", "-db", "runs.db", "hello")
	events.Dir = dir
	log, err := events.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, events.Start())
	for asked := bufio.NewScanner(log); asked.Scan() && !strings.Contains(asked.Text(), "user.input.required"); {
	}
	require.NoError(t, events.Process.Kill())
	_ = events.Wait()

	write("work/hello/result.txt", "of a run")
	write(".git/index", "hidden")
	write("host.json", `{"agents": {"demo": {"agent": "demo"}, "other": {"agent": "hal"}}, "agent": "demo"}`)
	noted("host.json has changed")
	noted(`"hal"`)
	write("host.json", `{"agents": {"demo": {"agent": "demo"}, "other": {"agent": "demo"}}, "agent": "demo", "dir": "work"}`)
	noted("host.json has changed")
	started("demo, other")
	require.Contains(t, fetch(t, page+"api/inbox"), "How shall it sound?")

	write(".skills/deep/SKILL.md", "in folders that did not exist")
	require.NoError(t, os.Rename(filepath.Join(dir, ".skills"), filepath.Join(dir, "skills")))
	noted("skills")
	started("demo, other")
	write("skills/deep/SKILL.md", "changed")
	noted("SKILL.md has changed")
	started("demo, other")
	require.NoError(t, cmd.Process.Signal(os.Interrupt))
	require.False(t, lines.Scan())
	require.False(t, notes.Scan(), notes.Text())
	require.NoError(t, cmd.Wait())
}
