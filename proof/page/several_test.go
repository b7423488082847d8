package page_test

import (
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/lifecycle"
)

// N7: several alike are decided once; the table shows the differences; each risk is acknowledged;
// each is its own reply, and a question that bob has settled stops none of the others.
func TestN7SeveralAlikeAreDecidedOnce(t *testing.T) {
	var sent atomic.Int64
	w := openWorld(t, replies(&sent))
	w.undo = 60
	for i := range 4 {
		q := approval(t, "Refund the customer?", "refund", fmt.Sprintf(`{"currency":"EUR","order":%d,"to":"A\u202eB"}`, i))
		if i == 1 {
			q.Subject.Risk = "The account is new."
		}
		w.ask(lifecycle.Spec{ID: fmt.Sprintf("r-%d", i)}, q)
	}
	w.ask(lifecycle.Spec{ID: "other"}, openText("What shall the headline be?"))
	ada := w.open("ada", "")
	ada.sees("5 questions wait for you.")
	key := func(keys string) { ada.do(chromedp.KeyEvent(keys)) }
	key("j")
	for i := range 4 {
		ada.at(fmt.Sprintf("#/inbox/r-%d/1", i))
		key("xj")
	}
	ada.at("#/inbox/other/1")
	key("x")
	ada.sees("5 selected")
	key("b")
	ada.sees("Only approvals and questions for yes or no can be decided together")
	ada.run(`document.querySelector('[aria-label="Remove other from the selection"]').click()`)
	ada.sees("Decide about 4 questions at once")
	ada.sees("The same in all")
	ada.until(`document.querySelector(".panel .call").innerText.includes("AU+202EB")`)
	ada.until(`[...document.querySelectorAll(".several th[scope=col]")].map((e) => e.innerText).join() ===
		"Run,order,Risk,Result"`)
	ada.pictures("several")
	ada.accessibleInBoth("several questions")
	ada.until(ready)
	key("a")
	ada.sees("Acknowledge 1 risk first, each in its row.")
	ada.press("I have read this and accept the risk.")
	ada.press("Approve all 4")
	ada.until(`document.querySelectorAll(".several .result time").length === 4`)
	ada.run(`document.querySelector(".panel h1").focus()`)
	key("u") // all of the action
	ada.until(`document.querySelectorAll(".several .result time").length === 0`)
	require.Zero(t, sent.Load())

	ada.run(`localStorage["interlude-settings /desk/"] = JSON.stringify({ undo: 0 })`)
	ada.run(`dispatchEvent(new StorageEvent("storage", { key: "interlude-settings /desk/" }))`)
	_, err := w.lc.Reply(t.Context(), "r-2", lifecycle.Reply{ID: 1, Decision: lifecycle.Reject,
		Actor: lifecycle.Actor{ID: "bob"}})
	require.NoError(t, err)
	ada.press("Approve all 4")
	ada.until(`[...document.querySelectorAll(".several .result")].map((e) => e.innerText.trim())
		.filter((text) => text === "recorded").length === 3`)
	ada.until(`document.querySelectorAll(".several .result .fault").length === 1`)
	for _, i := range []int{0, 1, 3} {
		require.Equal(t, lifecycle.Approve, w.answered(fmt.Sprintf("r-%d", i))[0].Decision)
	}
	history, err := w.lc.History(t.Context(), "r-1")
	require.NoError(t, err)
	other, err := w.lc.History(t.Context(), "r-3")
	require.NoError(t, err)
	require.NotEqual(t, history[0].Key, other[0].Key)
	require.NotEmpty(t, history[0].Seen)
	require.NotEqual(t, history[0].Seen, other[0].Seen)

	ada.press("Answers")
	ada.sees("Your answers")
	ada.until(`document.querySelectorAll(".given-answer").length === 3`)
	ada.sees("Approved by you")
	ada.sees("The answer was:")
	ada.pictures("answers")
	ada.accessibleInBoth("a person's answers")
	bob := w.open("bob", "#/answers")
	bob.sees("Rejected by you")
	bob.until(`document.querySelectorAll(".given-answer").length === 1`)
}
