package console_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/cmd/internal/command"
	"github.com/interlude-go/interlude/cmd/internal/console"
	"github.com/interlude-go/interlude/host/web"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/store/postgres/pgtest"
)

// L1: operators list runs, fork one, and see pools and nodes as in the API.
func TestL1OperatorsSeeRunsPoolsAndNodes(t *testing.T) {
	each(t, func(o *office) {
		o.asks("r", confirm)
		o.call("", "fork", "-question", "1", "r").refused(command.Refused, "cannot be forked")
		o.call("", "reply", "-as", "ada", "r", "yes").well()
		_, err := o.lc.Wait(t.Context(), "r")
		require.NoError(t, err)
		o.asks("s", colour)

		require.Regexp(t, `(?m)^RUN +STATE +FOR +TURN +ENGINE\ns +waiting_user .* \? Which colour\?\nr +succeeded `,
			o.call("", "runs").well())
		require.Contains(t, o.call("", "runs", "-limit", "1").well(), "there are more: -limit 2")
		require.Len(t, lines[web.Run](o.call("", "runs", "-json", "-state", "succeeded")), 1)
		require.NotContains(t, o.call("", "runs", "-json", "-state", "succeeded").well(), "final_text",
			"listings have no outputs, which may be large")
		require.Contains(t, o.call("", "show", "-json", "r").well(), "final_text")
		o.call("", "runs", "-state", "happy").refused(command.Misused)
		o.call("", "inbox", "-kind", "bogus").refused(command.Misused, "-kind", "approval", "open_text")
		require.Contains(t, o.call("", "runs", "-held").well(), "there are no such runs")

		at := []string{"fork", "-id", "f", "-question", "1", "-reply", "no", "-as", "ada", "r"}
		o.call("", at...).well()
		fork := lines[web.Run](o.call("", append(at, "-json")...))
		require.Equal(t, "r", fork[0].ForkedFrom.RunID)
		require.Contains(t, o.call("", "show", "f").well(), "forked from r")

		require.Regexp(t, `(?m)^default +\d of 4 +- `, o.call("", "pools").well())
		require.Equal(t, 4, lines[web.PoolStats](o.call("", "pools", "-json"))[0].Capacity)
		o.call("", "pools", "gpu").refused(command.Misused, "-slots N")
		o.call("", "pools", "-slots", "2").refused(command.Misused, "want POOL")
		o.call("", "pools", "gpu", "-slots", "2", "-was", "1").refused(command.Refused, "there is no pool gpu")
		o.call("", "pools", "g pu", "-slots", "2").refused(command.Misused, "g pu")
		require.Equal(t, "✓ pool gpu has 2 slots, 1 for each key\n",
			o.call("", "pools", "gpu", "-slots", "2", "-per-key", "1").well())
		o.call("", "pools", "gpu", "-slots", "3").refused(command.Refused, "has 2 slots: add -was 2")
		o.call("", "pools", "gpu", "-slots", "3", "-was", "1").refused(command.Refused, "has 2 slots now, not 1")
		o.call("", "pools", "gpu", "-slots", "3", "-was", "2").well()
		require.Equal(t, lifecycle.Pool{Name: "gpu", Capacity: 3, KeyCapacity: 1},
			lines[lifecycle.Pool](o.call("", "pools", "gpu", "-json", "-slots", "3", "-was", "2"))[0], "repeated")
		o.call("", "pools", "gpu", "-slots", "3", "-was", "3", "-per-key", "0").well()
		require.Regexp(t, `(?m)^gpu +0 of 3 +- `, o.call("", "pools").well())
		require.Regexp(t, `(?m)^\w{26} +lease ends in .* +default$`, o.call("", "nodes").well())
		nodes := lines[web.Node](o.call("", "nodes", "-json"))
		require.Len(t, nodes, 1)
		require.Equal(t, os.Getpid(), nodes[0].Process)

		o.call("", "resume", "s").refused(command.Misused, "-choice repeat, raise or end")
		o.call("", "resume", "-choice", "end", "s").refused(command.Refused)
		require.NotContains(t, o.call("", "doctor").well(), "✗")
		for _, f := range lines[console.Finding](o.call("", "doctor", "-json")) {
			require.True(t, f.OK, f)
		}
	})
}

