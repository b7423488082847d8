package fcmp

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// mustJSON writes as encodeSlow does.
func mustJSON(v any) string {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic(err)
	}
	return strings.TrimSuffix(buf.String(), "\n")
}

// Strings, numbers and times are written byte for byte as encoding/json does.
func TestWriterAgreesWithEncodingJSON(t *testing.T) {
	t.Parallel()
	for c := range rune(0x3000) {
		require.Equal(t, mustJSON(string(c)), string(appendString(nil, string(c))))
	}
	for _, s := range oddText {
		require.Equal(t, mustJSON(s+s), string(appendString(nil, s+s)))
	}
	for _, f := range oddFloats {
		require.Equal(t, mustJSON(f), string(appendFloat(nil, f)))
	}
	rapid.Check(t, func(t *rapid.T) {
		s := drawText(t, keywords{})
		require.Equal(t, mustJSON(s), string(appendString(nil, s)))
		f := rapid.Float64().Draw(t, "f")
		require.Equal(t, mustJSON(f), string(appendFloat(nil, f)))
		at := drawTime(t).Add(time.Second)
		written, ok := appendTime(nil, at)
		require.True(t, ok)
		require.Equal(t, `"`+FormatTime(at)+`"`, string(written))
	})
}

// Values of any shape are written as encoding/json does, or left to it.
func TestWriterAgreesWithEncodingJSONOnOpenValues(t *testing.T) {
	t.Parallel()
	written := 0
	for _, v := range junk() {
		got, ok := appendOpen(nil, v, 0)
		if !ok {
			continue
		}
		written++
		p, _, err := plain(v, 0)
		require.NoError(t, err)
		require.Equal(t, mustJSON(p), string(got))
	}
	require.Greater(t, written, 20)
	rapid.Check(t, func(t *rapid.T) {
		v := drawOpenObject(t, 0)
		got, ok := appendOpen(nil, v, 0)
		require.True(t, ok)
		p, _, err := plain(v, 0)
		require.NoError(t, err)
		require.Equal(t, mustJSON(p), string(got))
	})
}

// FuzzString: a string is written as encoding/json does.
func FuzzString(f *testing.F) {
	for _, s := range oddText {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		require.Equal(t, mustJSON(s), string(appendString(nil, s)))
	})
}

// FuzzFloat: a number is written as encoding/json does.
func FuzzFloat(f *testing.F) {
	for _, number := range oddFloats {
		f.Add(number)
	}
	f.Fuzz(func(t *testing.T, number float64) {
		if number-number == 0 { // finite
			require.Equal(t, mustJSON(number), string(appendFloat(nil, number)))
		}
	})
}
