package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine/process"
)

// asProgram is the variable that makes this test program run as interlude.
const asProgram = "INTERLUDE_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
	}
	if len(os.Args) > 1 && os.Args[1] == acpAgentArg {
		acpAgentMain()
	}
	os.Exit(m.Run())
}

// patience limits one call of the program.
const patience = 2 * time.Minute

// calling returns a call of the program that cannot see this machine's agents and keys.
func calling(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, self, args...)
	cmd.Env = []string{asProgram + "=1", "PATH=" + os.Getenv("PATH"), "TMPDIR=" + os.TempDir(), "HOME=" + t.TempDir()}
	return cmd
}

// said is the result of a call.
type said struct {
	status    int // -1: killed
	out, side string
}

// id returns the run's id.
func (s said) id(t *testing.T) string {
	t.Helper()
	found := regexp.MustCompile(`· run (\S+)`).FindStringSubmatch(s.out)
	require.NotNil(t, found, "the output names no run:\n%s%s", s.out, s.side)
	return found[1]
}

// play runs a skill to the end of the call, with lines of standard input.
func play(t *testing.T, stdin string, args ...string) said {
	t.Helper()
	return called(t, stdin, append([]string{"run"}, args...)...)
}

// called calls the program.
func called(t *testing.T, stdin string, args ...string) said {
	t.Helper()
	cmd := calling(t, args...)
	var out, side bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &out, &side
	err := cmd.Run()
	var ended *exec.ExitError
	if err != nil {
		require.ErrorAs(t, err, &ended, "%s", &side)
	}
	return said{cmd.ProcessState.ExitCode(), out.String(), side.String()}
}

// begun starts a call that does not end by itself, and returns once it has printed the text.
func begun(t *testing.T, shows string, args ...string) (*exec.Cmd, <-chan string) {
	t.Helper()
	cmd := calling(t, append([]string{"run"}, args...)...)
	_, err := cmd.StdinPipe() // stays open, like a person who is thinking
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	var all strings.Builder
	chunk := make([]byte, 4096)
	for !strings.Contains(all.String(), shows) {
		n, err := out.Read(chunk)
		all.Write(chunk[:n])
		require.NoError(t, err, "%q is not shown in\n%s", shows, &all)
	}
	rest := make(chan string, 1)
	go func() {
		end, _ := io.ReadAll(out) // the rest of the output
		rest <- all.String() + string(end)
	}()
	return cmd, rest
}

// hello returns a copy of the sample skill, with room for its runs next to it.
func hello(t *testing.T) string {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "hello")
	require.NoError(t, os.CopyFS(folder, os.DirFS("hello")))
	return folder
}

// artifact returns the file that the agent wrote in the run.
func artifact(t *testing.T, folder, agent, id string) string {
	t.Helper()
	body, err := os.ReadFile(filepath.Join(filepath.Dir(folder), ".interlude", "hello", agent, id, "artifacts",
		"greeting.txt"))
	require.NoError(t, err)
	return string(body)
}

// N1: the demo agent writes its file only after a yes.
func TestN1TheDemoWritesOnlyAfterAYes(t *testing.T) {
	for text, files := range map[string]int{"yes": 1, "no": 0, "perhaps": 0} {
		folder := t.TempDir()
		_, err := act{given: []string{"formal", text}, folder: folder}.play()
		require.NoError(t, err)
		written, err := os.ReadDir(folder)
		require.NoError(t, err)
		require.Len(t, written, files, text)
	}
}

// A4, C3: lines of standard input answer two questions, the first by an option's number.
func TestDemoAsksAndIsDone(t *testing.T) {
	folder := hello(t)
	s := play(t, "\n3\nyes\n", "-agent", "demo", folder)
	require.Equal(t, succeeded, s.status, s.out+s.side)
	require.Empty(t, s.side)
	require.Contains(t, s.out, "  3  Like a pirate  (pirate)\n")
	require.Contains(t, s.out, "  yes or no\n")
	require.Contains(t, s.out, `"tone": "pirate"`)
	require.Contains(t, s.out, "✓ succeeded: 3 turns")
	require.Equal(t, "Ahoy, matey! Come aboard.\n", artifact(t, folder, "demo", s.id(t)))
}

// survives answers two questions, with a kill -9 while the run is parked and another in its second
// turn. The command is always the same.
func survives(t *testing.T, folder, engine string, args ...string) {
	t.Helper()
	args = append(args, folder)
	parked := play(t, "", append(args, "-kill", "parked")...)
	require.Equal(t, -1, parked.status, parked.out+parked.side)
	require.Contains(t, parked.out, "? How shall it sound?")
	require.Contains(t, parked.out, "kill -9 while the run is parked")
	id := parked.id(t)

	asks := play(t, "", args...)
	require.Equal(t, goesOn, asks.status, asks.out+asks.side)
	require.Equal(t, id, asks.id(t), "the same run continues")
	require.Contains(t, asks.out, "? How shall it sound?")
	require.Contains(t, asks.out, "‖ parked")

	running := play(t, "2\n", append(args, "-kill", "running")...)
	require.Equal(t, -1, running.status, running.out+running.side)
	require.Equal(t, id, running.id(t))
	require.Contains(t, running.out, "kill -9 in the middle of turn 2")

	done := play(t, "", append(args, "-reply", "yes")...)
	require.Equal(t, succeeded, done.status, done.out+done.side)
	require.Equal(t, id, done.id(t))
	require.Contains(t, done.out, "the turn was interrupted and is repeated")
	require.NotContains(t, done.out, "? How shall it sound?", "an answered question is not asked again")
	require.Contains(t, done.out, `"tone": "formal"`)
	require.Equal(t, "Good day. I trust this finds you well.\n", artifact(t, folder, engine, id))

	require.Empty(t, left(id), "processes of the run remain")
	log := play(t, "", append(args, "-json", "-run", id)...)
	require.Equal(t, succeeded, log.status, log.side)
	kept(t, log.out)

	another := play(t, "", args...)
	require.NotEqual(t, id, another.id(t), "a run that has ended is not restarted")
}

