package console

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/interlude-go/interlude/cmd/internal/terminal"
)

type printer struct {
	out    io.Writer
	json   bool
	styled bool
	narrow bool // lines are cut to the width of a terminal
	// columns in which changes are shown side by side; 0: one below the other
	columns int
	// room is the number of columns of the screen; 0: terminal.Width
	room  int
	asks  bool                   // controls ask for the fields of a form next: the question only names them
	opens bool                   // the key o opens files
	named func(id string) string // shows a person; nil: by the ID
	err   error
}

func columnsFlag(f *flag.FlagSet) *int {
	return f.Int("columns", 0, "show changes side by side, in so many columns; 0: one below the other")
}

func jsonFlag(f *flag.FlagSet) *bool {
	return f.Bool("json", false, "print JSON as in the HTTP API, one object per line")
}

func newPrinter(out *os.File, asJSON bool) *printer {
	return &printer{out: out, json: asJSON, styled: terminal.Styled(out), narrow: terminal.Is(out),
		room: terminal.Columns(out)}
}

// person shows a person.
func (p *printer) person(id string) string {
	if p.named == nil {
		return terminal.Name(id)
	}
	return p.named(id)
}

func (p *printer) object(v any) {
	body, err := json.Marshal(v)
	if err != nil {
		p.err = err
		return
	}
	p.write(terminal.JSON(body))
}

func (p *printer) line(style terminal.Style, text string) {
	p.write(p.paint(style, terminal.Text(text)))
}

func (p *printer) linef(format string, args ...any) {
	p.line(terminal.Plain, fmt.Sprintf(format, args...))
}

func (p *printer) text(style terminal.Style, text, indent string) {
	p.write(p.paint(style, terminal.Wrap(terminal.Text(text), indent)))
}

// markdown prints a document of Markdown; first is in place of the indent of its first line.
func (p *printer) markdown(style terminal.Style, source, first, indent string) {
	p.write(terminal.Markdown(source, terminal.Layout{First: first, Indent: indent, Style: style, Styled: p.styled,
		Room: p.room}))
}

func (p *printer) paint(style terminal.Style, text string) string {
	if p.styled {
		return style.On(text)
	}
	return text
}

// write prints lines, and keeps the first error, for example of a closed pipe.
func (p *printer) write(text string) {
	if _, err := fmt.Fprintln(p.out, text); p.err == nil {
		p.err = err
	}
}

// table prints rows under a head, with the last column cut at the terminal's width.
func (p *printer) table(head []string, rows [][]string) {
	widths := make([]int, len(head))
	for _, row := range append([][]string{head}, rows...) {
		for i := range row {
			show := terminal.Name
			if i == len(row)-1 { // often a prompt
				show = terminal.Line
			}
			row[i] = show(row[i])
			widths[i] = max(widths[i], utf8.RuneCountInString(row[i]))
		}
	}
	for n, row := range slices.Concat([][]string{head}, rows) {
		var b strings.Builder
		for i, cell := range row {
			if i < len(row)-1 {
				cell += strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell)+2)
			}
			b.WriteString(cell)
		}
		text := strings.TrimRight(b.String(), " ")
		if p.narrow {
			text = cut(text, terminal.Width)
		}
		style := terminal.Plain
		if n == 0 {
			style = terminal.Dim
		}
		p.write(p.paint(style, text))
	}
}

// pagedTable prints a table of up to limit rows, or the text empty without rows, and reports
// whether there are more. ReadPage returns at most size rows, and whether more follow. With -json
// readPage prints each row itself, and pagedTable prints nothing.
func (p *printer) pagedTable(limit int, head []string, empty string,
	readPage func(size int) (rows [][]string, more bool, err error)) error {
	var rows [][]string
	more := true
	for more && len(rows) < limit {
		page, follow, err := readPage(min(limit-len(rows), 1000))
		if err != nil {
			return err
		}
		rows, more = append(rows, page...), follow
	}
	switch {
	case p.json:
		return p.err
	case len(rows) == 0:
		p.line(terminal.Dim, empty)
	default:
		p.table(head, rows)
	}
	if more {
		p.line(terminal.Dim, fmt.Sprint("there are more: -limit ", 2*limit))
	}
	return p.err
}

// cut shortens a line to a number of characters.
func cut(line string, most int) string {
	if r := []rune(line); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return line
}

// ago formats the time since t; a dash for the zero time.
func ago(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return terminal.Span(max(0, time.Since(t)))
}

// until formats the time until t; a dash for the zero time.
func until(t time.Time) string {
	switch left := time.Until(t); {
	case t.IsZero():
		return "-"
	case left < 0:
		return "now"
	default:
		return "in " + terminal.Span(left)
	}
}

// clock is the time of day with its zone, and with the date unless that is today.
func clock(t time.Time) string {
	t = t.Local()
	if t.Format(time.DateOnly) == time.Now().Format(time.DateOnly) {
		return t.Format("15:04:05 MST")
	}
	return t.Format("2006-01-02 15:04 MST")
}
