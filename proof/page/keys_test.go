package page_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/lifecycle"
)

// ready is an expression: the displayed question, or several, may be decided by a key.
const ready = `document.querySelector(".panel")?.dataset.keys === "ready"`

// replies counts the replies that reach the server.
func replies(count *atomic.Int64) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/reply") {
				count.Add(1)
			}
			next.ServeHTTP(rw, r)
		})
	}
}

// keyboard counts the keys that a person presses.
type keyboard struct {
	*window

	pressed int
}

func (k *keyboard) press(keys string, options ...chromedp.KeyOption) {
	k.t.Helper()
	k.pressed += len([]rune(keys))
	k.do(chromedp.KeyEvent(keys, options...))
}

// N7: fifty decisions of five kinds need about two keys each, no mouse, and each is its own reply.
func TestN7FiftyApprovalsOfFiveKindsByKeysAlone(t *testing.T) {
	w := openWorld(t)
	w.undo = 5
	kinds := []struct {
		name string
		ask  func(i int) engine.Question
		keys func(k *keyboard)
	}{
		{"Pay", func(i int) engine.Question {
			return approval(t, fmt.Sprintf("Pay invoice %d?", i), "pay", fmt.Sprintf(`{"to":"ACME","amount":%d}`, i))
		}, func(k *keyboard) { k.press("a") }},
		{"Delete", func(i int) engine.Question {
			q := approval(t, fmt.Sprintf("Delete account %d?", i), "delete", fmt.Sprintf(`{"account":%d}`, i))
			q.Subject.Risk = "It cannot be restored."
			return q
		}, func(k *keyboard) { k.press("ya") }},
		{"Ship", func(i int) engine.Question { return confirm(fmt.Sprintf("Ship order %d?", i)) },
			func(k *keyboard) { k.press("a") }},
		{"Risk", func(i int) engine.Question {
			return engine.Question{Kind: engine.RiskAck, Prompt: fmt.Sprintf("Risk a delay of order %d?", i)}
		}, func(k *keyboard) { k.press("ya") }},
		{"Refund", func(i int) engine.Question {
			return approval(t, fmt.Sprintf("Refund order %d?", i), "refund", fmt.Sprintf(`{"order":%d}`, i))
		}, func(k *keyboard) {
			k.press("r")
			k.until(`document.activeElement.tagName === "TEXTAREA"`)
			k.press(kb.Enter, chromedp.KeyModifiers(chromedp.ModifierCtrl))
		}},
	}
	const each = 10
	for i := range each {
		for _, kind := range kinds {
			w.ask(lifecycle.Spec{ID: fmt.Sprintf("%s-%d", kind.name, i)}, kind.ask(i))
		}
	}
	ada := &keyboard{window: w.open("ada", "")}
	ada.until(`document.querySelector(".count")?.innerText === "50"`)
	ada.press(kb.Enter)
	at := ""
	skipped := false
	for n := 0; n < each*len(kinds); {
		ada.until(ready + ` && location.hash !== ` + quote(at))
		at = js[string](ada.window, "location.hash")
		if n == 7 && !skipped { // it comes again after the last one
			skipped = true
			ada.press("j")
			continue
		}
		title := js[string](ada.window, `document.querySelector("#question-title").innerText`)
		for _, kind := range kinds {
			if strings.HasPrefix(title, kind.name) {
				kind.keys(ada)
			}
		}
		n++
	}
	require.LessOrEqual(t, ada.pressed, 110)
	for i := range each {
		require.Equal(t, lifecycle.Approve, w.answered(fmt.Sprintf("Pay-%d", i))[0].Decision)
		require.Equal(t, lifecycle.Approve, w.answered(fmt.Sprintf("Delete-%d", i))[0].Decision)
		require.Equal(t, lifecycle.Reject, w.answered(fmt.Sprintf("Refund-%d", i))[0].Decision)
		require.Equal(t, "yes", w.answered(fmt.Sprintf("Ship-%d", i))[0].Text)
		require.Equal(t, "yes", w.answered(fmt.Sprintf("Risk-%d", i))[0].Text)
	}
}

// N7: a held key, a second press, and a press meant for the question before decide nothing twice.
func TestN7ARepeatedKeyNeverDecidesTwice(t *testing.T) {
	var sent atomic.Int64
	w := openWorld(t, replies(&sent))
	w.undo = 60
	w.ask(lifecycle.Spec{ID: "a"}, approval(t, "Pay A?", "pay", `{"amount":1}`))
	w.ask(lifecycle.Spec{ID: "b"}, approval(t, "Pay B?", "pay", `{"amount":2}`))
	ada := w.open("ada", "#/inbox/a/1")
	ada.until(ready)
	yes := true
	down := input.DispatchKeyEventParams{Type: "keyDown", Key: "a", Text: "a"}
	repeated := down
	repeated.AutoRepeat = &yes
	call(ada, input.DispatchKeyEvent, repeated)
	require.Equal(t, "#/inbox/a/1", js[string](ada, "location.hash"), "a held key decides nothing")
	ada.run(`const pressed = performance.now(); performance.now = () => pressed`) // both presses at this time
	call(ada, input.DispatchKeyEvent, down)
	ada.at("#/inbox/b/1")
	ada.until(`document.querySelector(".panel")?.dataset.keys !== undefined`)
	// The second press of a double press is for the question before, which is no longer in view.
	ada.run(`document.dispatchEvent(new KeyboardEvent("keydown", { key: "a", bubbles: true }))
		delete performance.now`)
	ada.until(ready)
	ada.until(`document.querySelectorAll("a.row.answered").length === 1`)
	ada.run(`location.hash = "#/inbox/a/1"`)
	ada.sees("Approved:")
	call(ada, input.DispatchKeyEvent, down) // in flight
	ada.do(chromedp.KeyEvent("u"))
	ada.sees("Taken back. Nothing was sent.")
	ada.until(`document.querySelectorAll("a.row.answered").length === 0`)
	require.Zero(t, sent.Load())
}

