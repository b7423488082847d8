package fcmp

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// requireSameEvent holds the fast way to the slow one, and reports whether it was taken.
func requireSameEvent(t require.TestingT, body []byte) bool {
	fast, ok := decodeFast(body)
	if !ok {
		return false
	}
	slow, err := decodeSlow(body)
	require.NoError(t, err, "the fast way reads what is no event: %s", body)
	require.Equal(t, slow, fast)
	return true
}

// spoil changes a few bytes somewhere.
func spoil(t *rapid.T, body []byte) []byte {
	bits := rapid.SampledFrom([]string{`"`, `\`, `\u12`, "{", "}", "[]", ",", ":", "0", "1", "-", "9999999999", ".5",
		"e1", " ", "\n", "\x00", "\xff", "é", "null", "true", `"seq":1,`, "Z", "+01:00"})
	body = bytes.Clone(body)
	for range rapid.IntRange(1, 2).Draw(t, "changes") {
		i := rapid.IntRange(0, len(body)).Draw(t, "at")
		n := min(rapid.IntRange(0, 3).Draw(t, "without"), len(body)-i)
		body = slices.Replace(body, i, i+n, []byte(bits.Draw(t, "bits"))...)
	}
	return body
}

// escapedName reports whether an object inside has a member whose name is not written as it is.
func escapedName(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		for name, item := range v {
			if bytes.IndexByte(appendString(nil, name), '\\') >= 0 || escapedName(item) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(v, escapedName)
	}
	return false
}

// F8: every event that Encode writes takes the fast way, unless its engine or a member of its hints
// has an odd name, and is read as by the slow one.
func TestEventsAreDecodedFast(t *testing.T) {
	t.Parallel()
	for _, typ := range eventTypes() {
		t.Run(typ, func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) {
				h := drawHeader(t)
				payload := drawPayload(t, typ)
				body, err := encode(h, typ, payload)
				require.NoError(t, err)
				easy := h.Engine[0] != '<' && max(h.Seq, h.LocalSeq, uint64(h.Attempt)) < 1e18 && !escapedName(payload)
				require.Equal(t, easy, requireSameEvent(t, body))
				requireSameEvent(t, spoil(t, body))
			})
		})
	}
	for _, folder := range []string{"good", "violations"} {
		for name, log := range logs(t, folder) {
			for line := range strings.Lines(string(log)) {
				taken := requireSameEvent(t, []byte(strings.TrimSuffix(line, "\n")))
				require.True(t, taken || folder != "good", name)
			}
		}
	}
}

// Forms other than Encode's are left to the slow way and its errors.
func TestOtherFormsAreDecodedSlowly(t *testing.T) {
	t.Parallel()
	good, err := encode(header(), TypeWarning, samples()[TypeWarning])
	require.NoError(t, err)
	require.True(t, requireSameEvent(t, good))
	for _, change := range [][2]string{
		{`"seq":7`, `"seq":07`}, {`"seq":7`, `"seq":0`}, {`"seq":7`, `"seq":-7`}, {`"seq":7`, `"seq":7.0`},
		{`"seq":7`, `"seq":7e0`}, {`"seq":7`, `"seq": 7`}, {`"seq":7`, `"seq":`},
		{`"seq":7`, `"seq":18446744073709551615`}, {`"seq":7`, `"seq":18446744073709551616`},
		{`"attempt":2`, `"attempt":9223372036854775808`}, {`"attempt":2`, `"attempt":-0`},
		{`"local_seq":3`, `"local_seq":0`}, {`run-1`, `run 1`}, {`run-1`, ``}, {`run-1`, `r\u0075n-1`},
		{`"demo"`, `"d\u0065mo"`}, {`"demo"`, `"dé"`}, {`"demo"`, `"\xff"`}, {`"demo"`, `""`}, {`"demo"`, `null`},
		{`02:04:05.678901Z`, `02:04:05,678901Z`}, {`02:04:05.678901Z`, `02:04:05+01:00`}, {`02:04:05`, `24:04:05`},
		{`02:04:05`, `2:04:05`}, {`2026-01-02T`, `0001-01-01T`}, {`2026-01-02T`, `2026\u002d01-02T`},
		{`02:04:05.678901Z`, `02:04:05.6789012345Z`}, {`diagnostic.warning`, `diagnostic.`}, {`fcmp/1.0`, `fcmp/2.0`},
		{`{"code"`, `{ "code"`}, {`"slow"}`, `"slow",}`}, {`"slow"}`, `"slow"]`}, {`"slow"`, `"\x"`},
		{`{"code":"ENGINE_DIAGNOSTIC","detail":"slow"}`, `null`}, {`{"code":"ENGINE_DIAGNOSTIC","detail":"slow"}`,
			`[]`}, {`{"code":"ENGINE_DIAGNOSTIC","detail":"slow"}`, `"{"`}, {`}}`, `}}}`}, {`}}`, `}} `}, {`}}`, `}`},
	} {
		body := strings.Replace(string(good), change[0], change[1], 1)
		require.NotEqual(t, string(good), body)
		requireSameEvent(t, []byte(body))
		fast, err := Decode([]byte(body))
		slow, slowErr := decodeSlow([]byte(body))
		require.Equal(t, slow, fast, body)
		require.Equal(t, slowErr, err, body)
	}
	for i := range good {
		require.False(t, requireSameEvent(t, good[:i]))
	}
}

// An event keeps nothing of the bytes that it was read from.
func TestDecodedEventsAreTheReaders(t *testing.T) {
	t.Parallel()
	body, err := encode(header(), TypeWarning, samples()[TypeWarning])
	require.NoError(t, err)
	e, ok := decodeFast(body)
	require.True(t, ok)
	clear(body)
	require.Equal(t, "run-1", e.RunID)
	require.Equal(t, "demo", e.Engine)
	require.JSONEq(t, `{"code":"ENGINE_DIAGNOSTIC","detail":"slow"}`, string(e.Data))
}

// Scanned values are JSON for encoding/json, if compact and not too deep.
func TestScannedValuesAreJSON(t *testing.T) {
	t.Parallel()
	for _, raw := range []string{"", "-", "01", "1.", "1.e1", ".5", "1e", "1e+", "+1", "tru", "nulll", `"`, `"\`,
		`"\u12`, `"\u12g4"`, `"\x"`, "\"\n\"", "{", "[", "{}}", "[1,]", `{"a"}`, `{"a":}`, `{"a":1,}`, `{,}`, `{1:2}`,
		"[1 ]", "[}", "\x00"} {
		require.NotEqual(t, len(raw), valueEnd([]byte(raw), 0, 0), "%q", raw)
	}
	for _, raw := range []string{"0", "-0", "-1.50e-07", "1E9", "true", "false", "null", `""`,
		`"\"\\\/\b\f\n\r\t\u12aF"`, "\"\xff\x7f\"", "[]", "{}", `[{"a":[1,2]},[]]`, `{"":0,"a":1}`} {
		require.True(t, json.Valid([]byte(raw)))
		require.Equal(t, len(raw), valueEnd([]byte(raw), 0, 0), "%q", raw)
	}
	// JSON, but not as Encode writes it
	for _, raw := range []string{`{"a":0,"a":1}`, `{"b":0,"a":1}`, `{"a\n":0}`, `"\ud83d\ude00"`, `"\uDC00"`} {
		require.True(t, json.Valid([]byte(raw)))
		require.Equal(t, -1, valueEnd([]byte(raw), 0, 0), "%q", raw)
	}
	for _, raw := range []string{"1e308", "-1.5E-400", "1e007", strings.Repeat("9", 200) + "e99", strings.Repeat("9",
		308)} {
		require.Equal(t, len(raw), valueEnd([]byte(raw), 0, 0), "%q", raw)
	}
	// larger than any float64
	for _, raw := range []string{"1e309", "-1e1000", "1e0400", strings.Repeat("9", 400), strings.Repeat("9", 250) +
		"e99"} {
		require.True(t, json.Valid([]byte(raw)))
		require.Equal(t, -1, valueEnd([]byte(raw), 0, 0), "%q", raw)
		require.Error(t, unambiguous([]byte(raw)), "%q", raw)
	}
	require.Equal(t, -1, valueEnd([]byte(strings.Repeat("[", 100)+strings.Repeat("]", 100)), 0, 0))
	rapid.Check(t, func(t *rapid.T) {
		v := drawOpen(t, 0)
		raw, ok := appendOpen(nil, v, 0)
		require.True(t, ok)
		require.True(t, escapedName(v) || len(raw) == valueEnd(raw, 0, 0), "%s", raw)
		requireJSON(t, spoil(t, raw))
	})
}

func requireJSON(t require.TestingT, raw []byte) {
	if valueEnd(raw, 0, 0) == len(raw) {
		require.True(t, json.Valid(raw), "%q", raw)
		require.NoError(t, unambiguous(raw), "%q", raw)
	} else if v, err := decodeObject(append(append([]byte(`{"v":`), raw...), '}')); err == nil && !escapedName(v) {
		own, ok := appendOpen(nil, v["v"], 0) // as Encode writes it
		require.True(t, !ok || string(own) != string(raw), "%q", raw)
	}
}

// FuzzScan: a completely scanned value is JSON with only one reading, and Encode's output is
// scanned completely.
func FuzzScan(f *testing.F) {
	for _, data := range samples() {
		f.Add([]byte(mustJSON(data)))
	}
	f.Fuzz(func(t *testing.T, raw []byte) { requireJSON(t, raw) })
}

// FuzzDecodeFast: the fast way agrees with the slow one.
func FuzzDecodeFast(f *testing.F) {
	for typ, data := range samples() {
		body, err := encode(header(), typ, data)
		require.NoError(f, err)
		f.Add(body)
	}
	f.Fuzz(func(t *testing.T, body []byte) { requireSameEvent(t, body) })
}
