package terminal

import (
	"fmt"
	"os"
	"time"

	"github.com/charmbracelet/x/term"
)

type Style string

const (
	Plain Style = ""
	Bold  Style = "1"
	Dim   Style = "2"
	Red   Style = "31"
	Green Style = "32"
	Amber Style = "33"
)

// Live reports whether the file is a terminal whose lines can be overwritten.
func Live(f *os.File) bool { return Is(f) && os.Getenv("TERM") != "dumb" }

// Columns returns the width of the file's terminal, or 0 if it is unknown.
func Columns(f *os.File) int {
	width, _, err := term.GetSize(f.Fd())
	if err != nil {
		return 0
	}
	return width
}

// Styled reports whether the file shows styles.
func Styled(f *os.File) bool { return Live(f) && os.Getenv("NO_COLOR") == "" }

func (s Style) On(text string) string {
	if s == Plain {
		return text
	}
	return "\x1b[" + string(s) + "m" + text + "\x1b[0m"
}

// Span formats a duration for people.
func Span(d time.Duration) string {
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

// Many formats a number of things.
func Many(n int, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return fmt.Sprint(n, " ", thing)
}
