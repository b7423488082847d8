package fsm

import (
	"slices"
	"strings"
)

// Own reports whether the code is an engine's own: in the contract's namespace for them (WC-00).
func (w Warning) Own() bool {
	rest, ok := strings.CutPrefix(string(w), OwnWarningPrefix)
	return ok && rest != "" && len(w) <= OwnWarningLongest && strings.Trim(rest,
		"ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == ""
}

// Declared reports whether events may have the code: it is one of the contract's codes, or an
// engine's own (IV-22).
func (w Warning) Declared() bool { return w.Own() || slices.Contains(Warnings(), w) }

// Question reports whether the code concerns a question.
func (w Warning) Question() bool { return strings.HasPrefix(string(w), "ASK_USER_") }
