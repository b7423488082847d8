package link

import (
	"encoding/json"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/lifecycle"
)

var (
	textarea = regexp.MustCompile(`(?s)<textarea id="(\w+)"[^>]*>\n(.*?)</textarea>`)
	input    = regexp.MustCompile(`<input ([^>]*)>`)
	has      = func(tag, name string) string {
		found := regexp.MustCompile(` ` + name + `="([^"]*)"`).FindStringSubmatch(" " + tag)
		if found == nil {
			return ""
		}
		return html.UnescapeString(found[1])
	}
)

// submitted returns the request of a browser for the page's form without changes.
func submitted(page, button string) url.Values {
	_, page, _ = strings.Cut(page, "<h1>")
	if at := strings.Index(page, `class="editor"`); at >= 0 {
		page = page[at:]
	}
	sent := url.Values{}
	for _, m := range textarea.FindAllStringSubmatch(page, -1) {
		sent.Set(m[1], strings.ReplaceAll(html.UnescapeString(m[2]), "\n", "\r\n"))
	}
	for _, m := range input.FindAllStringSubmatch(page, -1) {
		name, kind := has(m[1], "name"), has(m[1], "type")
		if name == "view" || (kind == "radio" || kind == "checkbox") && !strings.Contains(m[1], " checked") {
			continue
		}
		value := has(m[1], "value")
		if kind == "checkbox" && value == "" {
			value = "on"
		}
		sent.Add(name, value)
	}
	name, value, _ := strings.Cut(button, "=")
	sent.Set(name, value)
	return sent
}

// N6: a person edits the arguments of an approval, sees the difference, and approves. These arguments
// are executed, byte for byte.
func TestN6ALinkEditsTheArguments(t *testing.T) {
	q, err := engine.ApprovalOf("Pay?", "pay", json.RawMessage(
		`{"to":"AC\u004dE","amount":420.00,"urgent":true,"about":"a\nb","id":12345678901234567890}`))
	require.NoError(t, err)
	q.Subject.Risk = "Money leaves."
	h := newHost(t, q, nil)
	address := h.link("r", h.asked("r", nil), To("ada"))
	form := submitted(h.call("GET", address, nil).Body.String(), "step=review")
	require.Equal(t, "ACME", form.Get("f0"))
	unchanged := h.call("POST", address, form)
	require.Equal(t, http.StatusBadRequest, unchanged.Code)
	require.Contains(t, unchanged.Body.String(), "Nothing is changed.")

	form.Set("f1", "4oo")
	form.Set("f0", "ACME Ltd")
	faulty := h.call("POST", address, form)
	require.Equal(t, "invalid", faulty.Header().Get("Interlude-Reason"))
	require.Contains(t, faulty.Body.String(), `value="4oo" aria-describedby="f1-fault" aria-invalid="true"`)
	require.Contains(t, faulty.Body.String(), "\nACME Ltd</textarea>", "what was typed stays")
	require.NotContains(t, faulty.Body.String(), `value="approve"`, "the proposal is not approved by mistake")

	form = submitted(faulty.Body.String(), "step=review")
	form.Set("f1", "400.50")
	review := h.call("POST", address, form)
	require.Equal(t, http.StatusOK, review.Code)
	shown := review.Body.String()
	require.Contains(t, shown, "Please review your edit")
	require.Contains(t, shown, `&#34;amount&#34;: <u>420</u>.<u>00</u>`)
	require.Contains(t, shown, `&#34;amount&#34;: <u>400</u>.<u>50</u>`)
	run, err := h.lc.Get(t.Context(), "r")
	require.NoError(t, err)
	require.Equal(t, lifecycle.StateWaitingUser, run.State, "a review decides nothing")

	back := h.call("POST", address, submitted(shown, "step=back")).Body.String()
	require.Contains(t, back, `value="400.50"`)
	form = submitted(shown, "decision=edit")
	require.Equal(t, string(Risk), h.call("POST", address, form).Header().Get("Interlude-Reason"))
	form.Set("risk", "accept")
	form.Set("text", "less")
	require.Contains(t, h.call("POST", address, form).Body.String(), "Thank you")
	_, err = h.lc.Wait(t.Context(), "r")
	require.NoError(t, err)
	record, err := h.lc.Question(t.Context(), "r", 1)
	require.NoError(t, err)
	answer := record.Answer()
	require.Equal(t, lifecycle.Edit, answer.Decision)
	require.Equal(t, `{"to":"ACME Ltd","amount":400.50,"urgent":true,"about":"a\nb","id":12345678901234567890}`,
		string(answer.Arguments))
	require.Contains(t, answer.Text, "less")
	late := h.call("POST", address, submitted(shown, "step=back"))
	require.Equal(t, "settled", late.Header().Get("Interlude-Reason"))
}

