package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
)

const (
	// MaxSize is the largest document or schema in bytes.
	MaxSize = 1 << 20
	// MaxDepth is the depth to which arrays and objects may nest.
	MaxDepth = 64
	// MaxNumber is the longest number in characters, maxExponent the longest exponent in digits:
	// the validator computes with exact fractions, and 1e999999999 would cost a gigabyte.
	MaxNumber   = 1000
	maxExponent = 3
)

// The reasons why a document cannot be read.
var (
	ErrTooLarge = errors.New("schema: document is too large")
	ErrTooDeep  = errors.New("schema: document is nested too deeply")
	ErrNumber   = errors.New("schema: number is out of bounds")
	ErrNotJSON  = errors.New("schema: not JSON")
)

// Decode reads one JSON value within the bounds; numbers become json.Number.
func Decode(raw []byte) (any, error) {
	if err := validateBounds(raw); err != nil {
		return nil, err
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNotJSON, err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%w: there is more after its end, at byte %d", ErrNotJSON, dec.InputOffset())
	}
	return v, nil
}

// validateBounds examines only the bytes. For JSON its result is exact.
func validateBounds(raw []byte) error {
	if len(raw) > MaxSize {
		return fmt.Errorf("%w: %d bytes, at most %d", ErrTooLarge, len(raw), MaxSize)
	}
	depth := 0
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case c == '"':
			i = stringEnd(raw, i)
		case c == '{' || c == '[':
			if depth++; depth > MaxDepth {
				return fmt.Errorf("%w: more than %d levels at byte %d", ErrTooDeep, MaxDepth, i)
			}
		case c == '}' || c == ']':
			depth--
		case c == '-' || isDigit(c):
			end := numberEnd(raw, i)
			if err := validateNumber(raw[i:end]); err != nil {
				return fmt.Errorf("%w at byte %d", err, i)
			}
			i = end - 1
		}
	}
	return nil
}

// validateValue checks a decoded value against the same bounds except its size, since it is in
// memory already.
func validateValue(v any, depth int) error {
	switch v := v.(type) {
	case map[string]any:
		if depth++; depth > MaxDepth {
			return fmt.Errorf("%w: more than %d levels", ErrTooDeep, MaxDepth)
		}
		for _, item := range v {
			if err := validateValue(item, depth); err != nil {
				return err
			}
		}
	case []any:
		if depth++; depth > MaxDepth {
			return fmt.Errorf("%w: more than %d levels", ErrTooDeep, MaxDepth)
		}
		for _, item := range v {
			if err := validateValue(item, depth); err != nil {
				return err
			}
		}
	case json.Number:
		// A caller's json.Number may hold any text, the validator needs a literal.
		if !json.Valid([]byte(v)) || v[0] != '-' && !isDigit(v[0]) {
			return fmt.Errorf("%w: %.40q is no number", ErrNumber, string(v))
		}
		return validateNumber([]byte(v))
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return fmt.Errorf("%w: %v", ErrNumber, v)
		}
	case float32:
		return validateValue(float64(v), depth)
	case nil, bool, string, int, int8, int32, int64, uint, uint8, uint32, uint64:
	default:
		return fmt.Errorf("%w: a value of type %T", ErrNotJSON, v)
	}
	return nil
}

// ValidateFinite returns an error if a number is infinite as a float64, such as 1e400. Most readers
// of JSON refuse it, or read infinity. For JSON its result is exact.
func ValidateFinite(raw []byte) error {
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case c == '"':
			i = stringEnd(raw, i)
		case isDigit(c):
			end := numberEnd(raw, i)
			literal := raw[i:end]
			i = end - 1
			if len(literal) <= surelyFinite && !bytes.ContainsAny(literal, "eE") {
				continue
			}
			if _, err := strconv.ParseFloat(string(literal), 64); errors.Is(err, strconv.ErrRange) {
				return fmt.Errorf("%w: %.40s is above the range of a float64", ErrNumber, literal)
			}
		}
	}
	return nil
}

// surelyFinite is the length up to which a number without an exponent is a finite float64.
const surelyFinite = 308

func validateNumber(literal []byte) error {
	if len(literal) > MaxNumber {
		return fmt.Errorf("%w: %d characters, at most %d", ErrNumber, len(literal), MaxNumber)
	}
	e := bytes.IndexAny(literal, "eE")
	if e < 0 {
		return nil
	}
	if digits := bytes.TrimLeft(literal[e+1:], "+-0"); len(digits) > maxExponent {
		return fmt.Errorf("%w: exponent of %d digits, at most %d", ErrNumber, len(digits), maxExponent)
	}
	return nil
}

// stringEnd returns the index of the quote that closes the string opened at i, or len(raw) if none
// does.
func stringEnd(raw []byte, i int) int {
	for i++; i < len(raw); i++ {
		switch raw[i] {
		case '\\':
			i++
		case '"':
			return i
		}
	}
	return len(raw)
}

func numberEnd(raw []byte, i int) int {
	for i < len(raw) && (isDigit(raw[i]) || strings.IndexByte("+-.eE", raw[i]) >= 0) {
		i++
	}
	return i
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }
