package link

import (
	"cmp"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/host/render"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/lifecycle"
)

// L2: an approval is decided as it was shown: approve executes the arguments, and a rejection has
// its reason.
func TestL2AnApprovalIsDecidedByItsButtons(t *testing.T) {
	q, err := engine.ApprovalOf("Pay the invoice?", "pay", map[string]any{"amount": 420})
	require.NoError(t, err)
	h := newHost(t, q, func(c *Config, _ *lifecycle.Config) {
		c.Page = func(run string, n int) string { return "https://example.com/full/" + run }
	})
	shown := h.call("GET", h.link("yes", h.asked("yes", nil), To("ada")), nil).Body.String()
	require.Contains(t, shown, "&#34;amount&#34;: 420")
	require.Contains(t, shown, `href="https://example.com/full/yes"`)
	for id, form := range map[string]url.Values{
		"a": {"decision": {"approve"}}, "b": {"decision": {"reject"}, "text": {"too much"}},
		"c": {"decision": {"respond"}, "text": {"ask me tomorrow"}},
	} {
		h.call("POST", h.link(id, h.asked(id, nil), To("ada")), form)
		run, err := h.lc.Wait(t.Context(), id)
		require.NoError(t, err)
		require.Contains(t, run.FinalText, map[string]string{"a": "Approved", "b": "too much", "c": "tomorrow"}[id])
	}
	two := h.asked("two", &lifecycle.AskPolicy{Need: 2})
	ada := h.link("two", two, To("ada"))
	require.Equal(t, http.StatusOK, h.call("POST", ada, url.Values{"decision": {"approve"}}).Code)
	require.Equal(t, "voted", h.call("GET", ada, nil).Header().Get("Interlude-Reason"))
	h.call("POST", h.link("two", two, To("bob")), url.Values{"decision": {"approve"}})
	run, err := h.lc.Wait(t.Context(), "two")
	require.NoError(t, err)
	require.Contains(t, run.FinalText, "Approved")
}

// N7: the page shows the notes on the question as text, in both languages.
func TestN7NotesAreOnTheLinkPage(t *testing.T) {
	h := newHost(t, engine.Question{Kind: engine.Confirm, Prompt: "Ship?"}, nil)
	q := h.asked("r", nil)
	link := h.link("r", q, To("ada"))
	require.NotContains(t, h.call("GET", link, nil).Body.String(), "Notes")
	bob := lifecycle.Actor{ID: "bo<b>b"}
	_, err := h.lc.As(bob).Note(t.Context(), "r", 1, lifecycle.Note{Text: "Ask <b>Eve</b>\u202e."})
	require.NoError(t, err)
	_, err = h.lc.Note(t.Context(), "r", 1, lifecycle.Note{Text: "She is away."})
	require.NoError(t, err)
	body := h.call("GET", link, nil).Body.String()
	for _, part := range []string{"<strong>Notes</strong>", "bo&lt;b&gt;b", "Ask &lt;b&gt;Eve&lt;/b&gt;", "202E",
		"the host", "She is away."} {
		require.Contains(t, body, part)
	}
	german := h.call("GET", link, nil, "Accept-Language", "de").Body.String()
	require.Contains(t, german, "<strong>Notizen</strong>")
	require.Contains(t, german, "das System")
}

// J12: the page of an approval hides nothing: invisible and direction-changing characters are
// named, and the depth of the arguments does not count as white space.
func TestJ12AnApprovalHidesNothing(t *testing.T) {
	deep := any("a\u202etxt.exe" + strings.Repeat(" ", 90) + "--all")
	for range 12 {
		deep = map[string]any{"in": deep}
	}
	q, err := engine.ApprovalOf("Delete\u200b it?", "delete", deep)
	require.NoError(t, err)
	q.Subject.Risk = "no\u2060ne"
	h := newHost(t, q, nil)
	shown := h.call("GET", h.link("r", h.asked("r", nil), To("ada")), nil).Body.String()
	require.Contains(t, shown, `a\u{202E}txt.exe[90 white-space characters]--all`)
	require.Contains(t, shown, `no\u{2060}ne`)
	require.Contains(t, shown, `<h1>Delete\u{200B} it?</h1>`)
	require.Contains(t, shown, `<title>Delete\u{200B} it? – Acme</title>`)
	require.NotContains(t, strings.ReplaceAll(shown, "[90 white-space characters]", ""), "white-space characters]")
	require.Contains(t, shown, "\n"+strings.Repeat("  ", 12)+"&#34;in&#34;: ")
}

