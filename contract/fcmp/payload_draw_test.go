package fcmp

import (
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"pgregory.net/rapid"

	"github.com/interlude-go/interlude/contract"
)

type (
	small int32
	truth bool
)

// drawPayload draws data that the schema of the type allows, in the Go types that hosts use.
func drawPayload(t *rapid.T, typ string) map[string]any {
	raw, _ := contract.EventSchema(typ)
	return drawValue(t, readKeywords(raw)).(map[string]any)
}

func readKeywords(raw []byte) (k keywords) {
	if err := json.Unmarshal(raw, &k); err != nil {
		panic(err)
	}
	return k
}

func drawValue(t *rapid.T, k keywords) any {
	switch {
	case k.Const != nil:
		var word string
		_ = json.Unmarshal(k.Const, &word)
		return word
	case k.Enum != nil:
		word := rapid.SampledFrom(k.Enum).Draw(t, "word")
		return rapid.SampledFrom([]any{word, named(word)}).Draw(t, "as")
	case k.Format != "":
		at := drawTime(t)
		return rapid.SampledFrom([]any{at, at.UTC().Format(time.RFC3339Nano), FormatTime(at)}).Draw(t, "as")
	case k.Pattern != "":
		longest := orElse(k.MaxLength, math.MaxInt)
		return rapid.StringMatching(k.Pattern).Filter(func(s string) bool {
			return len(s) <= longest
		}).Draw(t, "matching")
	case k.Type == "string":
		return drawText(t, k)
	case k.Type == "integer":
		return drawInteger(t, orElse(k.Minimum, math.MinInt64))
	case k.Type == "boolean":
		return rapid.Bool().Draw(t, "bool")
	case k.Type == "array":
		items := []any{}
		for range rapid.IntRange(0, 4).Draw(t, "items") {
			if item := drawValue(t, *k.Items); !k.UniqueItems || !slices.Contains(items, item) {
				items = append(items, item)
			}
		}
		return items
	case k.AdditionalProperties == nil:
		return drawOpenObject(t, 0)
	}
	m := map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(k.Properties)) {
		if slices.Contains(k.Required, name) || rapid.Bool().Draw(t, name) {
			m[name] = drawValue(t, k.Properties[name])
		}
	}
	return m
}

func drawTime(t *rapid.T) time.Time {
	// the years 1 to 9999, a day less for the zone
	seconds := rapid.Int64Range(-62_135_596_800, 253_402_300_799-86_400).Draw(t, "seconds")
	return time.Unix(seconds, rapid.Int64Range(0, 999_999_999).Draw(t, "nanoseconds")).In(time.FixedZone("",
		rapid.IntRange(0, 3600).Draw(t, "zone")))
}

// oddText is what JSON does not write as it is.
var oddText = []string{"", "\x00\x01\x1f\x7f", `"\/`, "\b\f\n\r\t", "<&>", "\u2028\u2029\u2027\u202a", "\xff\xe2\x80",
	"\xe2\x80\xa8\xa8", "\ufffd", "🜂é", "\xed\xa0\x80", "\xf4\x90\x80\x80"}

func drawText(t *rapid.T, k keywords) string {
	s := rapid.OneOf(rapid.String(), rapid.SampledFrom(oddText), rapid.Map(rapid.SliceOf(rapid.Byte()),
		func(b []byte) string {
			return string(b)
		})).Draw(t, "text")
	if longest := orElse(k.MaxLength, math.MaxInt); longest <= 4096 && rapid.IntRange(0, 9).Draw(t, "longest") == 0 {
		return strings.Repeat(rapid.SampledFrom([]string{"x", "€", "\xff", "\x01"}).Draw(t, "filling"), longest)
	}
	if len(s) < k.MinLength {
		return "x"
	}
	return s
}

func drawInteger(t *rapid.T, least int64) any {
	n := rapid.OneOf(rapid.Int64Range(least, 100), rapid.Int64Min(least)).Draw(t, "n")
	forms := []any{int(n), n, json.Number(mustJSON(n))}
	if n >= 0 {
		forms = append(forms, uint64(n))
	}
	if n == int64(small(n)) {
		forms = append(forms, small(n), float64(n))
	}
	return rapid.SampledFrom(forms).Draw(t, "as")
}

