package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp/syntax"
	"slices"
)

// ErrPattern: a pattern is outside Go's syntax, where omitting it could make the schema reject
// more.
var ErrPattern = errors.New("schema: a pattern is outside the syntax of Go's package regexp")

// Relax returns the schema without the patterns outside Go's syntax (such as a lookahead), and
// these patterns. It omits a pattern only if the schema then accepts everything that it accepted
// before: not below "not", "if", "oneOf" or "contains", nor where these may refer to it. Members
// keep their order. A schema without such patterns is returned unchanged.
func Relax(raw json.RawMessage) (json.RawMessage, []string, error) {
	r := relaxer{unevaluated: bytes.Contains(raw, []byte(`"unevaluatedProperties"`))}
	relaxed, err := r.schema(raw, true)
	switch {
	case err != nil:
		return nil, nil, err
	case len(r.dropped) == 0:
		return raw, nil, nil
	case r.refersNegated:
		return nil, nil, fmt.Errorf("%w: %.80q", ErrPattern, r.dropped[0])
	}
	return relaxed, r.dropped, nil
}

type relaxer struct {
	dropped []string
	// refersNegated: a part that must not accept more has a reference, perhaps to a pattern.
	refersNegated bool
	// unevaluated: the schema constrains members that no other part of it names.
	unevaluated bool
}

// Keywords by what their value is.
var (
	schemasByName = []string{"properties", "$defs", "definitions", "dependentSchemas", "dependencies"}
	negating      = []string{"not", "if", "oneOf", "contains"}
	plainValues   = []string{"enum", "const", "default", "examples", "required"}
	references    = []string{"$ref", "$dynamicRef", "$recursiveRef"}
)

// schema relaxes a schema, or each schema of an array. It may accept more if positive is true.
func (r *relaxer) schema(raw json.RawMessage, positive bool) (json.RawMessage, error) {
	if len(raw) > 0 && raw[0] == '[' {
		var all []json.RawMessage
		if err := json.Unmarshal(raw, &all); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrNotJSON, err)
		}
		for i := range all {
			var err error
			if all[i], err = r.schema(all[i], positive); err != nil {
				return nil, err
			}
		}
		return slices.Concat([]byte{'['}, bytes.Join(asBytes(all), []byte{','}), []byte{']'}), nil
	}
	return eachMember(raw, func(name string, value json.RawMessage) (_ json.RawMessage, err error) {
		switch {
		case slices.Contains(plainValues, name):
			return value, nil
		case slices.Contains(references, name):
			r.refersNegated = r.refersNegated || !positive
			return value, nil
		case name == "pattern":
			return r.pattern(value, positive)
		case name == "patternProperties":
			// Members without a matching pattern would become additional, or unevaluated.
			others := r.unevaluated || bytes.Contains(raw, []byte(`"additionalProperties"`))
			return r.patternProperties(value, positive, positive && !others)
		case slices.Contains(schemasByName, name):
			return eachMember(value, func(_ string, sub json.RawMessage) (json.RawMessage, error) {
				return r.schema(sub, positive)
			})
		}
		return r.schema(value, positive && !slices.Contains(negating, name))
	})
}

// pattern returns nil for a pattern that is left out.
func (r *relaxer) pattern(value json.RawMessage, mayDrop bool) (json.RawMessage, error) {
	var pattern string
	if json.Unmarshal(value, &pattern) != nil {
		return value, nil // the compiler refuses it
	}
	if _, err := syntax.Parse(pattern, syntax.Perl); err == nil {
		return value, nil
	}
	if !mayDrop {
		return nil, fmt.Errorf("%w: %.80q", ErrPattern, pattern)
	}
	r.dropped = append(r.dropped, pattern)
	return nil, nil
}

func (r *relaxer) patternProperties(value json.RawMessage, positive, mayDrop bool) (json.RawMessage, error) {
	return eachMember(value, func(name string, sub json.RawMessage) (json.RawMessage, error) {
		if _, err := syntax.Parse(name, syntax.Perl); err == nil {
			return r.schema(sub, positive)
		}
		if !mayDrop {
			return nil, fmt.Errorf("%w: %.80q", ErrPattern, name)
		}
		r.dropped = append(r.dropped, name)
		return nil, nil
	})
}

// eachMember returns the object with each member's value replaced by what change returns, and
// without the nil ones. It returns other JSON unchanged.
func eachMember(raw json.RawMessage,
	change func(name string, value json.RawMessage) (json.RawMessage, error)) (json.RawMessage, error) {
	if len(raw) == 0 || raw[0] != '{' {
		return raw, nil
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	if _, err := d.Token(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNotJSON, err)
	}
	out := []byte{'{'}
	for d.More() {
		token, err := d.Token()
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrNotJSON, err)
		}
		name, _ := token.(string) // a name, in valid JSON
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrNotJSON, err)
		}
		if value, err = change(name, value); err != nil {
			return nil, err
		}
		if value == nil {
			continue
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		quoted, err := json.Marshal(name)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrNotJSON, err)
		}
		out = append(append(append(out, quoted...), ':'), value...)
	}
	return append(out, '}'), nil
}

func asBytes(all []json.RawMessage) [][]byte {
	out := make([][]byte, len(all))
	for i, raw := range all {
		out[i] = raw
	}
	return out
}
