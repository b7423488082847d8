package terminal

import (
	"cmp"
	"iter"
	"strings"
	"unicode/utf8"

	"github.com/rivo/uniseg"

	"github.com/interlude-go/interlude/host/render"
	"github.com/interlude-go/interlude/interaction"
)

// Layout is where and how a document is drawn: its first line after First, all others after Indent.
type Layout struct {
	First, Indent string
	Style         Style // of text without its own
	Styled        bool  // the file shows styles
	Columns       int   // in which Diff draws two texts side by side; 0, or too few: one below the other
	Room          int   // columns of the screen; 0: Width
}

// Markdown draws a document of Markdown. As on the page, no part of the source is hidden: addresses
// of links, HTML and pictures are shown as text, and characters as in Text; in code, as in Name.
// Each line is indented, so that none looks like the program's own.
func Markdown(source string, l Layout) string {
	d := drawing{layout: l}
	d.blocks(render.Markdown(strings.TrimLeft(source, "\n")), l.Indent, false)
	if len(d.lines) == 0 {
		return strings.TrimRight(l.First, " ")
	}
	d.lines[0] = l.First + strings.TrimPrefix(d.lines[0], l.Indent)
	return strings.Join(d.lines, "\n")
}

type drawing struct {
	layout Layout
	lines  []string
}

// letter is a character with its style.
type letter struct {
	r     rune
	style Style
}

func (d *drawing) blocks(all []render.Element, indent string, tight bool) {
	for i := range all {
		if i > 0 && !tight {
			d.lines = append(d.lines, strings.TrimRight(indent, " "))
		}
		d.block(&all[i], indent)
	}
}

// nest draws blocks behind a mark, whose width is the indent of the other lines.
func (d *drawing) nest(all []render.Element, indent, mark, rest string, tight bool) {
	at := len(d.lines)
	d.blocks(all, indent+rest, tight)
	if len(d.lines) == at {
		d.lines = append(d.lines, indent+mark)
		return
	}
	d.lines[at] = indent + mark + strings.TrimPrefix(d.lines[at], indent+rest)
}

func (d *drawing) block(e *render.Element, indent string) {
	switch e.Kind {
	case render.Heading:
		mark := strings.Repeat("#", e.Number) + " "
		d.wrap(append(d.letters(mark, Bold), d.inline(e.Children, Bold)...), indent)
	case render.Quote:
		d.nest(e.Children, indent, "│ ", "│ ", false)
	case render.Bullets, render.Numbers:
		for i := range e.Children {
			mark := "• "
			if e.Kind == render.Numbers {
				mark = Name(e.Children[i].Text) + " "
			}
			d.nest(e.Children[i].Children, indent, mark, strings.Repeat(" ", utf8.RuneCountInString(mark)), true)
		}
	case render.Pre:
		if language := Name(e.Text); language != "" {
			d.wrap(d.letters(language, Dim), indent+"  ")
		}
		d.cut(d.inline(e.Children, d.layout.Style), indent+"  ")
	case render.Table:
		d.table(e, indent)
	case render.Rule:
		d.lines = append(d.lines, indent+"────")
	case render.Source:
		d.wrap(d.letters(Text(e.Text), d.layout.Style), indent)
	default: // a paragraph, or text in an item
		d.wrap(d.inline([]render.Element{*e}, d.layout.Style), indent)
	}
}

var tokenStyles = map[string]Style{"comment": Dim, "keyword": Bold, "number": Amber, "string": Green,
	"inserted": Green, "deleted": Red}

