package fcmp

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// requireSameVerdict checks that the fast verdict agrees with the schemas.
func requireSameVerdict(t testing.TB, body []byte) (fast bool) {
	t.Helper()
	got, ok := verifyFast(body)
	if !ok {
		return false
	}
	want, err := decodeSlow(body)
	require.NoError(t, err, "%s", body)
	require.NoError(t, want.verify(body), "%s", body)
	require.Equal(t, want, got)
	return true
}

// F1, F7: the fast way knows all that Encode writes, and allows nothing that the schemas do not.
func TestTheFastVerdictIsThatOfTheSchemas(t *testing.T) {
	t.Parallel()
	for typ, data := range samples() {
		body, err := encode(header(), typ, data)
		require.NoError(t, err)
		require.True(t, requireSameVerdict(t, body), "%s", body)
		for at := 0; at < len(body); at += stride {
			for _, piece := range []string{``, `"`, `0`, `-`, `.`, `x`, `null`, `{}`, "\xff", "é",
				`2026-03-01T09:00:00+01:00`, strings.Repeat("0", 40)} {
				requireSameVerdict(t, []byte(string(body[:at])+piece+string(body[at:])))
				requireSameVerdict(t, []byte(string(body[:at])+piece+string(body[at+1:])))
			}
		}
	}
	for folder, name := range map[string]string{"good": "question-and-answer",
		"violations": "IV-01-payload-without-trigger"} {
		for line := range strings.Lines(string(logs(t, folder)[name])) {
			requireSameVerdict(t, []byte(strings.TrimSpace(line)))
		}
	}
}

// F1: decoding mends broken UTF-8 in silence, and another reader may mend it in another way.
func TestWhatIsNotUTF8IsNoEvent(t *testing.T) {
	t.Parallel()
	body, err := encode(header(), TypeWarning, map[string]any{"code": "ENGINE_DIAGNOSTIC", "detail": "here"})
	require.NoError(t, err)
	_, err = Verify([]byte(strings.Replace(string(body), "here", "é\xff", 1)))
	require.ErrorIs(t, err, ErrEvent)
	require.ErrorContains(t, err, "not UTF-8, at byte ")
	require.Equal(t, 3, notUTF8([]byte("aé\xffb")))
}

// FuzzVerify: the fast verdict agrees with the schemas.
func FuzzVerify(f *testing.F) {
	for typ, data := range samples() {
		body, err := encode(header(), typ, data)
		require.NoError(f, err)
		f.Add(body)
	}
	f.Fuzz(func(t *testing.T, body []byte) { requireSameVerdict(t, body) })
}
