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

// The version of gremlins is pinned, so that the set of mutants does not change unnoticed.
const (
	gremlinsModule  = "github.com/go-gremlins/gremlins/cmd/gremlins"
	gremlinsVersion = "v0.6.0"
)

// install installs the pinned gremlins into the project's folder of tools, if it is not there yet,
// and returns its path.
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

// mutators are all mutators of gremlins, including optional ones.
var mutators = []string{
	"--arithmetic-base", "--conditionals-boundary", "--conditionals-negation", "--increment-decrement",
	"--invert-negatives",
	"--invert-assignments", "--invert-bitwise", "--invert-bwassign", "--invert-logical", "--invert-loopctrl",
	"--remove-self-assignments",
}

// hunt describes one run of gremlins.
type hunt struct {
	program string
	workers int // how many mutants are tried at the same time
	// The time limit of a mutant, as a multiple of the time for compiling and running the tests
	// with coverage.
	coefficient int
	files       *regexp.Regexp // which files of the package; all when nil
	progress    io.Writer      // gets the output of gremlins
	together    bool           // gremlins only finds the mutants
	sample      int            // how many mutants are tried; 0 for all
	seed        uint64         // the seed of the sample
	listed      map[entry]bool // the only mutants that are tried; all when nil
	slow        string         // tests that are executed last; a regular expression
	also        []suite        // tests of other packages
}

// unleash runs gremlins on the package of the module at root and returns its report. Spent is CPU
// time.
//
// The option --test-cpu of gremlins is not used: version 0.6.0 turns it into a flag that every test
// program refuses, and gremlins counts that as a killed mutant.
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
		"--exclude-files", "/", // the packages in folders below
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
