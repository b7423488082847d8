// Package terminal prints untrusted texts of agents, people and tools on a terminal. They cannot
// control the terminal or hide anything: characters in package interaction's table, such as control
// characters, are shown by number, and long white space by its length.
package terminal

import (
	"io"
	"log/slog"
	"os"
	"strings"
	"unicode/utf8"

	"github.com/interlude-go/interlude/interaction"
)

// Width is the column at which long lines are wrapped.
const Width = 80

// Is reports whether the file is a terminal. The null device, which is a character device too, is
// none.
func Is(f *os.File) bool {
	info, err := f.Stat()
	if err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return false
	}
	null, err := os.Stat(os.DevNull)
	return err != nil || !os.SameFile(info, null)
}

// Text makes prose of one or more lines safe. It keeps line breaks and replaces tabs by spaces.
func Text(text string) string {
	return strings.ReplaceAll(interaction.VisibleProse(text), "\t", "    ")
}

// Line makes a text safe and puts it on one line, with one space for each run of white space. Long
// white space is first counted, as in Text.
func Line(text string) string {
	return strings.Join(strings.FieldsFunc(interaction.VisibleProse(strings.TrimSpace(text)), func(r rune) bool {
		return r == ' ' || r == '\n' || r == '\t'
	}), " ")
}

// Name makes a name, an id or a value safe, in which each character counts. Line breaks and tabs
// are shown as \n and \t.
func Name(text string) string {
	return strings.NewReplacer("\n", `\n`, "\t", `\t`).Replace(interaction.Visible(text))
}

// Option shows an option on one line, with its value unless the label shows all of it.
func Option(label, value string) string {
	_, more := (interaction.Option{Label: label, Value: value}).Shown()
	if value == "" || more == "" && Line(label) == value {
		return Line(label)
	}
	return Line(label) + "  (" + Name(value) + ")"
}

// JSON makes a JSON text safe without changing its value.
func JSON(body []byte) string { return interaction.EditableJSON(body) }

// Value makes a JSON text safe for people to read, on several lines after the prefix. It may change
// the value: long white space is counted.
func Value(body []byte, prefix string) string {
	return strings.ReplaceAll(interaction.VisibleJSON(body, "  "), "\n", "\n"+prefix)
}

// Inline is Value on one line.
func Inline(body []byte) string { return Name(interaction.VisibleJSON(body, "")) }

// Call names a tool call: its title on a separate line, if it has one, then the tool.
func Call(title, tool string) string {
	if title = Line(title); title != "" {
		title += "\n"
	}
	return title + Name(tool)
}

func Names(all []string) string {
	shown := make([]string, len(all))
	for i, name := range all {
		shown[i] = Name(name)
	}
	return strings.Join(shown, ", ")
}

// LogHandler is a handler of the program's log. Its lines may quote agents, so each text is shown
// as by Name.
func LogHandler(to io.Writer, level slog.Leveler) slog.Handler {
	show := func(_ []string, a slog.Attr) slog.Attr {
		if kind := a.Value.Kind(); kind == slog.KindString || kind == slog.KindAny {
			a.Value = slog.StringValue(Name(a.Value.String()))
		}
		return a
	}
	return slog.NewTextHandler(to, &slog.HandlerOptions{Level: level, ReplaceAttr: show})
}

// JSONLogHandler is a handler of the program's log as JSON lines, for programs. As with JSON, the
// lines keep the values and can be shown on a terminal.
func JSONLogHandler(to io.Writer, level slog.Leveler) slog.Handler {
	return slog.NewJSONHandler(jsonLines{to}, &slog.HandlerOptions{Level: level})
}

// jsonLines escapes the lines of a slog.JSONHandler, which writes each with one call.
type jsonLines struct{ to io.Writer }

func (w jsonLines) Write(line []byte) (int, error) {
	if _, err := io.WriteString(w.to, JSON(line)); err != nil {
		return 0, err
	}
	return len(line), nil
}

// Wrap wraps long lines between words and indents each line, so that no line of the text can look
// like the program's own.
func Wrap(text, indent string) string {
	var b strings.Builder
	for i, line := range strings.Split(strings.TrimSpace(text), "\n") {
		if i > 0 {
			b.WriteByte('\n')
		}
		if utf8.RuneCountInString(indent+line) <= Width {
			b.WriteString(strings.TrimRight(indent+line, " "))
			continue
		}
		inner := indent + line[:len(line)-len(strings.TrimLeft(line, " "))]
		at, gap := 0, 0 // the column, and the spaces before the next word
		for word := range strings.SplitSeq(strings.TrimLeft(line, " "), " ") {
			n := utf8.RuneCountInString(word)
			switch {
			case word == "":
			case at == 0:
				b.WriteString(inner)
				at = utf8.RuneCountInString(inner)
			case at+gap+n > Width:
				b.WriteString("\n" + inner)
				at = utf8.RuneCountInString(inner)
			default:
				b.WriteString(strings.Repeat(" ", gap))
				at += gap
			}
			if word != "" {
				gap = 0
			}
			b.WriteString(word)
			at += n
			gap++
		}
	}
	return b.String()
}
