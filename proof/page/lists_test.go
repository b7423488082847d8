package page_test

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/host/web"
	"github.com/interlude-go/interlude/lifecycle"
)

// rows is an expression: the questions as listed.
const rows = `[...document.querySelectorAll("#inbox a.row")].map((a) => a.dataset.key).join(" ")`

// N7: the list distinguishes fifty approvals with one title: by prompt and tool, and first by the
// arguments that differ.
func TestN7TheListDistinguishesQuestions(t *testing.T) {
	w := openWorld(t)
	for i := range 3 {
		q := approval(t, fmt.Sprintf("Order %d is late, the customer wants the money back.", i), "refund",
			fmt.Sprintf(`{"currency":"EUR","note":"late","order":%d,"to":"cust\u200bomer"}`, i))
		q.Subject.Title = "Refund the customer?"
		if i == 2 {
			q.Subject.Risk = "It is a large amount."
		}
		w.ask(lifecycle.Spec{ID: fmt.Sprintf("r-%d", i), Title: "Shop"}, q)
	}
	ada := w.open("ada", "")
	ada.sees("3 questions wait for you.")
	ada.sees("Order 1 is late")
	line := `document.querySelector('a.row[data-key="r-1/1"] .call-line').innerText`
	ada.until(line + `.startsWith("refund order 1")`)
	ada.until(line + `.includes("custU+200Bomer")`)
	ada.until(`document.querySelector('a.row[data-key="r-2/1"] .risky') !== null`)
	ada.pictures("list")
	ada.accessibleInBoth("a list")
	ada.press("Start with the first")
	ada.at("#/inbox/r-0/1")
}

// N7: a long list keeps the selected row in view, and a question its actions, however long its
// arguments are; these fold.
func TestN7TheSelectedRowAndTheActionsAreInView(t *testing.T) {
	w := openWorld(t)
	w.askMany(120)
	long := `{"lines":["` + strings.Repeat(`a long line of the order\n`, 400) + `"]}`
	w.ask(lifecycle.Spec{ID: "z"}, approval(t, "Send the order?", "send", long))
	ada := w.open("ada", "#/inbox/z/1")
	inView := func(selector string) string {
		return `((r) => r && r.top >= 0 && r.bottom <= innerHeight)(document.querySelector("` + selector +
			`")?.getBoundingClientRect())`
	}
	ada.until(ready)
	ada.until(inView("a.row[aria-current]"))
	ada.until(inView(".answer button.primary"))
	ada.pictures("long")
	ada.run(`document.querySelector(".call-foot button").click()`)
	ada.until(`document.querySelector(".arguments").innerText.length > 9000`)
	ada.until(inView(".answer button.primary"))
	ada.accessibleInBoth("long arguments")
}

// N7: the list is filtered and sorted; next means the next one as listed; the address keeps the
// filters, and the browser keeps them under a name.
func TestN7TheListIsFilteredAndSorted(t *testing.T) {
	w := openWorld(t)
	w.ask(lifecycle.Spec{ID: "pay-1", Labels: map[string]string{"team": "web"}},
		approval(t, "Pay 1?", "pay", `{"iban":"DE02 1203"}`))
	w.ask(lifecycle.Spec{ID: "ship-1", Ask: &lifecycle.AskPolicy{To: &lifecycle.Audience{Groups: []string{"finance"}}}},
		confirm("Ship 1?"))
	risky := approval(t, "Pay 2?", "pay", `{"iban":"DE77"}`)
	risky.Subject.Risk = "It is much."
	w.ask(lifecycle.Spec{ID: "pay-2"}, risky)
	w.ask(lifecycle.Spec{ID: "book", Ask: &lifecycle.AskPolicy{To: &lifecycle.Audience{Users: []string{"eve"}}}},
		openText("How do we book it?"))
	w.ask(lifecycle.Spec{ID: "bake"}, approval(t, "Bake?", "bake", `{"bread":3}`))
	ada := w.open("ada", "")
	shows := func(want string) {
		t.Helper()
		ada.until(rows + ` === ` + quote(want))
	}
	shows("pay-1/1 ship-1/1 pay-2/1 bake/1")
	ada.press("Filter and sort")
	choose := func(menu, option string) {
		t.Helper()
		ada.with(`[...document.querySelectorAll(".menu select")].find((e) => e.labels[0].innerText === `+quote(menu)+`)`, fmt.Sprintf(`e.value = [...e.options].find((o) => o.text.startsWith(%s)).value,
			e.dispatchEvent(new Event("change", { bubbles: true }))`, quote(option)))
	}
	choose("Kind", "Approval")
	shows("pay-1/1 pay-2/1 bake/1")
	choose("Order", "Newest first")
	shows("bake/1 pay-2/1 pay-1/1")
	choose("Tool", "pay (2)")
	shows("pay-2/1 pay-1/1")
	ada.until(`location.hash === "#/inbox?kind=approval&sort=newest&tool=pay"`)
	ada.pictures("filters")
	ada.accessibleInBoth("filters")
	ada.write("Save this view as", "Payments")
	ada.press("Save")
	ada.sees("Payments")
	ada.reload()
	shows("pay-2/1 pay-1/1")
	ada.press("Start with the first")
	ada.until(`location.hash.startsWith("#/inbox/pay-2/1")`)
	ada.until(ready)
	ada.do(chromedp.KeyEvent("ya")) // the next one of this list, not the most urgent of all
	ada.until(`location.hash.startsWith("#/inbox/pay-1/1")`)
	require.Equal(t, lifecycle.Approve, w.answered("pay-2")[0].Decision)
	ada.press("Clear all")
	shows("pay-1/1 ship-1/1 bake/1")
	ada.press("Filter and sort")
	choose("Risk", "Without")
	choose("Group", "finance (1)")
	shows("ship-1/1")
	ada.press("Clear all")
	ada.write("Filter by text", "de02")
	shows("pay-1/1")
	ada.write("Filter by text", "web")
	shows("pay-1/1")
	ada.run(`location.hash = "#/inbox?"`)
	shows("pay-1/1 ship-1/1 bake/1")
	ada.until(`document.querySelector("#inbox input[type=search]").value === ""`)
	choose("Questions", "Everybody's")
	shows("pay-1/1 ship-1/1 bake/1 book/1")
	ada.sees("For other people")
	w.ask(lifecycle.Spec{ID: "book-2", Ask: &lifecycle.AskPolicy{To: &lifecycle.Audience{Users: []string{"eve"}}}},
		engine.Question{Kind: engine.OpenText, Prompt: "And this one?"})
	shows("pay-1/1 ship-1/1 bake/1 book/1 book-2/1")
	ada.press("Payments")
	shows("pay-1/1")
}

