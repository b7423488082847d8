package interaction

import (
	"bytes"
	"encoding/json"
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
