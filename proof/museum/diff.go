package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// hunk is one place of a file that a diff changes.
type hunk struct {
	file     string // from the tree's root
	old, new string // whole lines
}

// hunksOf reads a unified diff. The line numbers in it are ignored: a hunk belongs where its lines
// are, and they must occur exactly once.
func hunksOf(diff string) (all []hunk, _ error) {
	file := ""
	var h *hunk
	for line := range strings.Lines(diff) {
		text := strings.TrimSuffix(line, "\n")
		switch {
		case strings.HasPrefix(text, "--- "), strings.HasPrefix(text, "diff "), strings.HasPrefix(text, `\`):
		case strings.HasPrefix(text, "+++ "):
			name, _, _ := strings.Cut(text[len("+++ "):], "\t")
			file = strings.TrimPrefix(name, "b/")
		case strings.HasPrefix(text, "@@"):
			all = append(all, hunk{file: file})
			h = &all[len(all)-1]
		case h == nil:
			return nil, fmt.Errorf("%q stands before a hunk", text)
		case text == "" || text[0] == ' ':
			h.old += strings.TrimPrefix(line, " ")
			h.new += strings.TrimPrefix(line, " ")
		case text[0] == '-':
			h.old += line[1:]
		case text[0] == '+':
			h.new += line[1:]
		default:
			return nil, fmt.Errorf("%q is no line of a unified diff", text)
		}
	}
	return all, nil
}

// patched returns the content of the files that the diff changes, with the diff applied.
func patched(root, diff string) (map[string]string, error) {
	hunks, err := hunksOf(diff)
	if err != nil {
		return nil, err
	}
	files := make(map[string]string)
	for i, h := range hunks {
		text, known := files[h.file]
		if !known {
			raw, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(h.file)))
			if err != nil {
				return nil, fmt.Errorf("the patch does not apply any more: %w", err)
			}
			text = string(raw)
		}
		if n := strings.Count("\n"+text, "\n"+h.old); n != 1 {
			return nil, fmt.Errorf("the patch does not apply any more: the lines of hunk %d are %d times in %s: "+
				"bring it up to date", i+1, n, h.file)
		}
		files[h.file] = strings.Replace("\n"+text, "\n"+h.old, "\n"+h.new, 1)[1:]
	}
	return files, nil
}
