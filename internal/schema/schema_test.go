package schema

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// F7: a payload is validated against its schema, and the error names the fault and its place, in
// the same words each time.
func TestViolationNamesPlaceAndReason(t *testing.T) {
	t.Parallel()
	s := MustCompile([]byte(`{"type":"object","additionalProperties":false,"required":["id","at"],
		"properties":{"id":{"type":"integer","minimum":1},"at":{"type":"string","format":"date-time"},"tags":{"type":"array","items":{"type":"string"}}}}`))
	require.NoError(t, s.ValidateJSON([]byte(`{"id":1,"at":"2026-01-02T03:04:05.000006Z","tags":["a"]}`)))
	for range 20 {
		err := s.ValidateJSON([]byte(`{"id":0,"at":"soon","tags":[1]}`))
		require.ErrorIs(t, err, ErrViolation)
		require.EqualError(t, err, "schema: violated: /at: 'soon' is not valid 'date-time'; /id: must be >= 1 but "+
			"found 0; /tags/0: expected string, but got number")
	}
	require.ErrorContains(t, s.ValidateJSON([]byte(`{"id":1}`)), "missing properties: 'at'")
	require.ErrorContains(t, s.ValidateJSON([]byte(`{"id":1,"at":"2026-01-02T03:04:05Z","x":1}`)), "'x' not allowed")
}

// Formats are asserted in draft 2020-12, where the standard makes them mere annotations.
func TestFormatsAreAsserted(t *testing.T) {
	t.Parallel()
	for format, bad := range map[string]string{"date-time": "2026-13-01T00:00:00Z", "date": "x", "email": "x",
		"uri": "x", "uuid": "x", "ipv4": "1.2.3"} {
		s := MustCompile(fmt.Appendf(nil, `{"format":%q}`, format))
		require.ErrorIs(t, s.Validate(bad), ErrViolation, format)
	}
}

// A schema of a host or an agent must not make the library read files or open connections.
func TestReferencesToOtherDocumentsAreDenied(t *testing.T) {
	t.Parallel()
	secret := filepath.Join(t.TempDir(), "secret.json")
	require.NoError(t, os.WriteFile(secret, []byte(`{"type":"string"}`), 0o600))
	for _, ref := range []string{"file://" + secret, "http://127.0.0.1:1/x", "https://example.com/s.json", "other.json",
		"/etc/passwd", "ftp://x/y", "urn:x:y"} {
		for _, form := range []string{`{"$ref":%q}`, `{"$dynamicRef":%q}`,
			`{"properties":{"a":{"anyOf":[{"$ref":%q}]}}}`, `{"$id":"file:///etc/","$ref":%q}`} {
			_, err := Compile(fmt.Appendf(nil, form, ref))
			require.ErrorIs(t, err, ErrInvalid, form, ref)
			require.ErrorIs(t, err, ErrReference, form, ref)
		}
		_, err := Compile(fmt.Appendf(nil, `{"$schema":%q}`, ref))
		require.ErrorIs(t, err, ErrInvalid, ref)
	}
	// References within the document work, and so do the published drafts by name.
	s := MustCompile([]byte(
		`{"$schema":"https://json-schema.org/draft/2020-12/schema","$ref":"#/$defs/a","$defs":{"a":{"type":"string"}}}`))
	require.NoError(t, s.Validate("x"))
	require.ErrorIs(t, s.Validate(true), ErrViolation)
	MustCompile([]byte(`{"$schema":"http://json-schema.org/draft-07/schema#","type":"object"}`))
}

func TestSchemasThatDoNotCompile(t *testing.T) {
	t.Parallel()
	for name, raw := range map[string]string{
		"empty": ``, "text": `hello`, "null": `null`, "number": `1`, "array": `[]`, "cut": `{"type":"object"`,
		"two documents": `{} {}`, "unknown type": `{"type":"thing"}`, "bad pattern": `{"pattern":"("}`,
		"missing reference": `{"$ref":"#/$defs/none"}`, "negative bound": `{"minLength":-1}`,
		"unknown draft": `{"$schema":"https://example.com/mine"}`,
	} {
		_, err := Compile([]byte(raw))
		require.ErrorIs(t, err, ErrInvalid, name)
		require.NotContains(t, err.Error(), "\n", name)
	}
}

