package eino

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/cloudwego/eino/schema"
)

// DefaultInput makes the input of a graph that takes a string (only the text), a *schema.Message
// (the same), a []*schema.Message (the conversation so far, and the text), or a map[string]any
// ("input" is the text, "history" the conversation so far). Any other type is an error.
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
		return in, fmt.Errorf("eino: cannot make a %T from a prompt: set GraphConfig.Input", in)
	}
	return in, nil
}

// DefaultOutput makes the result from a graph's output: the text of a string or *schema.Message;
// the JSON of any other value, as output if it is an object and otherwise as text.
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
		return Result{}, fmt.Errorf("eino: the graph's output cannot be encoded as JSON: set GraphConfig.Output: "+
			"%w", err)
	}
	if bytes.HasPrefix(body, []byte("{")) {
		return Result{Output: body}, nil
	}
	return Result{Text: string(body)}, nil
}
