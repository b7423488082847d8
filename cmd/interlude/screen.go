package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/interlude-go/interlude/cmd/internal/terminal"
	"github.com/interlude-go/interlude/lifecycle"
)

// screen shows lines, and on a terminal a last line with the present status.
type screen struct {
	to     io.Writer
	events io.Writer // for -json; nil without
	live   bool
	styled bool
	status bool // a status stands in the last line
}

func newScreen(out, side *os.File, lines bool) *screen {
	s := &screen{}
	to := out
	if lines {
		to, s.events = side, out
	}
	s.to, s.live = to, terminal.Is(to) && os.Getenv("TERM") != "dumb"
	s.styled = s.live && os.Getenv("NO_COLOR") == ""
	return s
}

// The styles.
const (
	plain = ""
	bold  = "1"
	dim   = "2"
	red   = "31"
	green = "32"
	amber = "33"
)

// line shows a text, of one line or more.
func (s *screen) line(style, text string) {
	s.clear()
	text = terminal.Text(text)
	if s.styled && style != plain {
		text = "\x1b[" + style + "m" + text + "\x1b[0m"
	}
	fmt.Fprintln(s.to, text)
}

// text shows what an agent said, indented.
func (s *screen) text(style, text string) { s.line(style, terminal.Wrap(terminal.Text(text), "  ")) }

// prompt is printed where the person types.
func (s *screen) prompt() {
	s.clear()
	fmt.Fprint(s.to, "> ")
}

// now shows the present status, on a terminal.
func (s *screen) now(text string) {
	if !s.live {
		return
	}
	fmt.Fprint(s.to, "\r\x1b[K", "\x1b[", dim, "m", terminal.Text(text), "\x1b[0m")
	s.status = true
}

// clear removes the status.
func (s *screen) clear() {
	if s.status {
		fmt.Fprint(s.to, "\r\x1b[K")
		s.status = false
	}
}

// event prints an event as JSON, with -json.
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

// span formats a duration for people.
func span(d time.Duration) string {
	switch {
	case d < 10*time.Second:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d < 2*time.Minute:
		return fmt.Sprintf("%.0f s", d.Seconds())
	case d < 2*time.Hour:
		return fmt.Sprintf("%.0f min", d.Minutes())
	case d < 48*time.Hour:
		return fmt.Sprintf("%.0f h", d.Hours())
	default:
		return fmt.Sprintf("%.0f days", d.Hours()/24)
	}
}

// many formats a number of things.
func many(n int, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return fmt.Sprint(n, " ", thing)
}
