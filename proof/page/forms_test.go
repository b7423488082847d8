package page_test

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/lifecycle"
)

// forms.json has schemas by name, each with values that a person must be able to give exactly,
// beginning with an empty form. The values of a case with OnlyJSON need JSON; all others can be
// given in fields, too.
//
//go:embed testdata/forms.json
var formCases []byte

type formCase struct {
	Schema   json.RawMessage
	Examples []json.RawMessage
	OnlyJSON bool
}

// enter fills in the fields of a part like a person: it presses and types, and reads only the page.
//
//go:embed testdata/enter.js
var enterScript string

// N3: starting from an empty form, each value can be entered exactly, in fields and as JSON, and
// the page sends only content that was chosen or shown. With -short only the first value of each case
// is also entered as JSON.
func TestN3EachValueOfAFormCanBeGivenExactly(t *testing.T) {
	var cases map[string]formCase
	require.NoError(t, json.Unmarshal(formCases, &cases))
	w := openWorld(t)
	ada := w.open("ada", "")
	ada.sees("No open questions for you.")
	for _, name := range slices.Sorted(maps.Keys(cases)) {
		t.Run(name, func(t *testing.T) {
			outer := w.t
			w.t, ada.t = t, t
			defer func() { w.t, ada.t = outer, outer }()
			playForm(t, w, ada, name, cases[name])
		})
	}
}

func playForm(t *testing.T, w *world, ada *window, name string, c formCase) {
	t.Helper()
	type play struct {
		value  json.RawMessage
		asJSON bool
	}
	var plays []play
	var questions []engine.Question
	for i, value := range c.Examples {
		for _, asJSON := range []bool{true, false} {
			if c.OnlyJSON != asJSON && (c.OnlyJSON || testing.Short() && i%8 != 0) {
				continue
			}
			plays = append(plays, play{value, asJSON})
			questions = append(questions, engine.Question{Kind: engine.FillFields, Schema: c.Schema,
				Prompt: fmt.Sprintf("%s, no. %d?", name, len(plays))})
		}
	}
	w.ask(lifecycle.Spec{ID: name}, questions...)
	for i, p := range plays {
		ada.run(fmt.Sprintf(`location.hash = "#/inbox/%s/%d"`, name, i+1))
		ada.until(fmt.Sprintf(`document.querySelector("h1#question-title")?.innerText === %q`, questions[i].Prompt))
		if p.asJSON {
			ada.press("JSON")
			var pretty bytes.Buffer
			require.NoError(t, json.Indent(&pretty, p.value, "", "  "))
			ada.run(fmt.Sprintf(`const control = document.querySelector("textarea.code"); control.focus(); control.select();
				document.execCommand("insertText", false, %s)`, quote(pretty.String())))
		} else {
			said := js[string](ada, fmt.Sprintf(`(async () => { %s; return fill(%s) })()`, enterScript, quote(string(p.value))))
			require.Empty(t, said, "%s", p.value)
			ada.picture("forms-" + name)
		}
		ada.press("Send answer")
		ada.sees("Your answer was recorded.")
	}
	for i, answer := range w.answered(name) {
		require.Equal(t, exactly(t, plays[i].value), exactly(t, answer.Value), "%s of %s, as JSON: %t", plays[i].value,
			name, plays[i].asJSON)
	}
}

// exactly decodes a value with its numbers as they are written.
func exactly(t *testing.T, value json.RawMessage) any {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(value))
	d.UseNumber()
	var v any
	require.NoError(t, d.Decode(&v), "%s", value)
	return v
}

