package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/interlude-go/interlude/contract"
)

// width is how long lines are, where a text can be broken.
const width = 80

// screen is where things are shown: lines, and on a terminal a last one that says what is going on.
type screen struct {
	to     io.Writer
	events *json.Encoder // -json
	live   bool
	styled bool
	status bool // a status stands in the last line
}

func newScreen(out, side *os.File, lines bool) *screen {
	s := &screen{}
	to := out
	if lines {
		to, s.events = side, json.NewEncoder(out)
	}
	s.to, s.live = to, terminal(to) && os.Getenv("TERM") != "dumb"
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
	text = printable(text)
	if s.styled && style != plain {
		text = "\x1b[" + style + "m" + text + "\x1b[0m"
	}
	fmt.Fprintln(s.to, text)
}

// text shows what an agent said, indented.
func (s *screen) text(style, text string) { s.line(style, wrap(printable(text), "  ")) }

// prompt stands before what a person types.
func (s *screen) prompt() {
	s.clear()
	fmt.Fprint(s.to, "> ")
}

// now says what is going on, on a terminal.
func (s *screen) now(text string) {
	if !s.live {
		return
	}
	fmt.Fprint(s.to, "\r\x1b[K", "\x1b[", dim, "m", printable(text), "\x1b[0m")
	s.status = true
}

// clear takes the status away.
func (s *screen) clear() {
	if s.status {
		fmt.Fprint(s.to, "\r\x1b[K")
		s.status = false
	}
}

// event prints an event as it is, with -json.
func (s *screen) event(e contract.Event) error {
	if s.events == nil {
		return nil
	}
	return s.events.Encode(e)
}

// printable leaves out what could do something to a terminal.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n', unicode.IsPrint(r):
			return r
		case r == '\t':
			return ' '
		default:
			return -1
		}
	}, strings.ToValidUTF8(text, "\uFFFD"))
}

// wrap breaks long lines between words, and indents all.
func wrap(text, indent string) string {
	var b strings.Builder
	for i, line := range strings.Split(strings.TrimSpace(text), "\n") {
		if i > 0 {
			b.WriteByte('\n')
		}
		if utf8.RuneCountInString(indent+line) <= width {
			b.WriteString(strings.TrimRight(indent+line, " "))
			continue
		}
		inner := indent + line[:len(line)-len(strings.TrimLeft(line, " "))]
		at := 0
		for j, word := range strings.Fields(line) {
			n := utf8.RuneCountInString(word)
			switch {
			case j == 0:
				b.WriteString(inner)
				at = utf8.RuneCountInString(inner)
			case at+1+n > width:
				b.WriteString("\n" + inner)
				at = utf8.RuneCountInString(inner)
			default:
				b.WriteByte(' ')
				at++
			}
			b.WriteString(word)
			at += n
		}
	}
	return b.String()
}

// span is a time that people read.
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

// many is a number of things.
func many(n int, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return fmt.Sprint(n, " ", thing)
}
