// Package terminal shows on a terminal what agents, people and tools have written. None of it can
// do anything to the terminal: what a terminal takes for a command (escape sequences and other
// control characters), and what changes the order of other characters or is invisible, is shown by
// its code instead, as \x1b or \u202e.
package terminal

import (
	"fmt"
	"os"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Width is how long lines are, where a text can be broken.
const Width = 80

// Is reports whether a person sits at the other end of the file.
func Is(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// Text makes a text of one or more lines safe. Its lines stay; blanks stand for its tabs.
func Text(text string) string {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	return show(text, func(b *strings.Builder, r rune, raw string) {
		switch {
		case r == '\n':
			b.WriteByte('\n')
		case r == '\t':
			b.WriteString("    ")
		case r == utf8.RuneError && len(raw) == 1: // no UTF-8
			fmt.Fprintf(b, `\x%02x`, raw[0])
		case r < utf8.RuneSelf:
			fmt.Fprintf(b, `\x%02x`, r)
		case r > 0xffff:
			fmt.Fprintf(b, `\U%08x`, r)
		default:
			fmt.Fprintf(b, `\u%04x`, r)
		}
	})
}

// Line makes a text safe and puts it on one line: one blank stands for all that is blank between
// words.
func Line(text string) string { return Text(strings.Join(strings.Fields(text), " ")) }

// JSON makes a JSON text safe. It stays the same value: in JSON, control characters stand only in
// strings, where their codes mean the same.
func JSON(body []byte) string {
	return show(string(body), func(b *strings.Builder, r rune, raw string) {
		switch {
		case r == '\n' || r == '\t' || r == '\r': // between values
			b.WriteByte(raw[0])
		case r > 0xffff:
			r -= 0x10000
			fmt.Fprintf(b, `\u%04x\u%04x`, 0xd800+r>>10, 0xdc00+r&0x3ff)
		default:
			fmt.Fprintf(b, `\u%04x`, r)
		}
	})
}

// show copies what is safe, and has the rest written.
func show(text string, write func(b *strings.Builder, r rune, raw string)) string {
	var b strings.Builder
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		if raw := text[i : i+size]; safe(r) && (r != utf8.RuneError || size > 1) {
			b.WriteString(raw)
		} else {
			write(&b, r, raw)
		}
		i += size
	}
	return b.String()
}

// safe reports whether the character only shows itself. The two joiners belong to the spelling of
// some languages, and to emoji.
func safe(r rune) bool {
	const nonJoiner, joiner = '\u200c', '\u200d'
	return unicode.IsPrint(r) || unicode.Is(unicode.Zs, r) || r == nonJoiner || r == joiner
}

// Wrap breaks long lines between words and puts the indent before each line, so that no line of the
// text looks like one of the program's own.
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
		at := 0
		for j, word := range strings.Fields(line) {
			n := utf8.RuneCountInString(word)
			switch {
			case j == 0:
				b.WriteString(inner)
				at = utf8.RuneCountInString(inner)
			case at+1+n > Width:
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
