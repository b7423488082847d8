package page_test

import (
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/lifecycle"
)

// L3: a reload in the middle of typing loses nothing, in a text, a form and edited arguments.
func TestL3AReloadInTheMiddleOfTypingLosesNothing(t *testing.T) {
	w := openWorld(t)
	w.ask(lifecycle.Spec{ID: "text"}, openText("What shall the headline be?"))
	w.ask(lifecycle.Spec{ID: "form"}, engine.Question{Kind: engine.FillFields, Prompt: "What shall I order?",
		Schema: []byte(order)})
	w.ask(lifecycle.Spec{ID: "call"}, approval(t, "Pay?", "pay", `{"to":"ACME","amount":420}`))
	ada := w.open("ada", "#/inbox/text/1")
	ada.write("Your answer", "Spring is h")
	ada.reload()
	ada.until(`document.querySelector("textarea")?.value === "Spring is h"`)
	ada.run(`location.hash = "#/inbox/form/1"`)
	ada.write("How many", "12 or so")
	ada.press("medium")
	ada.press("Add one")
	ada.write("No. 1", "ring tw")
	ada.reload()
	field := func(pointer string) string {
		return `document.querySelector('[data-pointer="` + pointer + `"] :is(input:checked, input[type=text], textarea)')`
	}
	ada.until(field("/count") + `?.value === "12 or so"`)
	ada.until(field("/size") + `?.closest("label").innerText === "medium"`)
	ada.until(field("/notes/0") + `?.value === "ring tw"`)
	ada.run(`location.hash = "#/inbox/call/1"`)
	ada.press("Edit …")
	ada.write("amount", "4x")
	ada.reload()
	ada.until(field("/amount") + `?.value === "4x"`)
}

// L3: while the server is gone the page says so and keeps typed text; when it is back the page
// continues by itself, and shows the events in between.
func TestL3TheConnectionIsLostAndComesBack(t *testing.T) {
	w := openWorld(t)
	w.ask(lifecycle.Spec{ID: "r"}, openText("What shall the headline be?"))
	ada := w.open("ada", "#/inbox/r/1")
	ada.write("Your answer", "Spring is")
	w.unplug()
	ada.sees("The connection is lost.")
	ada.do(chromedp.KeyEvent(" here"))
	ada.pictures("offline")
	w.ask(lifecycle.Spec{ID: "later"}, confirm("Asked in between?"))
	w.plugIn()
	ada.sees("Asked in between?")
	ada.seesNot("The connection is lost.")
	ada.until(`document.querySelector("textarea").value === "Spring is here"`)
	ada.press("Send answer")
	ada.sees("Your answer was recorded.")
	require.Equal(t, "Spring is here", w.answered("r")[0].Text)
}

// L3: an answer whose response is lost on its way is sent again with the same key, and counts once.
func TestL3ALostResponseIsAskedForAgainWithTheSameKey(t *testing.T) {
	var cut atomic.Int64
	keys := make(chan string, 10)
	cut.Store(2)
	w := openWorld(t, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			if r.Method != http.MethodPost {
				next.ServeHTTP(rw, r)
				return
			}
			keys <- r.Header.Get("Idempotency-Key")
			switch cut.Add(-1) {
			case 1: // lost on its way here
				panic(http.ErrAbortHandler)
			case 0: // lost on its way back
				next.ServeHTTP(discard{http.Header{}}, r)
				panic(http.ErrAbortHandler)
			}
			next.ServeHTTP(rw, r)
		})
	})
	w.ask(lifecycle.Spec{ID: "r"}, confirm("Ship?"))
	ada := w.open("ada", "#/inbox/r/1")
	ada.press("Yes")
	ada.sees("Your answer was recorded.")
	first := <-keys
	require.Len(t, first, 32)
	require.Equal(t, first, <-keys)
	require.Equal(t, first, <-keys)
	require.Len(t, w.answered("r"), 1)
}

