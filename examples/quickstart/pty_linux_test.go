package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// session is the example on a terminal of its own, as a person has it.
type session struct {
	t    *testing.T
	cmd  *exec.Cmd
	tty  *os.File
	tmp  string // its folder for temporary files
	gone chan struct{}

	mu     sync.Mutex
	screen bytes.Buffer // guarded by mu; all that was shown
}

// start runs the example on a pseudo terminal.
func start(t *testing.T, args ...string) *session {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	require.NoError(t, err)
	t.Cleanup(func() { _ = master.Close() })
	n, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	require.NoError(t, err)
	require.NoError(t, unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0))
	slave, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|syscall.O_NOCTTY, 0)
	require.NoError(t, err)

	self, err := os.Executable()
	require.NoError(t, err)
	s := &session{t: t, cmd: exec.Command(self, args...), tty: master, tmp: t.TempDir(), gone: make(chan struct{})}
	s.cmd.Env = append(os.Environ(), asProgram+"=1", "TMPDIR="+s.tmp)
	s.cmd.Stdin, s.cmd.Stdout, s.cmd.Stderr = slave, slave, slave
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	require.NoError(t, s.cmd.Start())
	require.NoError(t, slave.Close())
	t.Cleanup(func() { _ = s.cmd.Process.Kill() })
	go func() {
		defer close(s.gone)
		chunk := make([]byte, 4096)
		for {
			n, err := master.Read(chunk) // EIO when the program has ended
			s.mu.Lock()
			s.screen.Write(chunk[:n])
			s.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	return s
}

func (s *session) shown() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.screen.String()
}

// sees waits for a text.
func (s *session) sees(text string) {
	s.t.Helper()
	require.Eventually(s.t, func() bool {
		return strings.Contains(s.shown(), text)
	}, time.Minute, 5*time.Millisecond, "%q is not shown", text)
}

func (s *session) types(keys string) {
	s.t.Helper()
	_, err := s.tty.WriteString(keys)
	require.NoError(s.t, err)
}

// ends waits for the end and returns the exit status.
func (s *session) ends() int {
	s.t.Helper()
	<-s.gone
	err := s.cmd.Wait()
	var ended *exec.ExitError
	if err != nil && !errors.As(err, &ended) {
		s.t.Fatal(err)
	}
	return s.cmd.ProcessState.ExitCode()
}

// left are the files that are left among the temporary ones.
func (s *session) left() []string {
	names, err := filepath.Glob(filepath.Join(s.tmp, "*"))
	require.NoError(s.t, err)
	return names
}

const ctrlC = "\x03"

// E1: Ctrl-C at a question leaves the run parked and says how to go on; that command goes on with
// it. What a person typed and what the agent made of it does nothing to the terminal, and no line
// of an event is longer than a terminal is wide.
func TestCtrlCSaysHowToGoOn(t *testing.T) {
	t.Parallel()
	first := start(t)
	first.sees("? Where shall the party be?")
	first.types("2\n")
	first.sees("? Shall there be live music?")
	first.types(ctrlC)
	require.Equal(t, 130, first.ends(), first.shown())
	found := regexp.MustCompile(`go on with:\s+(\S.*) -db (\S+) -resume\r\n`).FindStringSubmatch(first.shown())
	require.NotNil(t, found, first.shown())
	require.NotContains(t, first.shown(), "context canceled")

	second := start(t, "-db", found[2], "-resume")
	second.sees("? Shall there be live music?")
	second.types("yes\n")
	second.sees("? How many guests, and when?")
	second.types("30 \u202eguests\u202c and \u009b31m\n")
	second.sees("? What must not be missing?")
	second.types("lemonade\n")
	second.sees("? It may rain.")
	second.types("accept\n")
	require.Equal(t, 0, second.ends(), second.shown())
	require.Contains(t, second.shown(), `"details": "30 \u202eguests\u202c and \u009b31m"`)
	for line := range strings.Lines(second.shown()) {
		if regexp.MustCompile(`^ +\d+  \w`).MatchString(line) {
			require.LessOrEqual(t, len([]rune(strings.TrimRight(line, "\r\n"))), 80, line)
		}
	}
}

// Nothing temporary is left of a run that cannot go on: one that has ended, and one whose agent
// waited in its process.
func TestNothingTemporaryIsLeft(t *testing.T) {
	t.Parallel()
	t.Run("succeeded", func(t *testing.T) {
		t.Parallel()
		s := start(t, "-timeout", "1s", "-strict=false")
		require.Equal(t, 0, s.ends(), s.shown())
		require.Contains(t, s.shown(), `"state":"succeeded"`)
		require.Empty(t, s.left())
	})
	t.Run("its process is gone", func(t *testing.T) {
		t.Parallel()
		s := start(t, "-profile", "sticky_process")
		s.sees("? Where shall the party be?")
		s.types(ctrlC)
		require.Equal(t, 130, s.ends(), s.shown())
		require.Contains(t, s.shown(), "INTERACTION_PROCESS_LOST")
		require.Empty(t, s.left())
	})
}

// E1, E4: killed by itself right after a stored event, whatever that is called; the run goes on.
func TestKillAfter(t *testing.T) {
	t.Parallel()
	for _, event := range []string{"conversation.started", "turn.started", "user.input.required", "#8"} {
		t.Run(event, func(t *testing.T) {
			t.Parallel()
			db := filepath.Join(t.TempDir(), "runs.db")
			s := start(t, "-db", db, "-kill-after", event)
			if event == "#8" { // the reply is accepted
				s.sees("? Where shall the party be?")
				s.types("1\n")
			}
			require.Equal(t, -1, s.ends(), s.shown())
			l, out := play(t, all, "-db", db, "-resume")
			require.Equal(t, "succeeded", string(l.State), out)
		})
	}
}
