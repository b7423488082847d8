package schema

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/internal/sample"
)

// J10 N3: a document that would occupy a processor is refused before it is checked, whatever makes
// it expensive; the count is the test's clock. Similar documents of an ordinary size are checked.
func TestDocumentsThatTakeTooLongAreNotChecked(t *testing.T) {
	sample.Sequential(t)
	list := func(n int, item string) string { return "[" + strings.Repeat(item+",", n-1) + item + "]" }
	nested := func(n int) string { return strings.Repeat(`{"a":`, n) + "1" + strings.Repeat("}", n) }
	named := func(n int) string {
		all := make([]string, n)
		for i := range all {
			all[i] = fmt.Sprintf(`"n%d%s":1`, i, strings.Repeat("x", 40))
		}
		return "{" + strings.Join(all, ",") + "}"
	}
	twice := `{"allOf":[{"properties":{"a":{"$ref":"#"}}},{"properties":{"a":{"$ref":"#"}}}]}`
	text := func(n int) string { return `"` + strings.Repeat("a", n) + `"` }
	for name, c := range map[string]struct{ schema, good, bad string }{
		"each level doubles the work": {twice, nested(12), nested(60)},
		"so does a dynamic reference": {`{"$dynamicAnchor":"n","allOf":[{"properties":{"a":{"$dynamicRef":"#n"}}},` +
			`{"properties":{"a":{"$dynamicRef":"#n"}}}]}`, nested(12), nested(60)},
		"many values, each checked often": {`{"items":{"allOf":[` + strings.Repeat(`{"minimum":0},`, 99) + `{}]}}`,
			list(1000, "1"), list(50_000, "1")},
		"a long list, checked often": {`{"allOf":[` + strings.Repeat(`{"maxItems":1000000},`, 99) + `{}]}`,
			list(10_000, "1"), list(400_000, "1")},
		"a large object, checked often": {`{"allOf":[` + strings.Repeat(`{"maxProperties":1000000},`, 999) + `{}]}`,
			named(500), named(15_000)},
		"patterns on a long text": {`{"allOf":[` + strings.Repeat(`{"pattern":"(x|aa?){40}b"},`, 9) + `{}]}`,
			text(1000), text(500_000)},
		"patterns of names": {`{"patternProperties":{"(x|nn?){40}b":{},"(x|nn?){41}c":{}}}`, named(200), named(15_000)},
		"an enum of large values": {`{"allOf":[` + strings.Repeat(`{"enum":[[1]]},`, 99) + `{}]}`, `[1]`,
			list(100_000, "1")},
		"long numbers": {`{"items":{"allOf":[` + strings.Repeat(`{"minimum":0},`, 99) + `{}]}}`, list(100, "1"),
			list(1000, strings.Repeat("9", 900))},
	} {
		s := MustCompile([]byte(c.schema))
		require.NotErrorIs(t, s.ValidateJSON([]byte(c.good)), ErrCostly, name)
		require.ErrorIs(t, s.ValidateJSON([]byte(c.bad)), ErrCostly, name)
		faults, err := s.Faults([]byte(c.bad))
		require.NoError(t, err)
		require.Equal(t, []Fault{{"", "a value that takes at most 500000 checks"}}, faults, name)
	}
	ordinary := MustCompile([]byte(`{"type":"array","items":{"type":"object","required":["a"],"properties":{"a":` +
		`{"anyOf":[{"type":"string","pattern":"^[a-z]+$"},{"type":"null"}]}},"additionalProperties":false}}`))
	require.NoError(t, ordinary.ValidateJSON([]byte(list(60_000, `{"a":"abc"}`))), "a list of 700 KB")
}

// J10: whether items are unique is decided in one pass, also for lists that make the validator's
// hashes equal.
func TestUniqueItemsAreComparedInOnePass(t *testing.T) {
	sample.Sequential(t)
	s := MustCompile([]byte(`{"uniqueItems":true}`))
	for doc, unique := range map[string]bool{`[1,1.0]`: false, `[1,"1",true,null,[1],{"a":1}]`: true,
		`[{"a":1,"b":2},{"b":2,"a":10e-1}]`: false, `["a\u0003b","a"]`: true, `[-1,1]`: true, `7`: true, `[]`: true} {
		require.Equal(t, unique, s.ValidateJSON([]byte(doc)) == nil, doc)
	}
	const parts = 14 // texts with byte 3 between them, divided at other places: equal hashes, 8192 items
	all := make([][]string, 0, 1<<(parts-1))
	for divided := range 1 << (parts - 1) {
		item := []string{"x"}
		for i := range parts - 1 {
			if divided&(1<<i) != 0 {
				item = append(item, "x")
			} else {
				item[len(item)-1] += "\x03x"
			}
		}
		all = append(all, item)
	}
	body, err := json.Marshal(all)
	require.NoError(t, err)
	require.NoError(t, s.ValidateJSON(body))
	require.False(t, s.compiled.UniqueItems, "the validator compares each with all others")
}

// J10: whether a schema accepts every object is decided in bounded time, though there are more paths
// through a schema than schemas.
func TestPermissiveEndsInBoundedTime(t *testing.T) {
	sample.Sequential(t)
	var b strings.Builder
	b.WriteString(`{"$ref":"#/$defs/d0","$defs":{`)
	for i := range 40 {
		fmt.Fprintf(&b, `"d%d":{"properties":{"a":{"$ref":"#/$defs/d%d"},"b":{"$ref":"#/$defs/d%d"}}},`, i, i+1, i+1)
	}
	b.WriteString(`"d40":{}}}`)
	require.False(t, MustCompile([]byte(b.String())).Permissive(), "it cannot decide")
}