func TestSizeDepthAndNumbersAreBounded(t *testing.T) {
	t.Parallel()
	anything := MustCompile([]byte(`{"minimum":0}`))
	nest := func(n int) []byte { return []byte(strings.Repeat("[", n) + strings.Repeat("]", n)) }
	cases := []struct {
		name string
		doc  []byte
		want error
	}{
		{"as large as allowed", []byte(`"` + strings.Repeat("a", MaxSize-2) + `"`), nil},
		{"one byte more", []byte(`"` + strings.Repeat("a", MaxSize-1) + `"`), ErrTooLarge},
		{"as deep as allowed", nest(MaxDepth), nil},
		{"one level more", nest(MaxDepth + 1), ErrTooDeep},
		{"brackets in a string are no depth", []byte(`"` + strings.Repeat(`[\"{`, 100) + `"`), nil},
		{"a long number", []byte(strings.Repeat("9", MaxNumber)), nil},
		{"one digit more", []byte(strings.Repeat("9", MaxNumber+1)), ErrNumber},
		{"an exponent", []byte(`1e+0999`), nil},
		{"an exponent that costs a gigabyte", []byte(`{"a":[1E1000000000]}`), ErrNumber},
		{"a negative one", []byte(`-1e-99999`), ErrNumber},
		{"digits in a string are no number", []byte(`"1e99999999"`), nil},
		{"nothing", nil, ErrNotJSON},
		{"more than one value", []byte(`1 2`), ErrNotJSON},
		{"a trailing bracket", []byte(`1]`), ErrNotJSON},
		{"an open string", []byte(`"\`), ErrNotJSON},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			err := anything.ValidateJSON(c.doc)
			if c.want == nil {
				require.NoError(t, err)
				return
			}
			require.ErrorIs(t, err, c.want)
			_, err = Compile(c.doc)
			require.ErrorIs(t, err, c.want, "a schema is held to the same bounds")
		})
	}
}

func TestDecodedValuesAreBoundedToo(t *testing.T) {
	t.Parallel()
	s := MustCompile([]byte(`{"minimum":0}`))
	var deep any = 1
	for range MaxDepth {
		deep = []any{deep}
	}
	require.NoError(t, s.Validate(deep))
	require.ErrorIs(t, s.Validate(map[string]any{"a": deep}), ErrTooDeep)
	require.ErrorIs(t, s.Validate([]any{deep}), ErrTooDeep)
	require.ErrorIs(t, s.Validate(json.Number("1e9999999999")), ErrNumber)
	require.ErrorIs(t, s.Validate(json.Number("")), ErrNumber)
	require.ErrorIs(t, s.Validate(json.Number("x")), ErrNumber)
	require.ErrorIs(t, s.Validate(json.Number("true")), ErrNumber)
	require.ErrorIs(t, s.Validate(json.Number("-2")), ErrViolation)
	require.ErrorIs(t, s.Validate(math.NaN()), ErrNumber)
	require.ErrorIs(t, s.Validate(float32(math.Inf(-1))), ErrNumber)
	require.NoError(t, s.Validate([]any{1.5, float32(2)}))
	require.ErrorIs(t, s.Validate(struct{}{}), ErrNotJSON, "a type that JSON does not have")
	require.NoError(t, s.Validate(map[string]any{"n": 7, "u": uint64(7)}))
}

func TestNumbersKeepTheirDigits(t *testing.T) {
	t.Parallel()
	s := MustCompile([]byte(`{"maximum":9007199254740993}`))
	require.NoError(t, s.ValidateJSON([]byte(`9007199254740993`)))
	require.ErrorIs(t, s.ValidateJSON([]byte(`9007199254740994`)), ErrViolation)
}

// A schema that doubles itself with each definition would check one value a billion times.
func TestSchemasThatMultiplyThemselvesAreRefused(t *testing.T) {
	t.Parallel()
	doubling := func(n int, at string) []byte {
		var b strings.Builder
		b.WriteString(`{` + at + `,"$defs":{`)
		for i := range n {
			fmt.Fprintf(&b, `"d%d":{"allOf":[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%d"}]},`, i, i+1, i+1)
		}
		fmt.Fprintf(&b, `"d%d":{}}}`, n)
		return []byte(b.String())
	}
	for _, at := range []string{`"$ref":"#/$defs/d0"`, `"properties":{"a":{"items":{"$ref":"#/$defs/d0"}}}`,
		`"allOf":[{"additionalProperties":{"$ref":"#/$defs/d0"}}]`} {
		_, err := Compile(doubling(5, at))
		require.NoError(t, err)
		_, err = Compile(doubling(30, at))
		require.ErrorIs(t, err, ErrComplex, at)
	}
	MustCompile([]byte(`{"properties":{"next":{"$ref":"#"}}}`))
}

// B6: a schema that accepts every object says nothing when an output passes it.
func TestPermissiveIsTrueIfEveryObjectPasses(t *testing.T) {
	t.Parallel()
	permissive := []string{
		`true`, `{}`, `{"type":"object"}`, `{"type":"object","properties":{}}`, `{"type":["object","null"]}`,
		`{"title":"x","description":"y","$comment":"z","default":{},"examples":[1]}`,
		`{"$id":"https://example.com/x","type":"object"}`,
		`{"type":"object","additionalProperties":true}`, `{"type":"object","additionalProperties":{}}`,
		`{"required":[]}`, `{"minProperties":0}`,
		`{"properties":{"a":true,"b":{}}}`, `{"allOf":[{},{"type":"object"}]}`, `{"anyOf":[{"type":"string"},{}]}`,
		`{"oneOf":[{}]}`,
		`{"$ref":"#/$defs/a","$defs":{"a":{"type":"object"},"b":{"type":"string"}}}`,
		`{"properties":{"next":{"$ref":"#"}}}`,
		`{"if":{"required":["a"]},"then":true,"else":{}}`,
		`{"minLength":3,"pattern":"x","items":{"type":"string"},"minimum":1}`,
	}
	for _, raw := range permissive {
		require.True(t, MustCompile([]byte(raw)).Permissive(), raw)
	}
	demanding := []string{
		`false`, `{"type":"array"}`, `{"type":"string"}`, `{"required":["a"]}`,
		`{"properties":{"a":{"type":"string"}}}`, `{"properties":{"a":{"type":"object"}}}`,
		`{"additionalProperties":false}`, `{"additionalProperties":{"type":"string"}}`, `{"minProperties":1}`,
		`{"maxProperties":3}`,
		`{"enum":[{}]}`, `{"const":{}}`, `{"not":{}}`, `{"allOf":[{"required":["a"]}]}`,
		`{"anyOf":[{"required":["a"]},{"required":["b"]}]}`,
		`{"oneOf":[{},{}]}`, `{"$ref":"#/$defs/a","$defs":{"a":{"required":["x"]}}}`,
		`{"if":{},"then":{"required":["a"]}}`,
		`{"patternProperties":{"^a":{"type":"string"}}}`, `{"propertyNames":{"maxLength":3}}`,
		`{"dependentRequired":{"a":["b"]}}`,
		`{"unevaluatedProperties":false}`, `{"properties":{"a":{"maxItems":2}}}`, `{"properties":{"a":{"minimum":2}}}`,
	}
	for _, raw := range demanding {
		require.False(t, MustCompile([]byte(raw)).Permissive(), raw)
	}
}

// FuzzCompile: whatever a schema says, compiling it ends in an error or in a schema that can be
// used.
func FuzzCompile(f *testing.F) {
	for _, seed := range []string{`{}`, `true`, `{"$ref":"#"}`,
		`{"$ref":"#/properties/a/enum/0","properties":{"a":{"enum":[{}]}}}`,
		`{"$dynamicRef":"#a","$dynamicAnchor":"a"}`,
		`{"type":"object","properties":{"a":{"$ref":"#/$defs/x"}},"$defs":{"x":{"type":"string","format":"date-time"}}}`, `{"$id":"file:///x","$ref":"y"}`} {
		f.Add([]byte(seed), []byte(`{"a":"b"}`))
	}
	f.Fuzz(func(t *testing.T, raw, doc []byte) {
		s, err := Compile(raw)
		if err != nil {
			require.ErrorIs(t, err, ErrInvalid)
			return
		}
		err = s.ValidateJSON(doc)
		if object, decodeErr := Decode(doc); decodeErr == nil && s.Permissive() {
			if _, ok := object.(map[string]any); ok {
				require.NoError(t, err, "a permissive schema refused an object")
			}
		}
	})
}

// F7: a violation is explained in the same words each time, however many members are too many.
func TestViolationsAreExplainedAlike(t *testing.T) {
	s, err := Compile([]byte(`{"type":"object","additionalProperties":false}`))
	require.NoError(t, err)
	many := []byte(`{"a":1,"b":1,"c', 'd":1,"e":1,"f":1,"g":1,"\u0000":1}`)
	first := s.ValidateJSON(many)
	for range 50 {
		require.EqualError(t, s.ValidateJSON(many), first.Error())
	}
}
