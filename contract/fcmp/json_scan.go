package fcmp

import (
	"bytes"
	"strconv"
	"unicode/utf8"
)

// valueEnd returns the end of the JSON value at i, or -1 if it is not in the form that Encode
// writes: without white space, object members sorted by name and distinct, no unpaired surrogates,
// and nested at most maxOpenDepth deep. It is as strict as encoding/json. A rejected value may
// still be JSON, which decodeSlow decides.
func valueEnd(b []byte, i, depth int) int {
	if i >= len(b) || depth > maxOpenDepth {
		return -1
	}
	switch b[i] {
	case '{':
		return objectEnd(b, i, depth)
	case '[':
		return arrayEnd(b, i, depth)
	case '"':
		return stringEnd(b, i)
	case 't':
		return wordEnd(b, i, "true")
	case 'f':
		return wordEnd(b, i, "false")
	case 'n':
		return wordEnd(b, i, "null")
	}
	return numberEnd(b, i)
}

func objectEnd(b []byte, i, depth int) int {
	if i++; at(b, i) == '}' {
		return i + 1
	}
	var last []byte // the name before, with its quotes
	for {
		if at(b, i) != '"' {
			return -1
		}
		first := i
		if i = stringEnd(b, i); at(b, i) != ':' {
			return -1
		}
		// Names are compared as they are written. Two that differ only in escapes would pass for
		// different ones, so a name with an escape is not decided here.
		name := b[first:i]
		if bytes.Compare(name[:len(name)-1], last) <= 0 || bytes.IndexByte(name, '\\') >= 0 {
			return -1
		}
		last = name[:len(name)-1]
		i = valueEnd(b, i+1, depth+1)
		switch at(b, i) {
		case ',':
			i++
		case '}':
			return i + 1
		default:
			return -1
		}
	}
}

func arrayEnd(b []byte, i, depth int) int {
	if i++; at(b, i) == ']' {
		return i + 1
	}
	for {
		i = valueEnd(b, i, depth+1)
		switch at(b, i) {
		case ',':
			i++
		case ']':
			return i + 1
		default:
			return -1
		}
	}
}

// stringEnd returns the index after the closing quote of the string opened at i. The string may
// contain invalid UTF-8.
func stringEnd(b []byte, i int) int {
	for i++; i < len(b); i++ {
		c := b[i]
		if verbatim[c] || c >= utf8.RuneSelf {
			continue
		}
		switch c {
		case '"':
			return i + 1
		case '\\':
			if i = escapeEnd(b, i); i < 0 {
				return -1
			}
		default: // a control character
			return -1
		}
	}
	return -1
}

// escapeEnd returns the index of the last byte of the escape that begins at i.
func escapeEnd(b []byte, i int) int {
	switch at(b, i+1) {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return i + 1
	case 'u':
		for k := i + 2; k < i+6; k++ {
			if c := at(b, k); !isDigit(c) && (c < 'a' || c > 'f') && (c < 'A' || c > 'F') {
				return -1
			}
		}
		if isSurrogate(b[i+2], b[i+3]) {
			return -1 // Encode writes no surrogates, paired or not
		}
		return i + 5
	}
	return -1
}

// isSurrogate reports whether an escape whose four hexadecimal digits begin like this is half a
// character.
func isSurrogate(first, second byte) bool {
	return (first == 'd' || first == 'D') && (second == '8' || second == '9' || second >= 'A' && second <= 'F' ||
		second >= 'a' && second <= 'f')
}

// numberEnd returns the index after the number at i, or -1 if it exceeds float64, which some
// readers reject.
func numberEnd(b []byte, i int) int {
	end, exponent := numberSyntax(b, i)
	if end < 0 || end-i <= maxPlainNumber && exponent <= 2 {
		return end
	}
	if _, err := strconv.ParseFloat(string(b[i:end]), 64); err != nil {
		return -1
	}
	return end
}

// maxPlainNumber is the length in bytes up to which a number with a two-digit exponent is within
// float64's range.
const maxPlainNumber = 200

// numberSyntax returns the index after the number at i, or -1, and the number of digits in its
// exponent.
func numberSyntax(b []byte, i int) (end, exponent int) {
	if at(b, i) == '-' {
		i++
	}
	if at(b, i) == '0' {
		i++
	} else if i = digitsEnd(b, i); i < 0 {
		return -1, 0
	}
	if at(b, i) == '.' {
		if i = digitsEnd(b, i+1); i < 0 {
			return -1, 0
		}
	}
	if c := at(b, i); c == 'e' || c == 'E' {
		if c := at(b, i+1); c == '+' || c == '-' {
			i++
		}
		end = digitsEnd(b, i+1)
		return end, end - (i + 1)
	}
	return i, 0
}

// digitsEnd skips one digit or more.
func digitsEnd(b []byte, i int) int {
	first := i
	for isDigit(at(b, i)) {
		i++
	}
	if i == first {
		return -1
	}
	return i
}

func wordEnd(b []byte, i int, word string) int {
	if end := i + len(word); end <= len(b) && string(b[i:end]) == word {
		return end
	}
	return -1
}

// at returns the byte at i, or 0, which no JSON contains, outside of b.
func at(b []byte, i int) byte {
	if i < 0 || i >= len(b) {
		return 0
	}
	return b[i]
}
