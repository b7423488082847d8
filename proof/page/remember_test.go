package page_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/host/web"
	"github.com/interlude-go/interlude/lifecycle"
)

// N9: ada approves a payment and, for an hour of this run, all payments to the same receiver. The
// run lists the decision, names it at approved calls, and asks again after she has ended it.
func TestN9AnApprovalCountsForTheRestOfTheRun(t *testing.T) {
	w := openWorldOf(t, lifecycle.Config{Remember: 8 * time.Hour}, web.Options{})
	amount := 0
	pay := func() (engine.Outcome, error) {
		amount++
		to := "ACME"
		if amount == 3 {
			to = "Umbrella"
		}
		q := approval(t, fmt.Sprintf("Make payment %d?", amount), "pay", fmt.Sprintf(`{"amount":%d,"to":%q}`, amount, to))
		if amount == 1 {
			q.Subject.Risk = "Money leaves the account."
		}
		return engine.Ask(q), nil
	}
	w.ends = map[string]func() (engine.Outcome, error){"r": pay}
	w.ask(lifecycle.Spec{ID: "r"})
	ada := w.open("ada", "#/inbox/r/1")
	ada.sees("The same for the rest of this run")
	ada.until(`!document.querySelector(".answer select").checkVisibility()`)
	ada.press("The same for the rest of this run")
	ada.sees("Later calls of pay in this run are then approved without asking anyone.")
	require.Equal(t, []string{"Only this call", "For 1 h", "For 8 h"},
		js[[]string](ada, `[...document.querySelectorAll(".answer option")].map((e) => e.innerText)`))
	choose := func(seconds string) {
		ada.with(`document.querySelector(".answer select") ?? undefined`,
			`e.value = "`+seconds+`", e.dispatchEvent(new Event("change", { bubbles: true }))`)
	}
	choose("3600")
	ada.press("amount")
	ada.reload() // the draft includes the choice
	ada.until(`document.querySelector(".answer select")?.value === "3600"`)
	ada.press("I have read this and accept the risk.")
	ada.pictures("remember")
	ada.accessibleInBoth("an approval that counts for later calls")
	ada.press("to")
	ada.press("Approve")
	ada.sees("Choose at least one argument that must be the same.")
	ada.press("to")
	ada.press("Approve")
	ada.at("#/inbox/r/1")
	ada.sees("Your answer was recorded.")

	ada.run(`location.hash = "#/runs/r"`)
	ada.sees("Approved by ada’s decision about question 1")
	ada.seesNot("memory")
	ada.sees("Approved for later calls, too")
	ada.sees("pay: to as approved")
	ada.sees("Money leaves the account.")
	ada.sees("Make payment 3?")
	ada.pictures("remembered")
	ada.accessibleInBoth("a run that remembers a decision")
	ada.run(`location.hash = "#/inbox/r/2"`)
	ada.sees("Approved by ada’s decision about question 1")
	ada.run(`location.hash = "#/runs/r"`)
	ada.press("End the decision about question 1")
	ada.sees("The decision no longer counts for later calls.")
	ada.seesNot("Approved for later calls, too")
	ada.run(`location.hash = "#/inbox/r/3"`)
	ada.until(ready)
	ada.do(chromedp.KeyEvent("a")) // the control does not change the keys
	ada.run(`location.hash = "#/inbox/r/4"`)
	ada.sees("Make payment 4?")
	ada.until(ready)
	history, err := w.lc.History(t.Context(), "r")
	require.NoError(t, err)
	actors := make([]string, len(history))
	for i := range history {
		actors[i] = history[i].Actor
	}
	require.Equal(t, []string{"ada", "memory:1", "ada", ""}, actors)
}

// N9: the page shows the control only if the decision can be remembered.
func TestN9OnlyWhatCanBeRememberedIsOffered(t *testing.T) {
	w := openWorldOf(t, lifecycle.Config{Remember: time.Minute}, web.Options{})
	w.ask(lifecycle.Spec{ID: "one"}, approval(t, "Pay?", "pay", `{"amount":1}`))
	w.ask(lifecycle.Spec{ID: "two", Ask: &lifecycle.AskPolicy{Need: 2}}, approval(t, "Ship?", "ship", `{}`))
	ada := w.open("ada", "#/inbox/two/1")
	ada.until(ready)
	ada.seesNot("The same for the rest of this run")
	ada.run(`location.hash = "#/inbox/one/1"`)
	ada.press("The same for the rest of this run")
	ada.sees("For 1 min")
	ada.press("Reject")
	ada.seesNot("The same for the rest of this run")
}
