// Package typed builds a form from a Go type: the question has the type's schema, and engine.As
// decodes the accepted values.
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
// It is a separate module because of its dependency, which derives the schema of a type. Forms in
// general are in package interaction.
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

// Question returns a question whose reply has a value of type T. Members without omitempty and
// omitzero are required, additional members are not allowed, and a field's tag jsonschema describes
// it for people. A json.RawMessage accepts any JSON, a []byte a base64 text, and a type with
// encoding.TextUnmarshaler a text. A schema cannot express everything: an integer outside the range
// of its field, or written as 3.0, is accepted, and then engine.As returns an error. The error of
// Question says that T has no schema: T contains a function or a channel, or is recursive.
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

// anyJSON marks the schema of a json.RawMessage until openAny removes it. Without it a pointer
// would only accept null: For adds null to the list of types, which is empty.
const anyJSON = "any JSON"

// addSpecial adds the schemas of types below t that encoding/json does not decode by their kind,
// which is all that For considers.
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

// base64 matches the bytes that encoding/json writes.
const base64 = "^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$"

// openAny makes the schemas of json.RawMessage accept everything.
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