// N7: an answer can be taken back for a while; it is sent when the time ends.
func TestN7AnAnswerIsTakenBackWithinItsTime(t *testing.T) {
	var sent atomic.Int64
	w := openWorld(t, replies(&sent))
	w.undo = 60
	w.ask(lifecycle.Spec{ID: "a"}, confirm("Ship A?"))
	w.ask(lifecycle.Spec{ID: "b"}, openText("What shall the headline be?"))
	ada := w.open("ada", "#/inbox/b/1")
	ada.write("Your answer", "Spring is here")
	ada.press("Send answer")
	ada.sees("Answered “Spring is here”:")
	ada.press("Undo")
	ada.sees("Taken back. Nothing was sent.")
	ada.until(`document.querySelector("textarea").value === "Spring is here"`)
	ada.run(`location.hash = "#/inbox/a/1"`)
	ada.until(ready)
	ada.do(chromedp.KeyEvent("r"))
	ada.at("#/inbox/b/1")
	ada.sees("Answered “No”:")
	ada.pictures("undo")
	ada.accessibleInBoth("an answer that can be taken back")
	ada.run(`document.querySelector("h1").focus()`)
	ada.do(chromedp.KeyEvent("u"))
	ada.at("#/inbox/a/1")
	require.Zero(t, sent.Load())

	w.undo = 5
	w.ask(lifecycle.Spec{ID: "c"}, confirm("Ship C?"))
	bob := w.open("bob", "#/inbox/c/1")
	bob.run(`localStorage["interlude-settings /desk/"] = JSON.stringify({})`) // the default
	bob.reload()
	bob.until(ready)
	before := time.Now()
	bob.do(chromedp.KeyEvent("a"))
	require.Equal(t, "yes", w.answered("c")[0].Text)
	require.GreaterOrEqual(t, time.Since(before), 5*time.Second)
	require.EqualValues(t, 1, sent.Load())
}

// N7: a page that closes or is reloaded sends its held answers, once.
func TestN7APageThatClosesSendsWhatItHolds(t *testing.T) {
	var sent atomic.Int64
	w := openWorld(t, replies(&sent))
	w.undo = 60
	w.ask(lifecycle.Spec{ID: "a"}, confirm("Ship A?"))
	w.ask(lifecycle.Spec{ID: "b"}, confirm("Ship B?"))
	ada := w.open("ada", "#/inbox/a/1")
	ada.run(`document.cookie = "user=ada; path=/desk/"`)
	ada.until(ready)
	ada.do(chromedp.KeyEvent("a"))
	ada.at("#/inbox/b/1")
	require.Zero(t, sent.Load())
	ada.do(chromedp.Navigate("about:blank"))
	require.Equal(t, "yes", w.answered("a")[0].Text)
}

// N7: no key acts within a field, all can be switched off, and a dialog lists them.
func TestN7KeysCanBeSwitchedOff(t *testing.T) {
	var sent atomic.Int64
	w := openWorld(t, replies(&sent))
	w.ask(lifecycle.Spec{ID: "a"}, confirm("Ship A?"))
	w.ask(lifecycle.Spec{ID: "b"}, confirm("Ship B?"))
	ada := w.open("ada", "#/inbox/a/1")
	key := func(keys string) { ada.do(chromedp.KeyEvent(keys)) }
	ada.until(ready)
	key("/")
	ada.until(`document.activeElement.type === "search"`)
	key("raj?")
	ada.until(`document.activeElement.value.endsWith("raj?")`)
	ada.run(`document.activeElement.select()`)
	key(kb.Delete + kb.Escape)
	ada.until(`document.activeElement.matches("a.row")`)
	key("gr")
	ada.at("#/runs")
	key("gi")
	ada.at("#/inbox")
	key("?")
	ada.sees("Approve, or yes")
	ada.pictures("settings")
	ada.accessibleInBoth("the settings")
	key("a") // the dialog keeps its keys
	ada.run(`document.querySelector("#set-theme").value = "dark"
		document.querySelector("#set-theme").dispatchEvent(new Event("change", { bubbles: true }))`)
	ada.until(`getComputedStyle(document.body).backgroundColor === "rgb(18, 19, 21)"`)
	ada.press("Use single keys")
	ada.press("Close")
	ada.run(`location.hash = "#/inbox/a/1"`)
	ada.until(ready)
	key("a")
	key("j")
	ada.reload()
	ada.until(ready)
	key("a")
	require.Equal(t, "#/inbox/a/1", js[string](ada, "location.hash"))
	require.Equal(t, "dark", js[string](ada, "document.documentElement.dataset.theme"))
	require.Zero(t, sent.Load())
	ada.run(`localStorage["interlude-settings /desk/"] = JSON.stringify({ keys: false, undo: 60 })`)
	ada.reload()
	ada.until(ready)
	ada.press("Yes")
	ada.until(`document.getElementById("announce").textContent.endsWith("will be sent in 60 seconds.")`)
}