// N3: the fields of a page that nobody changes give the value that it shows, byte for byte; values that
// fields cannot show are edited as JSON.
func TestN3FieldsGiveTheValueThatTheyShow(t *testing.T) {
	const schema = `{"type":"object","required":["a"],"properties":{"a":{"type":"string"},
		"b":{"type":"integer","maximum":9},"c":{"type":"array","items":{"enum":["x","y","z"],"type":"string"}},
		"d":{"type":"string","oneOf":[{"const":"e","title":"Euro"},{"const":"d","title":"Dollar"}]},
		"e":{"type":"boolean"}}}`
	for arguments, schemas := range map[string]string{
		`{"a":"","b":" c ","d":"\u00e9\t<b>&amp;","é\"":-1.50e+3}`: "",
		`{"a":"\n\nx\n"}`: "",
		`{"b":7,"a":"x"}`: schema,
		`{"a":"x","c":["x","z"],"d":"d","e":false}`: schema,
		`{"a":"x","c":[]}`:                          schema,
		`{"a":null}`:                                "JSON",
		`{"a":"x\u202e"}`:                           "JSON",
		`{"a":"x\ry"}`:                              "JSON",
		`{"a":{"b":1}}`:                             "JSON",
		`{}`:                                        "JSON",
		`[1,2]`:                                     "JSON",
		`"text"`:                                    "JSON",
		`{"a":"` + strings.Repeat(" ", 90) + `x"}`: "JSON",
		`{"a\u200b":1}`:           "JSON",
		`{"a":"x","other":1}`:     "JSON" + schema,
		`{"a":"x","c":["z","x"]}`: "JSON" + schema, // in another order
		`{"a":"x","d":"f"}`:       "JSON" + schema,
		`{"a":1}`:                 "JSON" + schema,
		`{"a":"x","c":["x","x"]}`: "JSON" + schema,
		`{"a":"x","e":"true"}`:    "JSON" + schema,
		`{"a":"x","b":"7"}`:       "JSON" + schema,
		`{"a":"` + strings.Repeat("x", 3000) + `","b":"x"}`: "",
	} {
		asJSON := strings.HasPrefix(schemas, "JSON")
		q := lifecycle.Question{Schema: json.RawMessage(strings.TrimPrefix(schemas, "JSON")),
			Subject: &lifecycle.Subject{Arguments: json.RawMessage(arguments)}}
		f := formOf(&q, q.Subject.Arguments, &english)
		require.Equal(t, asJSON, f.Fields == nil, arguments)
		var page strings.Builder
		page.WriteString("<h1>")
		require.NoError(t, pages.ExecuteTemplate(&page, "form", f))
		value := f.read(submitted(page.String(), "step=review"))
		require.Empty(t, f.Faults)
		if asJSON {
			require.JSONEq(t, arguments, string(value))
		} else {
			require.Equal(t, arguments, string(value))
		}
	}
}