// N6: the page shows the changes of a call, with the changed words, every hidden character by name, and
// no HTML of the texts.
func TestN6ThePageShowsChanges(t *testing.T) {
	q, err := engine.ApprovalOf("Write it?", "write", map[string]any{})
	require.NoError(t, err)
	q.Subject.Changes = []engine.Change{
		{Path: "a\u202e.sql", Kind: engine.ChangeEdit, Before: strings.Repeat("x\n", 9) + "pay 10\n",
			After: strings.Repeat("x\n", 9) + "pay 1000\u200b\n<script>"},
		{Path: "b", Kind: engine.ChangeCreate},
	}
	h := newHost(t, q, nil)
	shown := h.call("GET", h.link("r", h.asked("r", nil), To("ada")), nil).Body.String()
	for _, part := range []string{`Edits <strong>a\u{202E}.sql</strong>`, "… 6 equal lines", "- pay <u>10</u>",
		`\u{200B}`, "&lt;script&gt;", "(no line break at the end)", "Creates <strong>b</strong>"} {
		require.Contains(t, shown, part)
	}
	require.NotContains(t, shown, "<script>")
	require.Contains(t, shown, `<td><span class="removed">- pay <u>10</u></span></td><td><span class="added">&#43; `+
		`pay <u>1000`, "the two versions are in one row")
}

// N5: a long text is folded: the page has its beginning, and all of it behind a summary.
func TestN5ALongTextIsFolded(t *testing.T) {
	lines := strings.Repeat("é\n", foldedLines-1) + "é"
	for text, beginning := range map[string]string{
		lines: "", lines + "\n": "", lines + "\né": lines + "\n", "": "",
		strings.Repeat("é", foldedBytes): strings.Repeat("é", foldedBytes/2),
		"x" + strings.Repeat("é", 750):   "x" + strings.Repeat("é", 749), // not within a character
	} {
		e := (&view{T: &english}).Excerpt(text)
		require.Equal(t, []string{text, beginning}, []string{e.Whole, e.Beginning})
		require.Equal(t, beginning == "", e.More == "")
	}
	h := newHost(t, engine.Question{Prompt: "Which?", Context: "> **a " + strings.Repeat("b ", 1000) + "c**"}, nil)
	shown := h.call("GET", h.link("r", h.asked("r", nil), To("ada")), nil).Body.String()
	require.Contains(t, shown, `<div class="beginning"><blockquote><p><strong>a b b`)
	require.Contains(t, shown, `<summary>Show all lines (1)</summary>`)
	require.Equal(t, 1, strings.Count(shown, "b c</strong>"))
}

// N7: the question is the page's heading and title in both languages, as one bounded line of plain
// text without hidden characters or HTML. The prompt follows unless the heading is all of it.
func TestN7TheQuestionIsTheHeading(t *testing.T) {
	long := strings.Repeat("é", 98) + "\u202eé"
	call := &engine.Subject{Tool: "pay", Title: "Pay <b>ACME</b>\u200b\nnow", Summary: "pay 10"}
	for _, c := range []struct {
		question engine.Question
		heading  string // as HTML; empty: the page's words
		whole    bool
	}{
		{engine.Question{Prompt: " Ship <b>it</b>\u202e?\n"}, `Ship &lt;b&gt;it&lt;/b&gt;\u{202E}?`, true},
		{engine.Question{Prompt: "## Ship **it** to [a](https://b.example)?\n\nSoon."},
			"Ship it to a (https://b.example)?", false},
		{engine.Question{Prompt: "Ship `a\u200b`\\\nnow?"}, `Ship a\u{200B}`, false},
		{engine.Question{Prompt: "Ship\nnow?"}, "Ship", false},
		{engine.Question{Prompt: long + "?"}, strings.Repeat("é", 98) + `\u{202E} …`, false},
		{engine.Question{Prompt: "- a\n- b"}, "", false},
		{engine.Question{Prompt: "Pay?", Subject: call}, "Pay?", true},
		{engine.Question{Prompt: long + "?", Subject: call}, `Pay &lt;b&gt;ACME&lt;/b&gt;\u{200B}`, false},
		{engine.Question{Prompt: "- a", Subject: &engine.Subject{Tool: "pay", Summary: "pay\u00ad 10"}},
			`pay\u{00AD} 10`, false},
	} {
		h := newHost(t, c.question, nil)
		address := h.link("r", h.asked("r", nil), To("ada"))
		for language, fallback := range map[string]string{"en": "Please answer", "de": "Bitte antworten Sie"} {
			shown := h.call("GET", address, nil, "Accept-Language", language).Body.String()
			want := cmp.Or(c.heading, fallback)
			require.Contains(t, shown, `<h1>`+want+"</h1>")
			require.Contains(t, shown, "<title>"+want+" – Acme</title>")
			_, body, _ := strings.Cut(shown, "</h1>")
			require.Equal(t, c.whole, !strings.Contains(body, `<div class="text">`), c.question.Prompt)
		}
	}
}

