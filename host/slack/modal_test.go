package slack_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/host/slack"
	"github.com/interlude-go/interlude/lifecycle"
)

// P1: a text is entered in a modal; an invalid one keeps the modal open.
func TestP1ATextIsEnteredInAModal(t *testing.T) {
	d := newDesk(t, []engine.Question{{Kind: engine.OpenText, Prompt: "Which order?", Context: "Two are open."}}, nil)
	m := d.ask("r1", lifecycle.Spec{})[0]
	d.press("ada", m, "form")
	v := d.modal("ada")
	require.Contains(t, v.Shown(), "Which order?")
	require.Contains(t, v.Shown(), "Two are open.")
	r, err := d.slack.Submit("ada", map[string]string{"Your answer": "   "})
	require.NoError(t, err)
	require.Contains(t, r.Errors()["input-0"], "missing")
	r, err = d.slack.Submit("ada", map[string]string{"Your answer": "A-1017 & <more>"})
	require.NoError(t, err)
	require.Empty(t, r.Body, "the modal closes")
	d.shows(m, "Answered by ada (slack)")
	require.Contains(t, d.message(m).Shown(), "A-1017 & <more>")
	require.Equal(t, "A-1017 & <more>", d.record("r1", 1).Response)
}

// P1: a person who submits a modal too late reads in it who has answered.
func TestP1ALateModalSaysWhoHasAnswered(t *testing.T) {
	d := newDesk(t, []engine.Question{{Kind: engine.OpenText, Prompt: "Which order?"}}, nil)
	m := d.ask("r1", lifecycle.Spec{})[0]
	d.press("ada", m, "form")
	d.press("bob", m, "form")
	d.modal("ada")
	d.modal("bob")
	for _, person := range []string{"ada", "bob"} {
		r, err := d.slack.Submit(person, map[string]string{"Your answer": person + " was"})
		require.NoError(t, err)
		if person == "bob" {
			require.Contains(t, r.Updated(), "already settled. Answered by ada (slack)")
			require.Contains(t, r.Updated(), "ada was")
		}
	}
}

const orderSchema = `{"type":"object","properties":{
	"order":{"type":"string","title":"Order","description":"Its <number>","maxLength":20},
	"items":{"type":"integer","minimum":1},
	"price":{"type":"number"},
	"express":{"type":"boolean","title":"Express"},
	"color":{"type":"string","oneOf":[{"const":"r","title":"Red & round"},{"const":"g","title":"Green"}]},
	"extras":{"type":"array","items":{"type":"string","enum":["bag","card"]}},
	"day":{"type":"string","format":"date","title":" "},
	"mail":{"type":"string","format":"email","description":"\t"},
	"at":{"type":"string","format":"date-time"}},
	"required":["order","items","color"]}`

// P1: each kind of member of a flat form has a control.
func TestP1AFormIsEnteredInAModal(t *testing.T) {
	d := newDesk(t, []engine.Question{{Kind: engine.FillFields, Prompt: "What?", Schema: []byte(orderSchema)}}, nil)
	m := d.ask("r1", lifecycle.Spec{})[0]
	d.press("ada", m, "form")
	d.modal("ada")
	r, err := d.slack.Submit("ada", map[string]string{"Order": "A-17", "items": "0", "color": "Green"})
	require.NoError(t, err)
	require.Contains(t, r.Errors()["input-1"], "items", "it says what is wrong")
	r, err = d.slack.Submit("ada", map[string]string{"Order": "A-17", "items": "3", "price": "12.50", "Express": "No",
		"color": "Red & round", "extras": "bag\ncard", "day": "2026-12-01", "mail": "ada@example.com",
		"at": "2026-12-01T15:00:00Z"})
	require.NoError(t, err)
	require.Empty(t, r.Body)
	require.JSONEq(t, `{"order":"A-17","items":3,"price":12.50,"express":false,"color":"r","extras":["bag","card"],
		"day":"2026-12-01","mail":"ada@example.com","at":"2026-12-01T15:00:00Z"}`, string(d.record("r1", 1).Value))
	d.shows(m, "Answered by ada (slack)")
}

