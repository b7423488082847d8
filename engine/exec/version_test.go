package exec_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/engine/enginetest"
	"github.com/interlude-go/interlude/engine/exec"
	"github.com/interlude-go/interlude/fsm"
)

func program(tb testing.TB, path, body string) {
	tb.Helper()
	require.NoError(tb, os.WriteFile(path+".new", []byte("#!/bin/sh\n"+body+"\n"), 0o700))
	require.NoError(tb, os.Rename(path+".new", path))
}

// versioned is an agent that prints its version, counts the queries, and otherwise ends its turn
// with a session.
func versioned(version string) string {
	return `if [ "$1" = --version ]; then echo x >> "$0.asked"; echo "agent-cli ` + version + ` (build 7.7)"; exit 0; fi
echo '{"type":"session","id":"s1"}'; echo "{\"type\":\"final\",\"text\":\"home $HOME\"}"`
}

func versionedConfig(path, dir string) exec.Config {
	return exec.Config{
		Name: "agent", Command: path, VersionArgs: []string{"--version"}, Tried: [2]string{"1.2", "1.10.0"},
		Args: []string{"{input}"}, ResumeArgs: []string{"{session}", "{input}"}, StateDir: filepath.Join(dir,
			"processes"),
		Set: map[string]string{"HOME": "{home}"},
		Rules: []exec.Rule{
			{Match: map[string]string{"type": "session"}, Do: exec.Session, Path: "id"},
			{Match: map[string]string{"type": "final"}, Do: exec.Final, Path: "text"},
		},
	}
}

// The version is queried once per installed program, is stored in the handle, and is reported if
// untested.
func TestVersionIsAskedOnceAndStoredInTheHandle(t *testing.T) {
	for version, odd := range map[string]bool{"1.2.0": false, "1.9.99": false, "1.10.0": false, "1.10.1": true,
		"0.9": true, "2.0.0": true} {
		dir := t.TempDir()
		path := filepath.Join(dir, "agent")
		program(t, path, versioned(version))
		e := started(t, versionedConfig(path, dir))
		p, err := e.Profile(t.Context())
		require.NoError(t, err)
		require.Contains(t, p.Reason, version)
		turn := job(t, "final ok")
		turn.HomeDir = t.TempDir()
		o, err := e.RunTurn(t.Context(), turn, &enginetest.Recorder{})
		require.NoError(t, err)
		require.Equal(t, engine.OK, o.Process.Status, o.Process.Detail)
		require.Equal(t, version, o.Session.Version)
		if odd {
			require.Len(t, o.Diagnostics, 1)
			require.Contains(t, o.Diagnostics[0].Detail, version)
		} else {
			require.Empty(t, o.Diagnostics)
		}
		turn.Session = o.Session
		o, err = e.RunTurn(t.Context(), turn, &enginetest.Recorder{})
		require.NoError(t, err)
		require.Empty(t, o.Diagnostics, "a run is told once")
		asked, err := os.ReadFile(path + ".asked")
		require.NoError(t, err)
		require.Equal(t, "x\n", string(asked))
	}
}

// An updated program is queried again. A program that cannot answer, or was removed, makes the
// engine unavailable.
func TestReplacedProgramIsAskedAgain(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "agent")
	program(t, path, versioned("1.3.0"))
	e := started(t, versionedConfig(path, dir))
	p, err := e.Profile(t.Context())
	require.NoError(t, err)
	require.Contains(t, p.Reason, "1.3.0")
	program(t, path, versioned("1.4.0 and more"))
	p, err = e.Profile(t.Context())
	require.NoError(t, err)
	require.Contains(t, p.Reason, "1.4.0")

	program(t, path, "echo 'needs a newer runtime' >&2; exit 1")
	_, err = e.Profile(t.Context())
	var f *engine.Failure
	require.ErrorAs(t, err, &f)
	require.Equal(t, fsm.CodeEngineUnavailable, f.Code)
	require.ErrorContains(t, err, "needs a newer runtime")
	require.NoError(t, os.Remove(path))
	_, err = e.Profile(t.Context())
	require.ErrorAs(t, err, &f)
	require.Equal(t, fsm.CodeEngineUnavailable, f.Code)
}

