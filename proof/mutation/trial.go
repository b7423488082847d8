package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// command is one in the folder, each module for itself. Vetting is off: a test is to see the change.
func command(ctx context.Context, dir, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOWORK=off", strings.TrimSpace("GOFLAGS="+os.Getenv("GOFLAGS")+" -vet=off"))
	cmd.WaitDelay = time.Second
	return cmd
}

// said adds to the error of a command what it wrote.
func said(err error) error {
	var exit *exec.ExitError
	if errors.As(err, &exit) && len(exit.Stderr) > 0 {
		return fmt.Errorf("%w\n%s", err, exit.Stderr)
	}
	return err
}

// try runs the tests of the package with the change, and says whether they see it. Spent is the time of the processors.
func try(ctx context.Context, root, pkg string, m mutant, patience time.Duration) (_ status, spent time.Duration, err error) {
	temp, err := os.MkdirTemp("", "mutant")
	if err != nil {
		return "", 0, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(temp)) }()
	changed, overlay := filepath.Join(temp, m.file), filepath.Join(temp, "overlay.json")
	body, err := json.Marshal(map[string]any{"Replace": map[string]string{filepath.Join(root, filepath.FromSlash(pkg), m.file): changed}})
	if err != nil {
		return "", 0, err
	}
	if err := errors.Join(os.WriteFile(changed, m.source, 0o600), os.WriteFile(overlay, body, 0o600)); err != nil {
		return "", 0, err
	}
	within, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	cmd := command(within, root, "go", "test", "-failfast", "-timeout", patience.String(), "-overlay", overlay, "./"+pkg)
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState != nil {
		spent = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	}
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return "", spent, ctx.Err()
	case within.Err() != nil || strings.Contains(string(out), "panic: test timed out after"):
		return timedOut, spent, nil
	case err == nil:
		return m.status, spent, nil
	case errors.As(err, &exit):
		return killed, spent, nil
	}
	return "", spent, fmt.Errorf("trying %s:%d: %w", m.file, m.line, err)
}
