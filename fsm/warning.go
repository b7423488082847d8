package fsm

import (
	"slices"
	"strings"
)

// Own reports whether the code is in the contract's namespace for engines.
func (w Warning) Own() bool {
	rest, ok := strings.CutPrefix(string(w), OwnWarningPrefix)
	return ok && rest != "" && len(w) <= OwnWarningLongest && strings.Trim(rest,
		"ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == ""
}

// Declared reports whether events may have the code: a code of the contract, or in the namespace
// for engines.
func (w Warning) Declared() bool { return w.Own() || slices.Contains(Warnings(), w) }

// Question reports whether the code concerns a question.
func (w Warning) Question() bool { return strings.HasPrefix(string(w), "ASK_USER_") }
