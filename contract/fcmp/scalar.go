package fcmp

import (
	"encoding/json"
	"math"
	"reflect"
	"strconv"
)

// exactInteger is the largest number up to which a float64 has each integer.
const exactInteger = 1 << 53

// integer returns v as an int64 if v has a type that plain takes for a number, and is a 64-bit
// integer that JSON writes as its digits, unlike 1e2 or -0.
func integer(v any) (int64, bool) {
	switch v := v.(type) {
	case int:
		return int64(v), true
	case int64:
		return v, true
	case uint64:
		return int64(v), v <= math.MaxInt64
	case float64:
		n := int64(0)
		if -exactInteger <= v && v <= exactInteger {
			n = int64(v)
		}
		return n, float64(n) == v && (n != 0 || !math.Signbit(v))
	case json.Number:
		return literal(string(v))
	case nil:
		return 0, false
	}
	switch v := reflect.ValueOf(v); v.Kind() {
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return v.Int(), true
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return int64(v.Uint()), v.Uint() <= math.MaxInt64
	default:
		return 0, false
	}
}

func literal(s string) (int64, bool) {
	if s == "0" {
		return 0, true
	}
	digits := s
	if s != "" && s[0] == '-' {
		digits = s[1:]
	}
	if digits == "" || digits[0] < '1' || digits[0] > '9' {
		return 0, false
	}
	n, err := strconv.ParseInt(s, 10, 64)
	return n, err == nil
}