// N3: an empty text is offered for a required field after an attempt to send without it, and for a field that
// has one already, in both languages.
func TestN3AnEmptyTextIsOfferedAfterAnAttempt(t *testing.T) {
	w := openWorld(t)
	q := engine.Question{Kind: engine.FillFields, Prompt: "What is on the label?", Schema: json.RawMessage(`{
		"type":"object","required":["title","more","code"],"properties":{"title":{"type":"string"},
		"more":{"type":"string","default":""},"code":{"type":"string","minLength":1}}}`)}
	w.ask(lifecycle.Spec{ID: "r"}, q, q)
	ada := w.open("ada", "")
	for i, c := range []struct{ language, send, fault, empty, recorded string }{
		{"en", "Send answer", "Please fill this in.", "Send an empty text", "Your answer was recorded."},
		{"de", "Antwort senden", "Bitte ausfüllen.", "Leeren Text senden", "Ihre Antwort wurde eingetragen."},
	} {
		ada.run(`localStorage["interlude-settings /desk/"] = JSON.stringify({ language: "` + c.language + `" })`)
		ada.run(fmt.Sprintf(`location.hash = "#/inbox/r/%d"`, i+1))
		ada.reload()
		offered := `[...document.querySelectorAll(".special")].filter((e) => e.checkVisibility()).map((e) =>
			e.closest(".field").dataset.pointer + " " + e.innerText.trim()).join("|")`
		ada.until(offered + ` === "/more ` + c.empty + `"`)
		ada.press(c.send)
		ada.sees(c.fault)
		ada.until(offered + ` === "/title ` + c.empty + `|/more ` + c.empty + `"`)
		ada.accessible("a form that offers an empty text")
		ada.write("title", "A")
		ada.until(offered + ` === "/more ` + c.empty + `"`)
		ada.write("title", kb.Backspace)
		ada.until(offered + ` === "/title ` + c.empty + `|/more ` + c.empty + `"`)
		ada.with(`document.querySelector('[data-pointer="/title"] .special input') ?? undefined`, `e.click()`)
		ada.write("code", "B")
		ada.press(c.send)
		ada.sees(c.recorded)
	}
	for _, answer := range w.answered("r") {
		require.JSONEq(t, `{"title":"","more":"","code":"B"}`, string(answer.Value))
	}
}

// N3: a form as a whole can be edited as JSON and in fields, back and forth, with nothing lost; a
// member that is given twice is refused, and so is a value that fields cannot show.
func TestN3AFormGoesFromFieldsToJSONAndBack(t *testing.T) {
	w := openWorld(t)
	w.ask(lifecycle.Spec{ID: "r"}, engine.Question{Kind: engine.FillFields, Prompt: "What shall I order?",
		Schema: json.RawMessage(order)})
	ada := w.open("ada", "#/inbox/r/1")
	ada.sees("What shall I order?")
	ada.write("Name on the order", "Alice")
	ada.write("How many", "some")
	ada.press("JSON")
	ada.sees("A number, please.")
	ada.write("How many", "9007199254740993")
	ada.press("JSON")
	const code = `document.querySelector("textarea.code")`
	ada.until(code + `?.value === '{\n  "name": "Alice",\n  "count": 9007199254740993,\n  "address": {}\n}'`)
	ada.pictures("form-json")
	ada.accessible("a form as JSON")
	ada.write("Your answer", `{"name":"a","name":"b"}`)
	ada.press("Send answer")
	ada.sees(`the member "name" is given twice`)
	ada.write("Your answer", `{"name":"Alice","count":"3"`)
	ada.press("Fields")
	ada.sees("Invalid JSON")
	ada.until(`document.querySelector("input[value=json]").checked`)
	ada.write("Your answer", `{"name":"Alice","count":3.0,"size":"large","more":[1.10],"address":{"city":"Paris"},"2":0,"1":0}`)
	ada.reload()
	ada.until(code + `?.value.includes("3.0")`)
	ada.press("Fields")
	ada.until(`document.querySelector('[data-pointer="/count"] input')?.value === "3.0"`)
	ada.until(`document.querySelector('[data-pointer="/more"] textarea, [data-pointer="/more/0"] input') !== null`)
	ada.write("City", "Turku")
	ada.press("JSON")
	ada.until(code + `?.value.includes('"city": "Turku"') && ` + code + `.value.includes("1.10")`)
	ada.write("Your answer", `{"name":"Alice","count":3.0,"size":"large","more":[1.10],"address":{"city":"Turku"},"2":0,"1":0}`)
	ada.press("Send answer")
	ada.sees("Your answer was recorded.")
	require.Equal(t, `{"name":"Alice","count":3.0,"size":"large","more":[1.10],"address":{"city":"Turku"},"2":0,"1":0}`,
		string(w.answered("r")[0].Value), "what was typed as JSON is sent as it was typed")
}

