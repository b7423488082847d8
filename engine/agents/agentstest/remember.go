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

// memory has the probed programs, in a folder of this process.
var memory struct {
	mu       sync.Mutex // guards all below, and is held during a probe
	folder   string
	programs map[string]string // by the agent's name
}

// Main runs the tests of a program that uses Remembered. It returns the exit status.
func Main(m *testing.M) int {
	defer func() {
		memory.mu.Lock()
		defer memory.mu.Unlock()
		if memory.folder != "" {
			_ = os.RemoveAll(memory.folder) // in the folder for temporary files
		}
	}()
	return m.Run()
}

// Remembered is the agent's program, as Program finds it, with cached answers to --version and
// --help; it forwards all other calls. Tests make dozens of engines and hosts that probe the
// program, and some programs take seconds to answer. TestMain must call Main.
func Remembered(tb testing.TB, name string) string {
	tb.Helper()
	program := Program(tb, name)
	if runtime.GOOS == "windows" { // no shell for the script
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

// remember probes the program, and returns a script that repeats its answers.
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
