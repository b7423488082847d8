package main

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// A bug is one exhibit of the museum: a patch that breaks the library.
type bug struct {
	name  string
	story string
	check check
	diff  string
}

// check is a test that must fail with a bug.
type check struct {
	pkg   string   // relative to the tree's root: ./store/memory
	flags []string // of the test's program
}

func (c check) String() string { return "go test " + c.pkg + " " + strings.Join(c.flags, " ") }

// readBugs reads the bugs in the folder whose names contain the word.
func readBugs(dir, word string) (all []bug, _ error) {
	names, err := fs.Glob(os.DirFS(dir), "*.patch")
	if err != nil {
		return nil, err
	}
	for _, file := range names {
		name := strings.TrimSuffix(path.Base(file), ".patch")
		if !strings.Contains(name, word) {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, file))
		if err != nil {
			return nil, err
		}
		b, err := readBug(name, string(text))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		all = append(all, b)
	}
	return all, nil
}

// readBug reads the lines "story:" and "check:", and the diff below them.
func readBug(name, text string) (bug, error) {
	b := bug{name: name}
	for line := range strings.Lines(text) {
		value, isStory := strings.CutPrefix(line, "story: ")
		if isStory {
			b.story = strings.TrimSpace(value)
		}
		if value, ok := strings.CutPrefix(line, "check: go test "); ok {
			words := strings.Fields(value)
			b.check = check{words[0], words[1:]}
		}
		if strings.HasPrefix(line, "--- ") {
			break
		}
	}
	at := strings.Index(text, "\n--- ")
	if b.story == "" || b.check.pkg == "" || at < 0 {
		return b, fmt.Errorf("want a line %q, a line %q and a unified diff", "story: …",
			"check: go test PACKAGE -run PATTERN")
	}
	b.diff = text[at+1:]
	return b, nil
}
