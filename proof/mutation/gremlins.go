package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"time"
)

// The pinned version of gremlins: what it changes must not change by itself.
const (
	gremlinsModule  = "github.com/go-gremlins/gremlins/cmd/gremlins"
	gremlinsVersion = "v0.6.0"
)

// install puts the pinned gremlins into the project's folder of tools, once, and returns its name.
func install(ctx context.Context, root string) (string, error) {
	tools := filepath.Join(root, ".tools")
	program, stamp := filepath.Join(tools, "gremlins"), filepath.Join(tools, "gremlins."+gremlinsVersion)
	if _, err := os.Stat(stamp); err == nil {
		return program, nil
	} else if !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	cmd := exec.CommandContext(ctx, "go", "install", gremlinsModule+"@"+gremlinsVersion)
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "GOBIN="+tools, "GOWORK=off", "GOFLAGS=-mod=mod")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("installing gremlins: %w\n%s", err, out)
	}
	return program, os.WriteFile(stamp, nil, 0o600)
}

// mutators are all of them, those that gremlins leaves out by default, too.
var mutators = []string{
	"--arithmetic-base", "--conditionals-boundary", "--conditionals-negation", "--increment-decrement",
	"--invert-negatives",
	"--invert-assignments", "--invert-bitwise", "--invert-bwassign", "--invert-logical", "--invert-loopctrl",
	"--remove-self-assignments",
}

// hunt is how gremlins is run.
type hunt struct {
	program string
	workers int // mutants that are tried at the same time
	// a mutant may take so many times what compiling and running the tests takes with coverage
	coefficient int
	files       *regexp.Regexp // of the package; all when nil
	progress    io.Writer      // what gremlins says meanwhile
	together    bool           // gremlins finds the mutants, and does not try them
	sample      int            // how many of them are tried; 0 for all
	seed        uint64         // of the sample
}

// unleash runs gremlins on the package of the module at root and returns its report. Spent is the
// time of the processors.
//
// Its --test-cpu is not used: with version 0.6.0 every test program refuses the flag that it makes
// of it, which then counts as killed.
func (h hunt) unleash(ctx context.Context, root, pkg string) (report []byte, spent time.Duration, err error) {
	temp, err := os.MkdirTemp("", "gremlins")
	if err != nil {
		return nil, 0, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(temp)) }()
	output := filepath.Join(temp, "report.json")
	args := append([]string{
		"unleash", "--output", output, "--workers", strconv.Itoa(h.workers), "--timeout-coefficient",
		strconv.Itoa(h.coefficient),
		"--exclude-files", "/", // packages below
	}, mutators...)
	entries, err := os.ReadDir(filepath.Join(root, filepath.FromSlash(pkg)))
	if err != nil {
		return nil, 0, err
	}
	for _, e := range entries {
		if h.files != nil && !h.files.MatchString(e.Name()) {
			args = append(args, "--exclude-files", "^"+regexp.QuoteMeta(e.Name())+"$")
		}
	}
	if h.together {
		args = append(args, "--dry-run")
	}
	cmd := command(ctx, root, h.program, append(args, "./"+pkg)...)
	cmd.Env = append(cmd.Env, "TMPDIR="+temp)
	var out bytes.Buffer
	cmd.Stdout = io.MultiWriter(&out, h.progress)
	cmd.Stderr = cmd.Stdout
	err = cmd.Run()
	spent = took(cmd)
	if err != nil {
		return nil, spent, fmt.Errorf("gremlins on %s: %w\n%s", pkg, err, out.Bytes())
	}
	report, err = os.ReadFile(output)
	return report, spent, err
}
