package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/interlude-go/interlude/proof/checkout"
)

// tree is the project, and a temporary folder for copies and programs.
type tree struct {
	root, temp string
}

// patience is how long a check may take. A check that hangs does not count as failed.
const patience = 2 * time.Minute

// writeOverlay writes texts that the go command reads instead of the tree's files.
func (t tree) writeOverlay(files map[string]string) (string, error) {
	texts := make(map[string][]byte, len(files))
	for file, text := range files {
		texts[filepath.Join(t.root, filepath.FromSlash(file))] = []byte(text)
	}
	return checkout.Overlay(t.temp, texts)
}

// program is a compiled test program and the overlay it was compiled with.
type program struct{ path, overlay string }

// build compiles the test program of a package.
func (t tree) build(ctx context.Context, name, overlay, pkg string) (program, error) {
	p := program{filepath.Join(t.temp, name+".test"), overlay}
	dir := filepath.Join(t.root, filepath.FromSlash(pkg))
	// Leaving out the symbols saves a third of the linking. Vet is off: the check must find the
	// mistake, and not vet, which would read every package above the bug again.
	cmd := exec.CommandContext(ctx, "go", "test", "-c", "-vet=off", "-tags", "search", "-ldflags=-s -w",
		"-o", p.path, ".")
	cmd.Dir, cmd.Env = dir, environment(overlay)
	if out, err := cmd.CombinedOutput(); err != nil {
		return p, fmt.Errorf("%s does not compile: %w\n%s", pkg, err, out)
	}
	return p, nil
}

// environment is for the go command, and for tests that call it. Every module is built separately,
// and finds the tree's other modules in their folders.
func environment(overlay string) []string {
	return append(os.Environ(), "GOWORK=off", strings.TrimSpace("GOFLAGS="+os.Getenv("GOFLAGS")+" -overlay="+overlay))
}

// run runs the check with a program that has the bug; a program with several bugs activates the
// named one. Failed says that a test failed, and said is its message. An error means that the check
// could not be run.
func (t tree) run(ctx context.Context, p program, bug string, c check) (failed bool, said string, _ error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	args := []string{"-test.failfast"}
	for _, f := range c.flags {
		switch f {
		case "-run", "-short", "-parallel":
			f = "-test." + f[1:]
		}
		args = append(args, f)
	}
	cmd := exec.CommandContext(ctx, p.path, args...)
	cmd.Dir = filepath.Join(t.root, filepath.FromSlash(c.pkg))
	// a failed test leaves its files in the temporary folder
	cmd.Env = append(environment(p.overlay), "TMPDIR="+t.temp, chosenBug+"="+bug)
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return false, "", fmt.Errorf("%s hangs: %w", c, ctx.Err())
	case bytes.Contains(out, []byte("no tests to run")):
		return false, "", fmt.Errorf("%s: there is no such test", c)
	case err == nil:
		return false, "", nil
	case !errors.As(err, &exit):
		return false, "", err
	}
	return true, firstWords(string(out)), nil
}

var (
	located = regexp.MustCompile(`^\s*\S+\.go:\d+:\s*(.*)`)
	labeled = regexp.MustCompile(`^\s*(?:Error|Messages):\s*(.*)`)
)

// firstWords returns the first message of a failed test, in one line.
func firstWords(out string) string {
	var said []string
	lines := strings.Split(out, "\n")
	for i, line := range lines {
		if m := labeled.FindStringSubmatch(line); m != nil {
			said = append(said, describe(strings.TrimSpace(m[1]), lines[i+1:]))
			continue
		}
		if len(said) > 0 && strings.TrimSpace(line) == "" {
			break
		}
		if m := located.FindStringSubmatch(line); m != nil && m[1] != "" && len(said) == 0 {
			return m[1]
		}
		if strings.HasPrefix(line, "panic: ") && len(said) == 0 {
			return line
		}
	}
	if len(said) == 0 {
		return strings.TrimSpace(lines[0])
	}
	return strings.Join(said, "; ")
}

// describe returns the text. If it ends with a colon, at most two of the lines below follow.
func describe(text string, below []string) string {
	if !strings.HasSuffix(text, ":") {
		return text
	}
	for _, line := range below[:min(2, len(below))] {
		line = strings.Join(strings.Fields(line), " ")
		if line == "" || strings.HasPrefix(line, "Test:") || strings.HasPrefix(line, "Messages:") {
			break
		}
		text += " " + line
	}
	return text
}
