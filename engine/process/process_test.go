//go:build unix

package process_test

import (
	"bufio"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine/process"
	"github.com/interlude-go/interlude/engine/redact"
)

func shell(tb testing.TB, lines ...string) process.Command {
	tb.Helper()
	path, err := exec.LookPath("sh")
	require.NoError(tb, err)
	return process.Command{
		RunID: "r1", Path: path, Args: []string{"-c", strings.Join(lines, "\n")}, Dir: tb.TempDir(),
		Env: []string{"PATH=" + os.Getenv("PATH")}, Grace: grace,
	}
}

func started(tb testing.TB, c process.Command) *process.Process {
	tb.Helper()
	p, err := process.NewTable(tb.TempDir()).Start(c)
	require.NoError(tb, err)
	tb.Cleanup(func() { p.End(); p.Release() })
	return p
}

func output(tb testing.TB, p *process.Process) string {
	tb.Helper()
	body, err := io.ReadAll(p.Stdout)
	require.NoError(tb, err)
	return string(body)
}

// pidIn waits for the file with a process number.
func pidIn(tb testing.TB, c process.Command, file string) (pid int) {
	tb.Helper()
	until(tb, file+" is written", func() bool {
		body, err := os.ReadFile(filepath.Join(c.Dir, file))
		if err != nil {
			return false
		}
		pid, err = strconv.Atoi(strings.TrimSpace(string(body)))
		return err == nil && strings.HasSuffix(string(body), "\n")
	})
	return pid
}

// gone reports whether the process has ended or is a zombie.
func gone(pid int) bool { return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) || zombie(pid) }

// A process has its arguments, folder, environment with its run's marks, and an empty input.
func TestStartPassesArgumentsEnvironmentAndInput(t *testing.T) {
	c := shell(t, `printf '%s|%s|%s|' "$0" "$PWD" "$INTERLUDE_RUN"; [ -n "$INTERLUDE_TOKEN" ] && [ -z "$HOME" ] && cat && echo end`)
	c.Args = append(c.Args, "an argument; of one piece")
	dir, err := filepath.EvalSymlinks(c.Dir)
	require.NoError(t, err)
	p := started(t, c)
	require.Nil(t, p.Stdin)
	require.Equal(t, "an argument; of one piece|"+dir+"|r1|end\n", output(t, p))
	require.NoError(t, p.Err())
	require.False(t, p.Running())
}

// A process may read its input or not: neither blocks it.
func TestProcessMayIgnoreItsInput(t *testing.T) {
	for script, want := range map[string]string{"cat": strings.Repeat("x", 1<<20), "true": ""} {
		c := shell(t, script)
		c.Stdin = strings.NewReader(strings.Repeat("x", 1<<20))
		p := started(t, c)
		require.Equal(t, want, output(t, p))
		<-p.Ended()
	}
}

// A channel is open until the process ends, or the host closes it.
func TestChannelCarriesLinesBothWays(t *testing.T) {
	c := shell(t, `while read -r line; do echo "<$line>"; done; echo end`)
	c.Channel = true
	p := started(t, c)
	out := bufio.NewReader(p.Stdout)
	for _, word := range []string{"one", "two"} {
		_, err := p.Stdin.WriteString(word + "\n")
		require.NoError(t, err)
		line, err := out.ReadString('\n')
		require.NoError(t, err)
		require.Equal(t, "<"+word+">\n", line)
	}
	require.NoError(t, p.Stdin.Close())
	rest, err := io.ReadAll(out)
	require.NoError(t, err)
	require.Equal(t, "end\n", string(rest))
	require.NoError(t, p.Err())
}

