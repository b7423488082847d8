package slacktest

import (
	"encoding/json"
	"regexp"
	"strings"
	"unicode/utf16"
)

// Text is a text object.
type Text struct {
	Type  string `json:"type"`
	Text  string `json:"text"`
	Emoji *bool  `json:"emoji"`
}

// Shown is the text as Slack shows it.
func (t *Text) Shown() string {
	if t == nil {
		return ""
	}
	return strings.NewReplacer("&lt;", "<", "&gt;", ">", "&amp;", "&").Replace(t.Text)
}

// Option is an option of a menu.
type Option struct {
	Text  *Text  `json:"text"`
	Value string `json:"value"`
}

// Element is a button, an input's control, or a text in small letters.
type Element struct {
	Type     string          `json:"type"`
	Action   string          `json:"action_id"`
	Label    json.RawMessage `json:"text"` // a button has a text object, other elements a text
	Value    string          `json:"value"`
	URL      string          `json:"url"`
	Style    string          `json:"style"`
	Options  []Option        `json:"options"`
	Initial  string          `json:"initial_value"`
	MaxChars int             `json:"max_length"`
}

// Text returns the label of a button, or the text.
func (e *Element) Text() *Text {
	var t Text
	if json.Unmarshal(e.Label, &t) == nil {
		return &t
	}
	var text string
	_ = json.Unmarshal(e.Label, &text) // empty if it is neither
	return &Text{Type: e.Type, Text: text}
}

// Block is a block of a message or modal.
type Block struct {
	Type     string    `json:"type"`
	ID       string    `json:"block_id"`
	Text     *Text     `json:"text"`
	Elements []Element `json:"elements"`
	Label    *Text     `json:"label"`
	Hint     *Text     `json:"hint"`
	Element  *Element  `json:"element"`
	Optional bool      `json:"optional"`
}

// View is a modal.
type View struct {
	ID       string  `json:"-"`
	Type     string  `json:"type"`
	Title    *Text   `json:"title"`
	Submit   *Text   `json:"submit"`
	Close    *Text   `json:"close"`
	Callback string  `json:"callback_id"`
	Metadata string  `json:"private_metadata"`
	Blocks   []Block `json:"blocks"`

	raw json.RawMessage
}

// UnmarshalJSON keeps the text, which the submission sends back.
func (v *View) UnmarshalJSON(raw []byte) error {
	type plain View
	v.raw = append(json.RawMessage(nil), raw...)
	return json.Unmarshal(raw, (*plain)(v))
}

// Shown returns all texts of a message as Slack shows them.
func (m Message) Shown() string { return shown(m.Blocks) }

// Shown returns all texts of a modal as Slack shows them.
func (v *View) Shown() string { return shown(v.Blocks) }

func shown(blocks []Block) string {
	var all []string
	for i := range blocks {
		b := &blocks[i]
		all = append(all, b.Text.Shown(), b.Label.Shown())
		for j := range b.Elements {
			all = append(all, b.Elements[j].Text().Shown())
		}
	}
	return strings.Join(all, "\n")
}

// Buttons returns the ids of a message's buttons.
func (m Message) Buttons() (ids []string) {
	for i := range m.Blocks {
		for j := range m.Blocks[i].Elements {
			if e := &m.Blocks[i].Elements[j]; e.Type == "button" {
				ids = append(ids, e.Action)
			}
		}
	}
	return ids
}

// Button returns a button of a message; nil if it has none with this id.
func (m Message) Button(id string) *Element {
	for i := range m.Blocks {
		for j := range m.Blocks[i].Elements {
			if e := &m.Blocks[i].Elements[j]; e.Type == "button" && e.Action == id {
				return e
			}
		}
	}
	return nil
}

// markup matches text that Slack resolves as a mention, a link or a date.
var markup = regexp.MustCompile(`[<>]|&(amp;|lt;|gt;)?`)

// escaped reports whether Slack finds nothing to resolve in a text.
func escaped(text string) bool {
	for _, found := range markup.FindAllString(text, -1) {
		if len(found) == 1 {
			return false
		}
	}
	return true
}

// length counts UTF-16 code units, as Slack does.
func length(text string) int { return len(utf16.Encode([]rune(text))) }

// fits reports whether a plain text is not blank, has a permitted length, and nothing to resolve.
func fits(t *Text, limit int) bool {
	return t != nil && t.Type == "plain_text" && strings.TrimSpace(t.Text) != "" && length(t.Text) <= limit &&
		escaped(t.Text) && (t.Emoji == nil || !*t.Emoji)
}

const invalidBlocks = "invalid_blocks"

// checkBlocks returns the error code for invalid blocks, or an empty string.
func checkBlocks(blocks []Block, limit int) string {
	if len(blocks) > limit {
		return invalidBlocks
	}
	actions, ids := make(map[string]bool), make(map[string]bool)
	for i := range blocks {
		b := &blocks[i]
		var ok bool
		switch b.Type {
		case "section":
			ok = fits(b.Text, 3000)
		case "context":
			ok = len(b.Elements) > 0 && len(b.Elements) <= 10
			for j := range b.Elements {
				ok = ok && fits(b.Elements[j].Text(), 3000)
			}
		case "actions":
			ok = len(b.Elements) > 0 && len(b.Elements) <= 25
			for j := range b.Elements {
				e := &b.Elements[j]
				ok = ok && e.button() && !actions[e.Action]
				actions[e.Action] = true
			}
		case "input":
			ok = b.ID != "" && !ids[b.ID] && fits(b.Label, 2000) && (b.Hint == nil || fits(b.Hint, 2000)) &&
				b.Element != nil && b.Element.input()
			ids[b.ID] = true
		}
		if !ok {
			return invalidBlocks
		}
	}
	return ""
}

func (e *Element) button() bool {
	return e.Type == "button" && fits(e.Text(), 75) && e.Action != "" && len(e.Action) <= 255 &&
		length(e.Value) <= 2000 && length(e.URL) <= 3000 && (e.Value == "") == (e.URL != "")
}

func (e *Element) input() bool {
	if e.Action == "" || length(e.Initial) > 3000 || e.MaxChars > 3000 {
		return false
	}
	switch e.Type {
	case "static_select", "multi_static_select":
		for _, o := range e.Options {
			if !fits(o.Text, 75) || o.Value == "" || length(o.Value) > 150 {
				return false
			}
		}
		return len(e.Options) > 0 && len(e.Options) <= 100
	case "plain_text_input", "number_input", "email_text_input", "url_text_input", "datepicker":
		return len(e.Options) == 0
	}
	return false
}

// check returns the error code for an invalid modal, or an empty string.
func (v *View) check() string {
	inputs := false
	for i := range v.Blocks {
		inputs = inputs || v.Blocks[i].Type == "input"
	}
	if v.Type != "modal" || !fits(v.Title, 24) || inputs && v.Submit == nil || v.Submit != nil && !fits(v.Submit, 24) ||
		v.Close != nil && !fits(v.Close, 24) || length(v.Metadata) > 3000 || length(v.Callback) > 255 ||
		len(v.Blocks) == 0 {
		return "invalid_arguments"
	}
	return checkBlocks(v.Blocks, 100)
}