// inline returns the letters of inline elements, and of elements within them.
func (d *drawing) inline(all []render.Element, style Style) (out []letter) {
	for i := range all {
		e := &all[i]
		switch e.Kind {
		case render.Text:
			out = append(out, d.letters(Text(e.Text), style)...)
		case render.Token:
			out = append(out, d.letters(code(e.Text), cmp.Or(tokenStyles[e.Class], style))...)
		case render.Code:
			out = append(out, d.letters("`"+code(e.Text)+"`", Amber)...)
			out = append(out, d.inline(e.Children, Amber)...)
		case render.Break:
			out = append(out, letter{'\n', style})
		case render.Emphasis, render.Strong:
			out = append(out, d.inline(e.Children, Bold)...)
		case render.Deleted:
			out = append(out, d.letters("~", Dim)...)
			out = append(out, d.inline(e.Children, Dim)...)
			out = append(out, d.letters("~", Dim)...)
		default:
			if e.Text != "" {
				out = append(out, d.letters(Text(e.Text), style)...)
			}
			out = append(out, d.inline(e.Children, style)...)
		}
	}
	return out
}

// code makes source code safe: every character counts.
func code(text string) string {
	return strings.ReplaceAll(interaction.Visible(text), "\t", "    ")
}

func (d *drawing) letters(text string, style Style) []letter {
	all := make([]letter, 0, len(text))
	for _, r := range text {
		all = append(all, letter{r, style})
	}
	return all
}

// paragraphs calls line for each line of the letters.
func paragraphs(all []letter, line func([]letter)) {
	for len(all) > 0 && all[len(all)-1].r == '\n' {
		all = all[:len(all)-1]
	}
	from := 0
	for i := range all {
		if all[i].r == '\n' {
			line(all[from:i])
			from = i + 1
		}
	}
	line(all[from:])
}

// wrap adds lines that are broken between words.
func (d *drawing) wrap(all []letter, indent string) {
	paragraphs(all, func(line []letter) {
		room := d.room(indent)
		for at := fit(line, room); at < len(line); at = fit(line, room) {
			for at > 0 && line[at].r != ' ' {
				at--
			}
			if at == 0 { // a long word, such as an address, is not broken
				for at = fit(line, room); at < len(line) && line[at].r != ' '; at++ {
				}
			}
			d.add(line[:at], indent)
			if line = trimmed(line[at:]); len(line) == 0 {
				return
			}
		}
		d.add(line, indent)
	})
}

// trimmed returns the letters after leading spaces.
func trimmed(line []letter) []letter {
	for len(line) > 0 && line[0].r == ' ' {
		line = line[1:]
	}
	return line
}

// cut adds lines of code, of which long ones are broken anywhere.
func (d *drawing) cut(all []letter, indent string) {
	paragraphs(all, func(line []letter) {
		for n := fit(line, d.room(indent)); n < len(line); n = fit(line, d.room(indent)) {
			d.add(line[:n], indent)
			line = line[n:]
		}
		d.add(line, indent)
	})
}

// leastRoom is the number of columns of a text, however narrow the screen.
const leastRoom = 20

// room returns the number of columns for text behind the indent: for lines of text, at most Width.
func (d *drawing) room(indent string) int {
	return max(min(Width, cmp.Or(d.layout.Room, Width))-utf8.RuneCountInString(indent), leastRoom)
}

// columns returns the number of columns that the letters take: a wide character takes two, and a
// combining one none.
func columns(line []letter) int {
	n := 0
	for range clusters(line, &n) {
	}
	return n
}

// fit returns how many letters of the line fit into room columns. It is at least the number of letters
// in the first character, even if that is wider.
func fit(line []letter, room int) int {
	n, used := 0, 0
	for size := range clusters(line, &used) {
		if used > room && n > 0 {
			return n
		}
		n += size
	}
	return n
}

// clusters returns the numbers of letters of the characters, and adds their columns to used.
func clusters(line []letter, used *int) iter.Seq[int] {
	var b strings.Builder
	for i := range line {
		b.WriteRune(line[i].r)
	}
	return func(yield func(int) bool) {
		state := -1
		for rest := b.String(); rest != ""; {
			var one string
			var width int
			one, rest, width, state = uniseg.FirstGraphemeClusterInString(rest, state)
			*used += width
			if !yield(utf8.RuneCountInString(one)) {
				return
			}
		}
	}
}

