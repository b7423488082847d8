package fcmp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"time"
)

// maxPlainDepth stops a value that contains itself.
const maxPlainDepth = 64

var errTooDeep = fmt.Errorf("a value is nested deeper than %d levels", maxPlainDepth)

// plainMap converts a payload to the validator's types. Values that need no conversion, nearly all,
// are shared.
func plainMap(m map[string]any) (map[string]any, error) {
	if m == nil {
		return map[string]any{}, nil
	}
	v, _, err := plainObject(m, 0)
	return v, err
}

// plain returns v in plain form, and whether that differs from v.
func plain(v any, depth int) (out any, changed bool, err error) {
	if depth > maxPlainDepth {
		return nil, false, errTooDeep
	}
	switch v := v.(type) {
	case nil, bool, string, int, int64, uint64, float64, json.Number:
		return v, false, nil
	case time.Time:
		return FormatTime(v), true, nil
	case map[string]any:
		return plainObject(v, depth)
	case []any:
		return plainArray(v, depth)
	}
	return plainOther(reflect.ValueOf(v), depth)
}

func plainObject(m map[string]any, depth int) (out map[string]any, changed bool, err error) {
	out = m
	for key, item := range m {
		p, itemChanged, err := plain(item, depth+1)
		if err != nil {
			return nil, false, fmt.Errorf("%.80s: %w", key, err)
		}
		if !itemChanged {
			continue
		}
		if !changed {
			out, changed = maps.Clone(m), true
		}
		out[key] = p
	}
	return out, changed, nil
}

func plainArray(a []any, depth int) (out []any, changed bool, err error) {
	out = a
	for i, item := range a {
		p, itemChanged, err := plain(item, depth+1)
		if err != nil {
			return nil, false, fmt.Errorf("%d: %w", i, err)
		}
		if !itemChanged {
			continue
		}
		if !changed {
			out, changed = slices.Clone(a), true
		}
		out[i] = p
	}
	return out, changed, nil
}

// plainOther handles named basic types, such as the states and codes of package fsm, and typed
// slices directly; the rest goes through JSON once.
func plainOther(v reflect.Value, depth int) (out any, changed bool, err error) {
	switch v.Kind() {
	case reflect.String:
		return v.String(), true, nil
	case reflect.Bool:
		return v.Bool(), true, nil
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return v.Int(), true, nil
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return v.Uint(), true, nil
	case reflect.Slice:
		if v.Type().Elem().Kind() != reflect.Uint8 {
			return plainSlice(v, depth)
		}
	default:
	}
	raw, err := json.Marshal(v.Interface())
	if err != nil {
		return nil, false, fmt.Errorf("a value of type %s: %w", v.Type(), err)
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	if err := dec.Decode(&out); err != nil {
		return nil, false, fmt.Errorf("a value of type %s: %w", v.Type(), err)
	}
	return out, true, nil
}

func plainSlice(v reflect.Value, depth int) (out any, changed bool, err error) {
	items := make([]any, v.Len())
	for i := range items {
		if items[i], _, err = plain(v.Index(i).Interface(), depth+1); err != nil {
			return nil, false, fmt.Errorf("%d: %w", i, err)
		}
	}
	return items, true, nil
}

func decodeObject(raw []byte) (map[string]any, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var out map[string]any
	if err := dec.Decode(&out); err != nil {
		return nil, fmt.Errorf("contract: %w", err)
	}
	return out, nil
}
