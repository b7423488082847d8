package store_test

import (
	"bytes"
	"encoding/json"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/store"
)

// Any record can be drawn here, and any field of a record can be visited, by reflection: a new
// field of a record is tested from then on.

var (
	texts = rapid.OneOf(
		rapid.String(),
		rapid.StringMatching(`[a-z0-9 "\\\n<>&é]{0,40}`),
		rapid.Map(rapid.SliceOfN(rapid.Byte(), 0, 12), func(b []byte) string { return string(b) }),
		rapid.SampledFrom([]string{
			"", "\u2028\u2029", "\ufffd", "\xff", "\xe2\x80", "\x7f", "\u0000\b\f\n\r\t\x1f", "😀", `\u0041`,
			"</script>",
			string(fsm.StateQueued), string(fsm.ModeAuto), string(fsm.CodeRunCanceled), string(interaction.ChooseOne),
			fsm.ContractVersion,
			strings.Repeat("long ", 100),
		}),
	)
	times = rapid.OneOf(
		rapid.Just(time.Time{}),
		rapid.Map(rapid.Int64Range(-62135596800000000, 253402300799999999), func(us int64) time.Time {
			return time.UnixMicro(us).UTC()
		}),
		rapid.Map(rapid.Int64(), func(ns int64) time.Time { return time.Unix(0, ns).UTC() }),
		rapid.Map(rapid.IntRange(-86000, 86000), func(s int) time.Time { return noon.In(time.FixedZone("", s)) }),
	)
	numbers = rapid.Map(rapid.Float64Range(-1e30, 1e30), func(f float64) any { return f })
)

// values draws possible JSON values in Go.
func values(depth int) *rapid.Generator[any] {
	plain := rapid.OneOf(rapid.Map(texts, func(s string) any {
		return s
	}), numbers, rapid.SampledFrom([]any{nil, true, false, 0.0, []any{}, map[string]any{}}))
	if depth == 0 {
		return plain
	}
	inner := rapid.Deferred(func() *rapid.Generator[any] { return values(depth - 1) })
	return rapid.OneOf(plain,
		rapid.Map(rapid.SliceOfN(inner, 0, 3), func(v []any) any { return v }),
		rapid.Map(rapid.MapOfN(texts, inner, 0, 3), func(v map[string]any) any { return v }))
}

// raw draws JSON as an agent might write it: indented, with other escapes, or as encoding/json
// writes it.
func raw(t *rapid.T) json.RawMessage {
	var buf bytes.Buffer
	e := json.NewEncoder(&buf)
	e.SetEscapeHTML(rapid.Bool().Draw(t, "escaped"))
	if rapid.Bool().Draw(t, "indented") {
		e.SetIndent(" ", "\t")
	}
	if err := e.Encode(values(2).Draw(t, "value")); err != nil {
		t.Fatal(err)
	}
	return bytes.TrimSpace(buf.Bytes())
}

// unstored is the field that says when a record was read.
const unstored = "Incarnation"

