package plainjson

// maxDepth bounds the depth of JSON of any shape that is read here. Deeper values are left to
// encoding/json.
const maxDepth = 64

// endOfValue returns where the JSON value that begins at body[at] ends, if it is valid and in
// encoding/json's form: without blanks, and with the same characters escaped. Otherwise, and beyond
// maxDepth, it returns -1.
func endOfValue(body []byte, at, depth int) int {
	if at >= len(body) || depth > maxDepth {
		return -1
	}
	switch c := body[at]; {
	case c == '{':
		return endOfObject(body, at+1, depth)
	case c == '[':
		return endOfArray(body, at+1, depth)
	case c == '"':
		return endOfText(body, at+1)
	case c == '-' || isDigit(c):
		return endOfNumber(body, at)
	}
	for _, word := range [...]string{"true", "false", "null"} {
		if has(body, at, word) {
			return at + len(word)
		}
	}
	return -1
}

// endOfAny returns the end of the object, array or text that begins at body[at], if it is valid
// JSON in any form, not deeper than maxDepth; otherwise -1.
func endOfAny(body []byte, at int) int {
	depth := 0
	for ; at < len(body); at++ {
		switch body[at] {
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		case '"':
			for at++; at < len(body) && body[at] != '"'; at++ {
				if body[at] == '\\' {
					at++
				}
			}
		default:
			if depth == 0 {
				return -1
			}
		}
		if depth == 0 {
			return min(at+1, len(body))
		}
		if depth > maxDepth {
			return -1
		}
	}
	return -1
}

func endOfObject(body []byte, at, depth int) int {
	if has(body, at, "}") {
		return at + 1
	}
	for has(body, at, `"`) {
		if at = endOfText(body, at+1); !has(body, at, ":") {
			return -1
		}
		at = endOfValue(body, at+1, depth+1)
		switch {
		case has(body, at, "}"):
			return at + 1
		case !has(body, at, ","):
			return -1
		}
		at++
	}
	return -1
}

func endOfArray(body []byte, at, depth int) int {
	if has(body, at, "]") {
		return at + 1
	}
	for {
		at = endOfValue(body, at, depth+1)
		switch {
		case has(body, at, "]"):
			return at + 1
		case !has(body, at, ","):
			return -1
		}
		at++
	}
}

// endOfText begins after the opening quote.
func endOfText(body []byte, at int) int {
	for at < len(body) {
		switch c := body[at]; {
		case plain[c]:
			at = endOfPlain(body, at)
		case c == '"':
			return at + 1
		case c == '\\':
			if at = endOfEscape(body, at+1); at < 0 {
				return -1
			}
		case c < 0x80 || separates(body[at:]):
			return -1
		default:
			at++ // invalid UTF-8 is accepted, as encoding/json does in a json.RawMessage
		}
	}
	return -1
}

// separates reports whether a line or paragraph separator comes next.
func separates(b []byte) bool {
	return len(b) > 2 && b[0] == 0xE2 && b[1] == 0x80 && (b[2] == 0xA8 || b[2] == 0xA9)
}

// endOfEscape begins after the backslash.
func endOfEscape(body []byte, at int) int {
	if at >= len(body) {
		return -1
	}
	switch body[at] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return at + 1
	case 'u':
		if _, ok := hex4(body, at+1); ok {
			return at + 5
		}
	}
	return -1
}

func hex4(body []byte, at int) (v rune, ok bool) {
	if len(body)-at < 4 {
		return 0, false
	}
	for _, c := range body[at : at+4] {
		switch {
		case isDigit(c):
			v = v<<4 | rune(c-'0')
		case 'a' <= c|0x20 && c|0x20 <= 'f':
			v = v<<4 | rune(c|0x20-'a'+10)
		default:
			return 0, false
		}
	}
	return v, true
}

func endOfNumber(body []byte, at int) int {
	if has(body, at, "-") {
		at++
	}
	first := at
	if at = endOfDigits(body, at); at < 0 || body[first] == '0' && at > first+1 {
		return -1
	}
	if has(body, at, ".") {
		if at = endOfDigits(body, at+1); at < 0 {
			return -1
		}
	}
	if has(body, at, "e") || has(body, at, "E") {
		at++
		if has(body, at, "+") || has(body, at, "-") {
			at++
		}
		at = endOfDigits(body, at)
	}
	return at
}

// endOfDigits requires at least one digit.
func endOfDigits(body []byte, at int) int {
	first := at
	for at < len(body) && isDigit(body[at]) {
		at++
	}
	if at == first {
		return -1
	}
	return at
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// has reports whether the word comes next. It returns false after a failure, at -1. Most words do
// not come next and many begin alike, so the middle byte is compared first.
func has(body []byte, at int, word string) bool {
	return at >= 0 && len(body)-at >= len(word) && body[at+len(word)/2] == word[len(word)/2] &&
		string(body[at:at+len(word)]) == word
}
