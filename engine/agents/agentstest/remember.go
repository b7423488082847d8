package agentstest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
)

// questions are the probes of an agent's program before its first run.
var questions = []string{"--version", "--help"}

// memory has the programs that were asked, in a folder of this process.
var memory struct {
	mu       sync.Mutex // guards all below, and is held while a program is asked
	folder   string
	programs map[string]string // by the agent's name
}

// Main runs the tests of a program that uses Remembered. It returns the status to exit with.
func Main(m *testing.M) int {
	defer func() {
		memory.mu.Lock()
		defer memory.mu.Unlock()
		if memory.folder != "" {
			_ = os.RemoveAll(memory.folder) // it lies in the folder for temporary files
		}
	}()
	return m.Run()
}

// Remembered is the program of the agent, as Program finds it, except that it knows by heart what
// it answers to --version and --help: it was asked once, and passes on all else. Tests make dozens
// of engines and hosts, each of which asks that, and some programs take seconds to say anything.
// TestMain must call Main.
func Remembered(tb testing.TB, name string) string {
	tb.Helper()
	program := Program(tb, name)
	if runtime.GOOS == "windows" { // which has no shell for it
		return program
	}
	memory.mu.Lock()
	defer memory.mu.Unlock()
	if own := memory.programs[name]; own != "" {
		return own
	}
	own, err := remember(tb.Context(), program)
	if err != nil {
		tb.Fatal(err)
	}
	if memory.programs == nil {
		memory.programs = make(map[string]string)
	}
	memory.programs[name] = own
	return own
}

// remember probes the program, and returns another one that repeats its answers.
func remember(ctx context.Context, program string) (string, error) {
	if memory.folder == "" {
		folder, err := os.MkdirTemp("", "interlude-agents-")
		if err != nil {
			return "", err
		}
		memory.folder = folder
	}
	dir, err := os.MkdirTemp(memory.folder, "")
	if err != nil {
		return "", err
	}
	script := "#!/bin/sh\ncase \"$*\" in\n"
	for i, question := range questions {
		ask := exec.CommandContext(ctx, program, question)
		ask.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir}
		answer, err := ask.CombinedOutput() // some write their help to the error output
		if err != nil {
			return "", fmt.Errorf("%s %s: %w: %s", program, question, err, answer)
		}
		file := filepath.Join(dir, fmt.Sprint("answer", i))
		if err := os.WriteFile(file, answer, 0o600); err != nil {
			return "", err
		}
		script += question + ") exec cat " + quoted(file) + " ;;\n"
	}
	script += "*) exec " + quoted(program) + " \"$@\" ;;\nesac\n"
	own := filepath.Join(dir, filepath.Base(program))
	return own, os.WriteFile(own, []byte(script), 0o700)
}

func quoted(path string) string { return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'" }
