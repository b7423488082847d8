package interaction

import (
	"bytes"
	"strings"
	"unicode"
)

// patchMarks is how both marks of a patch begin.
const patchMarks = "<!-- interlude:"

// unpatched is the task without what an earlier Patch added: each pair of marks with what stands
// between. A mark without its other half is text like any other. Each byte is looked at once,
// whatever the task holds.
func unpatched(task string) string {
	if !strings.Contains(task, patchEnd) {
		return task
	}
	var kept []byte
	var begins []int // where in kept the marks stand that have no end yet
	gap := false
	keep := func(text string) {
		if gap && text != "" && !unicode.IsSpace(rune(text[0])) {
			kept = append(kept, "\n\n"...) // what was apart must not grow together, into a mark for instance
		}
		gap = gap && text == ""
		kept = append(kept, text...)
	}
	for task != "" {
		at := strings.Index(task, patchMarks)
		if at < 0 {
			keep(task)
			break
		}
		keep(task[:at])
		task = task[at:]
		mark := patchMarks
		switch {
		case strings.HasPrefix(task, patchBegin):
			mark = patchBegin
			keep(mark)
			begins = append(begins, len(kept)-len(mark))
		case strings.HasPrefix(task, patchEnd) && len(begins) > 0:
			mark = patchEnd
			kept = bytes.TrimRightFunc(kept[:begins[len(begins)-1]], unicode.IsSpace)
			begins, gap = begins[:len(begins)-1], true
		default:
			keep(mark)
		}
		task = task[len(mark):]
	}
	return string(kept)
}

// unmarkable writes a JSON schema so that it holds no mark of a patch: "<" stands only in its
// strings, where it may be escaped.
func unmarkable(schema []byte) string {
	return strings.ReplaceAll(strings.TrimSpace(string(schema)), patchMarks, `\u003c`+patchMarks[1:])
}
