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
	"encoding/json"
	"fmt"
	"reflect"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/interlude-go/interlude/interaction"
)

// Question returns a question whose reply has a value that is a T. Members without omitempty and
// omitzero are required, further members are not allowed, and the tag jsonschema of a field
// describes it for people. A schema cannot say everything: an integer that the type of its field
// does not hold, or that is written as 3.0, is accepted, and engine.As returns an error. The
// error says that T has no schema: it is or has a function or a channel, or it contains itself.
func Question[T any](prompt string) (interaction.Question, error) {
	s, err := jsonschema.For[T](&jsonschema.ForOptions{TypeSchemas: map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[time.Time](): {Type: "string", Format: "date-time"},
	}})
	if err != nil {
		return interaction.Question{}, fmt.Errorf("typed: %w", err)
	}
	body, err := json.Marshal(s)
	if err != nil {
		return interaction.Question{}, fmt.Errorf("typed: the schema of %T: %w", *new(T), err)
	}
	return interaction.Question{Kind: interaction.FillFields, Prompt: prompt, Schema: body}, nil
}
