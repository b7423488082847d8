package schema

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/internal/sample"
)

func object(members int, schema func(i int) string) []byte {
	all := make([]string, members)
	for i := range all {
		all[i] = fmt.Sprintf(`"p%d":%s`, i, schema(i))
	}
	return []byte(`{"properties":{` + strings.Join(all, ",") + `}}`)
}

func always(schema string) func(int) string { return func(int) string { return schema } }

// J10 N2: a schema that would occupy the host's memory or its processor is refused by its text,
// before anything is compiled. Each of these took seconds to minutes, or hundreds of megabytes.
func TestSchemasThatExhaustTheHostAreRefusedUncompiled(t *testing.T) {
	sample.Sequential(t)
	long := strings.Repeat("x", MaxSize-300_000)
	for name, raw := range map[string][]byte{
		"patterns":          object(2000, always(`{"pattern":"a{1,900}"}`)),
		"names of members":  []byte(`{"patternProperties":{"(` + strings.Repeat("a", 60) + `){1,1000}":{}}}`),
		"one pattern":       []byte(`{"pattern":"(` + strings.Repeat("a", 1000) + `){1000}"}`),
		"classes":           object(40, always(`{"pattern":"^\\pL{1,300}$"}`)),
		"members":           object(80_000, always(`{}`)),
		"booleans":          object(60_000, always(`true`)),
		"elsewhere":         []byte(`{"$ref":"#/x/y","x":{"y":` + string(object(MaxSchemas, always(`{}`))) + `}}`),
		"below a long name": []byte(`{"properties":{"` + long + `":` + string(object(100, always(`{}`))) + `}}`),
		"references by name": object(2400, func(i int) string {
			return fmt.Sprintf(`{"$anchor":"x%d","items":{"$ref":"#x%d"}}`, i, (i+1)%2400)
		}),
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := Compile(raw)
		runtime.ReadMemStats(&after)
		require.ErrorIs(t, err, ErrComplex, name)
		require.ErrorIs(t, err, ErrInvalid, name)
		require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(32<<20), "%s: nothing was compiled", name)
	}
}

// J10 N2: the estimate covers the memory of a compiled schema, so the cache keeps its limit.
func TestTheEstimateOfMemoryCoversASchema(t *testing.T) {
	sample.Sequential(t)
	for name, raw := range map[string][]byte{
		"members":     object(MaxSchemas-10, always(`{}`)),
		"strings":     object(2000, always(`{"type":"string","description":"a text of some length","maxLength":100}`)),
		"repetitions": object(27, always(`{"pattern":"a{1,900}"}`)),
		"one way":     object(55, always(`{"pattern":"^[a-c]{1,400}$"}`)),
		"classes":     object(10, always(`{"pattern":"^\\pL{1,80}$"}`)),
		"long names": []byte(`{"properties":{"` + strings.Repeat("%", 4000) + `":` +
			string(object(200, always(`{}`))) + `}}`),
		"enum":       object(50, always(`{"enum":["`+strings.Repeat(`aaaaa","aaaaa`, 50)+`"]}`)),
		"identified": object(2000, func(i int) string { return fmt.Sprintf(`{"$id":"x%d"}`, i) }),
		"a few anchored": object(200, func(i int) string {
			return fmt.Sprintf(`{"$anchor":"a%d","items":{"$ref":"#a0"}}`, i)
		}),
	} {
		const copies = 3
		var kept [copies]*Schema
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		for i := range kept {
			var err error
			kept[i], err = Compile(raw)
			require.NoError(t, err, name)
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		occupied := (int(after.HeapAlloc) - int(before.HeapAlloc)) / copies
		require.LessOrEqual(t, occupied, kept[0].Size().Memory*5/4+1<<16, name)
		runtime.KeepAlive(kept)
	}
}

// N2: the format "regex" parses a value and does not compile it.
func TestTheFormatOfPatternsOnlyParses(t *testing.T) {
	sample.Sequential(t)
	s := MustCompile([]byte(`{"format":"regex"}`))
	require.NoError(t, s.ValidateJSON([]byte(`7`)))
	require.ErrorIs(t, s.ValidateJSON([]byte(`"("`)), ErrViolation)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	require.NoError(t, s.ValidateJSON([]byte(`"(`+strings.Repeat("a", 1000)+`){1000}"`)))
	runtime.ReadMemStats(&after)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(8<<20))
}