// N7: each page has the host's name, logo and colors; the logo executes nothing, and colors that people
// could not read are refused.
func TestN7ALinkHasTheHostsBrand(t *testing.T) {
	brand := render.Brand{Name: `Acme "<&>" Desk`, Color: "#7A1F5C", DarkColor: "#f0a6d8",
		Logo: []byte(`<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>`)}
	var base Config
	h := newHost(t, confirm, func(c *Config, _ *lifecycle.Config) {
		c.Name, c.Brand = "", brand
		base = *c
	})
	address := h.link("r", h.asked("r", nil), To("ada"))
	for _, a := range []string{address, address + "x"} { // a rejected link, too
		page := h.call("GET", a, nil)
		body := page.Body.String()
		require.Contains(t, body, `<img src="?logo" alt=""><span class="text">Acme &#34;&lt;&amp;&gt;&#34; Desk</span>`)
		require.Contains(t, body, " – Acme &#34;&lt;&amp;&gt;&#34; Desk</title>")
		require.Contains(t, body, "@media (prefers-color-scheme: light) { :root { --act: #7a1f5c; } }")
		require.Contains(t, body, "@media (prefers-color-scheme: dark) { :root { --act: #f0a6d8; } }")
		require.Equal(t, policyOf(h.links.style)+"; img-src 'self'", page.Header().Get("Content-Security-Policy"))
		logo := h.call("GET", a+"?logo", nil)
		require.Equal(t, http.StatusOK, logo.Code)
		require.Equal(t, string(brand.Logo), logo.Body.String())
		require.Equal(t, "image/svg+xml", logo.Header().Get("Content-Type"))
		require.Contains(t, logo.Header().Get("Content-Security-Policy"), "default-src 'none'")
		require.Contains(t, logo.Header().Get("Content-Security-Policy"), "sandbox")
	}
	require.Equal(t, http.StatusOK, h.call("POST", address+"?logo", url.Values{"option": {"0"}}).Code)

	base.Client = h.lc.Client
	for _, bad := range []render.Brand{{Color: "#ffcc00"}, {DarkColor: "#3454d1"}, {Color: "red;}"},
		{Logo: []byte("<html>")}} {
		base.Brand = bad
		_, err := New(base)
		require.ErrorContains(t, err, "link: Config.Brand: ")
	}
	plain := newHost(t, confirm, nil)
	body := plain.call("GET", plain.link("r", plain.asked("r", nil), To("ada")), nil).Body.String()
	require.NotContains(t, body, "<img")
}