// L3: a list that was on its way when a question was asked does not take the question away: it is
// read again.
func TestL3AListThatIsOlderThanAChangeIsReadAgain(t *testing.T) {
	var following, late atomic.Bool
	listed, free := make(chan bool, 100), make(chan struct{})
	w := openWorld(t, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			if strings.HasSuffix(r.URL.Path, "/api/inbox/events") {
				following.Store(true)
			}
			if !strings.HasSuffix(r.URL.Path, "/api/inbox") || !following.Load() {
				next.ServeHTTP(rw, r)
				return
			}
			list := httptest.NewRecorder()
			next.ServeHTTP(list, r)
			held := late.CompareAndSwap(true, false)
			listed <- held
			if held {
				<-free
			}
			maps.Copy(rw.Header(), list.Header())
			rw.WriteHeader(list.Code)
			_, _ = list.Body.WriteTo(rw)
		})
	})
	w.streams = true
	ada := w.open("ada", "")
	require.False(t, <-listed) // as the stream has said at its beginning
	ada.sees("No open questions for you.")
	late.Store(true)
	ada.run(`dispatchEvent(new Event("online"))`)
	require.True(t, <-listed)
	w.ask(lifecycle.Spec{ID: "r"}, confirm("Shall it go?"))
	ada.sees("Shall it go?")
	close(free)
	select {
	case <-listed:
	case <-time.After(patience):
		require.Fail(t, "the list was not read again")
	}
	ada.sees("Shall it go?")
}

// L3: a page that was reloaded while its answer was on its way sends it again, with the same key.
func TestL3APageThatIsReloadedSendsWhatWasOnItsWay(t *testing.T) {
	var opened atomic.Int64
	keys := make(chan string, 100)
	w := openWorld(t, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/desk/" {
				opened.Add(1)
			}
			if r.Method == http.MethodPost {
				keys <- r.Header.Get("Idempotency-Key")
				if opened.Load() < 2 { // else the page could send it again before it is reloaded
					panic(http.ErrAbortHandler)
				}
			}
			next.ServeHTTP(rw, r)
		})
	})
	w.ask(lifecycle.Spec{ID: "r"}, confirm("Ship?"))
	ada := w.open("ada", "#/inbox/r/1")
	ada.press("No")
	ada.sees("The server did not answer.")
	ada.reload()
	ada.sees("Your answer was recorded.")
	require.Equal(t, "no", w.answered("r")[0].Text)
	first := <-keys
	for range len(keys) {
		require.Equal(t, first, <-keys)
	}
}

// discard is a response without a receiver.
type discard struct{ header http.Header }

func (d discard) Header() http.Header         { return d.header }
func (d discard) Write(b []byte) (int, error) { return len(b), nil }
func (d discard) WriteHeader(int)             {}

// L1: everything can be done with the keyboard, and the focus is visible.
func TestL1AQuestionIsAnsweredByKeysAlone(t *testing.T) {
	w := openWorld(t)
	w.ask(lifecycle.Spec{ID: "a"}, confirm("First?"))
	w.ask(lifecycle.Spec{ID: "b"}, approval(t, "Pay?", "pay", `{"to":"ACME","amount":420}`))
	ada := w.open("ada", "")
	ada.sees("Pay?")
	key := func(keys string) { ada.do(chromedp.KeyEvent(keys)) }
	tabTo := func(name string) {
		for range 40 {
			key(kb.Tab)
			if js[bool](ada, "document.activeElement === "+named(name)) {
				return
			}
		}
		require.FailNow(t, "no way by keys", name)
	}
	ada.run(`document.querySelector("#skip").focus()`)
	tabTo("Filter by text")
	key(kb.ArrowDown)
	key(kb.ArrowDown)
	ada.until(`document.activeElement.dataset.key === "b/1"`)
	require.NotEqual(t, "none", js[string](ada, "getComputedStyle(document.activeElement).outlineStyle"))
	key(kb.Enter)
	ada.until(`document.activeElement.id === "question-title"`)
	tabTo("Reject")
	key(kb.Enter)
	ada.until(`document.activeElement.tagName === "TEXTAREA"`)
	key("Too dear.")
	tabTo("Reject")
	key(" ")
	ada.sees("Your answer was recorded.")
	ada.until(`document.activeElement.tagName === "H1"`)
	tabTo("Next question")
	key(kb.Enter)
	ada.at("#/inbox/a/1")
	ada.until(`document.activeElement.textContent === "First?"`)
	tabTo("Yes")
	key(kb.Enter)
	require.Equal(t, "yes", w.answered("a")[0].Text)
	require.Equal(t, "Too dear.", w.answered("b")[0].Text)
}

