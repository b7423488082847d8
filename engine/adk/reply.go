package adk

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/interlude-go/interlude/interaction"
)

// Unclear is the error of an answer that lacks required information: the person is asked again.
type Unclear struct {
	// Need describes the missing information, for the person.
	Need string
}

func (u *Unclear) Error() string { return "adk: unclear answer: " + u.Need }

// Respond creates the function response of an answer.
//
// A confirmation is given by the decisions approve and edit, and refused by reject and respond. A
// plain yes in the usual words gives it, a plain no refuses it; any other text is Unclear. An
// automatic decision refuses it. The whole text is the payload.
//
// Input is the text, if the node's schema allows one; otherwise it is parsed as JSON, with yes and
// no for a boolean. A value that fails the schema is Unclear, except an automatic decision, which
// ADK refuses.
//
// The result of a long-running tool is {"output": text}.
func Respond(i Interrupt, a interaction.Answer) (map[string]any, error) {
	switch i.Kind {
	case Confirmation:
		yes, plain := agreed(a.Text)
		switch {
		case a.Auto != nil:
			yes, plain = false, true
		case a.Decision != "":
			yes, plain = a.Arguments != nil, true
		}
		if !plain {
			return nil, &Unclear{Need: "Please answer yes or no."}
		}
		return map[string]any{"confirmed": yes, "payload": a.Text}, nil
	case Input:
		return input(i.Schema, a)
	case Result:
	}
	return map[string]any{"output": a.Text}, nil
}

func agreed(text string) (yes, plain bool) {
	switch strings.ToLower(strings.Trim(text, " \t\r\n.!\"'")) {
	case "yes", "y", "ok", "okay", "true", "confirm", "confirmed", "approve", "approved", "accept", "allow", "go ahead":
		return true, true
	case "no", "n", "false", "cancel", "deny", "denied", "reject", "rejected", "refuse", "stop", "do not", "don't":
		return false, true
	}
	return false, false
}

func input(schema *jsonschema.Schema, a interaction.Answer) (map[string]any, error) {
	if schema == nil {
		return given(a.Text)
	}
	resolved, err := schema.Resolve(nil)
	if err != nil {
		return nil, fmt.Errorf("adk: the schema of the requested input: %w", err)
	}
	candidates := []any{a.Text}
	var decoded any
	if json.Unmarshal([]byte(a.Text), &decoded) == nil {
		candidates = append(candidates, decoded)
	}
	if yes, plain := agreed(a.Text); plain {
		candidates = append(candidates, yes)
	}
	for _, c := range candidates {
		if resolved.Validate(c) == nil {
			return given(c)
		}
	}
	if a.Auto != nil {
		return given(a.Text)
	}
	wanted, err := json.Marshal(schema)
	if err != nil {
		return nil, fmt.Errorf("adk: the schema of the requested input: %w", err)
	}
	return nil, &Unclear{Need: "Please answer with what fits " + string(wanted) + "."}
}

// given encodes a value as the response to a request for input. ADK parses texts that are JSON, so
// other types, and texts that could be mistaken, are sent as JSON.
func given(v any) (map[string]any, error) {
	text, isText := v.(string)
	if isText && !json.Valid([]byte(text)) {
		return map[string]any{"response": text}, nil
	}
	body, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("adk: the answer: %w", err)
	}
	return map[string]any{"response": string(body)}, nil
}
