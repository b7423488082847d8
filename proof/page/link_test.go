package page_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/host/link"
	"github.com/interlude-go/interlude/lifecycle"
)

// openLinks starts a world that also serves links. The function opens the page of a person's link to the
// run's question, in a language.
func openLinks(t *testing.T) (*world, func(id, person, language string) *window) {
	t.Helper()
	var links *link.Links
	w := openWorld(t, func(page http.Handler) http.Handler {
		return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			if strings.HasPrefix(r.URL.Path, "/answer/") {
				links.ServeHTTP(rw, r)
				return
			}
			page.ServeHTTP(rw, r)
		})
	})
	links, err := link.New(link.Config{Client: w.lc.Client, URL: w.url() + "/answer", Brand: desk,
		Keys: []link.Key{{ID: "a", Secret: []byte(strings.Repeat("a", link.MinSecret))}}})
	require.NoError(t, err)
	return w, func(id, person, language string) *window {
		q, err := w.lc.Pending(t.Context(), id)
		require.NoError(t, err)
		address, err := links.For(id, *q, link.To(person))
		require.NoError(t, err)
		o := w.open(person, "")
		call(o, network.SetExtraHTTPHeaders, network.SetExtraHTTPHeadersParams{
			Headers: network.Headers{"Accept-Language": language}})
		o.do(chromedp.Navigate(address))
		return o
	}
}

// submit presses the button with this text by the keyboard, and waits for the next page.
func (o *window) submit(name string) {
	o.t.Helper()
	o.with(named(name), "e.focus()")
	ctx, cancel := context.WithTimeout(o.ctx, 2*patience)
	defer cancel()
	_, err := chromedp.RunResponse(ctx, chromedp.KeyEvent("\r"))
	require.NoError(o.t, err)
}

// fits requires that nothing is wider than a phone.
func (o *window) fits(what string) {
	o.t.Helper()
	o.phone()
	require.LessOrEqual(o.t, js[int](o, `document.documentElement.scrollWidth`), 390, what)
	o.desk()
}

// N6, N7: a link's page has the host's brand, and shows changes in one text and side by side, without
// a script; long texts and differences are folded, and can be opened.
func TestN6ALinksPageShowsChangesSideBySide(t *testing.T) {
	w, follow := openLinks(t)
	q, err := engine.ApprovalOf("Write it?", "write", map[string]any{"path": "pay.sql"})
	require.NoError(t, err)
	var long strings.Builder
	for i := range 200 {
		fmt.Fprintln(&long, "row", i)
	}
	q.Context = "The migration was **reviewed**.\n\n" + strings.ReplaceAll(long.String(), "\n", "\n\n")
	q.Subject.Changes = []engine.Change{
		{Path: "pay.sql", Kind: engine.ChangeEdit, Before: "a\npay 10 euros\nc\n", After: "a\npay 1000 euros\nc"},
		{Path: "rows.txt", Kind: engine.ChangeCreate, After: long.String()},
	}
	w.ask(lifecycle.Spec{ID: "r"}, q)
	for _, language := range []string{"en", "de"} {
		ada := follow("r", "ada", language)
		ada.sees("pay 1000 euros")
		ada.seesNot("row 199")
		ada.accessibleInBoth("a link's page in " + language)
		ada.until(`document.title === "Write it? – Acme Desk" && document.querySelector("h1").innerText === "Write it?"`)
		ada.until(`document.querySelector(".brand").innerText.trim() === "Acme Desk"`)
		ada.until(`document.querySelector(".brand img").naturalWidth > 0`)
		const button = `getComputedStyle(document.querySelector("[value=approve]")).color`
		ada.scheme("light")
		ada.until(button + ` === "rgb(122, 31, 92)"`)
		ada.scheme("dark")
		ada.until(button + ` === "rgb(240, 166, 216)"`)
		ada.fits("in one text")
		ada.pictures("link-" + language)
		sides := map[string]string{"en": "side by side", "de": "nebeneinander"}[language]
		ada.press(sides)
		const row = `[...document.querySelectorAll(".sides tr")].find((r) => r.checkVisibility() && r.innerText.includes("pay 10 "))`
		ada.until(row + ` !== undefined`)
		require.Contains(t, js[string](ada, row+`.innerText`), "pay 1000 euros", "the two versions are in one row")
		require.Equal(t, []string{"10", "1000"}, js[[]string](ada,
			`[...`+row+`.querySelectorAll("u")].map((e) => e.innerText)`), "the changed words")
		require.False(t, js[bool](ada, `[...document.querySelectorAll(".unified")].some((e) => e.checkVisibility())`))
		ada.accessibleInBoth("side by side in " + language)
		ada.fits("side by side, which a phone shows in one text")
		ada.pictures("link-sides-" + language)
		ada.run(`document.querySelectorAll("summary").forEach((e) => e.click());`)
		ada.sees("row 199")
		require.Equal(t, 0, js[int](ada, `[...document.querySelectorAll(".beginning")].filter((e) => e.checkVisibility()).length`))
		ada.accessible("all of it in " + language)
	}
}

