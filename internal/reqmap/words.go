package reqmap

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

// Ids are short, so they occur by chance: in base64, hex, percent escapes and UUIDs. An id
// therefore counts only where a person would write it: as a word of a sentence or a list, or at the
// beginning of a part of a function's name.
var (
	word   = regexp.MustCompile(`[A-R][0-9]{1,2}`)
	inName = regexp.MustCompile(`(?:^(?:Test|Fuzz|Example)|_)((?:[A-R][0-9]{1,2})+)(?:[A-Z_]|$)`)
)

// The characters that may be next to an id in a text: "(D3)", "D3/F2: it waits", "B1–B11", "G4's".
const (
	before = " \t\n(,;:/[\"'`–"
	after  = " \t\n),;:./]\"'`–’"
)

func idsInText(text string) []string {
	var ids []string
	for _, at := range word.FindAllStringIndex(text, -1) {
		left, _ := utf8.DecodeLastRuneInString(text[:at[0]])
		right, _ := utf8.DecodeRuneInString(text[at[1]:])
		if (at[0] == 0 || strings.ContainsRune(before, left)) && (at[1] == len(text) || strings.ContainsRune(after,
			right)) {
			ids = append(ids, text[at[0]:at[1]])
		}
	}
	return ids
}

// idsInName finds the ids in the name of a function: TestD3F2Sticky, Test_D3_sticky,
// FuzzC2Question.
func idsInName(name string) []string {
	var ids []string
	for _, m := range inName.FindAllStringSubmatch(name, -1) {
		ids = append(ids, word.FindAllString(m[1], -1)...)
	}
	return ids
}
