package eino

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/cloudwego/eino/schema"
)

// DefaultInput makes the input of a graph that takes a string (the text alone), a *schema.Message
// (the same), a []*schema.Message (what was said before, and the text), or a map[string]any
// ("input" is the text, "history" what was said before). Any other type is an error.
func DefaultInput[I any](s Start) (I, error) {
	var in I
	said := schema.UserMessage(s.Text)
	switch to := any(&in).(type) {
	case *string:
		*to = s.Text
	case **schema.Message:
		*to = said
	case *[]*schema.Message:
		*to = append(append(*to, s.Past...), said)
	case *map[string]any:
		*to = map[string]any{"input": s.Text, "history": s.Past}
	default:
		return in, fmt.Errorf("eino: nothing is known of how to make a %T of a prompt: set GraphConfig.Input", in)
	}
	return in, nil
}

// DefaultOutput makes the result of what a graph ends with: the text of a string or
// *schema.Message; the JSON of anything else, as output when it is an object and as text when it is
// not.
func DefaultOutput[O any](out O) (Result, error) {
	switch out := any(out).(type) {
	case nil:
		return Result{}, nil
	case string:
		return Result{Text: out}, nil
	case *schema.Message:
		if out == nil {
			return Result{}, nil
		}
		return Result{Text: out.Content}, nil
	}
	return asJSON(out)
}

func asJSON(v any) (Result, error) {
	body, err := json.Marshal(v)
	if err != nil {
		return Result{}, fmt.Errorf("eino: what the graph ends with is no JSON: set GraphConfig.Output: %w", err)
	}
	if bytes.HasPrefix(body, []byte("{")) {
		return Result{Output: body}, nil
	}
	return Result{Text: string(body)}, nil
}
