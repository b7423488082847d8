package main

import (
	"context"
	"embed"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"

	"github.com/interlude-go/interlude/cmd/internal/command"
)

// sampleSkill is the skill folder that interlude new writes.
//
//go:embed hello
var sampleSkill embed.FS

var newVerb = command.Verb{
	Name: "new", Args: "DIR", Does: "create a small skill folder as a starting point",
	More:    "It has instructions, the permitted modes, and the schema of the output.",
	Prepare: func(*flag.FlagSet) command.Action { return newSkill },
}

// newSkill overwrites nothing.
func newSkill(_ context.Context, c command.Call) (int, error) {
	names, err := c.Want("DIR")
	if err != nil {
		return misused, err
	}
	folder := names[0]
	hello, err := fs.Sub(sampleSkill, "hello")
	if err != nil {
		return failed, err
	}
	switch err := os.CopyFS(folder, hello); {
	case errors.Is(err, fs.ErrExist):
		return misused, misusef("%s already has files with these names: choose another folder", folder)
	case err != nil:
		return failed, err
	}
	fmt.Fprintf(c.Out, "%s is a skill folder; run it: %s run %s\n", folder, programName(c.Program),
		command.Quote(folder))
	return succeeded, nil
}
