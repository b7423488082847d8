package interaction

import (
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
)

// maxHintValues limits the visited values of hints; JSON of MaxUIHints bytes holds fewer.
const maxHintValues = MaxUIHints

var errHints = fmt.Errorf("want JSON of at most %d bytes, %d entries and a depth of %d", MaxUIHints, MaxOptions,
	MaxDepth)

// PlainHints converts hints to JSON's own types, within the limits. An engine's value may contain
// itself, nest without end, or panic in its encoder: each is an error.
func PlainHints(hints map[string]any) (plain map[string]any, err error) {
	if hints == nil {
		return nil, nil //nolint:nilnil // no hints, and no fault
	}
	values := maxHintValues
	if len(hints) > MaxOptions || !withinDepth(reflect.ValueOf(hints), MaxDepth, &values) {
		return nil, errHints
	}
	defer func() {
		if p := recover(); p != nil {
			plain, err = nil, fmt.Errorf("%w; encoding them panicked: %v", errHints, p)
		}
	}()
	body, err := json.Marshal(hints)
	if err != nil {
		return nil, fmt.Errorf("%w; encoding them: %w", errHints, err)
	}
	if len(body) > MaxUIHints || json.Unmarshal(body, &plain) != nil || depth(plain) > MaxDepth {
		return nil, errHints
	}
	return plain, nil
}

var jsonMarshaler, textMarshaler = reflect.TypeFor[json.Marshaler](), reflect.TypeFor[encoding.TextMarshaler]()

// withinDepth reports whether json.Marshal would visit at most this many levels and the remaining
// number of values. The encoder recurses, and a stack overflow would kill the process.
func withinDepth(v reflect.Value, levels int, values *int) bool {
	if *values--; *values < 0 {
		return false
	}
	if v.IsValid() && (v.Type().Implements(jsonMarshaler) || v.Type().Implements(textMarshaler)) {
		return true // it encodes itself
	}
	switch v.Kind() {
	case reflect.Interface, reflect.Pointer:
		// The limit on values ends a cycle.
		return v.IsNil() || withinDepth(v.Elem(), levels, values)
	case reflect.Map:
		for each := v.MapRange(); each.Next(); {
			if levels == 0 || !withinDepth(each.Value(), levels-1, values) {
				return false
			}
		}
	case reflect.Slice, reflect.Array:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return true // a text, encoded at once
		}
		for i := range v.Len() {
			if levels == 0 || !withinDepth(v.Index(i), levels-1, values) {
				return false
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if levels == 0 || !withinDepth(v.Field(i), levels-1, values) {
				return false
			}
		}
	default:
	}
	return true
}
