package store

import "unicode/utf8"

// plain tells the ASCII characters that stand for themselves in a text: not those that JSON escapes, and not those that
// encoding/json escapes as well, so that a text can stand in a page.
var plain = func() (table [256]bool) {
	for c := ' '; c < utf8.RuneSelf; c++ {
		table[c] = true
	}
	for _, c := range `"\<>&` {
		table[c] = false
	}
	return table
}()

// The two ends of a line that JavaScript knows and JSON does not.
const (
	lineSeparator      = '\u2028'
	paragraphSeparator = '\u2029'
)

// appendText appends s as a JSON string. What is not UTF-8 becomes the replacement character.
func appendText(dst []byte, s string) []byte {
	dst = append(dst, '"')
	done := 0
	for i := 0; i < len(s); {
		if plain[s[i]] {
			i++
			continue
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
