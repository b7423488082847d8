// Command releases makes testdata/releases/VERSION: everything that this version of the library can
// store, as data that later versions must open. A release makes its folder once, and the folder
// never changes afterwards, because the files of users do not change either. The tests of this
// package open every folder with the current code and bring its runs to their ends.
//
//	go run ./proof/releases v0.2.0
//
// A folder holds
//
//	sqlite.sql, postgres.sql   a SQLite file and a PostgreSQL schema, as SQL that a person can review
//	runs.jsonl                 each run as that version reads it, what happens to it next, and how it ends
//	contract/                  that version's contract: lifecycle.json, and the schemas of its events
//
// The content of a folder is the same, byte for byte, each time that one version makes it: the
// clock, the ids and the order of commits are fixed. Only PostgreSQL's part may depend on the
// version of pg_dump, which writes it.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"

	"github.com/interlude-go/interlude/store/postgres/pglocal"
)

func main() {
	root := flag.String("root", ".", "`folder` of the repository")
	flag.Parse()
	if err := run(context.Background(), *root, flag.Arg(0), flag.NArg()); err != nil {
		fmt.Fprintln(os.Stderr, "releases:", err)
		os.Exit(1)
	}
}

var versionPattern = regexp.MustCompile(`^v\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?$`)

func run(ctx context.Context, root, version string, args int) (err error) {
	if args != 1 || !versionPattern.MatchString(version) {
		return errors.New("want the version that is released, as v0.2.0")
	}
	folder := filepath.Join(root, "testdata", "releases", version)
	if _, err := os.Stat(folder); err == nil {
		return fmt.Errorf("%s is there already: a folder is made once. Rename or remove it first", folder)
	}
	server, err := pglocal.Start(ctx, pglocal.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.Stop()) }()
	dir, err := os.MkdirTemp("", "interlude-releases-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if err := makeFolder(ctx, folder, filepath.Join(dir, "runs.db"), server.DSN("")); err != nil {
		return err
	}
	return os.CopyFS(filepath.Join(folder, "contract"), contractFiles{os.DirFS(filepath.Join(root, "contract"))})
}

// makeFolder makes the data of both stores, and checks that both show the same runs.
func makeFolder(ctx context.Context, folder, file, dsn string) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	var lines []byte
	for _, kept := range []database{sqliteFile(file), postgresSchema(dsn)} {
		dump, seen, err := play(ctx, kept)
		if err != nil {
			return fmt.Errorf("%s: %w", kept.name(), err)
		}
		if err := write(folder, kept.name()+".sql", dump); err != nil {
			return err
		}
		if err := sameLines(lines, seen); lines != nil && err != nil {
			return fmt.Errorf("%s shows another run than the store before it: %w", kept.name(), err)
		}
		lines = seen
	}
	return write(folder, "runs.jsonl", lines)
}

// sameLines returns an error with the first line that differs.
func sameLines(a, b []byte) error {
	want, have := bytes.Split(a, []byte("\n")), bytes.Split(b, []byte("\n"))
	for i := range min(len(want), len(have)) {
		if !bytes.Equal(want[i], have[i]) {
			return fmt.Errorf("%s\nbefore:\n%s", have[i], want[i])
		}
	}
	if len(want) != len(have) {
		return fmt.Errorf("%d lines, %d before", len(have), len(want))
	}
	return nil
}

func write(folder, name string, text []byte) error {
	return os.WriteFile(filepath.Join(folder, name), text, 0o644)
}
