package fcmp

import (
	"fmt"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/interlude-go/interlude/internal/schema"
)

// loops are the functions by their expressions.
var loops = map[string]func(string) bool{patternRunID: isRunID, patternCode: isCode, patternVersion: isVersion,
	patternDigest: isDigest}

// The loops are the expressions of the schemas.
func TestLoopsMatchLikeTheirExpressions(t *testing.T) {
	t.Parallel()
	for expression, matches := range loops {
		t.Run(expression, func(t *testing.T) {
			t.Parallel()
			compiled := regexp.MustCompile(expression)
			agree := func(t require.TestingT, s string) {
				require.Equal(t, compiled.MatchString(s), matches(s), "%q", s)
			}
			for first := range 256 {
				for second := first % stride; second < 256; second += stride {
					s := string([]byte{byte(first), byte(second)})
					agree(t, s)
					agree(t, "A"+s)
					agree(t, "1.2"+s)
					agree(t, s+"1.2")
				}
			}
			for n := range 300 {
				agree(t, fmt.Sprintf("A%0*d", n, 0))
			}
			some := rapid.OneOf(rapid.StringMatching(expression), rapid.StringMatching(`[0-9.]{0,8}`),
				rapid.StringMatching(`[A-Za-z0-9._ \n-]{0,5}`), rapid.String())
			rapid.Check(t, func(t *rapid.T) { agree(t, some.Draw(t, "s")) })
		})
	}
}

// A time of ours is one to the validator of schemas; of those in UTC without a leap second, each.
func TestTimesAreThoseOfTheValidator(t *testing.T) {
	t.Parallel()
	format := schema.MustCompile([]byte(`{"type": "string", "format": "date-time"}`))
	accepts := func(s string) bool { return format.Validate(s) == nil }
	for _, v := range junk() {
		if s, ok := v.(string); ok && isUTCTime(s) {
			require.True(t, accepts(s), "%q", s)
		}
	}
	for year := range 410 {
		for month := range 14 {
			for _, day := range []int{0, 1, 28, 29, 30, 31, 32} {
				s := fmt.Sprintf("%04d-%02d-%02dT00:00:00Z", year+1899, month, day)
				require.Equal(t, accepts(s), isUTCTime(s), s)
			}
		}
	}
	digits := rapid.IntRange(0, 99)
	rapid.Check(t, func(t *rapid.T) {
		s := fmt.Sprintf("%04d-%02d-%02dT%02d:%02d:%02d%sZ", rapid.IntRange(0, 9999).Draw(t, "year"),
			rapid.IntRange(0, 13).Draw(t, "month"), rapid.IntRange(0, 32).Draw(t, "day"),
			rapid.IntRange(0, 24).Draw(t, "hour"), rapid.IntRange(0, 60).Draw(t, "minute"),
			rapid.IntRange(0, 59).Draw(t, "second"), rapid.StringMatching(`(\.[0-9]{0,12})?`).Draw(t, "fraction"))
		require.Equal(t, accepts(s), isUTCTime(s), s)
		b := []byte(s)
		b[digits.Draw(t, "at")%len(b)] = rapid.Byte().Draw(t, "byte")
		if isUTCTime(string(b)) {
			require.True(t, accepts(string(b)), "%q", b)
		}
		short := s[:rapid.IntRange(0, len(s)).Draw(t, "length")]
		if isUTCTime(short) {
			require.True(t, accepts(short), "%q", short)
		}
	})
}

// FuzzLoops: the loops are the expressions of the schemas, and a time of ours is one to their
// validator.
func FuzzLoops(f *testing.F) {
	f.Add("run-1")
	f.Add("1.0.0")
	f.Add("ENGINE_FAILED")
	f.Add("2026-02-29T23:59:59.999999Z")
	f.Add("0000-01-01T00:00:60Z")
	type pair struct {
		compiled *regexp.Regexp
		loop     func(string) bool
	}
	var pairs []pair
	for expression, loop := range loops {
		pairs = append(pairs, pair{regexp.MustCompile(expression), loop})
	}
	format := schema.MustCompile([]byte(`{"type": "string", "format": "date-time"}`))
	f.Fuzz(func(t *testing.T, s string) {
		for _, p := range pairs {
			require.Equal(t, p.compiled.MatchString(s), p.loop(s), "%s: %q", p.compiled, s)
		}
		if isUTCTime(s) {
			require.NoError(t, format.Validate(s), "%q", s)
		}
	})
}
