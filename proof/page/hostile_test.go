package page_test

import (
	"encoding/json"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/engine/netguard"
	"github.com/interlude-go/interlude/host/link"
	"github.com/interlude-go/interlude/host/notify"
	"github.com/interlude-go/interlude/internal/hostile"
	"github.com/interlude-go/interlude/lifecycle"
)

// everything is all text of the page, including text for screen readers. Editable text shows
// itself, except JSON.
const everything = `document.body.innerText + [...document.querySelectorAll("*")].flatMap((e) => [e.ariaLabel, e.title,
	e.placeholder, e.matches("option, svg title") ? e.textContent : "", e.matches("textarea.code") ? e.value : ""]
	.filter((text) => typeof text === "string")).join("\n")`

// shows requires that the page shows the texts of these words, and hides nothing.
func (o *window) shows(exact, prose []string) {
	o.t.Helper()
	require.EventuallyWithT(o.t, func(c *assert.CollectT) {
		assert.NoError(c, hostile.Check(js[string](o, everything), exact, prose))
	}, patience, 50*time.Millisecond)
}

// linked is the text of a link's page for the person.
func (w *world) linked(id, person string) string {
	w.t.Helper()
	links, err := link.New(link.Config{Client: w.lc.Client, URL: "https://example.com/answer",
		Keys: []link.Key{{ID: "a", Secret: []byte(strings.Repeat("a", link.MinSecret))}}})
	require.NoError(w.t, err)
	q, err := w.lc.Pending(w.t.Context(), id)
	require.NoError(w.t, err)
	address, err := links.For(id, *q, link.To(person))
	require.NoError(w.t, err)
	page := httptest.NewRecorder()
	links.ServeHTTP(page, httptest.NewRequestWithContext(w.t.Context(), http.MethodGet, address, nil))
	heading := regexp.MustCompile(`(?s)<title>(.*)</title>.*<h1>(.*)</h1>`).FindStringSubmatch(page.Body.String())
	require.Equal(w.t, heading[1], heading[2])
	marks := regexp.MustCompile(`(?s)<style>.*</style>|<[^>]*>`)
	return html.UnescapeString(marks.ReplaceAllString(page.Body.String(), " "))
}

// noticed are the messages about the run's question, by their front end.
func (w *world) noticed(id string) map[string]string {
	w.t.Helper()
	var n notify.Notice
	for e, err := range w.lc.Events(w.t.Context(), id, 0) {
		require.NoError(w.t, err)
		if e.Type == lifecycle.TypeInputRequired {
			n = notify.Notice{ID: id + "/1", Attempt: 1, Event: e}
			break
		}
	}
	all := map[string]string{"message": notify.DefaultMessage(n).Text}
	for name, chat := range map[string]func(notify.ChatConfig) (notify.Sender, error){
		"slack": notify.NewSlack, "teams": notify.NewTeams} {
		server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			all[name] = decoded(body)
		}))
		sender, err := chat(notify.ChatConfig{URL: server.URL, Network: netguard.Network{PlainHTTP: true,
			Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}})
		require.NoError(w.t, err)
		require.NoError(w.t, sender.Send(w.t.Context(), n))
		server.Close()
	}
	return all
}

// decoded are the texts in a JSON value.
func decoded(body []byte) string {
	var v any
	_ = json.Unmarshal(body, &v)
	var collect func(v any) string
	collect = func(v any) (text string) {
		switch v := v.(type) {
		case string:
			return v + "\n"
		case map[string]any:
			for _, inner := range v {
				text += collect(inner)
			}
		case []any:
			for _, inner := range v {
				text += collect(inner)
			}
		}
		return text
	}
	return collect(v)
}

// N4: no front end for people hides a character of an agent's text, wherever it is shown.
// cmd/internal/console tests the same for the command line, and host/notify/mail for mails.
func TestN4EachFrontEndShowsHostileText(t *testing.T) {
	w := openWorld(t)
	ada := w.open("ada", "")
	for _, c := range hostile.Cases() {
		w.ask(lifecycle.Spec{ID: c.ID, Title: hostile.Text("title"),
			Labels: map[string]string{"a": hostile.Text("tag")}}, c.Question)
		ada.run(fmt.Sprintf(`location.hash = "#/inbox/%s/1"`, c.ID))
		ada.shows(append(c.Exact, "tag"), append(c.Prose, "title"))
		ada.run(fmt.Sprintf(`location.hash = "#/runs/%s"`, c.ID))
		ada.shows([]string{"tag"}, []string{"title"})
		linked, noticed := []string{}, []string{"tool", "argument", "value", "option"}
		switch c.ID {
		case "named":
			linked, noticed = c.Exact, nil
		case "form":
			c.Prose, noticed = []string{"prompt", "context"}, nil // it is filled in elsewhere
		case "choice":
			linked, noticed = c.Exact, c.Exact
		case "call":
			linked, noticed = c.Exact, c.Exact
		}
		require.NoError(t, hostile.Check(w.linked(c.ID, "bob"), linked, c.Prose), c.ID)
		for name, text := range w.noticed(c.ID) {
			require.NoError(t, hostile.Check(text, noticed, []string{"prompt"}), name)
		}
	}
	ada.run(`location.hash = "#/inbox/call/1"`)
	ada.press("Edit …")
	ada.shows([]string{"argument"}, []string{"heading"})
	ada.run(`document.querySelector(".mode input[value=json]").click()`)
	ada.until(`document.querySelector("textarea.code") !== null`)
	ada.shows([]string{"argument", "value"}, nil)
}

// N4: nor does a run that is held, has ended, or is in other hands.
func TestN4ARunShowsHostileText(t *testing.T) {
	w := openWorld(t)
	w.ends = map[string]func() (engine.Outcome, error){
		"done": func() (engine.Outcome, error) {
			o := engine.Done(hostile.Text("final"))
			o.Output = fmt.Appendf(nil, `{"%s":"%s"}`, hostile.Text("outname"), hostile.Text("outvalue"))
			return o, nil
		},
		"held": func() (engine.Outcome, error) {
			return engine.Outcome{}, engine.Hold(engine.CodeEngineFailed, hostile.Text("reason"))
		},
	}
	for id := range w.ends {
		_, err := w.lc.Submit(t.Context(), lifecycle.Spec{ID: id, Prompt: "Do it."})
		require.NoError(t, err)
	}
	ada := w.open("ada", "#/runs/done")
	ada.shows([]string{"outname", "outvalue"}, []string{"final"})
	ada.run(`location.hash = "#/runs/held"`)
	ada.shows(nil, []string{"reason"})
	w.ask(lifecycle.Spec{ID: "taken"}, confirm("Yes?"))
	other := w.lc.As(lifecycle.Actor{ID: hostile.Text("person")})
	require.NoError(t, other.Claim(t.Context(), "taken", 1, time.Now().Add(time.Minute)))
	ada.run(`location.hash = "#/inbox/taken/1"`)
	ada.shows([]string{"person"}, nil)
	require.NoError(t, hostile.Check(w.linked("taken", "bob"), []string{"person"}, nil))
	require.NoError(t, hostile.Check(w.linked("taken", hostile.Text("person")), []string{"person"}, nil))
	_, err := other.Reply(t.Context(), "taken", lifecycle.Reply{ID: 1, Text: "yes"})
	require.NoError(t, err)
	ada.sees("Answered by")
	ada.shows([]string{"person"}, nil)
}
