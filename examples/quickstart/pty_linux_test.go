package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// session is the quickstart on a pseudo terminal.
type session struct {
	t    *testing.T
	cmd  *exec.Cmd
	tty  *os.File
	tmp  string // its folder for temporary files
	gone chan struct{}

	mu     sync.Mutex
	screen bytes.Buffer // guarded by mu; everything shown
}

// start runs the quickstart on a pseudo terminal, in the folder.
func start(t *testing.T, folder string, env ...string) *session {
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
	s := &session{t: t, cmd: exec.Command(self), tty: master, tmp: t.TempDir(), gone: make(chan struct{})}
	s.cmd.Dir = folder
	s.cmd.Env = append(append(os.Environ(), asProgram+"=1", "TERM=xterm", "TMPDIR="+s.tmp), env...)
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

const ctrlC = "\x03"

// E1: Ctrl-C at a question leaves the run parked and prints the command that continues it; no
// temporary file remains. No line is wider than a terminal.
func TestCtrlCSaysHowToGoOn(t *testing.T) {
	folder := t.TempDir()
	first := start(t, folder)
	first.sees("Where shall the party be?")
	first.types("5\n")
	first.sees("5 is not one of the options.")
	first.types("2\n")
	first.sees("Shall there be live music?")
	first.types(ctrlC)
	require.Equal(t, 130, first.ends(), first.shown())
	require.Contains(t, first.shown(), "Continue with the same command: the run is in garden-party.db.")
	require.NotContains(t, first.shown(), "context canceled")
	require.Contains(t, first.shown(), "\x1b[32m", "colours on a terminal")

	second := start(t, folder, "NO_COLOR=1")
	second.sees("Shall there be live music?")
	second.types("1\n")
	second.sees("1 is not one of the options.")
	second.types("yes\n")
	second.sees("What must not be missing?")
	second.types("lemonade\n")
	require.Equal(t, 0, second.ends(), second.shown())
	require.NotContains(t, second.shown(), "\x1b")
	temporary, err := os.ReadDir(first.tmp)
	require.NoError(t, err)
	require.Empty(t, temporary)
	for line := range strings.Lines(first.shown() + second.shown()) {
		line = regexp.MustCompile(`\x1b\[\d+m`).ReplaceAllString(strings.TrimRight(line, "\r\n"), "")
		require.LessOrEqual(t, len([]rune(line)), 80, line)
	}
}
