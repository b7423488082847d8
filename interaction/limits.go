package interaction

import (
	"strings"
	"unicode/utf8"
)

// Limits of texts from agents and people, in bytes or entries. Longer text from an agent is cut,
// with a diagnostic; longer text from a person is an error.
const (
	MaxReplyText = 256 << 10
	MaxKey       = 255
	MaxActor     = 255

	MaxPromptText     = 32 << 10
	MaxContext        = 32 << 10
	MaxOptions        = 100
	MaxLabel          = 1 << 10
	MaxSummary        = 200
	MaxRequiredFields = 100
	MaxUIHints        = 8 << 10 // as JSON
	MaxRef            = 512

	// MaxAskUser is the largest question text that is read, MaxDepth its maximal nesting, MaxOutput
	// the largest output.
	MaxAskUser = 64 << 10
	MaxDepth   = 16
	MaxOutput  = 1 << 20
)

// cut returns s as valid UTF-8 of at most limit bytes, without NUL, and whether it was shortened.
func cut(s string, limit int) (string, bool) {
	s = strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
	if len(s) <= limit {
		return s, false
	}
	end := limit
	for !utf8.RuneStart(s[end]) { // a valid text begins with one
		end--
	}
	return s[:end], true
}