func (d *drawing) add(line []letter, indent string) {
	var b strings.Builder
	for from := 0; from < len(line); {
		to := from
		var text strings.Builder
		for ; to < len(line) && line[to].style == line[from].style; to++ {
			text.WriteRune(line[to].r)
		}
		if d.layout.Styled {
			b.WriteString(line[from].style.On(text.String()))
		} else {
			b.WriteString(text.String())
		}
		from = to
	}
	d.lines = append(d.lines, strings.TrimRight(indent+b.String(), " "))
}

// Diff draws the lines that turn one text into another, marked by - and +, between equal ones, or,
// with Layout.Columns, the two texts side by side. Words that the other text does not have are bold.
// Every character counts, as in code.
func Diff(before, after string, l Layout) string {
	d := drawing{layout: l}
	lines := render.Diff(before, after)
	side := (l.Columns - utf8.RuneCountInString(l.Indent) - utf8.RuneCountInString(divider)) / 2
	if side >= leastSide {
		for _, p := range render.Sides(lines) {
			d.sides(p, side)
		}
		return strings.Join(d.lines, "\n")
	}
	for i := range lines {
		if !d.skipped(&lines[i]) {
			for _, row := range d.changed(&lines[i], d.room(l.Indent)) {
				d.add(row, l.Indent)
			}
		}
	}
	return strings.Join(d.lines, "\n")
}

func (d *drawing) skipped(line *render.Line) bool {
	if line.Change != render.Skipped {
		return false
	}
	d.cut(d.letters("  … "+Many(line.Before, "equal line"), Dim), d.layout.Indent)
	return true
}

// divider is between two texts side by side.
const divider = " │ "

// leastSide is the number of columns of a text from which two are drawn side by side.
const leastSide = 30

func (d *drawing) sides(p render.Pair, side int) {
	if p.Before != nil && d.skipped(p.Before) {
		return
	}
	var left, right [][]letter
	if p.Before != nil {
		left = d.changed(p.Before, side)
	}
	if p.After != nil {
		right = d.changed(p.After, side)
	}
	for i := range max(len(left), len(right)) {
		var row []letter
		if i < len(left) {
			row = append(row, left[i]...)
		}
		row = append(row, d.letters(strings.Repeat(" ", max(side-columns(row), 0))+divider, Dim)...)
		if i < len(right) {
			row = append(row, right[i]...)
		}
		d.add(row, d.layout.Indent)
	}
}

// changed returns the rows of a line of a diff. Continuations are behind a mark, so that none looks
// like another line of the text.
func (d *drawing) changed(line *render.Line, room int) (rows [][]letter) {
	mark, style := "  ", d.layout.Style
	switch line.Change {
	case render.Removed:
		mark, style = "- ", Red
	case render.Added:
		mark, style = "+ ", Green
	}
	var all []letter
	for i := range line.Parts {
		switch e := &line.Parts[i]; e.Kind {
		case render.Break:
			all = append(all, d.letters(" (no line break at the end)", Dim)...)
		case render.Token:
			all = append(all, d.letters(code(e.Text), bold[style])...)
		default:
			all = append(all, d.letters(code(e.Text), style)...)
		}
	}
	before := d.letters(mark, style)
	for room = max(room, leastRoom) - len(before); ; before = d.letters("↳ ", Dim) {
		n := fit(all, room)
		rows = append(rows, append(before, all[:n]...))
		if all = all[n:]; len(all) == 0 {
			return rows
		}
	}
}

var bold = map[Style]Style{Red: "1;31", Green: "1;32"}

// Changes draws the changes of a call: for each text its path, and its lines before and after.
func Changes(all []interaction.Change, l Layout) string {
	var texts []string
	for i := range all {
		c := &all[i]
		d := drawing{layout: Layout{Indent: l.Indent, Styled: l.Styled}}
		d.cut(d.letters(Text(c.Name()), Bold), l.Indent)
		texts = append(texts, d.lines...)
		if diff := Diff(c.Before, c.After, l); diff != "" {
			texts = append(texts, diff)
		}
	}
	return strings.Join(texts, "\n")
}
