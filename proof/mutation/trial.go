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
	also      []suite       // tests of other packages, which are executed last, in this order
}

// suite is a package whose tests may detect a mutant of another package.
type suite struct {
	pkg, tests string // the tests whose name has a match of this regular expression
	flags      []string
	patience   time.Duration
	program    string
}

// parseSuites reads folders, separated by commas, each with an optional colon and expression.
func parseSuites(text string) (all []suite) {
	for part := range strings.SplitSeq(text, ",") {
		pkg, tests, _ := strings.Cut(part, ":")
		all = append(all, suite{pkg: pkg, tests: tests})
	}
	return all
}

// build compiles the tests of a package with changed files.
func (t trial) build(ctx context.Context, overlay, pkg, program string) (spent time.Duration, err error) {
	build := command(ctx, t.root, "go", "test", "-c", "-o", program, "-overlay", overlay, "./"+pkg)
	if out, err := build.CombinedOutput(); err != nil {
		return took(build), fmt.Errorf("compiling the tests of %s: %w\n%s", pkg, err, out)
	}
	return took(build), nil
}

// buildAlso compiles the other packages' tests, each once, and returns the suites with their programs.
func (t trial) buildAlso(ctx context.Context, overlay, temp string) (all []suite, spent time.Duration, err error) {
	programs := make(map[string]string)
	for i, s := range t.also {
		if programs[s.pkg] == "" {
			programs[s.pkg] = filepath.Join(temp, fmt.Sprintf("also%d.test", i))
			more, err := t.build(ctx, overlay, s.pkg, programs[s.pkg])
			if spent += more; err != nil {
				return nil, spent, err
			}
		}
		s.program = programs[s.pkg]
		all = append(all, s)
	}
	return all, spent, nil
}

// runIn runs a suite of another package.
func (t trial) runIn(ctx context.Context, s suite, m mutant, environment []string) (status, time.Duration, error) {
	t.pkg, t.flags, t.patience = s.pkg, s.flags, s.patience
	return t.runPart(ctx, "-test.run="+s.tests, s.program, m, environment)
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
	spent, err = t.build(ctx, overlay, t.pkg, program)
	if err != nil {
		return "", spent, fmt.Errorf("%s:%d: %s does not compile, which the type checker did not see: %w", m.file,
			m.line, m.after, err)
	}
	also := t.also
	t.also = nil
	became, more, err := t.run(ctx, program, m)
	if spent += more; err != nil || became == killed || became == timedOut || len(also) == 0 {
		return became, spent, err
	}
	t.also = also
	if t.also, more, err = t.buildAlso(ctx, overlay, temp); err != nil {
		return "", spent + more, err
	}
	became, again, err := t.runAlso(ctx, became, m, nil)
	return became, spent + more + again, err
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
			return became, spent, err
		}
	}
	became, more, err := t.runAlso(ctx, became, m, environment)
	return became, spent + more, err
}

// runAlso runs the suites of other packages until one detects the mutant.
func (t trial) runAlso(ctx context.Context, became status, m mutant, environment []string) (_ status,
	spent time.Duration, err error) {
	for _, s := range t.also {
		var more time.Duration
		became, more, err = t.runIn(ctx, s, m, environment)
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
