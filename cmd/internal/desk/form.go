package desk

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/charmbracelet/huh"

	"github.com/interlude-go/interlude/cmd/internal/terminal"
	"github.com/interlude-go/interlude/lifecycle"
)

// formSchema is the part of a JSON Schema that a form on a terminal shows. The rest of the schema
// is checked when the form was filled in; if the value does not pass, the form is shown again.
type formSchema struct {
	Type        string                `json:"type"`
	Title       string                `json:"title"`
	Description string                `json:"description"`
	Enum        []json.RawMessage     `json:"enum"`
	Properties  map[string]formSchema `json:"properties"`
	Required    []string              `json:"required"`
	Default     json.RawMessage       `json:"default"`
}

// form asks for a value: member by member where it is an object of simple ones, otherwise as JSON.
func (a asker) form(q *lifecycle.Question, r *lifecycle.Reply) error {
	var schema formSchema
	plain := json.Unmarshal(q.Schema, &schema) == nil && schema.Type == "object" && len(schema.Properties) > 0
	if !plain {
		text := string(schema.Default)
		if err := a.run(huh.NewText().Title("The value, as JSON").Value(&text).Lines(8).Validate(isJSON)); err != nil {
			return err
		}
		r.Value = json.RawMessage(text)
		return nil
	}
	names := slices.SortedFunc(maps.Keys(schema.Properties), func(x, y string) int {
		return strings.Compare(rank(schema.Required, x), rank(schema.Required, y))
	})
	members := make([]*member, len(names))
	fields := make([]huh.Field, len(names))
	for i, name := range names {
		members[i] = &member{name: name, schema: schema.Properties[name],
			required: slices.Contains(schema.Required, name)}
		fields[i] = members[i].field()
	}
	if err := a.run(fields...); err != nil {
		return err
	}
	value := make(map[string]json.RawMessage, len(members))
	for _, m := range members {
		if v := m.value(); v != nil {
			value[m.name] = v
		}
	}
	var err error
	r.Value, err = json.Marshal(value)
	return err
}

// rank is a key to sort members by: required ones first, in the order of their list, then the
// others by name.
func rank(required []string, name string) string {
	if i := slices.Index(required, name); i >= 0 {
		return fmt.Sprintf("\x00%06d", i)
	}
	return name
}

// member is a member of a form's value, as it is being filled in.
type member struct {
	name     string
	schema   formSchema
	required bool
	text     string // JSON for an enum and for whatever is no simple value
	yes      bool
}

func (m *member) title() string {
	title := m.schema.Title
	if title == "" {
		title = m.name
	}
	if !m.required {
		title += " (may stay empty)"
	}
	return terminal.Line(title)
}

// field is the control for the member.
func (m *member) field() huh.Field {
	help := terminal.Line(m.schema.Description)
	switch {
	case len(m.schema.Enum) > 0:
		var options []huh.Option[string]
		for _, v := range m.schema.Enum {
			options = append(options, huh.NewOption(label(v), string(v)))
		}
		if !m.required {
			options = append(options, huh.NewOption("(none)", ""))
		}
		return huh.NewSelect[string]().Title(m.title()).Description(help).Options(options...).Value(&m.text)
	case m.schema.Type == "boolean":
		m.yes = string(m.schema.Default) == "true"
		return huh.NewConfirm().Title(m.title()).Description(help).Value(&m.yes)
	}
	if m.schema.Default != nil {
		m.text = label(m.schema.Default)
	}
	return huh.NewInput().Title(m.title()).Description(help).Value(&m.text).Validate(m.check)
}

// label is a JSON value as a person reads it: a string without its quotes.
func label(v json.RawMessage) string {
	var text string
	if json.Unmarshal(v, &text) != nil {
		text = string(v)
	}
	return terminal.Line(text)
}

// check refuses what cannot be a value of the member's type.
func (m *member) check(text string) error {
	if strings.TrimSpace(text) == "" {
		if m.required {
			return notEmpty(text)
		}
		return nil
	}
	if v := m.literal(text); !json.Valid(v) {
		if m.schema.Type == "number" || m.schema.Type == "integer" {
			return errors.New("this is no number")
		}
		return errors.New("this is no JSON, which this field takes")
	}
	return nil
}

// literal turns a text into a JSON value of the member's type.
func (m *member) literal(text string) json.RawMessage {
	if m.schema.Type == "string" || m.schema.Type == "" {
		quoted, _ := json.Marshal(text) // a string can always be encoded
		return quoted
	}
	return json.RawMessage(strings.TrimSpace(text))
}

// value is what was filled in; nil if nothing was.
func (m *member) value() json.RawMessage {
	switch {
	case len(m.schema.Enum) > 0 && m.text != "":
		return json.RawMessage(m.text)
	case len(m.schema.Enum) > 0:
		return nil
	case m.schema.Type == "boolean":
		return json.RawMessage(fmt.Sprint(m.yes))
	case strings.TrimSpace(m.text) == "":
		return nil
	}
	return m.literal(m.text)
}