// L1: people's text is shown as text, whatever its content: nothing of it is executed, and no
// character can hide.
func TestL1HostileTextIsShownAsText(t *testing.T) {
	w := openWorld(t)
	const script = `<script>document.title="gone"</script><img src=x onerror='document.title="gone"'>` +
		`<style>*{display:none}</style>`
	long := fmt.Sprintf("%0300d", 7)
	q := approval(t, script+" "+long, "rm <b>", `{"file":"invoice\u202efdp.exe","__proto__":{"polluted":true},
		"<img src=x>":"`+long+`","constructor":"x"}`)
	q.Subject.Risk = "\u202eksir on\u202c" + script
	w.ask(lifecycle.Spec{ID: "r", Labels: map[string]string{"team": "<b>x</b>\u200b"}}, q)
	w.ask(lifecycle.Spec{ID: "s"}, engine.Question{Kind: engine.ChooseOne, Prompt: "שלום <i>world</i>",
		Options: []engine.Option{{Label: script, Value: "1"}, {Label: long, Value: "2"}}})
	ada := w.open("ada", "#/inbox/r/1")
	ada.sees("<script>document.title")
	ada.sees("invoiceU+202Efdp.exe")
	ada.sees(long)
	ada.press("Edit …")
	ada.sees("Edit the arguments")
	ada.pictures("hostile")
	ada.until(`!("polluted" in {}) && !document.title.includes("gone")`)
	ada.until(`document.querySelectorAll("main :is(script, style, i, b), main img").length === 0`)
	ada.until(`document.documentElement.scrollWidth <= innerWidth`)
	ada.phone()
	ada.until(`document.documentElement.scrollWidth <= innerWidth`)
	ada.desk()
	ada.press("I have read this and accept the risk.")
	ada.write("file", "invoice.pdf")
	ada.press("Approve as edited")
	ada.sees("Your answer was recorded.")
	require.JSONEq(t, `{"file":"invoice.pdf","__proto__":{"polluted":true},"<img src=x>":"`+long+`","constructor":"x"}`,
		string(w.answered("r")[0].Arguments))
}

// scroll scrolls the list from its top, 60 pixels a frame for 300 frames, and says how long the
// frames took.
func (o *window) scroll() string {
	o.t.Helper()
	o.run(`const list = document.querySelector("#inbox"), times = []
		list.scrollTo(0, 0)
		let last
		const step = (now) => {
			if (last !== undefined) times.push(now - last)
			last = now
			list.scrollBy({ top: 60, behavior: "instant" })
			if (times.length < 300) return requestAnimationFrame(step)
			times.sort((a, b) => a - b)
			window.scrolled = "a frame took " + times[150].toFixed(1) + " ms (median), " + times[296].toFixed(1) +
				" ms (99 %), " + times[299].toFixed(1) + " ms at most, to " + Math.round(list.scrollTop) + " pixels"
		}
		requestAnimationFrame(step)`)
	o.until(`window.scrolled !== undefined`)
	return js[string](o, `window.scrolled`)
}

// L1: a full inbox is shown in parts, and all of it can be reached.
func TestL1AThousandQuestionsAreListedInParts(t *testing.T) {
	w := openWorld(t)
	const many = 1000
	w.askMany(many)
	ada := w.open("ada", "")
	ada.until(`document.querySelector(".count")?.innerText === "1000"`)
	require.Less(t, js[int](ada, `document.querySelectorAll("a.row").length`), many/2)
	if *paint {
		t.Logf("first paint of content after %s, of a row after %s", js[string](ada,
			`Math.round(performance.getEntriesByName("first-contentful-paint")[0].startTime) + " ms"`), js[string](ada,
			`Math.round(performance.getEntriesByName("first-row")[0].startTime) + " ms"`))
	}
	ada.picture("thousand")
	for js[int](ada, `document.querySelectorAll("a.row").length`) < many {
		before := js[int](ada, `document.querySelectorAll("a.row").length`)
		ada.run(`document.querySelector("#inbox").scrollTo(0, 1e7)`)
		ada.until(fmt.Sprintf(`document.querySelectorAll("a.row").length > %d`, before))
	}
	if *paint {
		t.Logf("scrolled through %d rows: %s", many, ada.scroll())
	}
	ada.write("Filter by text", "number 0999?")
	ada.until(`document.querySelectorAll("a.row").length === 1`)
	ada.sees("Is this number 0999?")
}

