package modeltest

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// value is JSON of unknown shape. A missing member, or one of an unexpected type, is empty.
type value struct{ any }

// decode reads JSON; ok is false if it is invalid.
func decode(body []byte) (v value, ok bool) {
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	err := d.Decode(&v.any)
	return v, err == nil
}

func (v value) at(keys ...string) value {
	for _, k := range keys {
		object, _ := v.any.(map[string]any)
		v = value{object[k]}
	}
	return v
}

func (v value) exists() bool { return v.any != nil }

func (v value) isTrue() bool { return v.any == true }

func (v value) str() string {
	s, _ := v.any.(string)
	return s
}

func (v value) list() []value {
	items, _ := v.any.([]any)
	all := make([]value, len(items))
	for i, it := range items {
		all[i] = value{it}
	}
	return all
}

func (v value) keys() []string {
	object, _ := v.any.(map[string]any)
	return slices.Sorted(maps.Keys(object))
}

// raw is the value as JSON, nil if missing.
func (v value) raw() json.RawMessage {
	if !v.exists() {
		return nil
	}
	body, err := json.Marshal(v.any)
	if err != nil {
		return nil
	}
	return body
}

// text is the text of a string, a part or a list of parts; the JSON of any other value.
func (v value) text() string {
	switch it := v.any.(type) {
	case nil:
		return ""
	case string:
		return it
	case []any:
		var all []string
		for _, part := range v.list() {
			if s := part.text(); s != "" {
				all = append(all, s)
			}
		}
		return strings.Join(all, "\n")
	case map[string]any:
		for _, k := range []string{"text", "content", "output"} {
			if in := v.at(k); in.exists() {
				return in.text()
			}
		}
	}
	return string(v.raw())
}
