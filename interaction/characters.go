package interaction

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Character classifies characters for display, by one table for all front ends. A character may
// have several classes.
type Character uint8

// Classes of characters. A character without a class is shown unchanged.
const (
	// Hidden characters are shown by number, since a screen would hide them, confuse them with
	// others, or reorder others: control and format characters, white space except space, tab and
	// line feed, variation selectors, fillers, private-use and unassigned characters.
	Hidden Character = 1 << iota
	// SingleSpace is white space that prose may contain singly: U+00A0, U+202F and U+3000.
	SingleSpace
	// Emoji are pictographs; several can be joined into one.
	Emoji
	// Virama joins the letters of an Indic script around it.
	Virama
	// JoinsNext are letters whose form depends on the next letter.
	JoinsNext
	// JoinsPrevious are letters whose form depends on the previous letter.
	JoinsPrevious
	// Vowel are marks between joining letters that do not prevent joining.
	Vowel
)

// CharacterOf returns the classes of a character.
func CharacterOf(r rune) Character {
	var c Character
	if hidden(r) {
		c = Hidden
	}
	if r < 0xa0 { // ASCII and control characters
		return c
	}
	switch {
	case r == '\u00a0', r == '\u202f', r == '\u3000':
		c |= SingleSpace
	case c != 0:
	case unicode.Is(emoji, r):
		c = Emoji
	case unicode.Is(viramas, r):
		c = Virama
	case r >= 0x610 && r < 0x900 && unicode.Is(unicode.Mn, r):
		c = Vowel
	case r == kashida, unicode.IsLetter(r) && unicode.In(r, unicode.Arabic, unicode.Syriac, unicode.Mongolian,
		unicode.Nko, unicode.Mandaic, unicode.Adlam, unicode.Hanifi_Rohingya) && !unicode.Is(unjoined, r):
		c = JoinsPrevious
		if !unicode.Is(endings, r) {
			c |= JoinsNext
		}
	}
	return c
}

const (
	kashida   = '\u0640'
	nonJoiner = '\u200c'
	joiner    = '\u200d'
	pictured  = '\ufe0f' // shows the preceding character as a picture
	keycap    = '\u20e3'

	repha = "\u09b0\u0cb0" // a joiner before a virama keeps these letters in full
)

// blank are characters that many fonts draw as nothing.
var blank = &unicode.RangeTable{
	R16: []unicode.Range16{{0x2800, 0x2800, 1}, {0xfffc, 0xfffc, 1}},
	R32: []unicode.Range32{{0x13441, 0x13442, 1}, {0x16fe4, 0x16fe4, 1}, {0x1d159, 0x1d159, 1}},
}

func hidden(r rune) bool {
	if r < utf8.RuneSelf {
		return r != '\n' && r != '\t' && (r < ' ' || r == 0x7f)
	}
	return !unicode.IsPrint(r) || unicode.In(r, unicode.Other_Default_Ignorable_Code_Point,
		unicode.Variation_Selector, blank)
}

// Visible returns s with every character that a screen would hide written out: hidden characters by
// number, as \u{202E}; invalid UTF-8 by byte, as \x{FF}; long white space and repeated hidden
// characters by count: [4000 white-space characters], [20 × U+00A0]. Line breaks, tabs and ordinary
// indentation stay. Use it for arguments, values, names and ids, where every character counts.
func Visible(s string) string { return visible(s, false) }

// VisibleProse is Visible for natural language: prompts, contexts, titles, labels and messages. It
// keeps U+FE0F and U+200D within emoji; U+200C and U+200D where they change the form of letters
// (Unicode Standard Annex 31); U+00A0, U+202F and U+3000 singly between visible characters; and a
// carriage return before a line feed.
func VisibleProse(s string) string { return visible(s, true) }

// longSpace is the length from which white space is counted instead of shown: a screen may collapse
// it, or push the rest off its edge. Indentation may be wider, since it begins at the edge.
const (
	longSpace   = 16
	longIndent  = 64
	longBreak   = 8
	columnsOfHT = 4
)