// A query gets no user data, ends with its context, and is bounded.
func TestQueryIsBoundedAndLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "agent")
	program(t, path, `case "$1" in where) echo "$HOME"; pwd;; long) head -c 1000000 /dev/zero | tr '\0' x;; hang) sleep 1000;; aside) echo "to resume" >&2;; esac`)
	e := started(t, versionedConfig(path, dir))
	answer, err := e.Query(t.Context(), "where")
	require.NoError(t, err)
	places := strings.Fields(answer)
	require.Len(t, places, 2)
	require.Equal(t, places[0], places[1])
	require.NoDirExists(t, places[0], "it is removed")
	answer, err = e.Query(t.Context(), "long")
	require.NoError(t, err)
	require.Len(t, answer, 256<<10)
	answer, err = e.Query(t.Context(), "aside")
	require.NoError(t, err)
	require.Equal(t, "to resume\n", answer)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { _, err := e.Query(ctx, "hang"); done <- err }()
	until(t, "it is on record", func() bool {
		files, err := filepath.Glob(filepath.Join(dir, "processes", "query@*.json"))
		return err == nil && len(files) == 1
	})
	cancel()
	require.ErrorIs(t, <-done, context.Canceled)
	left, err := os.ReadDir(filepath.Join(dir, "processes"))
	require.NoError(t, err)
	require.Empty(t, left)
}

// E2: an agent whose files are gone says that it cannot continue; one without a home was not set
// up.
func TestTurnWithoutItsHomeFails(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "agent")
	program(t, path, versioned("1.3.0"))
	prepared := 0
	cfg := versionedConfig(path, dir)
	cfg.Prepare = func(_ context.Context, turn engine.Turn) error {
		prepared++
		return os.WriteFile(filepath.Join(turn.HomeDir, "settings"), []byte("x"), 0o600)
	}
	e := started(t, cfg)
	turn := job(t, "final ok")
	_, err := e.RunTurn(t.Context(), turn, &enginetest.Recorder{})
	require.ErrorContains(t, err, "configure a folder for runs")
	turn.HomeDir = t.TempDir()
	o, err := e.RunTurn(t.Context(), turn, &enginetest.Recorder{})
	require.NoError(t, err)
	require.Equal(t, "home "+turn.HomeDir, o.FinalText)
	require.FileExists(t, filepath.Join(turn.HomeDir, "settings"))
	require.Equal(t, 1, prepared, "a query is not a turn")

	require.NoError(t, os.RemoveAll(turn.HomeDir))
	turn.Session = o.Session
	_, err = e.RunTurn(t.Context(), turn, &enginetest.Recorder{})
	var f *engine.Failure
	require.ErrorAs(t, err, &f)
	require.Equal(t, fsm.CodeSessionResumeFailed, f.Code)
	require.NoDirExists(t, turn.HomeDir, "nothing is begun anew")
}

// An error of Prepare fails the turn, with the host's code if it has one.
func TestErrorOfPrepareFailsTheTurn(t *testing.T) {
	for want, err := range map[fsm.Code]error{
		fsm.CodeEngineUnavailable: errors.New("disk full"),
		fsm.CodeWorkspaceMissing:  &engine.Failure{Code: fsm.CodeWorkspaceMissing, Detail: "disk full"},
	} {
		cfg := scripted(t, t.TempDir())
		cfg.Prepare = func(context.Context, engine.Turn) error { return err }
		turn := job(t, "touch begun")
		_, got := started(t, cfg).RunTurn(t.Context(), turn, &enginetest.Recorder{})
		var f *engine.Failure
		require.ErrorAs(t, got, &f)
		require.Equal(t, want, f.Code)
		require.ErrorContains(t, got, "disk full")
		require.NoFileExists(t, filepath.Join(turn.ArtifactDir, "begun"))
	}
}

// Invalid versions are refused when the engine is made.
func TestTriedMustBeVersions(t *testing.T) {
	for _, tried := range [][2]string{{"new", ""}, {"", "v1"}, {"1.2.3-beta", ""}} {
		cfg := scripted(t, t.TempDir())
		cfg.VersionArgs, cfg.Tried = []string{"--version"}, tried
		_, err := exec.New(cfg)
		require.ErrorContains(t, err, "Config.Tried")
	}
	cfg := scripted(t, t.TempDir())
	cfg.Tried = [2]string{"1.0", "2.0"}
	_, err := exec.New(cfg)
	require.ErrorContains(t, err, "VersionArgs")
}