// P1, N8: a question that has files or no flat form, or does not fit, has a link to the page instead
// of buttons.
func TestP1N8WhatDoesNotFitHasALink(t *testing.T) {
	long, err := json.Marshal(map[string]string{"text": strings.Repeat("<>&", 1500)})
	require.NoError(t, err)
	big := refund
	big.Subject = &engine.Subject{Tool: "send", Arguments: long}
	risk := engine.Question{Kind: engine.RiskAck, Prompt: strings.Repeat("Read this. ", 2000)}
	withFile := refund
	withFile.Files = &engine.Files{List: []engine.File{{Name: "plan.txt", MediaType: "text/plain", Size: 3,
		Path: "plan.txt", SHA256: strings.Repeat("a", 64)}}}
	many := engine.Question{Kind: engine.ChooseOne, Prompt: "Which?"}
	for i := range 100 {
		many.Options = append(many.Options, engine.Option{Label: strings.Repeat("long ", 40), Value: fmt.Sprint(i)})
	}
	for name, q := range map[string]engine.Question{"arguments": big, "a risk": risk, "a file": withFile,
		"nested": {Kind: engine.FillFields, Prompt: "What?", Schema: []byte(`{"type":"object","properties":{
			"list":{"type":"array","items":{"type":"object"}}}}`)}, "options": many} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, []engine.Question{q}, nil)
			m := d.ask("r1", lifecycle.Spec{})[0]
			require.Equal(t, []string{"page"}, m.Buttons())
			require.Equal(t, "https://desk.example.com/#/inbox/r1", m.Button("page").URL)
			current := d.record("r1", 1).Question
			value := "1." + current.Digest() + ".r1"
			_, err := d.slack.PressValue("ada", m, "form", value)
			require.NoError(t, err)
			d.await(func() bool { return len(d.slack.Said("ada")) == 1 })
			_, open := d.slack.Modal("ada")
			require.False(t, open)
			require.Empty(t, d.record("r1", 1).Resolution)
		})
	}
}

// P1: an approval with a risk, and the option that accepts it, are decided in a modal that names it.
func TestP1ARiskIsNamed(t *testing.T) {
	risky := refund
	risky.Subject = &engine.Subject{Tool: "refund", Arguments: []byte(`{"cents":4200}`), Risk: "It cannot be undone. " +
		strings.Repeat("Really. ", 20)}
	ack := engine.Question{Kind: engine.RiskAck, Prompt: "Delete it?"}
	d := newDesk(t, []engine.Question{risky, ack}, nil)
	all := d.ask("r1", lifecycle.Spec{})
	require.Equal(t, []string{"form", "reject", "claim", "page"}, all[0].Buttons())
	approve := all[0].Button("reject").Value
	_, err := d.slack.PressValue("ada", all[0], "approve", approve) // no button of this message
	require.NoError(t, err)
	d.hears("ada", "invalid")
	require.Empty(t, d.record("r1", 1).Resolution)
	d.press("ada", all[0], "form")
	v := d.modal("ada")
	require.Contains(t, v.Shown(), risky.Subject.Risk)
	label := v.Blocks[len(v.Blocks)-2].Element.Options[0].Text.Shown()
	require.True(t, strings.HasPrefix(label, "1. Approve, and accept the risk: It cannot be undone."), label)
	_, err = d.slack.Submit("ada", map[string]string{"Your decision": label})
	require.NoError(t, err)
	require.Equal(t, lifecycle.Approve, d.record("r1", 1).Decision)

	d.press("ada", all[1], "option-0")
	d.await(func() bool {
		v, ok := d.slack.Modal("ada")
		return ok && strings.Contains(v.Shown(), "Delete it?")
	})
	require.Empty(t, d.record("r1", 2).Resolution)
	_, err = d.slack.Submit("ada", map[string]string{"Your answer": "Yes: I accept the risk"})
	require.NoError(t, err)
	require.Equal(t, "yes", d.record("r1", 2).Response)
}

