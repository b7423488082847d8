package modeltest

import (
	"encoding/json"
	"regexp"
	"strings"
)

// aside is how the instructions of calls beside the conversation speak.
var aside = regexp.MustCompile(
	`(?i)title generator|(generate|write|create)\b.{0,40}\btitle|conversation topic|summari[sz](e|ing) (the|this|our) (conversation|chat|session)`)

// errand is how instructions begin for work behind the user's back, for which agents offer tools
// too.
var errand = regexp.MustCompile(`(?i)^\s*You are now acting as the managed memory`) // Qwen Code

// Side reports whether this is a call that an agent makes beside the conversation, such as for a
// title or to choose a model. It shows the user's text too, but is not the place to do what that
// says. Such a call offers no tools, but for known errands.
func (c Conversation) Side() bool {
	if errand.MatchString(c.System) {
		return true
	}
	if len(c.Tools) > 0 {
		return false
	}
	opening := c.System[:min(len(c.System), 2<<10)]
	users := c.Users()
	if len(users) > 0 {
		opening += "\n" + users[0][:min(len(users[0]), 200)]
	}
	return c.Schema != nil || aside.MatchString(opening)
}

// aside is what such a call is answered: the smallest value that keeps its schema, or a few words.
func (c Conversation) aside() Answer {
	if c.Schema == nil {
		return Text("A test")
	}
	schema, _ := decode(c.Schema)
	body, err := json.Marshal(smallest(schema, 0))
	if err != nil {
		return Text("{}")
	}
	return Text(string(body))
}

// maxNesting bounds how deep the smallest value goes.
const maxNesting = 32

// smallest is a value that keeps the schema, for the plain schemas that agents use.
func smallest(schema value, depth int) any {
	if depth > maxNesting {
		return nil
	}
	if c := schema.at("const"); c.there() {
		return c.any
	}
	if choices := schema.at("enum").list(); len(choices) > 0 {
		for _, c := range choices {
			if c.str() == "user" { // who speaks next: the model has said enough
				return c.any
			}
		}
		return choices[0].any
	}
	for _, of := range []string{"anyOf", "oneOf", "allOf"} {
		if choices := schema.at(of).list(); len(choices) > 0 {
			return smallest(choices[0], depth+1)
		}
	}
	kind := schema.at("type")
	if kinds := kind.list(); len(kinds) > 0 {
		kind = kinds[0]
	}
	switch strings.ToLower(kind.str()) {
	case "string":
		return "test"
	case "integer", "number":
		if least := schema.at("minimum"); least.there() {
			return least.any
		}
		return 1
	case "boolean":
		return false
	case "array":
		if least, ok := schema.at("minItems").any.(json.Number); ok && least != "0" {
			return []any{smallest(schema.at("items"), depth+1)}
		}
		return []any{}
	case "null":
		return nil
	}
	object := map[string]any{}
	for _, name := range schema.at("required").list() {
		object[name.str()] = smallest(schema.at("properties", name.str()), depth+1)
	}
	return object
}
