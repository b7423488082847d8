// Package typed makes a question of a Go type: the schema of its reply's value is that of the type,
// so that engine.As decodes the values that are accepted.
//
//	type Order struct {
//		Colour string `json:"colour" jsonschema:"red or blue"`
//		Count  int    `json:"count"`
//	}
//
//	q, err := typed.Question[Order]("What shall I order?")
//	…
//	order, err := engine.As[Order](t.Answers[0])
//
// It is a module of its own for the sake of its dependency, which finds the schema of a type. All
// else about forms is in package interaction.
package typed

import (
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/interlude-go/interlude/interaction"
)

// Question returns a question whose reply has a value that is a T. Members without omitempty and
// omitzero are required, further members are not allowed, and the tag jsonschema of a field
// describes it for people. A json.RawMessage takes any JSON, a []byte a text in base64, and a type
// that is decoded from a text (encoding.TextUnmarshaler) a text. A schema cannot say everything: an
// integer that the type of its field does not hold, or that is written as 3.0, is accepted, and
// engine.As returns an error. The error says that T has no schema: it is or has a function or a
// channel, or it contains itself.
func Question[T any](prompt string) (interaction.Question, error) {
	special := make(map[reflect.Type]*jsonschema.Schema)
	addSpecial(special, reflect.TypeFor[T](), make(map[reflect.Type]bool))
	s, err := jsonschema.For[T](&jsonschema.ForOptions{TypeSchemas: special})
	if err != nil {
		return interaction.Question{}, fmt.Errorf("typed: %w", err)
	}
	openAny(s)
	body, err := json.Marshal(s)
	if err != nil {
		return interaction.Question{}, fmt.Errorf("typed: the schema of %T: %w", *new(T), err)
	}
	return interaction.Question{Kind: interaction.FillFields, Prompt: prompt, Schema: body}, nil
}

// anyJSON marks the schema of a json.RawMessage until openAny removes it. A pointer to one would
// otherwise take null only: For adds null to the list of types, which is empty.
const anyJSON = "any JSON"

// addSpecial adds the schemas of the types below t that encoding/json decodes in another way than
// their kind suggests, which is all that For looks at.
func addSpecial(special map[reflect.Type]*jsonschema.Schema, t reflect.Type, seen map[reflect.Type]bool) {
	if seen[t] {
		return
	}
	seen[t] = true
	pointer := reflect.PointerTo(t)
	switch {
	case t == reflect.TypeFor[json.RawMessage]():
		special[t] = &jsonschema.Schema{Comment: anyJSON}
		return
	case t == reflect.TypeFor[json.Number]():
		special[t] = &jsonschema.Schema{Type: "number"}
		return
	case t == reflect.TypeFor[time.Time]():
		special[t] = &jsonschema.Schema{Type: "string", Format: "date-time"}
		return
	case pointer.Implements(reflect.TypeFor[json.Unmarshaler]()):
	case t.Kind() != reflect.Pointer && t.Kind() != reflect.Interface &&
		pointer.Implements(reflect.TypeFor[encoding.TextUnmarshaler]()):
		special[t] = &jsonschema.Schema{Type: "string"}
		return
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8:
		special[t] = &jsonschema.Schema{Types: []string{"null", "string"}, Pattern: base64, ContentEncoding: "base64"}
		return
	}
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		addSpecial(special, t.Elem(), seen)
	case reflect.Struct:
		for _, field := range reflect.VisibleFields(t) {
			addSpecial(special, field.Type, seen)
		}
	}
}

// base64 is how encoding/json writes bytes.
const base64 = "^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$"

// openAny lets the schemas of json.RawMessage accept everything.
func openAny(s *jsonschema.Schema) {
	if s == nil {
		return
	}
	if s.Comment == anyJSON {
		s.Comment, s.Types = "", nil
	}
	for _, member := range s.Properties {
		openAny(member)
	}
	openAny(s.Items)
	openAny(s.AdditionalProperties)
}
