// Package approval writes down what an agent wants to do, so that a person who approves it sees it:
// nothing that a screen would not show, or would show elsewhere than it is, stays hidden, and what
// is left out is counted.
//
// Neighbours: engine/acp, engine/adk and engine/eino ask for permissions with it.
package approval

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/interlude-go/interlude/interaction"
)

// longSpace is from how many characters on white space is told by its length: a screen may fold it,
// or push off the edge what stands behind it.
const longSpace = 16

// Visible is s with what cannot be seen written out: control and format characters, which can hide
// text, turn its direction round or move it, as \u{202E}; long white space as [4000 white-space
// characters]. Line breaks and tabs stay. Invalid UTF-8 is written out by its bytes.
func Visible(s string) string {
	var b strings.Builder
	for s != "" {
		if n, size := space(s); n >= longSpace {
			fmt.Fprintf(&b, "[%d white-space characters]", n)
			s = s[size:]
			continue
		}
		r, size := utf8.DecodeRuneInString(s)
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x{%02X}`, s[0])
		case r == '\n', r == '\t', r == ' ':
			b.WriteRune(r)
		case !unicode.IsPrint(r), unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector),
			r == '\u2800':
			fmt.Fprintf(&b, `\u{%04X}`, r)
		default:
			b.WriteRune(r)
		}
		s = s[size:]
	}
	return b.String()
}

// space counts the white-space characters at the beginning of s, and their bytes.
func space(s string) (n, size int) {
	for i, r := range s {
		if !unicode.IsSpace(r) {
			return n, i
		}
		n++
	}
	return n, len(s)
}

// Cut shortens a text to at most limit bytes, which must be 100 at least: its beginning and its end
// stay, and in between stands how many bytes are not shown. hidden is their number, 0 when all is
// there.
func Cut(s string, limit int) (shown string, hidden int) {
	if len(s) <= limit {
		return s, 0
	}
	half := (limit - len(gap(len(s)))) / 2
	head, tail := half, len(s)-half
	for head > 0 && !utf8.RuneStart(s[head]) {
		head--
	}
	for tail < len(s) && !utf8.RuneStart(s[tail]) {
		tail++
	}
	return s[:head] + gap(tail-head) + s[tail:], tail - head
}

// Ref is the Ref of a question about the call with this id: the id itself, or its digest where it
// cannot be a Ref as it is.
func Ref(id string) string {
	if len(id) <= interaction.MaxRef && utf8.ValidString(id) && !strings.Contains(id, "\x00") {
		return id
	}
	return sum([]byte(id))
}

func gap(n int) string { return fmt.Sprintf("\n[… %d more bytes are not shown …]\n", n) }

// JSON is a value as JSON that a person reads: visible, and with <, > and & as they are. What is no
// JSON is said to be none.
func JSON(v any) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return fmt.Sprintf("[cannot be shown: %v]", err)
	}
	return Visible(strings.TrimSuffix(b.String(), "\n"))
}
