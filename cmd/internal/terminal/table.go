package terminal

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/interlude-go/interlude/host/render"
)

// leastCell is the number of columns to which a cell may shrink. With less room, a table is drawn as
// a list.
const leastCell = 10

// table draws a table with aligned columns. Cells that are too long for the screen continue on the
// next line. A screen too narrow for that gets a list of the cells, each behind its heading.
func (d *drawing) table(e *render.Element, indent string) {
	rows, widths := make([][][]letter, len(e.Children)), []int{}
	for i := range e.Children {
		style := d.layout.Style
		if i == 0 {
			style = Bold
		}
		for j := range e.Children[i].Children {
			cell := d.inline(e.Children[i].Children[j].Children, style)
			rows[i] = append(rows[i], cell)
			if len(widths) == j {
				widths = append(widths, 1)
			}
			widths[j] = max(widths[j], columns(cell))
		}
	}
	room := max(cmp.Or(d.layout.Room, Width)-utf8.RuneCountInString(indent), leastRoom)
	room -= (len(widths) - 1) * utf8.RuneCountInString(divider)
	widest := slices.Max(append(widths, 0))
	most := min(widest, max(room, 0))
	for ; room < len(widths) || sum(widths, most) > room; most-- {
		if room < len(widths) || most <= leastCell {
			d.list(rows, indent)
			return
		}
	}
	folded := most < widest // a cell may have several lines
	for j := range widths {
		widths[j] = min(widths[j], most)
	}
	for i, row := range rows {
		if i == 1 || i > 1 && folded {
			d.rule(widths, indent)
		}
		d.row(row, widths, e.Children[0].Children, indent)
	}
}

// sum returns the columns of cells with at most so many each.
func sum(widths []int, most int) (n int) {
	for _, w := range widths {
		n += min(w, most)
	}
	return n
}

func (d *drawing) rule(widths []int, indent string) {
	parts := make([]string, len(widths))
	for j, w := range widths {
		parts[j] = strings.Repeat("─", w)
	}
	d.add(d.letters(strings.Join(parts, "─┼─"), Dim), indent)
}

// row draws the cells of a row next to each other.
func (d *drawing) row(row [][]letter, widths []int, heads []render.Element, indent string) {
	cells, height := make([][][]letter, len(row)), 1
	for j, cell := range row {
		cells[j] = folded(cell, widths[j])
		height = max(height, len(cells[j]))
	}
	for i := range height {
		var line []letter
		for j := range cells {
			if j > 0 {
				line = append(line, d.letters(divider, Dim)...)
			}
			var part []letter
			if i < len(cells[j]) {
				part = cells[j][i]
			}
			left, free := 0, max(widths[j]-columns(part), 0)
			switch heads[j].Class {
			case "right":
				left = free
			case "center":
				left = free / 2
			}
			line = append(line, d.letters(strings.Repeat(" ", left), d.layout.Style)...)
			line = append(line, part...)
			line = append(line, d.letters(strings.Repeat(" ", free-left), d.layout.Style)...)
		}
		d.add(line, indent)
	}
}

// folded breaks a cell into lines: between words where that is possible.
func folded(cell []letter, width int) (lines [][]letter) {
	for at := fit(cell, width); at < len(cell); at = fit(cell, width) {
		end := at
		for end > 0 && cell[end].r != ' ' {
			end--
		}
		if end == 0 {
			end = at
		}
		lines, cell = append(lines, cell[:end]), trimmed(cell[end:])
	}
	return append(lines, cell)
}

// list draws a table that is too wide for the screen as a list. Each cell begins a line, after the
// heading of its column.
func (d *drawing) list(rows [][][]letter, indent string) {
	if len(rows) == 1 {
		rows = append(rows, make([][]letter, len(rows[0])))
	}
	for i, row := range rows[1:] {
		if i > 0 {
			d.rule([]int{4}, indent)
		}
		for j, cell := range row {
			text := slices.Concat(rows[0][j], d.letters(": ", Dim), cell)
			for _, line := range folded(text, d.room(indent)) {
				d.add(line, indent)
			}
		}
	}
}
