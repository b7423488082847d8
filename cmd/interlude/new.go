package main

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// sampleSkill is the skill folder that interlude new writes.
//
//go:embed hello
var sampleSkill embed.FS

const newUsage = `interlude new DIR

Writes a small skill folder: its instructions, how it may be run, and the schema of its output.
`

// newSkill is interlude new. It overwrites nothing.
func newSkill(_ context.Context, c call) (int, error) {
	names, err := arguments(c, 1, newUsage)
	if err != nil {
		return failed, err
	}
	folder := names[0]
	hello, err := fs.Sub(sampleSkill, "hello")
	if err != nil {
		return failed, err
	}
	switch err := os.CopyFS(folder, hello); {
	case errors.Is(err, fs.ErrExist):
		return misused, misusef("%s has such files already: name another folder", folder)
	case err != nil:
		return failed, err
	}
	fmt.Fprintf(c.out, "%s is a skill folder; run it: %s run %s\n", folder, program(c.program), quoted(folder))
	return succeeded, nil
}
