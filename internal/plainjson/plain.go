package plainjson

import "unicode/utf8"

// plain tells the ASCII characters that stand for themselves in a text: not those that JSON
// escapes, and not those that encoding/json escapes as well, so that a text can stand in a page.
var plain = func() (table [256]bool) {
	for c := ' '; c < utf8.RuneSelf; c++ {
		table[c] = true
	}
	for _, c := range `"\<>&` {
		table[c] = false
	}
	return table
}()

// endOfPlain returns where the plain characters that begin at s[at] end. It looks at eight of them
// at once: most of what is written is plain.
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

// plain8 says whether all of eight characters are plain.
func plain8(w uint64) bool {
	const each, top = 0x0101010101010101, 0x8080808080808080
	control := w - each*' '
	backslash := (w ^ each*'\\') - each
	quote := ((w | each*('"'^'&')) ^ each*'&') - each   // or ampersand: they differ in one bit
	bracket := ((w | each*('<'^'>')) ^ each*'>') - each // of either side
	// A subtraction borrows into a character's top bit where the character is less, or the same;
	// one that is not plain is found for certain, its neighbours perhaps with it.
	return (w|control|backslash|quote|bracket)&top == 0
}
