package reqbody

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"unicode/utf8"
)

// MaxValues limits the number of values in a body: in memory each can be many times larger than its
// text.
const MaxValues = 100_000

// Unmarshal decodes a body like json.Unmarshal, after Check.
func Unmarshal(body []byte, v any) error {
	if err := Check(body, v); err != nil {
		return err
	}
	return json.Unmarshal(body, v)
}

// Check rejects JSON that two parsers could read differently: text that encoding/json repairs
// (invalid UTF-8, unpaired surrogates), duplicate members, and members whose case differs from
// the JSON tags of v's type. Otherwise a proxy or a log could read another answer than the
// handler. Check also rejects more than MaxValues values. If v is nil, there are no tags to
// compare.
func Check(body []byte, v any) error {
	if err := checkText(body); err != nil {
		return err
	}
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.UseNumber()
	c := strictReader{dec: dec}
	return c.value(reflect.TypeOf(v))
}

// checkText refuses what encoding/json replaces by U+FFFD: invalid UTF-8, and unpaired surrogates.
func checkText(data []byte) error {
	if !utf8.Valid(data) {
		return errors.New("the body is not valid UTF-8")
	}
	for i := 0; i < len(data); i++ {
		if data[i] != '\\' {
			continue
		}
		unit, ok := escapedUnit(data[i:])
		switch {
		case !ok:
			i++ // another escape
		case unit < 0xD800 || unit > 0xDFFF:
			i += 5
		default:
			second, ok := escapedUnit(data[i+6:])
			if unit >= 0xDC00 || !ok || second < 0xDC00 || second > 0xDFFF {
				return fmt.Errorf(`\u%04x is half a surrogate pair`, unit)
			}
			i += 11
		}
	}
	return nil
}

// escapedUnit reads an escape like \u00e9 at the beginning of the text.
func escapedUnit(text []byte) (unit uint64, ok bool) {
	if len(text) < 6 || text[0] != '\\' || text[1] != 'u' {
		return 0, false
	}
	unit, err := strconv.ParseUint(string(text[2:6]), 16, 16)
	return unit, err == nil
}

// strictReader reads a JSON text. It refuses duplicate members, members in a different case from
// the document, and too many values.
type strictReader struct {
	dec    *json.Decoder
	values int
}

// value reads a value of type t; nil means any type.
func (c *strictReader) value(t reflect.Type) error {
	if c.values++; c.values > MaxValues {
		return fmt.Errorf("the body has more than %d values", MaxValues)
	}
	token, err := c.dec.Token()
	if err != nil {
		return err
	}
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch token {
	case json.Delim('{'):
		return c.members(t)
	case json.Delim('['):
		var of reflect.Type
		if t != nil && t.Kind() == reflect.Slice {
			of = t.Elem()
		}
		for c.dec.More() {
			if err := c.value(of); err != nil {
				return err
			}
		}
		_, err = c.dec.Token()
	}
	return err
}

// members reads the members of an object, and its end.
func (c *strictReader) members(t reflect.Type) error {
	seen := make(map[string]bool)
	for c.dec.More() {
		token, err := c.dec.Token()
		if err != nil {
			return err
		}
		name, _ := token.(string)
		if seen[name] {
			return fmt.Errorf("the member %.80q is given twice", name)
		}
		seen[name] = true
		member, err := memberOf(t, name)
		if err != nil {
			return err
		}
		if err := c.value(member); err != nil {
			return err
		}
	}
	_, err := c.dec.Token()
	return err
}

// memberOf returns the type of a member, or nil if it is unknown. Unlike encoding/json it is
// case-sensitive.
func memberOf(t reflect.Type, name string) (reflect.Type, error) {
	if t == nil || t.Kind() != reflect.Struct {
		return nil, nil //nolint:nilnil // unknown
	}
	for _, f := range reflect.VisibleFields(t) {
		tag, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if tag == name {
			return f.Type, nil
		}
		if tag != "" && strings.EqualFold(tag, name) {
			return nil, fmt.Errorf("the member %.80q must be spelled %q", name, tag)
		}
	}
	return nil, nil //nolint:nilnil // unknown
}
