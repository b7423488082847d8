package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/interlude-go/interlude/cmd/internal/terminal"
	"github.com/interlude-go/interlude/lifecycle"
)

// screen prints lines and, on a terminal, the current status as the last line.
type screen struct {
	to     *output
	events io.Writer // for -json; nil without
	live   bool
	styled bool
	room   int  // columns; 0: unknown
	status bool // the last line is a status
}

func newScreen(out, side *os.File, lines bool) *screen {
	s := &screen{}
	to := out
	if lines {
		to, s.events = side, out
	}
	s.to, s.live, s.styled = &output{Writer: to}, terminal.Live(to), terminal.Styled(to)
	s.room = terminal.Columns(to)
	return s
}

// output keeps a writer's first error, for example of a full disk: the run continues, and the
// program fails at its end.
type output struct {
	io.Writer
	err error
}

func (o *output) Write(p []byte) (int, error) {
	n, err := o.Writer.Write(p)
	if o.err == nil {
		o.err = err
	}
	return n, err
}

const (
	plain = terminal.Plain
	bold  = terminal.Bold
	dim   = terminal.Dim
	red   = terminal.Red
	green = terminal.Green
	amber = terminal.Amber
)

func (s *screen) line(style terminal.Style, text string) {
	s.clear()
	text = terminal.Text(text)
	if s.styled {
		text = style.On(text)
	}
	fmt.Fprintln(s.to, text)
}

func (s *screen) text(style terminal.Style, text string) {
	s.line(style, terminal.Wrap(terminal.Text(text), "  "))
}

// markdown prints a document of Markdown, whose first line begins with first.
func (s *screen) markdown(style terminal.Style, source, first string) {
	s.clear()
	fmt.Fprintln(s.to, terminal.Markdown(source, terminal.Layout{First: first, Indent: "  ", Style: style,
		Styled: s.styled, Room: s.room}))
}

func (s *screen) prompt() {
	s.clear()
	fmt.Fprint(s.to, "> ")
}

func (s *screen) now(text string) {
	if !s.live {
		return
	}
	fmt.Fprint(s.to, "\r\x1b[K", dim.On(terminal.Text(text)))
	s.status = true
}

func (s *screen) clear() {
	if s.status {
		fmt.Fprint(s.to, "\r\x1b[K")
		s.status = false
	}
}

func (s *screen) event(e lifecycle.Event) error {
	if s.events == nil {
		return nil
	}
	body, err := json.Marshal(e)
	if err == nil {
		_, err = fmt.Fprintln(s.events, terminal.JSON(body))
	}
	return err
}