// L1: only migrate creates a database or upgrades its schema, and doctor reports problems and
// remedies.
func TestJ8MigrateMakesTheSchemaAndDoctorExaminesIt(t *testing.T) {
	file := filepath.Join(t.TempDir(), "runs.db")
	for name, db := range map[string]string{"sqlite": file, "postgres": pgtest.DSN(t)} {
		t.Run(name, func(t *testing.T) {
			before := call(t, "", "doctor", "-db", db)
			require.Equal(t, command.Failed, before.status)
			require.Contains(t, before.out, "✗ schema")
			require.Contains(t, strings.Join(strings.Fields(before.out), " "), "interlude migrate -db ")
			made := lines[console.Migrated](call(t, "", "migrate", "-db", db, "-json"))[0]
			require.Zero(t, made.From)
			require.Positive(t, made.To)
			require.Contains(t, call(t, "", "migrate", "-db", db).well(), "as this program needs it")
			call(t, "", "migrate", "-db", db, "-refuse-earlier").well()
			require.Contains(t, call(t, "", "restored", "-db", db).well(), "are marked")
			require.Len(t, lines[map[string]string](call(t, "", "restored", "-db", db, "-json")), 1)
			require.Contains(t, call(t, "", "doctor", "-db", db).well(), "✓ schema")
			require.Contains(t, call(t, "", "pools", "-db", db).well(), "there is no pool")
			require.Contains(t, call(t, "", "nodes", "-db", db).well(), "no node is serving")

			st, err := openStore(t.Context(), db)
			require.NoError(t, err)
			defer st.Close()
			lc, err := lifecycle.NewClient(lifecycle.ClientConfig{Store: st})
			require.NoError(t, err)
			defer lc.Close()
			require.NoError(t, st.SetPool(t.Context(), lifecycle.Pool{Name: "default", Capacity: 1}))
			_, err = lc.Submit(t.Context(), lifecycle.Spec{ID: "alone", Prompt: "x"})
			require.NoError(t, err)
			alone := call(t, "", "doctor", "-db", db)
			require.Equal(t, command.Failed, alone.status)
			require.Contains(t, alone.out, "✗ nodes       0 serve, for 1 ready or running run")
			require.Contains(t, alone.out, "start a host")
			require.Contains(t, alone.out, "✗ engine      1 run wait")
		})
	}
}

// J8: a backup is made while a host works, restored elsewhere, and never overwrites a file.
func TestJ8ABackupIsMadeAndRestored(t *testing.T) {
	o := open(t, filepath.Join(t.TempDir(), "runs.db"))
	o.asks("r", confirm)
	copied, again := filepath.Join(t.TempDir(), "copy.db"), filepath.Join(t.TempDir(), "again.db")
	o.call("", "backup", copied).well()
	o.call("", "backup", copied).refused(command.Misused, "is not overwritten")
	call(t, "", "restore", "-db", again, copied).well()
	call(t, "", "restore", "-db", again, copied).refused(command.Misused, "is not overwritten")
	require.Contains(t, call(t, "", "inbox", "-db", again).well(), "Ship it?")
	call(t, "", "backup", "-db", "postgres://u:secret@127.0.0.1:1/x", copied).refused(command.Misused, "pg_dump")
	call(t, "", "backup", "-db", again).refused(command.Misused, "want FILE")
	call(t, "", "restore", "-db", again).refused(command.Misused, "want BACKUP")
}

// L1: check validates the output of events -json against the contract, and names the line that
// violates it.
func TestL1LogsAreCheckedAgainstTheContract(t *testing.T) {
	o := open(t, filepath.Join(t.TempDir(), "runs.db"))
	o.asks("r", confirm)
	log := o.call("", "events", "-json", "r").well()
	file := filepath.Join(t.TempDir(), "r.jsonl")
	require.NoError(t, os.WriteFile(file, []byte(log), 0o600))
	require.Contains(t, call(t, "", "check", file).well(), "1 run, 5 events")
	require.Empty(t, lines[console.Checked](call(t, "", "check", "-json", file))[0].Violations)

	_, broken, _ := strings.Cut(log, "\n")
	bad := call(t, broken, "check", "-")
	require.Equal(t, command.Failed, bad.status)
	require.Contains(t, bad.out, "✗ -:1: IV-")
	call(t, broken, "check", "-lenient", "-").well()
	call(t, "", "check", "-").refused(command.Misused, "nothing was checked")
	call(t, "", "check").refused(command.Misused, "want the logs")
	call(t, "", "check", file+"x").refused(command.Misused, "there is no file")
}

// L1: the help fits a terminal and is complete, and completions answer a shell.
func TestL1HelpFitsATerminal(t *testing.T) {
	p := command.Program{Verbs: console.Verbs(), About: "x", Status: "y"}
	for _, args := range append(helps(p), nil) {
		out := printOf(t, p, args)
		require.Equal(t, strings.Count(out, "("), strings.Count(out, ")"), "an unclosed bracket:\n%s", out)
		for line := range strings.Lines(out) {
			require.LessOrEqual(t, len([]rune(strings.TrimRight(line, "\n"))), 80, line)
		}
	}
	require.Equal(t, "reply\nresume\nrestore\nrestored\n", printOf(t, p, []string{"__complete", "re"}))
	require.Equal(t, "-after\n", printOf(t, p, []string{"__complete", "events", "--a"}))
	require.Equal(t, "-db\n-decision\n-directory\n", printOf(t, p, []string{"__complete", "reply", "r", "-d"}))
	for _, shell := range []string{"bash", "zsh", "fish"} {
		require.Contains(t, printOf(t, p, []string{"completion", shell}), "__complete")
	}
}

func helps(p command.Program) (all [][]string) {
	for _, v := range p.Verbs {
		all = append(all, []string{"help", v.Name}, []string{v.Name, "-h"})
	}
	return all
}

// printOf returns the output of a call that needs no database.
func printOf(t *testing.T, p command.Program, args []string) string {
	t.Helper()
	out, err := os.Create(filepath.Join(t.TempDir(), "out"))
	require.NoError(t, err)
	defer out.Close()
	status, err := p.Run(t.Context(), command.Call{Args: args, Out: out})
	require.NoError(t, err)
	require.Equal(t, command.Succeeded, status)
	body, err := os.ReadFile(out.Name())
	require.NoError(t, err)
	return string(body)
}
