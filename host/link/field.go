package link

import (
	"bytes"
	"encoding/json"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/interlude-go/interlude/host/front"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/lifecycle"
)

// field is a member of a flat object. Its control is the one of its type: a text, a number, a
// boolean, or a choice of Options: one of them, or several.
type field struct {
	ID           string
	Label, About string
	Control      control
	Options      []option
	Optional     bool // Sent says whether the member is present
	Sent         bool
	Text         string // as typed
	Fault        string

	name     string
	proposed json.RawMessage // nil: none
}

// shownField is a field in a language.
type shownField struct {
	field

	T *words
}

func (f *form) Shown() []shownField {
	out := make([]shownField, len(f.Fields))
	for i := range f.Fields {
		out[i] = shownField{f.Fields[i], f.T}
	}
	return out
}

// Rows is the number of lines of the control for a text.
func (f field) Rows() int { return min(1+len(f.Text)/60+strings.Count(f.Text, "\n"), 12) }

type control string

const (
	textual control = "text"
	numeric control = "number"
	one     control = "one"
	several control = "several"
)

type option struct {
	Label    string
	Selected bool
	value    json.RawMessage
}

type member struct {
	name  string
	value json.RawMessage
}

// membersOf returns the members of an object in their order; nil for any other value.
func membersOf(object json.RawMessage) (all []member) {
	d := json.NewDecoder(bytes.NewReader(object))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil
	}
	for d.More() {
		token, err := d.Token()
		name, ok := token.(string)
		m := member{name: name}
		if err != nil || !ok || d.Decode(&m.value) != nil {
			return nil
		}
		all = append(all, m)
	}
	return all
}

func find(all []member, name string) *member {
	if i := slices.IndexFunc(all, func(m member) bool { return m.name == name }); i >= 0 {
		return &all[i]
	}
	return nil
}

// property is a member of a flat form, as package front describes it.
type property struct {
	Type        string          `json:"type"`
	Title       string          `json:"title"`
	Description string          `json:"description"`
	Enum        []string        `json:"enum"`
	OneOf       []constant      `json:"oneOf"` //nolint:tagliatelle // JSON Schema
	Items       *items          `json:"items"`
	Default     json.RawMessage `json:"default"`
}

type items struct {
	Enum  []string   `json:"enum"`
	AnyOf []constant `json:"anyOf"` //nolint:tagliatelle // JSON Schema
}

type constant struct {
	Const string `json:"const"`
	Title string `json:"title"`
}

// fieldsOf returns the fields of a value, or nil if they could not show or give every value that the
// schema allows.
func fieldsOf(schema, value json.RawMessage, w *words) []field {
	flat, ok := front.FormOf(&lifecycle.Question{Schema: schema})
	if !ok || typeOf(schema) != "object" {
		return nil
	}
	var top struct {
		Properties json.RawMessage `json:"properties"`
		Required   []string        `json:"required"`
	}
	if json.Unmarshal(flat.Schema, &top) != nil {
		return nil
	}
	proposed, properties := membersOf(value), membersOf(top.Properties)
	if len(value) > 0 && value[0] != '{' || slices.ContainsFunc(proposed, func(m member) bool {
		return find(properties, m.name) == nil // a member that no field would send
	}) {
		return nil
	}
	// The members of the value keep their order.
	place := func(m member) int {
		if i := slices.IndexFunc(proposed, func(p member) bool { return p.name == m.name }); i >= 0 {
			return i
		}
		return len(proposed)
	}
	slices.SortStableFunc(properties, func(a, b member) int { return place(a) - place(b) })
	out := make([]field, 0, len(properties))
	for i, m := range properties {
		var p property
		if json.Unmarshal(m.value, &p) != nil {
			return nil
		}
		f := field{ID: "f" + strconv.Itoa(i), name: m.name, Label: p.Title, About: p.Description,
			Optional: !slices.Contains(top.Required, m.name)}
		if f.Label == "" {
			f.Label = interaction.Visible(m.name)
		}
		if before := find(proposed, m.name); before != nil {
			f.proposed, f.Sent = before.value, true
		}
		if !f.setUp(&p, w) {
			return nil
		}
		out = append(out, f)
	}
	return out
}

func typeOf(schema json.RawMessage) string {
	var s struct {
		Type string `json:"type"`
	}
	_ = json.Unmarshal(schema, &s)
	return s.Type
}