// left returns the processes whose environment has the run's id, if they are visible.
func left(id string) (all []string) {
	names, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, name := range names {
		env, _ := os.ReadFile(name) // unreadable, or ended
		if bytes.Contains(env, []byte(process.EnvRun+"="+id+"\x00")) {
			all = append(all, name)
		}
	}
	return all
}

// E1, E4: kill -9, with the demo agent.
func TestRunOfTheDemoAgentSurvivesAKill(t *testing.T) {
	survives(t, hello(t), "demo", "-agent", "demo")
}

// E1: the host is killed from outside while a question is open.
func TestAHostIsKilledWhileAPersonThinks(t *testing.T) {
	folder := hello(t)
	cmd, rest := begun(t, "? How shall it sound?", "-agent", "demo", folder)
	require.NoError(t, cmd.Process.Kill())
	first := said{out: <-rest}
	require.Error(t, cmd.Wait())
	s := play(t, "friendly\nno\n", "-agent", "demo", folder)
	require.Equal(t, succeeded, s.status, s.out+s.side)
	require.Equal(t, first.id(t), s.id(t))
	require.Contains(t, s.out, `"written": false`)
}

// E1: Ctrl-C leaves the run parked, and prints the command that continues it.
func TestCtrlCLeavesTheRunParked(t *testing.T) {
	folder := hello(t)
	cmd, rest := begun(t, "? How shall it sound?", "-agent=demo", "-reply=", folder, "-new")
	require.NoError(t, cmd.Process.Signal(os.Interrupt))
	out := <-rest
	var ended *exec.ExitError
	require.ErrorAs(t, cmd.Wait(), &ended, out)
	require.Equal(t, goesOn, ended.ExitCode(), out)
	require.Contains(t, out, "‖ parked")
	require.Contains(t, out, " -agent=demo "+folder+"\n", "the command that continues the run")
}

// A6, H1: in auto mode no question is asked.
func TestAutoModeAsksNobody(t *testing.T) {
	s := play(t, "", "-mode", "auto", hello(t))
	require.Equal(t, succeeded, s.status, s.out+s.side)
	require.NotContains(t, s.out, "? ")
	require.Contains(t, s.out, "1 turn,")
}

// C6, D2: the agent decides if there is no reply in time.
func TestAgentDecidesWhenNobodyRepliesInTime(t *testing.T) {
	s := play(t, "", "-auto-decide", "-timeout", "1s", hello(t))
	require.Equal(t, succeeded, s.status, s.out+s.side)
	require.Contains(t, s.out, "then the agent decides")
	require.Contains(t, s.out, "! the agent decides: no reply in 1.0 s")
	require.Contains(t, s.out, `"tone": "friendly"`)
}

// D1: a second run is submitted while another waits; each is continued by its id.
func TestTwoRunsOfASkill(t *testing.T) {
	folder := hello(t)
	one := play(t, "", folder).id(t)
	two := play(t, "", "-new", folder).id(t)
	require.NotEqual(t, one, two)
	newest := play(t, "", folder, "-timeout", "9s", "-mode", "interactive")
	require.Equal(t, two, newest.id(t))
	require.Contains(t, newest.out, "! -timeout applies only to a new run")
	require.NotContains(t, newest.out, "-mode applies", "the mode is the same")
	s := play(t, "1\nno\n", folder, "-run", one)
	require.Equal(t, succeeded, s.status, s.out+s.side)
	require.Equal(t, one, s.id(t))
	require.Equal(t, two, play(t, "", folder).id(t))
}

// Terminal commands in a reply, repeated by the agent, have no effect in the output or in the
// events.
func TestOutputHasNoTerminalCommands(t *testing.T) {
	folder := hello(t)
	const hostile, visible = "\x1b]0;x\a\u009b31m \u202eeman", `\u{001B}]0;x\u{0007}\u{009B}31m \u{202E}eman`
	s := play(t, hostile+"\n", "-reply", hostile, folder)
	require.Equal(t, succeeded, s.status, s.out+s.side)
	require.Contains(t, s.out, "> "+visible+"\n")
	require.Contains(t, s.out, "  Noted: "+visible+".\n")
	require.Contains(t, s.out, `"greeting": "Hello, \u001b]0;x\u0007\u009b31m \u202eeman!"`)
	log := play(t, "", "-json", "-run", s.id(t), folder)
	require.Equal(t, succeeded, log.status, log.side)
	for _, shown := range []string{s.out, log.out} {
		require.NotContains(t, shown, "\x1b")
		require.NotContains(t, shown, "\u009b")
		require.NotContains(t, shown, "\u202e")
	}
}
