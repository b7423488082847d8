package schema

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v5"
)

// enum replaces the validator's check of enum and const, which compares a value with each value of
// the list, and numbers as fractions, in some microseconds: a form of four kilobytes could occupy a
// processor for a minute. Here a check is one look-up.
type enum struct {
	keyword, want string
	values        map[string]struct{}
}

// Validate implements jsonschema.ExtSchema.
func (e *enum) Validate(ctx jsonschema.ValidationContext, v any) error {
	if _, ok := e.values[string(appendKey(nil, v))]; ok {
		return nil
	}
	return ctx.Error(e.keyword, "%s", e.want)
}

// indexEnums replaces enum and const in a compiled schema, but not in the meta-schemas, which all
// compilers of the process share.
func indexEnums(s *jsonschema.Schema) {
	if !strings.HasPrefix(s.Location, root) {
		return
	}
	add := func(keyword string, values []any) {
		if len(values) == 0 {
			return
		}
		if s.Extensions == nil {
			s.Extensions = make(map[string]jsonschema.ExtSchema)
		}
		e := &enum{keyword, clip(wantOf(keyword, values)), make(map[string]struct{}, len(values))}
		for _, v := range values {
			e.values[string(appendKey(nil, v))] = struct{}{}
		}
		s.Extensions[keyword] = e
	}
	if s.UniqueItems {
		s.Extensions, s.UniqueItems = map[string]jsonschema.ExtSchema{"uniqueItems": uniqueItems{}}, false
	}
	add("enum", s.Enum)
	add("const", s.Constant)
	s.Enum, s.Constant = nil, nil
}

// wantOf states the allowed values, in the validator's words.
func wantOf(keyword string, values []any) string {
	var all []string
	for _, v := range values {
		switch v.(type) {
		case []any, map[string]any:
			return keyword + " failed"
		}
		if len(all)*2 < maxReason { // the rest would be cut
			all = append(all, fmt.Sprintf("%#v", v))
		}
	}
	if len(values) == 1 {
		return "value must be " + all[0]
	}
	return "value must be one of " + strings.Join(all, ", ")
}

// appendKey appends a text that only equal values share.
func appendKey(key []byte, v any) []byte {
	switch v := v.(type) {
	case nil:
		return append(key, 'n')
	case bool:
		return strconv.AppendBool(key, v)
	case string:
		return append(append(strconv.AppendInt(append(key, 's'), int64(len(v)), 10), ':'), v...)
	case []any:
		key = append(key, '[')
		for _, item := range v {
			key = appendKey(key, item)
		}
		return append(key, ']')
	case map[string]any:
		key = append(key, '{')
		for _, name := range slices.Sorted(maps.Keys(v)) {
			key = appendKey(appendKey(key, name), v[name])
		}
		return append(key, '}')
	case json.Number:
		return appendNumber(key, string(v))
	}
	return appendNumber(key, fmt.Sprint(v))
}

// appendNumber appends a number: 1, 1.0 and 10e-1 are equal.
func appendNumber(key []byte, text string) []byte {
	if strings.ContainsAny(text, ".eE") {
		if r, ok := new(big.Rat).SetString(text); ok {
			text = r.RatString()
		}
	}
	if text == "-0" {
		text = "0"
	}
	return append(append(append(key, '#'), text...), ';')
}

// uniqueItems replaces the validator's check of uniqueItems, which compares all items with equal
// hashes: a list can be made of such items.
type uniqueItems struct{}

// Validate implements jsonschema.ExtSchema.
func (uniqueItems) Validate(ctx jsonschema.ValidationContext, v any) error {
	items, _ := v.([]any)
	known := make(map[string]int, len(items))
	for i, item := range items {
		key := string(appendKey(nil, item))
		if first, ok := known[key]; ok {
			return ctx.Error("uniqueItems", "items at index %d and %d are equal", first, i)
		}
		known[key] = i
	}
	return nil
}
