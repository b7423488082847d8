package render

import (
	"strings"
	"unicode"

	"github.com/aymanbagabas/go-udiff/lcs"
)

// Change is the kind of a line of a diff.
type Change string

// The kinds of lines.
const (
	Same    Change = "same"
	Removed Change = "removed"
	Added   Change = "added"
	Skipped Change = "skipped" // counts equal lines without a change nearby; Before is their number
)

// Line is a line of a diff. Before and After are its numbers in the two texts, from 1, or 0 where
// it is absent. Parts are Text elements, and Token elements with the class "changed" for words that
// the other text does not have. A last line without a line break ends with a Break element.
type Line struct {
	Change Change    `json:"change"`
	Before int       `json:"before,omitempty"`
	After  int       `json:"after,omitempty"`
	Parts  []Element `json:"parts,omitempty"`
}

// around is how many equal lines are shown before and after a change.
const around = 3

// MaxDiff is the length in bytes, of both texts together, up to which words and lines are compared.
// Longer texts are one removal and one addition.
const MaxDiff = 1 << 20

// Diff returns the lines that turn one text into another, with three equal lines around each change;
// it is empty if the texts are equal. A missing line break at the end of a text is part of its last
// line: lines that differ only so are a removal and an addition.
func Diff(before, after string) []Line {
	if before == after {
		return nil
	}
	a, b := linesOf(before), linesOf(after)
	var edits []lcs.Diff
	if len(before)+len(after) > MaxDiff {
		edits = []lcs.Diff{{Start: 0, End: len(a), ReplStart: 0, ReplEnd: len(b)}}
	} else {
		edits = lcs.DiffLines(a, b)
	}
	var out []Line
	from := 0 // of a: up to here everything is shown
	for i, e := range edits {
		out = same(out, a, from, e.Start, e.ReplStart-e.Start, i == 0, false)
		removed, added := words(a[e.Start:e.End], b[e.ReplStart:e.ReplEnd])
		for j, parts := range removed {
			out = append(out, Line{Change: Removed, Before: e.Start + j + 1, Parts: parts})
		}
		for j, parts := range added {
			out = append(out, Line{Change: Added, After: e.ReplStart + j + 1, Parts: parts})
		}
		from = e.End
	}
	return same(out, a, from, len(a), len(b)-len(a), false, true)
}

// Pair is a row of two texts side by side: an equal or skipped line in both, or a removed line and
// the added line in its place. A side is nil if the other text has more lines there.
type Pair struct{ Before, After *Line }

// Sides arranges the lines of Diff in two columns.
func Sides(lines []Line) []Pair {
	var out []Pair
	for len(lines) > 0 {
		if first := &lines[0]; first.Change == Same || first.Change == Skipped {
			out, lines = append(out, Pair{first, first}), lines[1:]
			continue
		}
		removed := count(lines, Removed)
		added := count(lines[removed:], Added)
		for i := range max(removed, added) {
			var p Pair
			if i < removed {
				p.Before = &lines[i]
			}
			if i < added {
				p.After = &lines[removed+i]
			}
			out = append(out, p)
		}
		lines = lines[removed+added:]
	}
	return out
}

// count returns how many lines at the beginning are of the kind.
func count(lines []Line, kind Change) int {
	for i := range lines {
		if lines[i].Change != kind {
			return i
		}
	}
	return len(lines)
}

func linesOf(s string) (lines []string) {
	for line := range strings.Lines(s) {
		lines = append(lines, line)
	}
	return lines
}

// same appends the equal lines a[from:to], except those far from a change. A line has the number
// i+1 before, and i+1+shift after the change.
func same(out []Line, a []string, from, to, shift int, first, last bool) []Line {
	head, tail := from+around, to-around // lines between are skipped
	if first {
		head = from
	}
	if last {
		tail = to
	}
	for i := from; i < to; i++ {
		if i >= head && i < tail && tail-head > 1 {
			out = append(out, Line{Change: Skipped, Before: tail - head})
			i = tail - 1
			continue
		}
		out = append(out, Line{Change: Same, Before: i + 1, After: i + 1 + shift, Parts: whole(a[i])})
	}
	return out
}

func whole(line string) []Element {
	return ended(shown(nil, Text, "", strings.TrimSuffix(line, "\n")), line)
}

// words compares the words of removed and added lines, and returns the parts of each line.
func words(removed, added []string) (a, b [][]Element) {
	before, after := wordsOf(removed), wordsOf(added)
	var inA, inB []bool // which words the other side does not have
	if len(removed) > 0 && len(added) > 0 && len(before)+len(after) < MaxDiff/64 {
		inA, inB = make([]bool, len(before)), make([]bool, len(after))
		for _, d := range lcs.DiffLines(before, after) {
			for i := d.Start; i < d.End; i++ {
				inA[i] = true
			}
			for i := d.ReplStart; i < d.ReplEnd; i++ {
				inB[i] = true
			}
		}
	}
	return lineParts(removed, before, inA), lineParts(added, after, inB)
}

func lineParts(lines, words []string, changed []bool) [][]Element {
	out := make([][]Element, len(lines))
	at := 0
	for i, line := range lines {
		var nodes []Element
		for n := 0; n < len(line); at++ {
			n += len(words[at])
			if word := words[at]; changed != nil && changed[at] && word != "\n" {
				nodes = append(nodes, Element{Kind: Token, Class: "changed", Text: word})
			} else {
				nodes = shown(nodes, Text, "", strings.TrimSuffix(word, "\n"))
			}
		}
		out[i] = ended(joinedTokens(nodes), line)
	}
	return out
}

func joinedTokens(nodes []Element) (out []Element) {
	for _, n := range nodes {
		if last := len(out) - 1; last >= 0 && out[last].Kind == n.Kind {
			out[last].Text += n.Text
		} else {
			out = append(out, n)
		}
	}
	return out
}

func ended(nodes []Element, line string) []Element {
	if strings.HasSuffix(line, "\n") {
		return nodes
	}
	return append(nodes, Element{Kind: Break})
}

// wordsOf divides lines into words, runs of white space, line breaks and single other characters.
func wordsOf(lines []string) (words []string) {
	class := func(r rune) int {
		switch {
		case r == '\n':
			return 0
		case unicode.IsLetter(r), unicode.IsDigit(r), unicode.IsMark(r), r == '_':
			return 1
		case unicode.IsSpace(r):
			return 2
		}
		return 3
	}
	for _, line := range lines {
		start, before := 0, -1
		for i, r := range line {
			c := class(r)
			if before >= 0 && (c != before || c == 3) {
				words = append(words, line[start:i])
				start = i
			}
			before = c
		}
		words = append(words, line[start:])
	}
	return words
}