// setUp sets the control and its first content: the proposed value, else the default. It reports false
// if the control cannot show the proposed value.
func (f *field) setUp(p *property, w *words) bool {
	now := f.proposed
	if now == nil {
		now = p.Default
	}
	var text string
	isText := json.Unmarshal(now, &text) == nil && len(now) > 0 && now[0] == '"'
	f.Control = one
	switch {
	case p.Type == "array":
		f.Control = several
		for _, o := range slices.Concat(texts(p.Items.Enum), p.Items.AnyOf) {
			f.Options = append(f.Options, option{Label: shownOption(o), value: quoted(o.Const)})
		}
		var chosen []string
		if now != nil && json.Unmarshal(now, &chosen) != nil {
			return f.proposed == nil
		}
		return f.choose(chosen)
	case p.Type == "boolean":
		f.Options = []option{{Label: w.Yes + " (true)", value: json.RawMessage("true")},
			{Label: w.No + " (false)", value: json.RawMessage("false")}}
		return f.proposed == nil && p.Default == nil || f.choose([]string{string(now)})
	case len(p.Enum)+len(p.OneOf) > 0:
		for _, o := range slices.Concat(texts(p.Enum), p.OneOf) {
			f.Options = append(f.Options, option{Label: shownOption(o), value: quoted(o.Const)})
		}
		return now == nil || isText && f.choose([]string{text})
	case p.Type == "string":
		f.Control, f.Text = textual, text
		return now == nil || isText && interaction.Visible(text) == text
	}
	f.Control, f.Text = numeric, string(now)
	return now == nil || isNumber(f.Text)
}

func texts(all []string) (out []constant) {
	for _, s := range all {
		out = append(out, constant{Const: s})
	}
	return out
}

func shownOption(c constant) string {
	if c.Title == "" || c.Title == c.Const {
		return interaction.Visible(c.Const)
	}
	return c.Title + " (" + interaction.Visible(c.Const) + ")"
}

// choose selects the options with these values, each once, in their order. It reports false if that
// does not give the values.
func (f *field) choose(values []string) bool {
	n := 0
	for i := range f.Options {
		o := &f.Options[i]
		value := string(o.value)
		_ = json.Unmarshal(o.value, &value) // a boolean stays as it is
		if o.Selected = n < len(values) && value == values[n]; o.Selected {
			n++
		}
	}
	return n == len(values)
}

func isNumber(text string) bool {
	return json.Valid([]byte(text)) && strings.ContainsAny(text[:1], "-0123456789")
}

func quoted(s string) json.RawMessage {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s) // a text has no error
	return bytes.TrimSpace(b.Bytes())
}

// read returns the typed value of the member: nil if it is absent, or with a Fault.
func (f *field) read(typed url.Values, w *words) json.RawMessage {
	entered := typed[f.ID]
	f.Sent = !f.Optional || typed.Has(f.ID+"-sent")
	f.Text = strings.ReplaceAll(strings.Join(entered, ""), "\r\n", "\n")
	for i := range f.Options {
		f.Options[i].Selected = slices.Contains(entered, strconv.Itoa(i))
	}
	if !f.Sent {
		return nil
	}
	switch f.Control {
	case textual:
		if f.Text == "" && asText(f.proposed) == "" && string(f.proposed) != `""` {
			f.Fault = w.Missing // an empty text is written as JSON
			return nil
		}
		return f.kept(quoted(f.Text))
	case numeric:
		text := strings.TrimSpace(f.Text)
		if text == "" || !isNumber(text) {
			f.Fault = w.NotNumber
			return nil
		}
		return json.RawMessage(text)
	case one:
		i := slices.IndexFunc(f.Options, func(o option) bool { return o.Selected })
		if i < 0 {
			f.Fault = w.Missing
			return nil
		}
		return f.kept(f.Options[i].value)
	}
	chosen := []byte{'['}
	for _, o := range f.Options {
		if o.Selected {
			if len(chosen) > 1 {
				chosen = append(chosen, ',')
			}
			chosen = append(chosen, o.value...)
		}
	}
	return append(chosen, ']')
}

// kept returns the proposed text as the agent has written it if the value is unchanged.
func (f *field) kept(value json.RawMessage) json.RawMessage {
	if len(value) > 0 && value[0] == '"' && len(f.proposed) > 0 && f.proposed[0] == '"' &&
		asText(value) == asText(f.proposed) {
		return f.proposed
	}
	return value
}

func asText(raw json.RawMessage) (s string) {
	_ = json.Unmarshal(raw, &s)
	return s
}

func pointer(name string) string {
	return "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
}
