package agent

import (
	"slices"
	"strings"
	"unicode"
)

// yes reports whether a text agrees. In doubt it does not: a person who writes "I do not accept
// that" must not be misread.
func yes(text string) bool {
	words := strings.FieldsFunc(strings.ToLower(strings.ReplaceAll(text, "’", "'")), func(r rune) bool {
		return r != '\'' && !unicode.IsLetter(r)
	})
	agrees := false
	for _, word := range words {
		if strings.HasSuffix(word, "n't") || slices.Contains([]string{"no", "nope", "not", "never", "cannot", "refuse",
			"decline", "tent"}, word) {
			return false
		}
		agrees = agrees || slices.Contains([]string{"y", "yes", "yeah", "sure", "ok", "okay", "fine", "accept",
			"accepted", "true"}, word)
	}
	return agrees
}
