package plainjson

import "unicode/utf8"

// plain marks the ASCII characters that need no escape in a text. encoding/json escapes a few more
// than JSON requires, so that a text can be embedded in an HTML page.
var plain = func() (table [256]bool) {
	for c := ' '; c < utf8.RuneSelf; c++ {
		table[c] = true
	}
	for _, c := range `"\<>&` {
		table[c] = false
	}
	return table
}()

// endOfPlain returns where the plain characters that begin at s[at] end. It checks eight at once,
// since nearly all are plain.
func endOfPlain[T string | []byte](s T, at int) int {
	for len(s)-at >= 8 {
		w := s[at : at+8]
		if !plain8(uint64(w[0]) | uint64(w[1])<<8 | uint64(w[2])<<16 | uint64(w[3])<<24 |
			uint64(w[4])<<32 | uint64(w[5])<<40 | uint64(w[6])<<48 | uint64(w[7])<<56) {
			break
		}
		at += 8
	}
	for at < len(s) && plain[s[at]] {
		at++
	}
	return at
}

func plain8(w uint64) bool {
	const each, top = 0x0101010101010101, 0x8080808080808080
	control := w - each*' '
	backslash := (w ^ each*'\\') - each
	quote := ((w | each*('"'^'&')) ^ each*'&') - each   // quote or ampersand: they differ in one bit
	bracket := ((w | each*('<'^'>')) ^ each*'>') - each // either bracket: they differ in one bit
	// A subtraction borrows into a character's top bit if the character is smaller or equal. A
	// character that is not plain is always found; its neighbours may be marked with it.
	return (w|control|backslash|quote|bracket)&top == 0
}
