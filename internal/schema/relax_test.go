package schema

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

// N2: a pattern outside Go's syntax is left out where the schema then accepts more, and refused
// elsewhere. The order of the members stays.
func TestRelaxLeavesOutPatternsWhereTheSchemaAcceptsMore(t *testing.T) {
	const foreign = `"pattern":"^(?!a)b"`
	for raw, want := range map[string]string{
		`{"type":"string",` + foreign + `,"maxLength":9}`:                      `{"type":"string","maxLength":9}`,
		`{"properties":{"z":{` + foreign + `},"a":{"pattern":"^a"}}}`:          `{"properties":{"z":{},"a":{"pattern":"^a"}}}`,
		`{"anyOf":[{` + foreign + `},{"type":"null"}]}`:                        `{"anyOf":[{},{"type":"null"}]}`,
		`{"if":{"type":"string"},"then":{` + foreign + `}}`:                    `{"if":{"type":"string"},"then":{}}`,
		`{"$defs":{"e":{` + foreign + `}},"$ref":"#/$defs/e"}`:                 `{"$defs":{"e":{}},"$ref":"#/$defs/e"}`,
		`{"properties":{"pattern":{` + foreign + `}}}`:                         `{"properties":{"pattern":{}}}`,
		`{"patternProperties":{"^(?=x)":{"type":"null"},"y":{}}}`:              `{"patternProperties":{"y":{}}}`,
		`{"additionalProperties":{` + foreign + `},"items":{` + foreign + `}}`: `{"additionalProperties":{},"items":{}}`,
		// No pattern is outside the syntax, so the text stays as it is.
		`{ "pattern" : "a" }`: `{ "pattern" : "a" }`,
		`{"enum":[{"pattern":"(?!a)"}],"default":{"not":{}}}`: `{"enum":[{"pattern":"(?!a)"}],"default":{"not":{}}}`,
		`true`: `true`,
		// Without the pattern, these would accept less, or it is not known.
		`{"not":{` + foreign + `}}`:                                                    "",
		`{"if":{` + foreign + `},"then":false}`:                                        "",
		`{"oneOf":[{"type":"null"},{` + foreign + `}]}`:                                "",
		`{"contains":{` + foreign + `},"maxContains":1}`:                               "",
		`{"not":{"properties":{"a":{` + foreign + `}}}}`:                               "",
		`{"$defs":{"e":{` + foreign + `}},"not":{"$ref":"#/$defs/e"}}`:                 "",
		`{"patternProperties":{"(?=x)":true},"additionalProperties":false}`:            "",
		`{"allOf":[{"patternProperties":{"(?=x)":{}}}],"unevaluatedProperties":false}`: "",
		`{"not":{"patternProperties":{"(?=x)":true}}}`:                                 "",
	} {
		got, dropped, err := Relax(json.RawMessage(raw))
		if want == "" {
			require.ErrorIs(t, err, ErrPattern, raw)
			continue
		}
		require.NoError(t, err, raw)
		require.Equal(t, want, string(got))
		require.Equal(t, want == raw, len(dropped) == 0, raw)
		_, err = Compile(got)
		require.NoError(t, err, raw)
		again, dropped, err := Relax(got)
		require.NoError(t, err)
		require.Empty(t, dropped)
		require.Equal(t, string(got), string(again))
	}
	for _, raw := range []string{`{"a":`, `[{"a":1,]`, `{"items":[}`} {
		_, _, err := Relax(json.RawMessage(raw))
		require.Error(t, err, raw)
	}
}
