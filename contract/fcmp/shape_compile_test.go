package fcmp

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/contract"
)

// F7: each event schema has only keywords that its shape holds payloads to.
func TestEverySchemaHasItsShape(t *testing.T) {
	t.Parallel()
	require.Len(t, shapes(), len(schemas().payloads))
	for _, typ := range append(eventTypes(), "") {
		raw, ok := contract.EventSchema(typ)
		require.True(t, ok)
		s, err := compileShape(raw)
		require.NoError(t, err, typ)
		require.Equal(t, kindObject, s.kind)
	}
}

// A schema that a shape could not hold a value to is refused, not half understood.
func TestShapesRefuseWhatTheyDoNotKnow(t *testing.T) {
	t.Parallel()
	for name, raw := range map[string]string{
		"no schema":          `[]`,
		"a constant":         `true`,
		"keyword":            `{"type": "string", "contentEncoding": "base64"}`,
		"nested keyword":     `{"type": "object", "additionalProperties": false, "properties": {"x": {"type": "integer", "multipleOf": 2}}}`,
		"keyword twice":      `{"type": "string", "maxLength": 1, "maxLength": 2}`,
		"no type":            `{}`,
		"two types":          `{"type": ["string", "null"]}`,
		"number":             `{"type": "number"}`,
		"number in enum":     `{"enum": ["a", 1]}`,
		"null in enum":       `{"enum": ["a", null]}`,
		"null as const":      `{"type": "string", "const": null}`,
		"number as const":    `{"const": 1}`,
		"const and enum":     `{"const": "a", "enum": ["a", "b"]}`,
		"enum of integers":   `{"type": "integer", "enum": ["a"]}`,
		"fraction":           `{"type": "integer", "minimum": 0.5}`,
		"format":             `{"type": "string", "format": "email"}`,
		"time and pattern":   `{"type": "string", "format": "date-time", "pattern": "Z$"}`,
		"short time":         `{"type": "string", "format": "date-time", "maxLength": 20}`,
		"pattern":            `{"type": "string", "pattern": "("}`,
		"half open":          `{"type": "object", "properties": {"x": {"type": "string"}}}`,
		"open and required":  `{"type": "object", "required": ["x"]}`,
		"schema of others":   `{"type": "object", "additionalProperties": {"type": "string"}}`,
		"required, unknown":  `{"type": "object", "additionalProperties": false, "required": ["x"]}`,
		"unique anything":    `{"type": "array", "uniqueItems": true}`,
		"unique integers":    `{"type": "array", "uniqueItems": true, "items": {"type": "integer"}}`,
		"items":              `{"type": "array", "items": {"type": "number"}}`,
		"items are constant": `{"type": "array", "items": false}`,
	} {
		_, err := compileShape([]byte(raw))
		require.Error(t, err, name)
	}
}

// What the event schemas do not use today is held to as well.
func TestShapesKnowTheirKeywords(t *testing.T) {
	t.Parallel()
	cases := []struct {
		schema   string
		accepted []any
		refused  []any
	}{
		{`{"type": "array"}`, []any{[]any{}, []any{1, "x", nil}}, []any{[]any(nil), []any{func() {}}, "x"}},
		{`{"type": "array", "uniqueItems": true, "items": {"type": "string"}}`, []any{[]any{"a", "b"}},
			[]any{[]any{"a", named("a")}, []any{"a", 1}, make([]any, maxUnique+1)}},
		{`{"type": "string", "minLength": 2, "maxLength": 3}`, []any{"ab", "€€€"}, []any{"a", "€", "abcd", "€€€€", nil,
			1}},
		{`{"type": "integer"}`, []any{-1, 0.0, 1e15, uint8(1)}, []any{0.5, nil, "1", 1e18, true}},
		{`{"type": "string", "pattern": "^a"}`, []any{"ab"}, []any{"ba"}},
		{`{"type": "boolean"}`, []any{true, false}, []any{nil, 0, "true"}},
		{`{"type": "object", "maxProperties": 1}`, []any{map[string]any{}, map[string]any{"a": 1}},
			[]any{map[string]any{"a": 1, "b": 2}, map[string]any(nil)}},
		{`{"type": "object", "additionalProperties": false}`, []any{map[string]any{}}, []any{map[string]any{"a": 1}}},
	}
	for _, c := range cases {
		s, err := compileShape([]byte(c.schema))
		require.NoError(t, err, c.schema)
		for _, v := range c.accepted {
			written, ok := s.append(nil, v)
			require.True(t, ok, "%s: %v", c.schema, v)
			require.Equal(t, mustJSON(v), string(written))
		}
		for _, v := range c.refused {
			_, ok := s.append(nil, v)
			require.False(t, ok, "%s: %v", c.schema, v)
		}
	}
}