// N3: a question with a schema is answered by fields, of which optional ones are sent only if chosen,
// or by JSON.
func TestN3ALinkAnswersAForm(t *testing.T) {
	q := engine.Question{Kind: engine.FillFields, Prompt: "Where to?", Schema: json.RawMessage(`{"type":"object",
		"required":["street","floor"],"properties":{"street":{"type":"string","title":"Street <b>",
		"description":"No box"},"floor":{"type":"integer","minimum":0},"lift":{"type":"boolean","default":true},"note":{"type":"string"}}}`)}
	h := newHost(t, q, nil)
	asked := h.asked("r", nil)
	address := h.link("r", asked, To("ada"))
	page := h.call("GET", address, nil).Body.String()
	require.Contains(t, page, `<label for="f0"><span class="text">Street &lt;b&gt;</span></label>`)
	form := submitted(page, "step=send")
	refused := h.call("POST", address, form)
	require.Equal(t, "invalid", refused.Header().Get("Interlude-Reason"))
	require.Contains(t, refused.Body.String(), `<p class="risk text" id="f0-fault">Please fill this in.`)
	form.Set("f0", "Elm 1")
	form.Set("f1", "-1")
	refused = h.call("POST", address, form)
	require.Contains(t, refused.Body.String(), `<p class="risk text" id="f1-fault">`, "the schema's fault is at its field")
	require.Contains(t, refused.Body.String(), "\nElm 1</textarea>")
	form.Set("f1", "3")
	form.Set("step", "json")
	written := h.call("POST", address, form).Body.String()
	require.Contains(t, html.UnescapeString(written), `"street": "Elm 1"`)
	require.Contains(t, written, "Schema of the JSON")
	sent := submitted(written, "step=send")
	sent.Set("value", strings.Replace(sent.Get("value"), "3", "3,", 1))
	broken := h.call("POST", address, sent)
	require.Equal(t, http.StatusBadRequest, broken.Code)
	require.Contains(t, broken.Body.String(), "This is not valid JSON")
	require.Contains(t, html.UnescapeString(broken.Body.String()), `"floor": 3,`, "what was typed stays")
	form.Set("f3-sent", "on")
	form.Set("f3", "Ring\r\ntwice")
	form.Set("step", "send")
	require.Contains(t, h.call("POST", address, form).Body.String(), "Thank you")
	_, err := h.lc.Wait(t.Context(), "r")
	require.NoError(t, err)
	record, err := h.lc.Question(t.Context(), "r", 1)
	require.NoError(t, err)
	require.Equal(t, `{"street":"Elm 1","floor":3,"note":"Ring\ntwice"}`, string(record.Value),
		"the default is offered, and not sent")
	nested := engine.Question{Kind: engine.FillFields, Prompt: "Which?", Schema: json.RawMessage(`{"type":"array"}`)}
	h = newHost(t, nested, nil)
	address = h.link("r", h.asked("r", nil), To("ada"))
	require.Contains(t, h.call("GET", address, nil).Body.String(), "Your answer, as JSON")
	require.Empty(t, h.call("POST", address, url.Values{"step": {"send"}, "value": {"[1]"}}).
		Header().Get("Interlude-Reason"))
}

// K4: arguments that nobody may edit have no editor, and a form sent for them is refused.
func TestK4ALinkEditsOnlyWhatMayBeEdited(t *testing.T) {
	q, err := engine.ApprovalOf("Pay?", "pay", json.RawMessage(`{"amount":1}`))
	require.NoError(t, err)
	fixed := q
	fixed.Schema = json.RawMessage("false")
	for _, c := range []struct {
		question engine.Question
		ask      *lifecycle.AskPolicy
	}{{fixed, nil}, {q, &lifecycle.AskPolicy{Need: 2}}, {confirm, nil}} {
		h := newHost(t, c.question, nil)
		address := h.link("r", h.asked("r", c.ask), To("ada"))
		require.NotContains(t, h.call("GET", address, nil).Body.String(), `class="editor"`)
		for _, form := range []url.Values{{"step": {"review"}, "value": {`{"amount":2}`}},
			{"decision": {"edit"}, "value": {`{"amount":2}`}}, {"step": {"json"}}, {"step": {"back"}}} {
			require.Equal(t, "invalid", h.call("POST", address, form).Header().Get("Interlude-Reason"))
		}
	}
	h := newHost(t, q, nil)
	address := h.link("r", h.asked("r", nil), To("ada"))
	for _, value := range []string{"", "[1]", `{"amount":1e999}`, `{"a":1,"a":2}`, "{} {}", "nul"} {
		refused := h.call("POST", address, url.Values{"decision": {"edit"}, "value": {value}})
		require.Equal(t, "invalid", refused.Header().Get("Interlude-Reason"), value)
		require.Contains(t, refused.Body.String(), `name="value"`, "the form again")
	}
}