// N3: opened, omitted and null parts of a form survive a reload.
func TestN3AReloadKeepsWhatIsOpenedLeftOutAndNull(t *testing.T) {
	w := openWorld(t)
	w.ask(lifecycle.Spec{ID: "r"}, engine.Question{Kind: engine.FillFields, Prompt: "What?", Schema: json.RawMessage(`{
		"type":"object","required":["note"],"properties":{"note":{"type":["string","null"]},
		"to":{"type":["string","array"],"items":{"type":"string"}},
		"group":{"type":"object","properties":{"speed":{"enum":["slow","fast"],"default":"slow"}}},
		"size":{"type":"integer","default":3}}}`)})
	ada := w.open("ada", "#/inbox/r/1")
	ada.press("No value (null)")
	ada.press("List")
	ada.press("Fill in")
	ada.sees("slow")
	ada.run(`document.querySelector('[data-pointer="/group/speed"] label:last-child').click()`)
	ada.write("size", kb.Backspace)
	ada.reload()
	ada.until(`document.querySelector('[data-pointer="/group/speed"] label:last-child input')?.checked`)
	ada.until(`[...document.querySelectorAll('[data-pointer="/to"] input')].some((i) => i.checked)`)
	ada.press("Send answer")
	ada.sees("Your answer was recorded.")
	require.JSONEq(t, `{"note":null,"group":{},"to":[]}`, string(w.answered("r")[0].Value))
}

// N3: a small schema can have endless fields; the form still appears immediately, and continues as
// JSON beyond the limit.
func TestN3ARecursiveSchemaLeavesThePageAlive(t *testing.T) {
	w := openWorld(t)
	node := func(required string) json.RawMessage {
		return json.RawMessage(strings.ReplaceAll(`{"$ref":"#/$defs/n","$defs":{"n":{"type":"object",`+required+`
			"properties":{"op":{"type":"string"},"a":{"$ref":"#/$defs/n"},"b":{"$ref":"#/$defs/n"},
			"c":{"$ref":"#/$defs/n"},
			"l":{"type":"array","minItems":3,"items":{"$ref":"#/$defs/n"}}}}}}`, "\n", ""))
	}
	wide := map[string]any{}
	for i := range 500 {
		wide[fmt.Sprint("m", i)] = map[string]any{"$ref": "#/$defs/e"}
	}
	all, err := json.Marshal(map[string]any{"type": "object", "properties": wide, "$defs": map[string]any{
		"e": map[string]any{"enum": slices.Collect(maps.Keys(wide))}}})
	require.NoError(t, err)
	either := json.RawMessage(`{"anyOf":[{"type":"object","properties":{"a":{"$ref":"#"},"b":{"allOf":[{"$ref":"#"},` +
		`{"$ref":"#"}]}}},{"type":"string"}]}`)
	schemas := map[string]json.RawMessage{"optional": node(""), "wide": all, "either": either,
		"required": node(`"required":["a","b","c","l"],`),
		// a browser tries a pattern in more ways than it has time for; the server's patterns are linear
		"pattern": json.RawMessage(`{"type":"object","patternProperties":{"^(a+)+$":{"type":"string"}},"default":{"` +
			strings.Repeat("a", 40) + `!":"x"}}`)}
	ada := w.open("ada", "")
	for name, schema := range schemas {
		w.ask(lifecycle.Spec{ID: name}, engine.Question{Kind: engine.FillFields, Prompt: name + "?", Schema: schema})
		ada.run(fmt.Sprintf(`location.hash = "#/inbox/%s/1"`, name))
		ada.until(fmt.Sprintf(`document.querySelector("h1#question-title")?.innerText === "%s?"`, name))
		ada.until(`document.querySelector(".form, .answer textarea") !== null`)
		require.Less(t, js[int](ada, `document.querySelectorAll(".answer *").length`), 20_000, name)
	}
	ada.run(`location.hash = "#/inbox/optional/1"`)
	ada.until(`document.querySelector("h1#question-title")?.innerText === "optional?"`)
	for range 14 { // deeper than a form goes
		ada.run(`[...document.querySelectorAll(".shapes > .picks label")].filter((l) => l.innerText.trim() === "Fill in"
			&& !l.firstChild.checked).at(-1)?.click()`)
	}
	require.Less(t, js[int](ada, `document.querySelectorAll(".answer *").length`), 5000)
	ada.press("Send answer")
	ada.sees("Your answer was recorded.")
}
