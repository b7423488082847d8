package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/interaction"
)

// act is the behavior of the demo agent, and of the scripted model with any skill: they ask two
// questions, greet, and return an output.
type act struct {
	given  []string // the replies so far, in the order of the questions
	alone  bool     // without a person to ask
	folder string   // for artifacts; empty: none
	nonce  string   // of the agent's signals; empty: none
	schema []byte   // of the output; empty: none
}

// asked are the questions, with the answers assumed without a reply.
var asked = []struct {
	engine.Question
	otherwise string
}{
	{engine.Question{Kind: engine.ChooseOne, Prompt: "How shall it sound?", Options: []engine.Option{
		{Label: "Friendly", Value: "friendly"}, {Label: "Formal", Value: "formal"}, {Label: "Like a pirate",
			Value: "pirate"},
	}}, "friendly"},
	{engine.Question{Kind: engine.Confirm, Prompt: "May I write it into a file?"}, "no"},
}

func (a act) next() *engine.Question {
	if n := len(a.given); !a.alone && n < len(asked) {
		return &asked[n].Question
	}
	return nil
}

func (a act) remark() string {
	switch n := len(a.given); {
	case n == 0:
		return "I have read the skill."
	case a.next() != nil:
		return "Noted: " + a.reply(n-1) + "."
	default:
		return "That is all I need to know."
	}
}

func (a act) reply(i int) string {
	if i < len(a.given) && !strings.HasPrefix(a.given[i], "The user did not respond") {
		return strings.TrimSpace(a.given[i])
	}
	return asked[i].otherwise
}

func (a act) greeting() string {
	switch tone := a.reply(0); tone {
	case "friendly":
		return "Hello! How nice to see you."
	case "formal":
		return "Good day. I trust this finds you well."
	case "pirate":
		return "Ahoy, matey! Come aboard."
	default:
		return "Hello, " + tone + "!"
	}
}

func (a act) file() string {
	may := interaction.Answer{Resolution: interaction.UserReply, Text: a.reply(1)}
	if yes, _ := may.Yes(); !yes || a.folder == "" {
		return ""
	}
	return filepath.Join(a.folder, "greeting.txt")
}

// output returns an output that matches the schema. Whether the file was written is checked on
// disk.
func (a act) output() (json.RawMessage, error) {
	written := false
	if file := a.file(); file != "" {
		_, err := os.Stat(file)
		written = err == nil
	}
	known := map[string]any{"tone": a.reply(0), "greeting": a.greeting(), "written": written}
	if len(a.schema) == 0 {
		return json.Marshal(known)
	}
	var schema map[string]any
	if err := json.Unmarshal(a.schema, &schema); err != nil {
		return nil, err
	}
	return json.Marshal(sample(schema, known, 0))
}

const maxNesting = 32

// sample returns a small value that matches a simple schema, with known values for the members that
// have their names. It may not match patterns and references.
func sample(schema map[string]any, known map[string]any, depth int) any {
	if value, ok := schema["const"]; ok || depth > maxNesting {
		return value
	}
	if values, ok := schema["enum"].([]any); ok && len(values) > 0 {
		return values[0]
	}
	kind, _ := schema["type"].(string)
	switch kind {
	case "string":
		least, _ := schema["minLength"].(float64)
		return strings.Repeat("x", min(int(least), 1000))
	case "integer", "number":
		least, _ := schema["minimum"].(float64)
		return least
	case "boolean":
		return false
	case "null":
		return nil
	case "array":
		items, _ := schema["items"].(map[string]any)
		least, _ := schema["minItems"].(float64)
		list := make([]any, min(int(least), 1000))
		for i := range list {
			list[i] = sample(items, nil, depth+1)
		}
		return list
	}
	object := make(map[string]any)
	properties, _ := schema["properties"].(map[string]any)
	required, _ := schema["required"].([]any)
	for _, entry := range required {
		name, _ := entry.(string)
		property, _ := properties[name].(map[string]any)
		if value, ok := known[name]; ok && property["enum"] == nil && property["const"] == nil {
			object[name] = value
		} else {
			object[name] = sample(property, nil, depth+1)
		}
	}
	return object
}
