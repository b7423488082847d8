//go:build search

package page_test

import (
	"testing"

	"github.com/interlude-go/interlude/lifecycle"
)

// L1: who is not asked is not offered to ask others, nor who is kept from it by another's claim.
func TestL1OnlyWhoIsAskedIsOfferedToAskOthers(t *testing.T) {
	w := openWorld(t)
	w.ask(lifecycle.Spec{ID: "r", Ask: &lifecycle.AskPolicy{To: &lifecycle.Audience{Groups: []string{"finance"}}}},
		openText("How do we book this?"))
	const offered = `[...document.querySelectorAll("summary")].some((s) => s.innerText === "Ask others")`
	ada, eve := w.open("ada", "#/inbox/r/1"), w.open("eve", "#/inbox/r/1")
	eve.sees("This question is not for you.")
	eve.until("!" + offered)
	ada.until(offered)
	bob := w.open("bob", "#/inbox/r/1")
	bob.press("Work on this for 15 minutes")
	ada.sees("bob works on this question.")
	ada.until("!" + offered)
	bob.until(offered)
}
