package page_test

import (
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
	links, err := link.New(link.Config{Client: w.lc.Client, URL: w.url() + "/answer", Name: "Acme",
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

// fits requires that nothing is wider than a phone.
func (o *window) fits(what string) {
	o.t.Helper()
	o.phone()
	require.LessOrEqual(o.t, js[int](o, `document.documentElement.scrollWidth`), 390, what)
	o.desk()
}

// N6: a link's page shows changes in one text and side by side, without a script; long texts and
// differences are folded, and can be opened.
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