// L1: an operator sees why a run does not continue, its life as a picture, and can cancel and fork
// it.
func TestL1AnOperatorSeesWhyARunWaitsCancelsAndForksIt(t *testing.T) {
	w := openWorld(t)
	w.ask(lifecycle.Spec{ID: "release-9", Labels: map[string]string{"team": "web"}}, confirm("Ship?"))
	w.ask(lifecycle.Spec{ID: "old"}, confirm("Older?"))
	_, err := w.lc.Reply(t.Context(), "old", lifecycle.Reply{ID: 1, Text: "yes", Actor: lifecycle.Actor{ID: "bob"}})
	require.NoError(t, err)
	w.answered("old")
	ada := w.open("ada", "#/runs")
	ada.sees("waits for people")
	ada.press("waits for people")
	ada.until(`document.querySelectorAll("#runs a.row").length === 1`)
	ada.sees("Ship?")
	ada.press("waits for people")
	ada.run(`location.hash = "#/runs/release-9"`)
	ada.sees("It waits for people:")
	ada.until(`document.querySelectorAll("svg .phase").length === 3`)
	ada.pictures("run")
	ada.accessible("a run")
	ada.press("Cancel the run")
	ada.write("Reason (optional)", "Not this week.")
	ada.press("Cancel the run now")
	ada.sees("The run is canceled.")
	ada.sees("Not this week.")
	ada.run(`location.hash = "#/runs/old"`)
	ada.sees("The answer was: yes")
	ada.press("Fork the run")
	ada.press("Fork with a different answer")
	ada.press("No")
	ada.until(`location.hash !== "#/runs/old"`)
	ada.sees("Fork of")
	ada.sees("The answer was: no")
	ada.sees("Older?")
	ada.run(`location.hash = "#/system"`)
	ada.sees("Slots by pool")
	ada.pictures("system")
	ada.accessible("the system")
}

// N3 N11: a fork is given a whole answer on the page: with the acknowledgement of the risk, as the
// options, the value or the decision that the question takes.
func TestN3AForkIsGivenAWholeAnswer(t *testing.T) {
	w := openWorld(t)
	pay := approval(t, "Pay?", "pay", `{"to":"ACME","amount":420}`)
	pay.Subject.Risk = "The money is gone."
	bob := lifecycle.Actor{ID: "bob"}
	for id, q := range map[string]engine.Question{
		"risky": {Kind: engine.RiskAck, Prompt: "Delete all?"}, "pay": pay,
		"form": {Kind: engine.FillFields, Prompt: "What shall I order?", Schema: []byte(`{"type":"object",
			"required":["name"],"properties":{"name":{"type":"string"},"count":{"type":"integer"}}}`)},
	} {
		w.ask(lifecycle.Spec{ID: id}, q)
		answer := lifecycle.Reply{ID: 1, Actor: bob}
		switch id {
		case "risky":
			answer.Text = "no"
		case "pay":
			answer.Decision = lifecycle.Reject
		case "form":
			answer.Value = []byte(`{"name":"Bob"}`)
		}
		_, err := w.lc.Reply(t.Context(), id, answer)
		require.NoError(t, err)
		w.answered(id)
	}
	ada := w.open("ada", "#/runs/risky")
	begin := func(id string) {
		ada.run(fmt.Sprintf(`location.hash = "#/runs/%s"`, id))
		ada.sees("The answer was:")
		ada.press("Fork the run")
		ada.press("Fork with a different answer")
	}
	forked := func(id string) engine.Answer {
		ada.sees("Fork of")
		page, err := w.lc.Runs(t.Context(), lifecycle.Query{ForkedFrom: id})
		require.NoError(t, err)
		require.Len(t, page.Runs, 1)
		return w.answered(page.Runs[0].ID)[0]
	}
	begin("risky")
	ada.press("Accept the risk")
	ada.sees("Acknowledge the risk first.")
	ada.press("I have read this and accept the risk.")
	ada.press("Accept the risk")
	require.Equal(t, "yes", forked("risky").Text)
	begin("pay")
	ada.press("Approve")
	ada.sees("Acknowledge the risk first.")
	ada.press("I have read this and accept the risk.")
	ada.press("Approve")
	require.Equal(t, lifecycle.Approve, forked("pay").Decision)
	begin("form")
	ada.write("name", "Ada")
	ada.write("count", "2")
	ada.press("Send answer")
	require.JSONEq(t, `{"name":"Ada","count":2}`, string(forked("form").Value))
}

// L1: a held run shows the reason, and continues as the operator decides.
func TestL1AnOperatorRaisesTheBudgetOfAHeldRun(t *testing.T) {
	w := openWorld(t)
	w.ask(lifecycle.Spec{ID: "r", Budget: lifecycle.Budget{Turns: 1}}, confirm("Ship?"))
	_, err := w.lc.Reply(t.Context(), "r", lifecycle.Reply{ID: 1, Text: "yes", Actor: lifecycle.Actor{ID: "bob"}})
	require.NoError(t, err)
	ada := w.open("ada", "#/runs")
	ada.press("held")
	ada.sees("Held: ")
	ada.run(`location.hash = "#/runs/r"`)
	ada.sees("Why it does not continue:")
	ada.until(`document.querySelector("svg .mark.held") !== null`)
	ada.pictures("held")
	ada.accessible("a held run")
	ada.write("Turns", "5")
	ada.press("Raise the budget")
	ada.sees("The answer was: yes")
	require.Len(t, w.answered("r"), 1)
}

