package main

import (
	"context"
	_ "embed"
	"os"
	"path/filepath"
	"strings"

	"github.com/interlude-go/interlude/proof/checkout"
)

// earlierCommits has the commits of the earlier versions of the library, whose nodes work on one
// database with nodes of this version, as docs/production.md promises. Each release adds its own
// commit to the file.
//
//go:embed earlier.txt
var earlierCommits string

// earlierOf returns the commits of the earlier versions, from the first to the last.
func earlierOf() []string { return strings.Fields(earlierCommits) }

// programs has the paths of the host's two versions.
type programs struct{ first, second string }

// build builds the host with the library as it is here and, if earlier is not empty, also with the
// library of this commit.
func build(ctx context.Context, dir, earlier string) (programs, error) {
	root, err := checkout.Root()
	if err != nil {
		return programs{}, err
	}
	here, p := filepath.Join(root, "proof", "deploy", "host"), programs{second: filepath.Join(dir, "second")}
	if err := checkout.Run(ctx, here, "go", "build", "-o", p.second, "."); err != nil {
		return p, err
	}
	p.first = p.second
	if earlier == "" {
		return p, nil
	}
	p.first = filepath.Join(dir, "first")
	then, err := checkout.At(ctx, root, earlier)
	if err != nil {
		return p, err
	}
	source, err := os.ReadFile(filepath.Join(here, "main.go"))
	if err != nil {
		return p, err
	}
	at, err := os.MkdirTemp(filepath.Join(then, "proof"), "host-") // another process may build there at the same time
	if err != nil {
		return p, err
	}
	defer func() { _ = os.RemoveAll(at) }()
	if err := os.WriteFile(filepath.Join(at, "main.go"), source, 0o600); err != nil {
		return p, err
	}
	return p, checkout.Run(ctx, at, "go", "build", "-o", p.first, ".")
}