// N7: the text is searched on the server if the list has not room for all questions; the page says
// how many were searched.
func TestN7QuestionsThatAreNotListedAreSearched(t *testing.T) {
	full := func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			query := r.URL.Query()
			if !strings.HasSuffix(r.URL.Path, "/api/inbox") || query.Get("q") != "" {
				next.ServeHTTP(rw, r)
				return
			}
			first, _ := strconv.Atoi(query.Get("after"))
			rows := make([]string, 250)
			for i := range rows {
				rows[i] = fmt.Sprintf(`{"run_id":"old-%d","pool":"p","question":{"id":1,"kind":"confirm","prompt":"Old?",`+
					`"may_reply":true,"asked_at":"2026-01-02T03:04:05Z","digest":"d"}}`, first+i)
			}
			rw.Header().Set("Content-Type", "application/json")
			_, _ = fmt.Fprintf(rw, `{"questions":[%s],"next":"%d"}`, strings.Join(rows, ","), first+250)
		})
	}
	w := openWorld(t, full)
	w.ask(lifecycle.Spec{ID: "new"}, approval(t, "Pay?", "pay", `{"iban":"DE02 1203"}`))
	ada := w.open("ada", "")
	ada.until(`document.querySelector(".count")?.innerText === "2000+"`)
	ada.write("Filter by text", "de02")
	ada.sees("Only the 2,000 oldest questions are listed.")
	ada.press("Search all questions")
	ada.sees("1 question searched.")
	ada.until(rows + ` === "new/1"`)
}

// N7: who asks for it is notified of new questions while the page is in the background.
func TestN7NewQuestionsAreNotified(t *testing.T) {
	w := openWorld(t)
	w.ask(lifecycle.Spec{ID: "old"}, confirm("Old?"))
	ada := w.open("ada", "")
	ada.sees("1 question waits for you.")
	ada.run(`window.notes = []
		window.Notification = class {
			constructor(title, { body }) { notes.push(title + ": " + body) }
			static permission = "granted"
			static requestPermission = async () => "granted"
		}`)
	ada.do(chromedp.KeyEvent("?"))
	ada.press("Notify me of new questions while this page is in the background")
	ada.until(`JSON.parse(localStorage["interlude-settings /desk/"]).notify`)
	ada.press("Close")
	ada.run(`Object.defineProperty(document, "hidden", { value: true })
		document.dispatchEvent(new Event("visibilitychange"))`)
	w.ask(lifecycle.Spec{ID: "new"}, confirm("Ship\u202e it?"))
	ada.run(`dispatchEvent(new Event("online"))`) // instead of the next poll
	ada.until(`notes.length > 0`)
	require.Equal(t, []string{`A new question waits for you: Ship\u{202E} it?`}, js[[]string](ada, "notes"))
	ada.until(`document.title.startsWith("(2)")`)
}

