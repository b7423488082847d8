package main

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// stdinName is standard input's name as an argument, shownStdin its name in reports.
const (
	stdinName  = "-"
	shownStdin = "stdin"
)

type input struct {
	name string // as shown
	path string // empty: standard input
}

func inputs(arg string) ([]input, error) {
	if arg == stdinName {
		return []input{{name: shownStdin}}, nil
	}
	info, err := os.Stat(arg)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return []input{{arg, arg}}, nil
	}
	var found []input
	err = filepath.WalkDir(arg, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.Type().IsRegular() && filepath.Ext(path) == ".jsonl" {
			found = append(found, input{path, path})
		}
		return nil
	})
	if err == nil && len(found) == 0 {
		err = fmt.Errorf("%s: there is no *.jsonl in this folder or below it", arg)
	}
	return found, err
}

func (i input) open(stdin io.Reader) (io.ReadCloser, error) {
	if i.path != "" {
		return os.Open(i.path)
	}
	return io.NopCloser(stdin), nil
}
