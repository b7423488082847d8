package fcmp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"sync"

	"github.com/interlude-go/interlude/contract"
	"github.com/interlude-go/interlude/internal/schema"
)

// shapes compiles the embedded schemas of the payloads once, at first use. A schema with a keyword
// that shapes do not know is a panic, so that none is passed over in silence; a test compiles them
// all.
var shapes = sync.OnceValue(func() map[string]*shape {
	compiled := map[string]*shape{}
	for _, p := range declared().Payloads {
		raw, _ := contract.EventSchema(p.Type)
		s, err := compileShape(raw)
		if err != nil {
			panic(fmt.Errorf("fcmp: schema of %s: %w", p.Type, err))
		}
		compiled[p.Type] = s
	}
	return compiled
})

// keywords is a schema as shapes understand it. A keyword says nothing about values of other types
// than its own, as in any JSON Schema.
//
//nolint:tagliatelle // JSON Schema writes its keywords in this way
type keywords struct {
	Schema               string              `json:"$schema"`
	Title                string              `json:"title"`
	Description          string              `json:"description"`
	Type                 kind                `json:"type"`
	Enum                 []string            `json:"enum"`
	Const                json.RawMessage     `json:"const"`
	MinLength            int                 `json:"minLength"`
	MaxLength            *int                `json:"maxLength"`
	Pattern              string              `json:"pattern"`
	Format               string              `json:"format"`
	Minimum              *int64              `json:"minimum"`
	Items                *keywords           `json:"items"`
	MaxItems             *int                `json:"maxItems"`
	UniqueItems          bool                `json:"uniqueItems"`
	Properties           map[string]keywords `json:"properties"`
	Required             []string            `json:"required"`
	AdditionalProperties *bool               `json:"additionalProperties"`
	MaxProperties        *int                `json:"maxProperties"`
}

// compileShape reads a schema. It refuses all that it could not hold a value to.
func compileShape(raw []byte) (*shape, error) {
	if err := schema.UniqueKeys(raw); err != nil {
		return nil, err
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	var k keywords
	if err := dec.Decode(&k); err != nil {
		return nil, err
	}
	return k.compile()
}

func (k keywords) compile() (*shape, error) {
	if k.Const != nil {
		var word string
		if err := json.Unmarshal(k.Const, &word); err != nil || k.Enum != nil {
			return nil, errors.New("const beside enum, or of another type than string")
		}
		k.Enum = []string{word}
	}
	if slices.Contains(k.Enum, "") {
		return nil, errors.New("enum or const that is empty or null")
	}
	if k.Type == "" && len(k.Enum) > 0 {
		k.Type = kindText // all of them are
	}
	if k.Type != kindText && k.Enum != nil {
		return nil, fmt.Errorf("enum or const of type %q", k.Type)
	}
	switch k.Type {
	case kindText:
		return k.text()
	case kindInteger:
		return &shape{kind: k.Type, least: orElse(k.Minimum, math.MinInt64)}, nil
	case kindBoolean:
		return &shape{kind: k.Type}, nil
	case kindArray:
		return k.array()
	case kindObject:
		return k.object()
	}
	return nil, fmt.Errorf("type %q", k.Type)
}

func (k keywords) text() (*shape, error) {
	s := &shape{kind: kindText, words: k.Enum, shortest: k.MinLength, longest: orElse(k.MaxLength, math.MaxInt)}
	switch k.Format {
	case "":
	case "date-time":
		// appendTime does not look at the rest.
		if s.words != nil || k.Pattern != "" || s.shortest > 0 || s.longest < len("2006-01-02T15:04:05.999999Z") {
			return nil, errors.New("format date-time with further bounds")
		}
		s.time = true
	default:
		return nil, fmt.Errorf("format %q", k.Format)
	}
	if k.Pattern == "" {
		return s, nil
	}
	var err error
	s.match, err = matcher(k.Pattern)
	return s, err
}

func (k keywords) array() (*shape, error) {
	s := &shape{kind: kindArray, most: orElse(k.MaxItems, math.MaxInt), unique: k.UniqueItems}
	if k.Items == nil {
		if s.unique {
			return nil, errors.New("uniqueItems of items of any type")
		}
		return s, nil
	}
	var err error
	if s.items, err = k.Items.compile(); err != nil {
		return nil, fmt.Errorf("items: %w", err)
	}
	if s.unique && s.items.kind != kindText {
		return nil, errors.New("uniqueItems of items that are no strings")
	}
	return s, nil
}

func (k keywords) object() (*shape, error) {
	s := &shape{kind: kindObject, most: orElse(k.MaxProperties, math.MaxInt)}
	if closed := !orElse(k.AdditionalProperties, true); !closed {
		if len(k.Properties)+len(k.Required) > 0 {
			return nil, errors.New("properties or required without additionalProperties: false")
		}
		s.open = true
		return s, nil
	}
	for _, name := range slices.Sorted(maps.Keys(k.Properties)) {
		sub, err := k.Properties[name].compile()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		label := string(appendString(nil, name)) + ":"
		s.members = append(s.members, member{name: name, label: label, required: slices.Contains(k.Required, name),
			shape: sub})
	}
	for _, name := range k.Required {
		if _, ok := k.Properties[name]; !ok {
			return nil, fmt.Errorf("%s: required and not allowed", name)
		}
	}
	return s, nil
}

func orElse[T any](p *T, otherwise T) T {
	if p == nil {
		return otherwise
	}
	return *p
}