// N4: every invisible character of untrusted text on the page is named, and an option shows its
// value.
func TestN4ThePageNamesEveryHiddenCharacter(t *testing.T) {
	var b strings.Builder
	for r := rune(1); r < 0xe0200; r++ {
		if unicode.In(r, unicode.Cf, unicode.Zs, unicode.Zl, unicode.Zp, unicode.Other_Default_Ignorable_Code_Point,
			unicode.Variation_Selector) && r != ' ' && r < 0x1d200 || r >= 0xe0020 && r < 0xe0080 {
			b.WriteString("a" + string(r))
		}
	}
	hides := b.String()
	one := hides[:strings.Index(hides, "\u200b")+3]
	q := engine.Question{Kind: engine.ChooseOne, Context: hides,
		Prompt:  "Which" + strings.Repeat(" ", 4000) + "?" + hides,
		Options: []engine.Option{{Label: one, Value: "drop\u200b"}, {Label: "keep", Value: "keep"}}}
	h := newHost(t, q, nil)
	shown := h.call("GET", h.link("r", h.asked("r", nil), To("ada")), nil).Body.String()
	for _, r := range shown {
		kind := interaction.CharacterOf(r)
		require.True(t, kind&interaction.Hidden == 0 || kind&interaction.SingleSpace != 0, "%U", r)
	}
	for _, r := range hides {
		if interaction.CharacterOf(r)&interaction.SingleSpace == 0 && r != 'a' {
			require.Contains(t, shown, fmt.Sprintf(`\u{%04X}`, r))
		}
	}
	require.Contains(t, shown, "Which[4000 white-space characters]?")
	require.Contains(t, shown, `<code class="text">drop\u{200B}</code>`)
	require.Equal(t, 1, strings.Count(shown, "keep"))
}

// N1: an answer that accepts a risk needs a checked box, and a refusal does not; if it is unclear
// which accepts, each needs it.
func TestN1TheRiskIsAcknowledged(t *testing.T) {
	no, yes := engine.Option{Label: "Stop", Value: "no"}, engine.Option{Label: "Go on", Value: " YES"}
	const tick = `<input type="checkbox" name="risk" value="accept" required>`
	approve, first, second := url.Values{"decision": {"approve"}}, url.Values{"option": {"0"}},
		url.Values{"option": {"1"}}
	for _, c := range []struct {
		question engine.Question
		ticks    int
		free     int // buttons that need no checked box
		accept   url.Values
	}{
		{engine.Question{Kind: engine.RiskAck, Prompt: "Wipe it?", Options: []engine.Option{no, yes}}, 1, 1, second},
		{engine.Question{Kind: engine.RiskAck, Prompt: "Wipe it?", Options: []engine.Option{no, {Label: "Yes",
			Value: "1"}}}, 1, 0, first},
		{engine.Question{Kind: engine.RiskAck, Prompt: "Wipe it?"}, 0, 0, // its button says that it accepts
			url.Values{"text": {"Yes "}}},
		{engine.Question{Kind: engine.ChooseOne, Prompt: "Which?", Options: []engine.Option{no, yes}}, 0, 1, nil},
		{engine.Question{Prompt: "Pay?", Subject: &engine.Subject{Tool: "pay", Risk: "It is gone."}}, 1, 2, approve},
	} {
		h := newHost(t, c.question, nil)
		shown := h.call("GET", h.link("r", h.asked("r", nil), To("ada")), nil).Body.String()
		require.Equal(t, c.ticks, strings.Count(shown, tick), shown)
		if c.ticks > 0 {
			require.Equal(t, c.free, strings.Count(shown, "formnovalidate"), shown)
		}
		if c.accept == nil {
			continue
		}
		address := h.link("s", h.asked("s", nil), To("ada"))
		refused := h.call("POST", address, c.accept) // by a browser that does not check the box, or a script
		require.Equal(t, string(Risk), refused.Header().Get("Interlude-Reason"))
		c.accept.Set("risk", "accept")
		require.Equal(t, http.StatusOK, h.call("POST", address, c.accept).Code)
	}
}

// N1: a question with Only refuses any other answer, and stays open.
func TestN1ALinkAcceptsOnlyTheOptions(t *testing.T) {
	h := newHost(t, engine.ConfirmOf("Ship it?"), nil)
	address := h.link("r", h.asked("r", nil), To("ada"))
	require.NotContains(t, h.call("GET", address, nil).Body.String(), "<textarea")
	for _, form := range []url.Values{{"text": {"perhaps"}}, {"option": {"2"}}, {"option": {"-1"}}} {
		require.Equal(t, "invalid", h.call("POST", address, form).Header().Get("Interlude-Reason"))
	}
	require.Equal(t, http.StatusOK, h.call("POST", address, url.Values{"option": {"1"}}).Code)
	record, err := h.lc.Question(t.Context(), "r", 1)
	require.NoError(t, err)
	require.Equal(t, "no", record.Response)
}

