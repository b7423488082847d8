package main

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// earlierCommit is the commit of the earlier version of the library, whose nodes work on one
// database with nodes of this version, as docs/production.md promises. Each release puts its own
// commit into the file.
//
//go:embed earlier.txt
var earlierCommit string

// programs has the paths of the host's two versions.
type programs struct{ first, second string }

// errNoHistory says that the clone has not got the earlier commit, and cannot fetch it.
var errNoHistory = errors.New("the commit in proof/deploy/earlier.txt is not in this clone and cannot be fetched, so " +
	"two versions of the library were not put to work on one database")

// build builds the host with the library as it is here and, if earlier is set, also with the
// library of the earlier commit.
func build(ctx context.Context, dir string, earlier bool) (programs, error) {
	here, err := folder(ctx)
	if err != nil {
		return programs{}, err
	}
	p := programs{second: filepath.Join(dir, "second")}
	if err := command(ctx, here, "go", "build", "-o", p.second, "./host"); err != nil {
		return p, err
	}
	p.first = p.second
	if !earlier {
		return p, nil
	}
	p.first = filepath.Join(dir, "first")
	tree, err := checkOut(ctx, here)
	if err != nil {
		return p, err
	}
	source, err := os.ReadFile(filepath.Join(here, "host", "main.go"))
	if err != nil {
		return p, err
	}
	at, err := os.MkdirTemp(filepath.Join(tree, "proof"), "host-") // another process may build there at the same time
	if err != nil {
		return p, err
	}
	defer func() { _ = os.RemoveAll(at) }()
	if err := os.WriteFile(filepath.Join(at, "main.go"), source, 0o600); err != nil {
		return p, err
	}
	return p, command(ctx, at, "go", "build", "-o", p.first, ".")
}

// folder returns the folder with the source of this program.
func folder(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "list", "-f", "{{.Dir}}",
		"github.com/interlude-go/interlude/proof/deploy").Output()
	if err != nil {
		return "", fmt.Errorf("run this in its repository: it builds others from the sources beside it: %w", err)
	}
	return strings.TrimSpace(string(out)), nil
}

// checkOut returns a folder with the tree of the earlier commit. It creates the folder once, in
// this user's cache, so that Go compiles the packages there only once.
func checkOut(ctx context.Context, here string) (string, error) {
	commit := strings.TrimSpace(earlierCommit)
	out, err := exec.CommandContext(ctx, "git", "-C", here, "rev-parse", "--show-toplevel").Output()
	if err != nil {
		return "", fmt.Errorf("%w: %s: no clone", errNoHistory, commit)
	}
	root := strings.TrimSpace(string(out))
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	tree := filepath.Join(cache, "interlude", "earlier-"+commit[:12])
	if _, err := os.Stat(tree); err == nil {
		return tree, nil
	}
	if command(ctx, here, "git", "cat-file", "-e", commit+"^{commit}") != nil {
		if command(ctx, here, "git", "fetch", "--depth=1", "origin", commit) != nil {
			return "", fmt.Errorf("%w: %s", errNoHistory, commit)
		}
	}
	if err := os.MkdirAll(filepath.Dir(tree), 0o755); err != nil {
		return "", err
	}
	half, err := os.MkdirTemp(filepath.Dir(tree), "earlier-")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(half) }()
	packed := filepath.Join(half, "tree.tar")
	if err := command(ctx, root, "git", "archive", "--output="+packed, commit); err != nil {
		return "", err
	}
	whole := filepath.Join(half, "tree")
	if err := errors.Join(os.Mkdir(whole, 0o700), command(ctx, whole, "tar", "-xf", packed)); err != nil {
		return "", err
	}
	if err := os.Rename(whole, tree); err != nil {
		if _, made := os.Stat(tree); made == nil { // another process has created it meanwhile
			return tree, nil
		}
		return "", err
	}
	return tree, nil
}

// command runs a program. If the program fails, the error has its output.
func command(ctx context.Context, dir, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, said.String())
	}
	return nil
}
