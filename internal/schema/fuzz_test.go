package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// depth returns the nesting depth of a JSON text, the length of its longest number and its longest
// exponent. It decodes the text instead of examining its bytes.
func depth(t testing.TB, raw []byte) (deepest, number, exponent int) {
	t.Helper()
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	open := 0
	for {
		token, err := dec.Token()
		if errors.Is(err, io.EOF) {
			return deepest, number, exponent
		}
		require.NoError(t, err)
		switch token := token.(type) {
		case json.Delim:
			if token == '{' || token == '[' {
				open++
				deepest = max(deepest, open)
			} else {
				open--
			}
		case json.Number:
			number = max(number, len(token))
			if _, e, ok := strings.Cut(strings.ToLower(token.String()), "e"); ok {
				exponent = max(exponent, len(strings.TrimLeft(e, "+-0")))
			}
		}
	}
}

// FuzzDecode: a scan of the bytes decides whether a document is within the bounds. For JSON the
// scan is exact, and a text that is not JSON is never accepted.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		`{"a":[1,-2.5e3,"\"[{",null]}`, strings.Repeat("[", MaxDepth) + strings.Repeat("]", MaxDepth),
		strings.Repeat("[", MaxDepth+1) + strings.Repeat("]", MaxDepth+1),
		`1e999`, `1e9999`, `1e-0009`, `"\u0000"`, `{}{}`, `-`, `"\`, `[1]]`, `0x1`, strings.Repeat("9", MaxNumber+1),
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		v, err := Decode(raw)
		if !json.Valid(raw) {
			require.Error(t, err)
			return
		}
		deepest, number, exponent := depth(t, raw)
		want := len(raw) <= MaxSize && deepest <= MaxDepth && number <= MaxNumber && exponent <= maxExponent
		require.Equal(t, want, err == nil, "%v", err)
		if err != nil {
			require.NotErrorIs(t, err, ErrNotJSON)
			return
		}
		require.NoError(t, validateValue(v, 0), "a value in memory has the same bounds")
		again, err := json.Marshal(v)
		require.NoError(t, err)
		if len(again) <= MaxSize { // escapes may make it longer
			same, err := Decode(again)
			require.NoError(t, err)
			require.Equal(t, v, same)
		}
	})
}
