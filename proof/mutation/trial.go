package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/interlude-go/interlude/proof/checkout"
)

// command returns a command that runs in the folder, with each module built on its own. Vet is off:
// a test must detect the change, not vet.
func command(ctx context.Context, dir, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOWORK=off", strings.TrimSpace("GOFLAGS="+os.Getenv("GOFLAGS")+" -vet=off"))
	cmd.WaitDelay = time.Second
	return cmd
}

// said adds the output of a failed command to its error.
func said(err error) error {
	var exit *exec.ExitError
	if errors.As(err, &exit) && len(exit.Stderr) > 0 {
		return fmt.Errorf("%w\n%s", err, exit.Stderr)
	}
	return err
}

// trial runs the tests of one package with a mutant in it.
type trial struct {
	root, pkg string
	flags     []string      // flags of the test program
	patience  time.Duration // the time limit of the tests
	slow      string        // tests that are executed only if the others do not detect the mutant; a regular expression
}

// try compiles the tests with the mutant and reports whether they detect it. Spent is CPU time.
func (t trial) try(ctx context.Context, m mutant) (_ status, spent time.Duration, err error) {
	temp, err := os.MkdirTemp("", "mutant")
	if err != nil {
		return "", 0, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(temp)) }()
	overlay, err := checkout.Overlay(temp, map[string][]byte{filepath.Join(t.root, filepath.FromSlash(t.pkg),
		m.file): m.source})
	if err != nil {
		return "", 0, err
	}
	program := filepath.Join(temp, "package.test")
	build := command(ctx, t.root, "go", "test", "-c", "-o", program, "-overlay", overlay, "./"+t.pkg)
	out, err := build.CombinedOutput()
	spent = took(build)
	if err != nil {
		return "", spent, fmt.Errorf("%s:%d: %s does not compile, which the type checker did not see: %w\n%s", m.file,
			m.line, m.after, err, out)
	}
	became, more, err := t.run(ctx, program, m)
	return became, spent + more, err
}

// run runs the compiled tests, and reports whether they detect the mutant in them. The environment
// is added to the tests'.
func (t trial) run(ctx context.Context, program string, m mutant, environment ...string) (became status,
	spent time.Duration, err error) {
	parts := []string{"-test.skip=" + t.slow, "-test.run=" + t.slow}
	if t.slow == "" {
		parts = []string{"-test.run="}
	}
	for _, part := range parts {
		var more time.Duration
		became, more, err = t.runPart(ctx, part, program, m, environment)
		spent += more
		if err != nil || became == killed || became == timedOut {
			break
		}
	}
	return became, spent, err
}

// runPart is run for the tests that the flag selects.
func (t trial) runPart(ctx context.Context, selected, program string, m mutant, environment []string) (_ status,
	spent time.Duration, err error) {
	within, cancel := context.WithTimeout(ctx, t.patience)
	defer cancel()
	tests := command(within, filepath.Join(t.root, filepath.FromSlash(t.pkg)), program,
		append([]string{"-test.failfast", selected}, t.flags...)...)
	tests.Env = append(tests.Env, environment...)
	err = tests.Run()
	spent = took(tests)
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return "", spent, ctx.Err()
	case within.Err() != nil:
		return timedOut, spent, nil
	case errors.As(err, &exit):
		return killed, spent, nil
	case err != nil:
		return "", spent, fmt.Errorf("trying %s:%d: %w", m.file, m.line, err)
	case m.status == notCovered:
		return notCovered, spent, nil
	}
	return lived, spent, nil
}

// took returns the CPU time of a command that has ended.
func took(cmd *exec.Cmd) time.Duration {
	if cmd.ProcessState == nil {
		return 0
	}
	return cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
}

// forgetful prevents rapid from storing failures in the package: a counter-example of one mutant
// must not be replayed against the next.
func forgetful(root, pkg string) error {
	dir := filepath.Join(root, filepath.FromSlash(pkg), "testdata")
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "rapid"), nil, 0o600) // a file where rapid would create a folder
}
