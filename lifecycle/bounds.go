package lifecycle

import (
	"strings"
	"unicode/utf8"
)

// Bounds of what is stored of an agent's output, in bytes. What exceeds them stands in the
// transcript.
const (
	maxFinalText = 256 << 10
	maxMessage   = 64 << 10
	maxDetail    = 4 << 10
	// maxReports bounds the messages and warnings that one turn may store.
	maxReports = 10_000
	// maxDiagnostics bounds the diagnostics of one outcome, maxOwnWarnings the codes of engines'
	// own that a run's record lists: the contract allows a hundred codes at a run's end.
	maxDiagnostics = 1000
	maxOwnWarnings = 50
)

// bounded makes text valid UTF-8 of at most limit bytes and reports whether it was cut.
func bounded(text string, limit int) (string, bool) {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) <= limit {
		return text, false
	}
	cut := limit
	for !utf8.RuneStart(text[cut]) { // the first byte is one
		cut--
	}
	return text[:cut], true
}
