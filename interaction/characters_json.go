package interaction

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// VisibleJSON formats a JSON text for people, in its original order: on several lines if indent is
// not empty, with Visible applied to its strings. Escapes of visible characters are resolved:
// "\u003c" is shown as "<". Invalid JSON is returned unchanged.
func VisibleJSON(text []byte, indent string) string {
	var laid bytes.Buffer
	err := json.Compact(&laid, text)
	if err == nil && indent != "" {
		laid.Reset()
		err = json.Indent(&laid, text, "", indent)
	}
	if err != nil {
		return Visible(string(text))
	}
	var b strings.Builder
	for s := laid.Bytes(); len(s) > 0; {
		if s[0] != '"' {
			between, _, _ := bytes.Cut(s, []byte{'"'})
			b.Write(between)
			s = s[len(between):]
			continue
		}
		end := 1
		for s[end] != '"' {
			if s[end] == '\\' {
				end++
			}
			end++
		}
		b.WriteString(Visible(unescape(string(s[:end+1]))))
		s = s[end+1:]
	}
	return b.String()
}

// EditableJSON makes a JSON text safe to edit without changing its value: it escapes hidden characters
// in strings, and the spaces of long white space. Line breaks and indentation between values stay.
func EditableJSON(text []byte) string {
	var b strings.Builder
	s, indents := string(text), true // indents: so far, the line has only white space
	for s != "" {
		if blanks := len(s) - len(strings.TrimLeft(s, " ")); blanks > 0 {
			blank := " "
			if blanks >= longSpace && !indents {
				blank = `\u0020`
			}
			b.WriteString(strings.Repeat(blank, blanks))
			s = s[blanks:]
			continue
		}
		r, size := utf8.DecodeRuneInString(s)
		switch {
		case r == '\r' || CharacterOf(r)&Hidden == 0: // a \r is between values
			b.WriteRune(r)
		default:
			for _, unit := range utf16.AppendRune(nil, r) {
				fmt.Fprintf(&b, `\u%04x`, unit)
			}
		}
		indents = r == '\n'
		s = s[size:]
	}
	return b.String()
}

func unescape(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for s != "" {
		at := strings.IndexByte(s, '\\')
		if at < 0 {
			break
		}
		b.WriteString(s[:at])
		s = s[at:]
		size := 2
		switch s[1] {
		case '/':
			b.WriteByte('/')
		case 'u':
			var r rune
			if r, size = escaped(s); hidden(r) || r == utf8.RuneError || strings.ContainsRune("\"\\ \t\n", r) {
				b.WriteString(s[:size])
			} else {
				b.WriteRune(r)
			}
		default:
			b.WriteString(s[:size])
		}
		s = s[size:]
	}
	b.WriteString(s)
	return b.String()
}

// escaped reads one escaped character, which beyond U+FFFF takes two escapes. s ends with the quote
// of its JSON string.
func escaped(s string) (r rune, size int) {
	unit := func(s string) rune {
		n, _ := strconv.ParseUint(s[2:6], 16, 16) // valid, since the text is JSON
		return rune(n)
	}
	r = unit(s)
	if strings.HasPrefix(s[6:], `\u`) {
		if pair := utf16.DecodeRune(r, unit(s[6:])); pair != utf8.RuneError {
			return pair, 12
		}
	}
	return r, 6
}
