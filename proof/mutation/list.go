package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
)

// entry is a mutant in the list of survivors, with the reason why no test can detect it.
type entry struct {
	file, kind    string
	before, after string
	reason        string
}

// same returns the entry without its reason, for comparison.
func (e entry) same() entry {
	e.reason = ""
	return e
}

// String returns the entry in the form of the list.
func (e entry) String() string {
	return fmt.Sprintf("%s %s\n- %s\n+ %s\n%s\n", e.file, e.kind, e.before, e.after, e.reason)
}

// readList reads survivors/<package>.txt. A missing file is an empty list.
func readList(path string) ([]entry, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the list of survivors: %w", err)
	}
	list, err := parseList(string(text))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return list, nil
}

// parseList reads entries, separated by an empty line. A line that begins with # is a comment.
func parseList(text string) ([]entry, error) {
	var list []entry
	for block := range strings.SplitSeq(text, "\n\n") {
		var lines []string
		for line := range strings.Lines(block) {
			if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
				lines = append(lines, line)
			}
		}
		if len(lines) == 0 {
			continue
		}
		if len(lines) < 4 {
			return nil, fmt.Errorf("entry %q: want the file and the mutator, the line with -, the changed line with "+
				"+, and the reason", lines[0])
		}
		file, kind, _ := strings.Cut(lines[0], " ")
		before, isBefore := strings.CutPrefix(lines[1], "- ")
		after, isAfter := strings.CutPrefix(lines[2], "+ ")
		if swaps[kind] == nil || !isBefore || !isAfter {
			return nil, fmt.Errorf("entry %q: want the file and the mutator, the line with -, the changed line with "+
				"+, and the reason", lines[0])
		}
		list = append(list, entry{file, kind, before, after, strings.Join(lines[3:], " ")})
	}
	return list, nil
}

// readSurvivors reads what -survivors printed, whose entries have no reason. It skips all other
// lines: the table, comments, errors.
func readSurvivors(path string) (map[entry]bool, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	found := make(map[entry]bool)
	lines := strings.Split(string(text), "\n")
	for i := range lines[:max(0, len(lines)-2)] {
		file, kind, _ := strings.Cut(lines[i], " ")
		before, isBefore := strings.CutPrefix(lines[i+1], "- ")
		after, isAfter := strings.CutPrefix(lines[i+2], "+ ")
		if swaps[kind] != nil && isBefore && isAfter {
			found[entry{file: file, kind: kind, before: before, after: after}] = true
		}
	}
	if len(found) == 0 {
		return nil, errors.New("it names no mutant")
	}
	return found, nil
}

// listed returns the mutants that the list names, and how many of its entries name none: their
// lines are not in the package any more.
func listed(list map[entry]bool, all []mutant) (found []mutant, gone int) {
	present := make(map[entry]bool)
	for _, m := range all {
		if list[m.entry()] {
			found = append(found, m)
			present[m.entry()] = true
		}
	}
	return found, len(list) - len(present)
}

// fits reports whether the text of the file contains the entry's line, and whether the mutator
// turns it into the entry's other line.
func (e entry) fits(text []byte) bool {
	number := 0
	for line := range strings.Lines(string(text)) {
		number++
		if strings.TrimSpace(line) != e.before {
			continue
		}
		for column := range len(line) {
			m := mutant{file: e.file, line: number, column: column + 1, kind: e.kind}
			if m.apply(text) == nil && m.after == e.after {
				return true
			}
		}
	}
	return false
}
