package interaction

import (
	"fmt"
	"slices"
	"strings"
)

// Limits of a subject's changes.
const (
	MaxChanges     = 32
	MaxChangePath  = 1 << 10  // in bytes
	MaxChangesText = 64 << 10 // in bytes, of all paths and texts of a subject
)

// ChangeKind is the kind of a Change.
type ChangeKind string

// The kinds of changes.
const (
	ChangeCreate ChangeKind = "create" // the text does not exist before
	ChangeEdit   ChangeKind = "edit"
	ChangeDelete ChangeKind = "delete" // the text does not exist after
)

// Change is the effect of a call on a file or on another text, for example a table's definition. The
// question's Digest covers it, so an approval applies only to the displayed change.
type Change struct {
	// Path is the displayed name of the text, at most MaxChangePath bytes.
	Path string     `json:"path"`
	Kind ChangeKind `json:"kind"`
	// Before and After contain the whole text, or the part around the change. Before is empty for a
	// created text, After for a deleted text. In an edit, they differ.
	Before string `json:"before,omitempty"`
	After  string `json:"after,omitempty"`
}

// validateChanges returns an error with the number of the invalid change.
func validateChanges(all []Change) error {
	if len(all) > MaxChanges {
		return fmt.Errorf("%d changes, at most %d", len(all), MaxChanges)
	}
	size := 0
	for i := range all {
		if err := all[i].validate(); err != nil {
			return fmt.Errorf("change %d %w", i+1, err)
		}
		if size += len(all[i].Path) + len(all[i].Before) + len(all[i].After); size > MaxChangesText {
			return fmt.Errorf("the first %d of %d changes have %d bytes, at most %d", i+1, len(all), size,
				MaxChangesText)
		}
	}
	return nil
}

func (c *Change) validate() error {
	if path, short := cut(c.Path, MaxChangePath); short || path != c.Path || strings.TrimSpace(path) == "" {
		return fmt.Errorf("has the path %.40q, want a text of at most %d bytes", c.Path, MaxChangePath)
	}
	for _, text := range []string{c.Before, c.After} {
		if kept, _ := cut(text, len(text)); kept != text {
			return fmt.Errorf("of %.40q is no text: it has NUL, or is not in UTF-8", c.Path)
		}
	}
	switch {
	case c.Kind != ChangeCreate && c.Kind != ChangeEdit && c.Kind != ChangeDelete:
		return fmt.Errorf("of %.40q has the kind %.20q, want create, edit or delete", c.Path, c.Kind)
	case c.Kind == ChangeCreate && c.Before != "":
		return fmt.Errorf("creates %.40q, and has a text before", c.Path)
	case c.Kind == ChangeDelete && c.After != "":
		return fmt.Errorf("deletes %.40q, and has a text after", c.Path)
	case c.Kind == ChangeEdit && c.Before == c.After:
		return fmt.Errorf("edits %.40q, and leaves the text as it is", c.Path)
	}
	return nil
}

// cloneChanges returns a copy; nil for an empty list.
func cloneChanges(all []Change) []Change {
	if len(all) == 0 {
		return nil
	}
	return slices.Clone(all)
}

// Lines returns the numbers of removed and added lines, without the common first and last lines of
// both texts.
func (c *Change) Lines() (removed, added int) {
	before, after := c.differing()
	return countLines(before), countLines(after)
}

// Name returns the change's kind, path and numbers of lines, as one line. It shows invisible
// characters by name, and line breaks and tabs in the path as \n and \t.
func (c *Change) Name() string {
	removed, added := c.Lines()
	path := strings.NewReplacer("\n", `\n`, "\t", `\t`).Replace(Visible(c.Path))
	return fmt.Sprintf("%s %s (-%d +%d lines)", c.Kind, path, removed, added)
}

// Text describes the change for messages: Name, then removed lines after "- " and added lines after
// "+ ", without the common first and last lines. It shows invisible characters by name.
func (c *Change) Text() string {
	before, after := c.differing()
	var b strings.Builder
	b.WriteString(c.Name())
	for _, part := range []struct{ mark, text string }{{"- ", before}, {"+ ", after}} {
		for line := range strings.Lines(part.text) {
			text, ends := strings.CutSuffix(line, "\n")
			b.WriteString("\n" + part.mark + Visible(text))
			if !ends {
				b.WriteString(" (no line break at the end)")
			}
		}
	}
	return b.String()
}

// differing returns the texts without their common first and last lines.
func (c *Change) differing() (before, after string) {
	before, after = c.Before, c.After
	for before != "" {
		a, b := firstLine(before), firstLine(after)
		if a != b {
			break
		}
		before, after = before[len(a):], after[len(b):]
	}
	for before != "" {
		a, b := lastLine(before), lastLine(after)
		if a != b {
			break
		}
		before, after = before[:len(before)-len(a)], after[:len(after)-len(b)]
	}
	return before, after
}

func firstLine(s string) string { return s[:len(s)-len(afterLine(s))] }

func afterLine(s string) string {
	_, rest, _ := strings.Cut(s, "\n")
	return rest
}

// lastLine returns the last line with its line break.
func lastLine(s string) string { return s[strings.LastIndexByte(strings.TrimSuffix(s, "\n"), '\n')+1:] }

func countLines(s string) int {
	n := strings.Count(s, "\n")
	if s != "" && !strings.HasSuffix(s, "\n") {
		n++
	}
	return n
}