// P1: options are buttons; a risk is not, and labels that are too long are listed with numbers.
func TestP1OptionsAreButtons(t *testing.T) {
	d := newDesk(t, []engine.Question{
		{Kind: engine.ChooseOne, Prompt: "Which?", Only: true, Options: []engine.Option{{Label: "Tea", Value: "tea"},
			{Label: "Coffee", Value: "c-2"}}},
		{Kind: engine.ChooseOne, Prompt: "Which long one?", Options: []engine.Option{
			{Label: strings.Repeat("a", 80), Value: "a"}, {Label: "B", Value: "b"}}},
	}, nil)
	all := d.ask("r1", lifecycle.Spec{})
	require.Equal(t, []string{"option-0", "option-1", "claim", "page"}, all[0].Buttons())
	require.Equal(t, "Coffee (c-2)", all[0].Button("option-1").Text().Shown())
	require.Equal(t, []string{"option-0", "option-1", "form", "claim", "page"}, all[1].Buttons())
	require.Contains(t, all[1].Shown(), "1. "+strings.Repeat("a", 80)+" (a)\n2. B (b)")
	require.Equal(t, "2", all[1].Button("option-1").Text().Shown())
	d.press("ada", all[0], "option-1")
	d.press("ada", all[1], "option-1")
	d.shows(all[0], "Answered by ada")
	d.shows(all[1], "Answered by ada")
	require.Equal(t, "c-2", d.record("r1", 1).Response)
	require.Equal(t, "b", d.record("r1", 2).Response)
}

// P5: mentions, links, markup and invisible characters of an agent have no effect, wherever they are.
func TestP5TextsOfAgentsAreInert(t *testing.T) {
	const bad = "<!channel> <@U1|ada> <https://evil.example|safe> &lt;!here&gt; *bold* :smile: \u202Eevil\u200B"
	shown := strings.NewReplacer("\u202E", `\u{202E}`, "\u200B", `\u{200B}`).Replace(bad)
	arguments, err := json.Marshal(map[string]string{"to": bad})
	require.NoError(t, err)
	d := newDesk(t, []engine.Question{
		{Kind: engine.Approval, Prompt: bad, Context: bad, Subject: &engine.Subject{Tool: "send", Title: bad, Risk: bad,
			Arguments: arguments}},
		{Kind: engine.ChooseOne, Prompt: bad, Options: []engine.Option{{Label: bad[:30], Value: bad[:30]},
			{Label: "x", Value: bad}}},
		{Kind: engine.FillFields, Prompt: bad, RequiredFields: []string{bad}},
		{Kind: engine.FillFields, Prompt: bad, Schema: schemaWith(t, bad)},
	}, nil)
	all := d.ask("r1", lifecycle.Spec{}) // the workspace refuses texts with unescaped markup
	require.Equal(t, 5, strings.Count(all[0].Shown(), shown)+strings.Count(all[0].Shown(), `\u{202E}`)-5)
	for i, m := range all {
		require.Contains(t, m.Shown(), shown)
		require.NotContains(t, m.Text, "<")
		d.press("ada", m, "form")
		d.await(func() bool { return d.slack.Calls("views.open") == i+1 })
		v := d.modal("ada")
		require.Contains(t, v.Shown(), shown)
	}
	require.Empty(t, d.slack.Said("ada"))
	r, err := d.slack.Submit("ada", map[string]string{shown: bad})
	require.NoError(t, err)
	require.Empty(t, r.Body)
	d.shows(all[3], "Answered by ada")
}

func schemaWith(t *testing.T, title string) []byte {
	t.Helper()
	raw, err := json.Marshal(map[string]any{"type": "object", "required": []string{"a"}, "properties": map[string]any{
		"a": map[string]string{"type": "string", "title": title, "description": title}}})
	require.NoError(t, err)
	return raw
}

// P1: the text of a question that is not an approval may be cut, and the message says so.
func TestP1ALongTextIsCutHonestly(t *testing.T) {
	d := newDesk(t, []engine.Question{{Kind: engine.OpenText, Prompt: strings.Repeat("ä & é\n", 4000)}},
		func(c *slack.Config) { c.Page = nil })
	m := d.ask("r1", lifecycle.Spec{})[0]
	require.Contains(t, m.Shown(), "The text is cut here: ")
	require.Equal(t, []string{"form", "claim"}, m.Buttons())
	d.press("ada", m, "form")
	require.Contains(t, func() string { v := d.modal("ada"); return v.Shown() }(), "The text is cut here.")
	_, err := d.slack.Submit("ada", map[string]string{"Your answer": "yes"})
	require.NoError(t, err)
	d.shows(m, "Answered by ada")
}
