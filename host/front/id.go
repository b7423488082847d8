package front

import (
	"crypto/rand"
	"strings"
)

// RunID returns the id of the run for an id that the client chose, such as a thread or a chat. It
// depends on the principal (Actor.ID), so that no client can name the run of another principal.
func RunID(principal, protocol, id string) string {
	return protocol + "-" + digest(principal, protocol, id)
}

// NewRunID returns a new id that only its principal can use: Owns verifies it without any stored
// state.
func NewRunID(principal, protocol string) string {
	nonce := strings.ToLower(rand.Text())
	return protocol + "-" + nonce + "-" + digest(principal, protocol, nonce)
}

// Owns reports whether NewRunID made the id for this principal. A front end answers for any other id
// as for an unknown run.
func Owns(principal, protocol, id string) bool {
	nonce, found := strings.CutPrefix(id, protocol+"-")
	if !found {
		return false
	}
	nonce, mark, found := strings.Cut(nonce, "-")
	return found && mark == digest(principal, protocol, nonce)
}