// N6, N3: on a link's page a person edits the arguments of a call in fields and as JSON, sees the
// difference, and approves; axe-core finds nothing in any step.
func TestN6ALinksPageEditsTheArguments(t *testing.T) {
	w, follow := openLinks(t)
	q := approval(t, "Pay the **invoice**?", "pay",
		`{"to":"ACME","amount":420,"urgent":false,"note":"Two lamps, one of them for the office in the second floor"}`)
	q.Subject.Risk = "The money leaves at once."
	q.Schema = []byte(`{"type":"object","required":["to","amount"],"properties":{"to":{"type":"string","title":"Payee"},
		"amount":{"type":"number","maximum":500,"title":"Amount","description":"At most 500 EUR."},
		"urgent":{"type":"boolean"},"note":{"type":"string"},
		"from":{"type":"string","oneOf":[{"const":"a","title":"Account A"},{"const":"b","title":"Account B"}]}}}`)
	for _, language := range []string{"en", "de"} {
		say := func(en, de string) string { return map[string]string{"en": en, "de": de}[language] }
		w.ask(lifecycle.Spec{ID: language}, q)
		ada := follow(language, "ada", language)
		approve := say("Approve", "Freigeben")
		ada.sees(approve)
		ada.accessibleInBoth("an approval in " + language)
		ada.pictures("link-approval-" + language)
		ada.press(say("Edit the arguments", "Argumente ändern"))
		ada.until(named(approve) + ` === undefined`) // the proposal is not approved while it is edited
		ada.accessibleInBoth("the editor in " + language)
		ada.fits("the editor")
		ada.pictures("link-editor-" + language)
		ada.write("Amount", "600")
		ada.submit(say("Review the edit", "Änderung prüfen"))
		ada.sees(say("This answer cannot be accepted", "Diese Antwort kann nicht angenommen werden"))
		ada.sees("500")
		ada.accessibleInBoth("an invalid edit in " + language)
		ada.pictures("link-invalid-" + language)
		ada.write("Amount", "400")
		ada.submit(say("Write it as JSON", "Als JSON schreiben"))
		ada.sees(say("Arguments, as JSON", "Argumente als JSON"))
		ada.accessibleInBoth("the arguments as JSON in " + language)
		ada.fits("the arguments as JSON")
		ada.pictures("link-json-" + language)
		ada.submit(say("Back to the fields", "Zurück zu den Feldern"))
		ada.submit(say("Review the edit", "Änderung prüfen"))
		ada.sees(say("Please review your edit", "Bitte prüfen Sie Ihre Änderung"))
		require.Equal(t, []string{"420", "400"}, js[[]string](ada,
			`[...document.querySelectorAll(".unified u")].map((e) => e.innerText)`))
		ada.accessibleInBoth("the review in " + language)
		ada.fits("the review")
		ada.pictures("link-review-" + language)
		ada.run(`document.querySelector("[name=risk]").click();`)
		ada.submit(say("Approve the edited call", "Geänderten Aufruf freigeben"))
		ada.sees(say("Thank you", "Vielen Dank"))
		answer := w.answered(language)[0]
		require.Equal(t, lifecycle.Edit, answer.Decision)
		require.Equal(t, strings.Replace(string(q.Subject.Arguments), "420", "400", 1), string(answer.Arguments))
	}
}