// N5: prompt and context are drawn as Markdown, and HTML is text.
func TestN5ThePageDrawsMarkdown(t *testing.T) {
	h := newHost(t, engine.Question{Kind: engine.OpenText, Prompt: "Deploy **api**?\n\n1. `a\u202eb`\n3. <b>c</b>",
		Context: "| a | b |\n|---|---|\n| [c](https://example.com) | [d](javascript:e) |\n\n```go\nfunc f() {}\n```"}, nil)
	shown := h.call("GET", h.link("r", h.asked("r", nil), To("ada")), nil).Body.String()
	for _, part := range []string{
		`<div class="text"><p>Deploy <strong>api</strong>?</p><ul class="numbered"><li>1. <p><code>a\u{202E}b</code></p></li>` +
			`<li>3. <p>&lt;b&gt;c&lt;/b&gt;</p></li></ul></div>`,
		`<table><tr><th>a</th><th>b</th></tr><tr><td><a href="https://example.com" rel="noopener noreferrer">` +
			`c (https://example.com)</a></td><td><em>d (javascript:e)</em></td></tr></table>`,
		`<p class="soft">go</p><pre tabindex="0">func f() {}</pre>`,
	} {
		require.Contains(t, shown, part)
	}
}

// N7: the page uses the browser's language, and no text is left in the other language. The answers mean
// the same.
func TestN7TheLinkPageSpeaksGerman(t *testing.T) {
	en, de := reflect.ValueOf(english), reflect.ValueOf(german)
	for i := range en.NumField() {
		name := en.Type().Field(i).Name
		require.NotEmpty(t, de.Field(i).Interface(), name)
		if name != "Months" && name != "Ahead" { // "in" and "April" are the same
			require.NotEqual(t, en.Field(i).Interface(), de.Field(i).Interface(), name)
		}
	}
	for reason, text := range english.Reasons {
		require.NotEmpty(t, german.Reasons[reason][0], reason)
		require.Equal(t, text[1] == "", german.Reasons[reason][1] == "", reason)
	}
	for header, want := range map[string]string{"": "en", "fr": "en", "de": "de", "de-AT,de;q=0.9,en;q=0.8": "de",
		"en-GB,de": "en", "fr, en;q=0.1, DE;q=0.5": "de", "de;q=0": "en", "de;q=x": "en"} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
		r.Header.Set("Accept-Language", header)
		require.Equal(t, want, wordsFor(r).Language, header)
	}
	at := time.Date(2027, 3, 1, 9, 5, 0, 0, time.UTC)
	for after, want := range map[time.Duration][2]string{
		0: {"in 1 minute", "in 1 Minute"}, 119 * time.Minute: {"in 119 minutes", "in 119 Minuten"},
		150 * time.Minute: {"in 3 hours", "in 3 Stunden"}, 48 * time.Hour: {"in 2 days", "in 2 Tagen"},
		-time.Second: {"1 minute ago", "vor 1 Minute"}, -72 * time.Hour: {"3 days ago", "vor 3 Tagen"},
	} {
		require.Equal(t, "1 March 2027, 09:05 UTC ("+want[0]+")", english.moment(at, at.Add(-after)).Text)
		require.Equal(t, "1. März 2027, 09:05 UTC ("+want[1]+")", german.moment(at, at.Add(-after)).Text)
	}

	h := newHost(t, engine.Question{Kind: engine.RiskAck, Prompt: "Löschen?"}, nil)
	link := h.link("r", h.asked("r", nil), To("ada"))
	body := h.call("GET", link, nil, "Accept-Language", "de").Body.String()
	for _, text := range []string{`<html lang="de">`, `<h1>Löschen?</h1>`, "Ich nehme das Risiko an", "Nein",
		"Sie antworten als"} {
		require.Contains(t, body, text)
	}
	thanks := h.call("POST", link, url.Values{"option": {"0"}}, "Accept-Language", "de").Body.String()
	require.Contains(t, thanks, "Ihre Antwort wurde angenommen.")
	run, err := h.lc.Wait(t.Context(), "r")
	require.NoError(t, err)
	require.Contains(t, run.FinalText, "yes")
	body = h.call("GET", link, nil, "Accept-Language", "de").Body.String()
	require.Contains(t, body, "Diese Frage ist erledigt")
	require.Contains(t, body, "Sie wurde beantwortet.")
}