func drawOpenObject(t *rapid.T, depth int) map[string]any {
	m := map[string]any{}
	for range rapid.IntRange(0, 20>>(2*depth)).Draw(t, "members") {
		// Two names that are no UTF-8 may become one, which Encode refuses.
		m[strings.ToValidUTF8(drawText(t, keywords{}), "\ufffd")] = drawOpen(t, depth+1)
	}
	return m
}

func drawOpen(t *rapid.T, depth int) any {
	switch rapid.IntRange(0, 8).Draw(t, "any") {
	case 0:
		return drawOpenObject(t, depth)
	case 1:
		items := []any{}
		for range rapid.IntRange(0, 20>>(2*depth)).Draw(t, "items") {
			items = append(items, drawOpen(t, depth+1))
		}
		return items
	case 2:
		return rapid.OneOf(rapid.Float64(), rapid.SampledFrom(oddFloats)).Draw(t, "float")
	case 3:
		return drawInteger(t, math.MinInt64)
	case 4:
		return rapid.SampledFrom([]any{nil, true, truth(true), drawTime(t)}).Draw(t, "constant")
	default:
		return drawText(t, keywords{})
	}
}

var oddFloats = []float64{0, math.Copysign(0, -1), 1e-6, 9.999999e-7, 1e-9, 1e-10, 1e20, 1e21, -1e21, 1e100, 0.1,
	1 << 53, 1<<53 + 2, math.MaxFloat64, math.SmallestNonzeroFloat64, 1e-100}

// junk are values that no event has, or that are not plain.
func junk() []any {
	loop := map[string]any{}
	loop["loop"] = loop
	deep := func(levels int) any {
		var v any = "ground"
		for range levels {
			v = []any{v}
		}
		return v
	}
	return []any{
		nil, true, truth(false), "", "x", "no code", "A", "é", "\xff", strings.Repeat("x", 4097), strings.Repeat("€",
			65_537), -1, 0, 1, uint8(7), uint16(7), int8(-7), uint64(math.MaxUint64), int64(math.MinInt64),
		0.5, 1e300, 1e15, -1e-9, math.NaN(), math.Inf(1), math.Copysign(0, -1), float32(2), json.Number("1e2"),
		json.Number("-0"), json.Number(""), json.Number("07"), json.Number("x"), json.Number("1.0"),
		json.Number("99999999999999999999"), json.Number("1e99999"), json.Number(strings.Repeat("9", 1001)),
		time.Time{}, time.Date(12_000, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(-3, 1, 1, 0, 0, 0, 0, time.UTC),
		time.Hour,
		"2026-02-30T00:00:00Z", "2024-02-29T23:59:60Z", "2026-01-02t03:04:05z", "2026-01-02T03:04:05+01:00",
		"2026-01-02T03:04:05.Z", "2026-01-02 03:04:05Z", "0000-01-01T00:00:00Z",
		map[string]any{}, map[string]any(nil), map[string]any{"x": 1}, map[string]string{"label": "a", "value": "b"},
		[]any{}, []any(nil), []any{"A", "A"}, []any{"A", named("A")}, []string{"A"}, []byte("A"),
		json.RawMessage(`"A"`),
		Failure{Code: "A"}, &Failure{Code: "A"}, (*Failure)(nil), loop, func() {}, make(chan int), complex(1, 1),
		deep(30), deep(40), deep(63), deep(64), deep(65),
	}
}

// mutate changes the value somewhere.
func mutate(t *rapid.T, v any) any {
	switch v := v.(type) {
	case map[string]any:
		if v == nil {
			return map[string]any{}
		}
		names := slices.Sorted(maps.Keys(v))
		what := rapid.IntRange(0, 5).Draw(t, "change")
		switch {
		case what == 0 || len(names) == 0:
			v[rapid.SampledFrom([]string{"more", "text", "error", "terminal", "wait_deadline_at", ""}).Draw(t, "new")] =
				rapid.SampledFrom(junk()).Draw(t, "junk")
		case what == 1:
			delete(v, rapid.SampledFrom(names).Draw(t, "gone"))
		default:
			name := rapid.SampledFrom(names).Draw(t, "changed")
			v[name] = mutate(t, v[name])
		}
		return v
	case []any:
		if i := rapid.IntRange(0, len(v)).Draw(t, "index"); i < len(v) {
			v[i] = mutate(t, v[i])
			return v
		}
		return append(v, rapid.SampledFrom(append(junk(), v...)).Draw(t, "junk"))
	}
	return rapid.SampledFrom(junk()).Draw(t, "junk")
}
