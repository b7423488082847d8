package link

import (
	"fmt"
	"strings"

	"github.com/interlude-go/interlude/host/render"
	"github.com/interlude-go/interlude/lifecycle"
)

// The page folds a text or difference beyond these bounds: it shows the beginning, and the whole in
// an element that the person opens.
const (
	foldedBytes = 1500
	foldedLines = 24
	foldedDiff  = 60 // lines of a difference
)

// excerpt is a text as displayed. Beginning and More, the label that opens the whole, are empty if
// the text is not folded.
type excerpt struct {
	Label                  string
	Whole, Beginning, More string
}

// Excerpt folds a text.
func (s *view) Excerpt(text string) excerpt {
	e := excerpt{Whole: text}
	if lines := linesOf(text); len(text) > foldedBytes || lines > foldedLines {
		e.Beginning, e.More = beginning(text), s.T.more(lines)
	}
	return e
}

func linesOf(text string) int { return 1 + strings.Count(strings.TrimSuffix(text, "\n"), "\n") }

func (w *words) more(lines int) string { return fmt.Sprintf("%s (%d)", w.ShowAll, lines) }

// beginning returns the first lines of a folded text.
func beginning(text string) string {
	cut := text[:min(foldedBytes, len(text)-1)]
	at := 0
	for range foldedLines {
		next := strings.IndexByte(cut[at:], '\n')
		if next < 0 {
			return strings.ToValidUTF8(cut, "")
		}
		at += next + 1
	}
	return cut[:at]
}

// document is a text in Markdown as displayed. Beginning and More are empty if the text is not
// folded.
type document struct {
	Whole, Beginning []render.Element
	More             string
}

// Document draws and folds a text in Markdown.
func (s *view) Document(source string) document {
	e, d := s.Excerpt(source), document{Whole: render.Markdown(source)}
	if e.More != "" {
		left := len(e.Beginning)
		d.Beginning, d.More = cut(d.Whole, &left), e.More
	}
	return d
}

// cut returns the elements up to a number of bytes of text.
func cut(all []render.Element, left *int) (out []render.Element) {
	for _, e := range all {
		if *left <= 0 {
			return out
		}
		if len(e.Text) > *left {
			e.Text = strings.ToValidUTF8(e.Text[:*left], "")
		}
		*left -= len(e.Text)
		e.Children = cut(e.Children, left)
		out = append(out, e)
	}
	return out
}

// difference is the change of a text, as displayed. Beginning and More are empty if it is not
// folded; Whole is nil if the texts are equal.
type difference struct {
	Kind, Path       string
	Whole, Beginning *rows
	More             string
}

// rows are the lines of a difference, one below the other and side by side.
type rows struct {
	T     *words
	Lines []*line
	Sides []side
}

// line is a line of a difference as displayed.
type line struct {
	Change render.Change
	Mark   string
	Parts  []render.Element
	Note   string // says that the text ends without a line break
}

// side is a row of two texts, or a Whole row for skipped lines.
type side struct{ Before, After, Whole *line }

func (s *view) changes(all []lifecycle.Change) []difference {
	out := make([]difference, len(all))
	for i, c := range all {
		out[i] = s.difference(c.Before, c.After)
		out[i].Kind, out[i].Path = s.T.Changes[c.Kind], c.Path
	}
	return out
}

func (s *view) difference(before, after string) (d difference) {
	lines := render.Diff(before, after)
	if len(lines) > 0 {
		d.Whole = s.rows(lines)
	}
	if len(lines) > foldedDiff {
		d.Beginning, d.More = s.rows(lines[:foldedDiff]), s.T.more(len(lines))
	}
	return d
}

func (s *view) rows(lines []render.Line) *rows {
	r := &rows{T: s.T}
	for i := range lines {
		r.Lines = append(r.Lines, s.line(&lines[i]))
	}
	for _, p := range render.Sides(lines) {
		row := side{Before: s.line(p.Before), After: s.line(p.After)}
		if row.Before != nil && row.Before.Change == render.Skipped {
			row = side{Whole: row.Before}
		}
		r.Sides = append(r.Sides, row)
	}
	return r
}

var marks = map[render.Change]string{render.Same: "  ", render.Removed: "- ", render.Added: "+ "}

func (s *view) line(l *render.Line) *line {
	if l == nil {
		return nil
	}
	shown := &line{Change: l.Change, Mark: marks[l.Change]}
	if l.Change == render.Skipped {
		shown.Mark = fmt.Sprintf("… %d %s", l.Before, s.T.EqualLines)
	}
	for _, p := range l.Parts {
		if p.Kind == render.Break {
			shown.Note = s.T.NoLineBreak
		} else {
			shown.Parts = append(shown.Parts, p)
		}
	}
	return shown
}