// fill draws a value for everything that v can hold.
func fill(t *rapid.T, name string, v reflect.Value) {
	switch p := v.Addr().Interface().(type) {
	case *time.Time:
		*p = times.Draw(t, name)
		return
	case *json.RawMessage:
		if rapid.Bool().Draw(t, name) {
			*p = raw(t)
		}
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(texts.Draw(t, name))
	case reflect.Int, reflect.Int64:
		v.SetInt(rapid.Int64Min(-math.MaxInt64).Draw(t, name))
	case reflect.Int8:
		v.SetInt(int64(rapid.Int8().Draw(t, name)))
	case reflect.Uint16:
		v.SetUint(uint64(rapid.Uint16().Draw(t, name)))
	case reflect.Uint64, reflect.Uint8:
		v.SetUint(rapid.Uint64Max(math.MaxInt64).Draw(t, name))
	case reflect.Bool:
		v.SetBool(rapid.Bool().Draw(t, name))
	case reflect.Interface:
		if e := values(2).Draw(t, name); e != nil {
			v.Set(reflect.ValueOf(e))
		}
	case reflect.Pointer:
		if rapid.Bool().Draw(t, name) {
			v.Set(reflect.New(v.Type().Elem()))
			fill(t, name, v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if name := v.Type().Field(i).Name; name != unstored {
				fill(t, name, v.Field(i))
			}
		}
	case reflect.Slice:
		if n := rapid.IntRange(-1, 9).Draw(t, name); n >= 0 {
			v.Set(reflect.MakeSlice(v.Type(), n, n))
			for i := range n {
				fill(t, name, v.Index(i))
			}
		}
	case reflect.Map:
		if n := rapid.IntRange(-1, 9).Draw(t, name); n >= 0 {
			v.Set(reflect.MakeMap(v.Type()))
			for range n {
				k, e := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
				fill(t, name, k)
				fill(t, name, e)
				v.SetMapIndex(k, e)
			}
		}
	default:
		t.Fatalf("%s: nobody has thought of %s yet", name, v.Type())
	}
}

// eachField gives every field of the zero T in turn a value that is not its zero value, fields of
// fields too, and calls then with it.
func eachField[T any](t *testing.T, then func(t *testing.T, path string, v T)) {
	t.Helper()
	var visit func(path string, typ reflect.Type, set func(reflect.Value) T)
	visit = func(path string, typ reflect.Type, set func(reflect.Value) T) {
		v := reflect.New(typ).Elem()
		switch p := v.Addr().Interface().(type) {
		case *time.Time:
			*p = noon
			then(t, path, set(v))
			return
		case *json.RawMessage:
			*p = json.RawMessage(`{"a":[1,"b"]}`)
			then(t, path, set(v))
			return
		}
		switch typ.Kind() {
		case reflect.String:
			v.SetString("x")
		case reflect.Int, reflect.Int8, reflect.Int64:
			v.SetInt(-7)
		case reflect.Uint16, reflect.Uint64, reflect.Uint8:
			v.SetUint(7)
		case reflect.Bool:
			v.SetBool(true)
		case reflect.Interface:
			v.Set(reflect.ValueOf(any("x")))
		case reflect.Pointer:
			visit(path, typ.Elem(), func(e reflect.Value) T {
				p := reflect.New(typ.Elem())
				p.Elem().Set(e)
				return set(p)
			})
			return
		case reflect.Struct:
			for i := range typ.NumField() {
				if typ.Field(i).Name == unstored {
					continue
				}
				visit(path+"."+typ.Field(i).Name, typ.Field(i).Type, func(f reflect.Value) T {
					s := reflect.New(typ).Elem()
					s.Field(i).Set(f)
					return set(s)
				})
			}
			return
		case reflect.Slice:
			visit(path+"[]", typ.Elem(), func(e reflect.Value) T {
				return set(reflect.Append(reflect.MakeSlice(typ, 0, 1), e))
			})
			return
		case reflect.Map:
			visit(path+"{}", typ.Elem(), func(e reflect.Value) T {
				m := reflect.MakeMap(typ)
				m.SetMapIndex(reflect.ValueOf("k").Convert(typ.Key()), e)
				return set(m)
			})
			return
		default:
			t.Fatalf("%s: nobody has thought of %s yet", path, typ)
		}
		then(t, path, set(v))
	}
	typ := reflect.TypeFor[T]()
	visit(typ.Name(), typ, func(v reflect.Value) T { return v.Interface().(T) })
}

func anyRun(t *rapid.T) (r store.Run) {
	fill(t, "Run", reflect.ValueOf(&r).Elem())
	return r
}

func anyRecord(t *rapid.T) (r interaction.Record) {
	fill(t, "Record", reflect.ValueOf(&r).Elem())
	return r
}
