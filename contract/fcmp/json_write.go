package fcmp

import (
	"encoding/json"
	"math"
	"reflect"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"
)

// Events are appended byte for byte as encoding/json writes them without HTML escaping. Rare types
// (structs, pointers, other maps, json.Number with an exponent) go through marshalOpen.

// maxOpenDepth limits the nesting that is written here. It is well below maxPlainDepth, so that
// only marshalOpen defines the limit, and stops at a value that contains itself.
const maxOpenDepth = 32

// manyKeys is the number of names sorted without allocation.
const manyKeys = 16

// verbatim marks the bytes that need no escape in a JSON string.
var verbatim = func() (set [256]bool) {
	for c := byte(' '); c < utf8.RuneSelf; c++ {
		set[c] = c != '"' && c != '\\'
	}
	return set
}()

// appendString writes s in quotes. It replaces invalid UTF-8, and escapes Unicode's two line
// separators, which scripts treat as line ends.
func appendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	written := 0
	for i := 0; i < len(s); {
		c := s[i]
		if verbatim[c] {
			i++
			continue
		}
		size := 1
		if c >= utf8.RuneSelf {
			var r rune
			if r, size = utf8.DecodeRuneInString(s[i:]); (r != utf8.RuneError || size > 1) && r != '\u2028' &&
				r != '\u2029' {
				i += size
				continue
			}
		}
		dst = append(dst, s[written:i]...)
		dst = appendEscape(dst, s[i:i+size])
		i += size
		written = i
	}
	dst = append(dst, s[written:]...)
	return append(dst, '"')
}

func appendEscape(dst []byte, char string) []byte {
	const hex = "0123456789abcdef"
	switch c := char[0]; {
	case len(char) > 1: // U+2028 or U+2029
		return append(dst, '\\', 'u', '2', '0', '2', hex[char[2]&0xf])
	case c >= utf8.RuneSelf:
		return append(dst, `\ufffd`...)
	case c == '"', c == '\\':
		return append(dst, '\\', c)
	case c == '\b':
		return append(dst, `\b`...)
	case c == '\f':
		return append(dst, `\f`...)
	case c == '\n':
		return append(dst, `\n`...)
	case c == '\r':
		return append(dst, `\r`...)
	case c == '\t':
		return append(dst, `\t`...)
	default:
		return append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&0xf])
	}
}

// appendFloat writes a finite number in the shortest form that reads back as the same, with the
// fewest digits in the exponent.
func appendFloat(dst []byte, f float64) []byte {
	if abs := math.Abs(f); abs == 0 || 1e-6 <= abs && abs < 1e21 {
		return strconv.AppendFloat(dst, f, 'f', -1, 64)
	}
	dst = strconv.AppendFloat(dst, f, 'e', -1, 64)
	if n := len(dst); dst[n-4] == 'e' && dst[n-3] == '-' && dst[n-2] == '0' { // e-09 is written e-9
		dst[n-2] = dst[n-1]
		dst = dst[:n-1]
	}
	return dst
}

// appendTime writes a time as FormatTime does. It returns false if the year is not from 1 to 9999.
func appendTime(dst []byte, t time.Time) ([]byte, bool) {
	t = t.UTC().Truncate(time.Microsecond)
	if !hasPlainYear(t) {
		return dst, false
	}
	dst = append(dst, '"')
	dst = t.AppendFormat(dst, time.RFC3339Nano) // no more digits than microseconds are left
	return append(dst, '"'), true
}

// The years 1 to 9999, in Unix time.
var (
	firstYear     = time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC).Unix()
	afterLastYear = time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC).Unix()
)

// hasPlainYear reports whether the year is from 1 to 9999.
func hasPlainYear(t time.Time) bool { return t.Unix() >= firstYear && t.Unix() < afterLastYear }

// appendOpen writes a value of any shape, or returns false for a type that it does not know.
func appendOpen(dst []byte, v any, depth int) ([]byte, bool) {
	if depth > maxOpenDepth {
		return dst, false
	}
	switch v := v.(type) {
	case map[string]any:
		return appendOpenObject(dst, v, depth)
	case []any:
		return appendOpenArray(dst, v, depth)
	case nil:
		return append(dst, "null"...), true
	case string:
		return appendString(dst, v), true
	case bool:
		return strconv.AppendBool(dst, v), true
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return dst, false
		}
		return appendFloat(dst, v), true
	case time.Time:
		return appendTime(dst, v)
	}
	if n, ok := integer(v); ok {
		return strconv.AppendInt(dst, n, 10), true
	}
	switch v := reflect.ValueOf(v); v.Kind() {
	case reflect.String:
		// A json.Number that is not an integer is left to marshalOpen.
		return appendString(dst, v.String()), v.Type() != reflect.TypeFor[json.Number]()
	case reflect.Bool:
		return strconv.AppendBool(dst, v.Bool()), true
	default:
		return dst, false
	}
}

// appendOpenObject writes the members sorted by name.
func appendOpenObject(dst []byte, m map[string]any, depth int) ([]byte, bool) {
	if m == nil {
		return dst, false
	}
	var room [manyKeys]string
	names := room[:0]
	for name := range m {
		if !utf8.ValidString(name) { // replacing invalid characters could make two names equal
			return dst, false
		}
		names = append(names, name)
	}
	slices.Sort(names)
	dst = append(dst, '{')
	for i, name := range names {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(appendString(dst, name), ':')
		var ok bool
		if dst, ok = appendOpen(dst, m[name], depth+1); !ok {
			return dst, false
		}
	}
	return append(dst, '}'), true
}

func appendOpenArray(dst []byte, items []any, depth int) ([]byte, bool) {
	if items == nil {
		return dst, false
	}
	dst = append(dst, '[')
	for i, item := range items {
		if i > 0 {
			dst = append(dst, ',')
		}
		var ok bool
		if dst, ok = appendOpen(dst, item, depth+1); !ok {
			return dst, false
		}
	}
	return append(dst, ']'), true
}