// desk is a host's brand.
var desk = web.Brand{Name: "Acme Desk", Color: "#7a1f5c", DarkColor: "#f0a6d8",
	Logo: []byte(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9"><circle cx="4.5" cy="4.5" r="4.5" ` +
		`fill="#7a1f5c"/></svg>`)}

// N7: the page has the host's name, logo, colors and sign-out link.
func TestN7ThePageIsTheHosts(t *testing.T) {
	w := openWorldOf(t, lifecycle.Config{}, web.Options{SignOut: "/out", Brand: desk})
	w.ask(lifecycle.Spec{ID: "pay-1"}, approval(t, "Pay 1?", "pay", `{"iban":"DE02 1203"}`))
	ada := w.open("ada", "#/inbox/pay-1/1")
	ada.until(ready)
	ada.until(`document.title === "(1) Acme Desk"`)
	ada.until(`document.querySelector(".brand").innerText.trim() === "Acme Desk"`)
	ada.until(`document.querySelector(".brand img").naturalWidth > 0`)
	ada.until(`document.getElementById("sign-out").pathname === "/out"`)
	ada.until(`getComputedStyle(document.querySelector(".answer button.primary")).backgroundColor === "rgb(122, 31, 92)"`)
	ada.pictures("brand")
	ada.accessibleInBoth("the host's page")
}

// N7: the page is entirely in German after a person chooses it: both tables have the same keys, and
// no view has English text.
func TestN7ThePageSpeaksGerman(t *testing.T) {
	w := openWorld(t)
	risky := approval(t, "Rechnung 7 zahlen?", "pay", `{"iban":"DE02 1203"}`)
	risky.Subject.Risk = "Der Betrag ist hoch."
	w.ask(lifecycle.Spec{ID: "pay-1", Title: "Rechnungen"}, risky)
	w.ask(lifecycle.Spec{ID: "ship-1", Ask: &lifecycle.AskPolicy{Need: 2}}, approval(t, "Jetzt liefern?", "ship", `{}`))
	ada := w.open("ada", "")
	ada.sees("2 questions wait for you.")
	ada.run(`localStorage["interlude-settings /desk/"] = JSON.stringify({ language: "de" })`)
	ada.reload()
	ada.sees("2 Fragen warten auf Sie.")
	require.Equal(t, []string{}, js[[]string](ada, `Promise.all([import("./english.js"), import("./german.js")])
		.then(([{ english }, { german }]) => {
			const differ = [];
			const compare = (a, b, at) => {
				for (const name of new Set([...Object.keys(a), ...Object.keys(b)])) {
					const [x, y] = [a[name], b[name]];
					if (typeof x !== typeof y || x.length !== y.length && typeof x !== "string") differ.push(at + name);
					else if (typeof x === "object") compare(x, y, at + name + ".");
				}
			};
			compare(english, german, "");
			return differ;
		})`))
	ada.run(`import("./english.js").then(({ english }) => import("./german.js").then(({ german }) => {
		const words = (table) => Object.values(table).flatMap((v) => typeof v === "string" ? [v]
			: typeof v === "object" ? words(v) : []);
		const known = new Set(words(german));
		window.foreign = new Set(words(english).filter((text) => text.length > 1 && !known.has(text)));
	}))`)
	german := func(view string) {
		t.Helper()
		ada.until("window.foreign !== undefined")
		require.Equal(t, []string{}, js[[]string](ada, `(() => {
			const found = [];
			const all = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
			while (all.nextNode()) {
				const text = all.currentNode.data.trim();
				if (window.foreign.has(text)) found.push(text);
			}
			for (const e of document.querySelectorAll("[aria-label], [placeholder]")) {
				const texts = [e.getAttribute("aria-label"), e.placeholder];
				found.push(...texts.filter((text) => window.foreign.has(text)));
			}
			return found;
		})()`), view)
		ada.pictures("german-" + view)
		ada.accessibleInBoth("German: " + view)
	}
	ada.until(`document.documentElement.lang === "de"`)
	german("list")
	ada.press("Mit der ersten beginnen")
	ada.until(ready)
	ada.sees("Ich habe dies gelesen und nehme das Risiko an.")
	german("approval")
	ada.run(`location.hash = "#/inbox/ship-1/1"`)
	ada.sees("0 von 2 dafür")
	german("votes")
	ada.run(`location.hash = "#/runs/pay-1"`)
	ada.sees("wartet auf Personen")
	ada.until(`document.querySelector(".timeline svg") !== null`)
	german("run")
	ada.run(`location.hash = "#/system"`)
	ada.sees("überfällige Fristen")
	german("system")
	ada.run(`location.hash = "#/answers"`)
	ada.sees("Sie haben noch keine Frage beantwortet.")
	german("answers")
	ada.press("Einstellungen")
	ada.sees("Zeit zum Zurücknehmen einer Antwort")
	ada.until(`document.getElementById("set-language").value === "de"`)
	german("settings")
}
