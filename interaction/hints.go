package interaction

import (
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
)

// maxHintValues bounds how many values of hints are looked at: JSON of MaxUIHints bytes cannot hold
// as many.
const maxHintValues = MaxUIHints

// errHints says what hints must be.
var errHints = fmt.Errorf("want JSON of at most %d bytes, %d entries and a depth of %d", MaxUIHints, MaxOptions,
	MaxDepth)

// PlainHints returns the hints as JSON's own types, within the limits. What an engine puts there
// may be of any type, hold itself, nest without end, or panic when it is encoded: all of that is an
// error (C2).
func PlainHints(hints map[string]any) (plain map[string]any, err error) {
	if hints == nil {
		return nil, nil //nolint:nilnil // no hints, and no fault
	}
	values := maxHintValues
	if len(hints) > MaxOptions || !shallow(reflect.ValueOf(hints), MaxDepth, &values) {
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

// shallow reports whether what json.Marshal would walk through has at most that depth, and no more
// values than are left: encoding nests as deep as its values do, and a stack that overflows ends
// the process.
func shallow(v reflect.Value, levels int, values *int) bool {
	if *values--; *values < 0 {
		return false
	}
	if v.IsValid() && (v.Type().Implements(jsonMarshaler) || v.Type().Implements(textMarshaler)) {
		return true // it encodes itself
	}
	switch v.Kind() {
	case reflect.Interface, reflect.Pointer:
		// What leads to itself ends by the number of values.
		return v.IsNil() || shallow(v.Elem(), levels, values)
	case reflect.Map:
		for each := v.MapRange(); each.Next(); {
			if levels == 0 || !shallow(each.Value(), levels-1, values) {
				return false
			}
		}
	case reflect.Slice, reflect.Array:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return true // a text, encoded at once
		}
		for i := range v.Len() {
			if levels == 0 || !shallow(v.Index(i), levels-1, values) {
				return false
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if levels == 0 || !shallow(v.Field(i), levels-1, values) {
				return false
			}
		}
	default:
	}
	return true
}
