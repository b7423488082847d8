package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// rootOf is the project's root: the folder above dir with the file of the workspace.
func rootOf(dir string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	for ; filepath.Dir(dir) != dir; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.work")); err == nil {
			return dir, nil
		}
	}
	return "", errors.New("run it inside the project's tree: no folder above has a go.work")
}

// copyTree copies what git knows of the tree, or would take: gremlins copies all that it finds,
// once a worker, tools included.
func copyTree(ctx context.Context, root, to string) error {
	out, err := command(ctx, root, "git", "ls-files", "-z", "--cached", "--others", "--exclude-standard").Output()
	if err != nil {
		return fmt.Errorf("listing the tree: %w", said(err))
	}
	for name := range strings.SplitSeq(strings.Trim(string(out), "\x00"), "\x00") {
		body, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
		if errors.Is(err, os.ErrNotExist) {
			continue // deleted, and not committed yet
		}
		if err != nil {
			return err
		}
		copied := filepath.Join(to, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(copied), 0o750); err != nil {
			return err
		}
		if err := os.WriteFile(copied, body, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// forgetful makes rapid keep no failures in the package: what one mutant led to must not be tried
// against the next.
func forgetful(root, pkg string) error {
	dir := filepath.Join(root, filepath.FromSlash(pkg), "testdata")
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "rapid"), nil, 0o600) // where its folder would be
}
