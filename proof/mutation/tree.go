package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// rootOf returns the project's root: the nearest folder above dir with a go.work.
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

// copyTree copies the files that git tracks or would add. Gremlins copies every file that it finds,
// once for each worker, which would include the installed tools.
func copyTree(ctx context.Context, root, to string) error {
	out, err := command(ctx, root, "git", "ls-files", "-z", "--cached", "--others", "--exclude-standard").Output()
	if err != nil {
		return fmt.Errorf("listing the tree: %w", said(err))
	}
	for name := range strings.SplitSeq(strings.Trim(string(out), "\x00"), "\x00") {
		body, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
		if errors.Is(err, os.ErrNotExist) {
			continue // deleted, but the deletion is not committed yet
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

// forgetful prevents rapid from storing failures in the package: a counter-example of one mutant
// must not be replayed against the next.
func forgetful(root, pkg string) error {
	dir := filepath.Join(root, filepath.FromSlash(pkg), "testdata")
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "rapid"), nil, 0o600) // a file where rapid would create a folder
}