// L1: axe-core finds nothing against the list and the kinds of question, in light and dark and on a
// phone.
func TestL1ThePageIsAccessible(t *testing.T) {
	w := openWorld(t)
	w.ask(lifecycle.Spec{ID: "a"}, confirm("First?"), openText("Second?"), engine.Question{Kind: engine.ChooseOne,
		Prompt: "Third?", Options: []engine.Option{{Label: "x", Value: "x"}, {Label: "y", Value: "y"}}})
	w.ask(lifecycle.Spec{ID: "b"}, approval(t, "Pay?", "pay", `{"to":"ACME","amount":420}`))
	ada := w.open("ada", "#/inbox/a/2")
	ada.sees("Second?")
	ada.accessible("a question")
	ada.scheme("dark")
	ada.accessible("in the dark")
	ada.phone()
	ada.accessible("on a phone")
	ada.run(`location.hash = "#/inbox/a/3"`)
	ada.sees("Third?")
	ada.accessible("a choice")
	ada.run(`location.hash = "#/inbox"`)
	ada.sees("Pay?")
	ada.accessible("the list on a phone")
}

// L3: the README's picture shows an inbox with four kinds of questions. The flag -screens
// replaces the picture: go test ./page -run TestL3TheReadmesPicture -screens ../docs/images
func TestL3TheReadmesPicture(t *testing.T) {
	w := openWorld(t)
	refund := approval(t, "Pay back the order? The customer sent photos of a broken lamp.", "refund",
		`{"order":"A-1032","amount":"84.50 EUR","reason":"arrived broken"}`)
	refund.Subject.Risk = "high"
	refund.To = &engine.Audience{Groups: []string{"finance"}}
	region := engine.Question{Kind: engine.ChooseOne, Prompt: "Release 4.2 to which region first?",
		Options: []engine.Option{{Label: "Europe", Value: "eu"}, {Label: "Asia", Value: "asia"}}}
	address := engine.Question{Kind: engine.FillFields, Prompt: "Which address does the replacement go to?",
		Schema: []byte(order)}
	entry := openText("How should the migration be named in the changelog?")
	for i, q := range []engine.Question{refund, region, address, entry} {
		title := []string{"Refund for order A-1032", "Release 4.2", "Ticket 981", "Changelog entry"}[i]
		team := []string{"support", "platform", "support", "docs"}[i]
		id := []string{"order-1032", "release-42", "ticket-981", "docs-7"}[i]
		w.ask(lifecycle.Spec{ID: id, Title: title, Labels: map[string]string{"team": team}}, q)
	}
	ada := w.open("ada", "#/inbox/order-1032/1")
	for _, shown := range []string{"Pay back the order?", "84.50 EUR", "Release 4.2 to which region first?",
		"Which address does the replacement go to?", "How should the migration be named"} {
		ada.sees(shown)
	}
	for _, scheme := range []string{"dark", "light"} {
		ada.scheme(scheme)
		ada.picture("page-" + scheme)
	}
}

// R5: a restore removed the last event that the page has shown: the server refuses its cursor, and the
// page loads everything again.
func TestR5ThePageLoadsARestoredRunAgain(t *testing.T) {
	var gone atomic.Bool
	again := make(chan struct{}, 100)
	w := openWorld(t, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			after := r.FormValue("after") + r.Header.Get("Last-Event-ID")
			if gone.Load() && strings.HasSuffix(r.URL.Path, "/runs/r/events") && after != "0" {
				http.Error(rw, "", http.StatusGone)
				return
			}
			if gone.Load() && r.URL.Path == "/desk/" {
				again <- struct{}{}
			}
			next.ServeHTTP(rw, r)
		})
	})
	w.ask(lifecycle.Spec{ID: "r"}, openText("What shall the headline be?"))
	ada := w.open("ada", "#/runs/r")
	ada.sees("I have read what there is about r.")
	gone.Store(true)
	w.unplug()
	w.plugIn()
	select {
	case <-again:
	case <-time.After(patience):
		require.Fail(t, "the page is not loaded again")
	}
}