// N7: Ctrl + Enter sends the text as the person writes it: a rejection is never sent as an approval.
func TestN7CtrlEnterInAReasonRejects(t *testing.T) {
	w := openWorld(t)
	w.ask(lifecycle.Spec{ID: "a"}, approval(t, "Pay?", "pay", `{"amount":1}`))
	ada := w.open("ada", "#/inbox/a/1")
	ada.press("Reject")
	ada.write("Reason", "Too dear.")
	ada.do(chromedp.KeyEvent(kb.Enter, chromedp.KeyModifiers(chromedp.ModifierCtrl)))
	answer := w.answered("a")[0]
	require.Equal(t, lifecycle.Reject, answer.Decision)
	require.Equal(t, "Too dear.", answer.Text)
}

// N7: a person with a mouse continues before the time to undo ends. The bar shows the answer that Undo takes back, also
// that of the displayed question. A person who has voted continues, too.
func TestN7AMouseContinuesBeforeTheAnswerIsSent(t *testing.T) {
	w := openWorld(t)
	w.undo = 60
	w.ask(lifecycle.Spec{ID: "a"}, confirm("Ship A?"))
	w.ask(lifecycle.Spec{ID: "b"}, confirm("Ship B?"))
	limit := approval(t, "Raise the limit?", "limit", `{"limit":2}`)
	limit.Need = 2
	w.ask(lifecycle.Spec{ID: "c"}, limit)
	ada := w.open("ada", "#/inbox/a/1")
	ada.press("Yes")
	ada.press("Next question")
	ada.at("#/inbox/b/1")
	ada.press("No")
	ada.sees("2 answers wait. The last:")
	ada.until(`document.querySelector("#outbox").innerText.includes("Ship B?")`)
	ada.press("Undo")
	ada.sees("Taken back. Nothing was sent.")
	ada.until(`document.querySelector("#outbox").innerText.includes("Ship A?")`)
	ada.run(`localStorage["interlude-settings /desk/"] = JSON.stringify({ undo: 0 })
		location.hash = "#/inbox/c/1"`)
	ada.reload()
	ada.press("Approve")
	ada.sees("The question waits for more votes.")
	ada.press("Next question")
	ada.at("#/inbox/b/1")
}

// N7: Enter and E lead to the first field of a form, not to the choice between fields and JSON.
func TestN7EnterLeadsToTheFirstField(t *testing.T) {
	w := openWorld(t)
	w.ask(lifecycle.Spec{ID: "a"}, engine.Question{Kind: engine.FillFields, Prompt: "What shall I order?",
		Schema: []byte(order)})
	w.ask(lifecycle.Spec{ID: "b"}, approval(t, "Pay?", "pay", `{"to":"ACME"}`))
	ada := w.open("ada", "#/inbox/a/1")
	for _, at := range []struct{ run, key, first string }{{"a", kb.Enter, "/name"}, {"b", "e", "/to"}} {
		ada.run(fmt.Sprintf(`location.hash = "#/inbox/%s/1"`, at.run))
		ada.at("#/inbox/" + at.run + "/1")
		ada.until(ready)
		ada.do(chromedp.KeyEvent(at.key))
		ada.until(`document.activeElement.closest(".field")?.dataset.pointer === ` + quote(at.first))
	}
}

// L1: in both languages the page is never wider than its window, down to 320 pixels, and the decisions
// need at most two rows.
func TestL1ThePageFitsSmallWindows(t *testing.T) {
	w := openWorld(t)
	w.ask(lifecycle.Spec{ID: "a"}, approval(t, "Pay?", "pay", `{"to":"ACME"}`))
	ada := w.open("ada", "#/inbox/a/1")
	for _, language := range []string{"de", "en"} {
		ada.run(fmt.Sprintf(`localStorage["interlude-settings /desk/"] = JSON.stringify({ language: %q })`, language))
		ada.reload()
		ada.until(ready)
		for _, width := range []int64{390, 320} {
			ada.size(width, 800, 1, true)
			ada.until(fmt.Sprintf(`innerWidth === %d && document.documentElement.scrollWidth === %[1]d`, width))
			require.LessOrEqual(t, js[int](ada, `new Set([...document.querySelectorAll(".brief > .buttons button")].map(
				(b) => b.getBoundingClientRect().top)).size`), 2, "rows of decisions, %s at %d", language, width)
		}
		ada.desk()
	}
}