// The error says how the process ended; the tail of its error output says why, without secrets.
func TestErrAndErrorTextSayWhyAProcessFailed(t *testing.T) {
	c := shell(t, "head -c 10000 /dev/zero | tr '\\0' x >&2", "echo the key hunter2 is refused >&2", "exit 3")
	var all strings.Builder
	c.Stderr = &all
	var err error
	c.Redact, err = redact.New("hunter2")
	require.NoError(t, err)
	p := started(t, c)
	var exit *exec.ExitError
	require.ErrorAs(t, p.Err(), &exit)
	require.Equal(t, 3, exit.ExitCode())
	require.True(t, strings.HasSuffix(p.ErrorText(), "xxx"+"the key [redacted] is refused\n"),
		p.ErrorText()[len(p.ErrorText())-60:])
	require.Len(t, p.ErrorText(), 4<<10)
	require.Len(t, all.String(), 10000+len("the key [redacted] is refused\n"))
}

// A failed start leaves nothing.
func TestFailedStartLeavesNoRecord(t *testing.T) {
	dir := t.TempDir()
	c := shell(t, "true")
	c.Path = "/no/such/program"
	_, err := process.NewTable(dir).Start(c)
	require.ErrorIs(t, err, os.ErrNotExist)
	c = shell(t, "true")
	c.MaxMemory = -1
	_, err = process.NewTable(dir).Start(c)
	require.ErrorIs(t, err, process.ErrNoMemoryLimit)
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, left)
}

// I6: End sends TERM first, so that a process can tidy up.
func TestEndLetsAProcessHandleTERM(t *testing.T) {
	c := shell(t, `trap 'echo tidied; exit 0' TERM`, "echo ready", "while :; do sleep 0.01; done")
	c.Grace = patience
	p := started(t, c)
	out := bufio.NewReader(p.Stdout)
	_, err := out.ReadString('\n')
	require.NoError(t, err)
	p.End()
	require.NoError(t, p.Err())
	rest, err := io.ReadAll(out)
	require.NoError(t, err)
	require.Equal(t, "tidied\n", string(rest))
}

// I6: a process that ignores TERM is killed after its grace, with its group; End may be called
// repeatedly and concurrently.
func TestEndKillsAProcessThatIgnoresTERMWithItsGroup(t *testing.T) {
	c := shell(t, "trap '' TERM", "sleep 1000 & echo $! > child", "echo $$ > self", "sleep 1000")
	p := started(t, c)
	child, self := pidIn(t, c, "child"), pidIn(t, c, "self")
	ended := make(chan struct{}, 3)
	for range cap(ended) {
		go func() { p.End(); ended <- struct{}{} }()
	}
	for range cap(ended) {
		<-ended
	}
	p.End()
	require.ErrorContains(t, p.Err(), "killed")
	until(t, "all have ended", func() bool { return gone(self) && gone(child) })
}

// A process that ends leaves nothing in its group, even if a descendant holds its output.
func TestGroupIsEndedAfterItsLeader(t *testing.T) {
	c := shell(t, "sleep 1000 & echo $! > child", "echo done")
	p := started(t, c)
	require.Equal(t, "done\n", output(t, p))
	require.NoError(t, p.Err())
	child := pidIn(t, c, "child")
	until(t, "the child has ended", func() bool { return gone(child) })
}

// A final answer holds until the program's file is replaced, a provisional one for its time; an
// error is not cached.
func TestProbeAsksAgainWhereItMust(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p process.Probe[int]
		asked, holds := 0, time.Duration(0)
		var failure error
		answer := func(program process.Program) int {
			n, err := p.Answer(program, func() (int, time.Duration, error) { asked++; return asked, holds, failure })
			require.Equal(t, failure, err)
			return n
		}
		a, b := process.Program{Path: "a"}, process.Program{Path: "b"}
		failure, holds = errors.New("busy"), time.Minute
		answer(a)
		answer(a)
		failure = nil
		require.Equal(t, 3, answer(a))
		time.Sleep(time.Minute - time.Nanosecond)
		require.Equal(t, 3, answer(a))
		time.Sleep(time.Nanosecond)
		holds = 0
		require.Equal(t, 4, answer(a))
		time.Sleep(time.Hour)
		require.Equal(t, 4, answer(a), "a final answer")
		require.Equal(t, 5, answer(b), "another program")
	})
}
