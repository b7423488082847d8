package plainjson

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// The two line ends of JavaScript that are none in JSON.
const (
	lineSeparator      = '\u2028'
	paragraphSeparator = '\u2029'
)

// AppendText appends s as a JSON string to dst. Invalid UTF-8 becomes the replacement character.
func AppendText(dst []byte, s string) []byte {
	dst = append(dst, '"')
	done := 0
	for i := 0; i < len(s); {
		if i = endOfPlain(s, i); i == len(s) {
			break
		}
		c, size := utf8.DecodeRuneInString(s[i:])
		if c >= utf8.RuneSelf && size > 1 && c != lineSeparator && c != paragraphSeparator {
			i += size
			continue
		}
		dst = appendEscaped(append(dst, s[done:i]...), c)
		i += size
		done = i
	}
	return append(append(dst, s[done:]...), '"')
}

func appendEscaped(dst []byte, c rune) []byte {
	switch c {
	case '"', '\\':
		return append(dst, '\\', byte(c))
	case '\b':
		return append(dst, `\b`...)
	case '\f':
		return append(dst, `\f`...)
	case '\n':
		return append(dst, `\n`...)
	case '\r':
		return append(dst, `\r`...)
	case '\t':
		return append(dst, `\t`...)
	}
	const hex = "0123456789abcdef"
	return append(dst, '\\', 'u', hex[c>>12&15], hex[c>>8&15], hex[c>>4&15], hex[c&15])
}

// quoted skips a text and returns the bytes between its quotes, or nil if it gives up.
func (s *Scanner) quoted() (text []byte, escaped bool) {
	s.Need(`"`)
	if s.at < 0 {
		return nil, false
	}
	ascii := true
	for i := s.at; ; i++ {
		if i = endOfPlain(s.Body, i); i >= len(s.Body) || s.Body[i] < ' ' {
			break
		}
		switch c := s.Body[i]; c {
		case '"':
			if text = s.Body[s.at:i]; !ascii && !utf8.Valid(text) {
				s.GiveUp() // encoding/json replaces invalid UTF-8
				return nil, false
			}
			s.at = i + 1
			return text, escaped
		case '\\':
			escaped = true
			i++ // an escaped quote does not end the text
		default:
			ascii = ascii && c < utf8.RuneSelf
		}
	}
	s.GiveUp()
	return nil, false
}

// unescape writes the text without its escapes, which never makes it longer.
func (s *Scanner) unescape(b *strings.Builder, text []byte) {
	for {
		i := bytes.IndexByte(text, '\\')
		if i < 0 {
			b.Write(text)
			return
		}
		b.Write(text[:i])
		i++
		if c := unescaped[text[i]]; c != 0 {
			b.WriteByte(c)
		} else if r, ok := hex4(text, i+1); ok && text[i] == 'u' && utf8.ValidRune(r) {
			b.WriteRune(r)
			i += 4
		} else {
			s.GiveUp() // also at half a surrogate pair: Writer writes none
			return
		}
		text = text[i+1:]
	}
}

var unescaped = [256]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}