func visible(s string, prose bool) string {
	if !strings.ContainsFunc(s, func(r rune) bool { return r == utf8.RuneError || hidden(r) }) &&
		!strings.Contains(s, "    ") && !strings.Contains(s, "\t\t") && strings.Count(s, "\n") < longBreak {
		return s
	}
	t := charactersOf(s, prose)
	var b strings.Builder
	for i := 0; i < len(t); {
		r := t[i]
		switch {
		case r == ' ' || r == '\t' || r == '\n':
			n, long := t.space(i)
			if long {
				fmt.Fprintf(&b, "[%d white-space characters]", n)
			} else {
				b.WriteString(string(t[i : i+n]))
			}
			i += n
			continue
		case r < 0:
			fmt.Fprintf(&b, `\x{%02X}`, -r)
		case !hidden(r), prose && t.belongs(i):
			b.WriteRune(r)
		default:
			n := 1
			for i+n < len(t) && t[i+n] == r {
				n++
			}
			if n >= longSpace {
				fmt.Fprintf(&b, "[%d × U+%04X]", n, r)
				i += n
				continue
			}
			fmt.Fprintf(&b, `\u{%04X}`, r)
		}
		i++
	}
	return b.String()
}

// characters is a text in which negative numbers encode bytes of invalid UTF-8.
type characters []rune

func charactersOf(s string, prose bool) characters {
	if prose {
		s = strings.ReplaceAll(s, "\r\n", "\n")
	}
	t := make(characters, 0, len(s))
	for s != "" {
		r, size := utf8.DecodeRuneInString(s)
		if r == utf8.RuneError && size == 1 {
			r = -rune(s[0])
		}
		t, s = append(t, r), s[size:]
	}
	return t
}

// space returns the length of the white space at i, and whether it must be counted.
func (t characters) space(i int) (n int, long bool) {
	columns, most, breaks := 0, longSpace-1, 0
	if i == 0 {
		most = longIndent
	}
	for ; i+n < len(t); n++ {
		switch t[i+n] {
		case ' ':
			columns++
		case '\t':
			columns += columnsOfHT
		case '\n':
			breaks++
			columns, most = 0, longIndent
		default:
			return n, long
		}
		long = long || columns > most || breaks >= longBreak
	}
	return n, long
}

func (t characters) at(i int) rune {
	if i < 0 || i >= len(t) {
		return 0
	}
	return t[i]
}

func (t characters) is(i int, kind Character) bool { return CharacterOf(t.at(i))&kind != 0 }

// belongs reports whether the hidden character at i is legitimate in the surrounding prose.
func (t characters) belongs(i int) bool {
	switch t[i] {
	case pictured:
		digit := strings.ContainsRune("0123456789#*", t.at(i-1))
		return t.is(i-1, Emoji) || digit && t.at(i+1) == keycap
	case joiner:
		before := i - 1
		if t.at(before) == pictured {
			before--
		}
		if t.is(before, Emoji) && t.is(i+1, Emoji) {
			return true
		}
		return t.is(i-1, Virama) || t.is(i+1, Virama) && strings.ContainsRune(repha, t.at(i-1))
	case nonJoiner:
		if t.is(i-1, Virama) {
			return t.seen(i + 1)
		}
		before, after := i-1, i+1
		for t.is(before, Vowel) {
			before--
		}
		for t.is(after, Vowel) {
			after++
		}
		return t.is(before, JoinsNext) && t.is(after, JoinsPrevious)
	}
	return t.is(i, SingleSpace) && t.seen(i-1) && t.seen(i+1)
}

func (t characters) seen(i int) bool {
	r := t.at(i)
	return r > ' ' && !hidden(r)
}

// Break returns the last offset up to limit, in bytes, where s can be split without splitting a
// grapheme, such as a joined emoji or a letter with its accents. A grapheme of more than 64 parts
// is split.
func Break(s string, limit int) int {
	if limit >= len(s) {
		return len(s)
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	at := limit
	for range 64 {
		if at == 0 || !continues(s[:at], s[at:]) {
			return at
		}
		_, size := utf8.DecodeLastRuneInString(s[:at])
		at -= size
	}
	return limit
}

// continues reports whether after begins within the grapheme that ends before.
func continues(before, after string) bool {
	last, _ := utf8.DecodeLastRuneInString(before)
	next, _ := utf8.DecodeRuneInString(after)
	if flag(last) && flag(next) { // flags are pairs
		n := 0
		for _, r := range before {
			if n++; !flag(r) {
				n = 0
			}
		}
		return n%2 == 1
	}
	return last == joiner || next == joiner || unicode.In(next, unicode.M, unicode.Variation_Selector, skinTones)
}

func flag(r rune) bool { return r >= 0x1f1e6 && r <= 0x1f1ff }

var skinTones = &unicode.RangeTable{R32: []unicode.Range32{{0x1f3fb, 0x1f3ff, 1}}}
