package fcmp

import (
	"fmt"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"
)

// shape is an event's schema as a few Go checks. It writes a value as JSON while it checks it, so
// that a payload is walked once.
//
// What a shape accepts, the schema accepts, and the bytes are those of encodeSlow. The reverse need
// not hold: what a shape refuses, for whichever reason, is judged by encodeSlow, which also knows
// how to say what is wrong. A shape is immutable and safe for concurrent use.
type shape struct {
	kind kind

	// Of a text.
	words    []string // what it may be, nil for anything
	shortest int      // in characters
	longest  int
	match    func(string) bool // nil: anything
	time     bool

	least int64 // of an integer

	most    int      // how many items or members
	items   *shape   // of an array, nil for anything
	unique  bool     // of an array of texts
	members []member // of an object, sorted by name
	open    bool     // an object with any members instead
}

// kind is a JSON type, as far as event schemas use them.
type kind string

const (
	kindText    kind = "string"
	kindInteger kind = "integer"
	kindBoolean kind = "boolean"
	kindArray   kind = "array"
	kindObject  kind = "object"
)

// member is one member of a closed object.
type member struct {
	name     string
	label    string // the name as it is written, with its colon
	required bool
	shape    *shape
}

// maxUnique bounds the comparison of each item with each other one.
const maxUnique = 128

// append writes the value, or refuses it; what was appended before a refusal has no meaning.
func (s *shape) append(dst []byte, v any) ([]byte, bool) {
	switch s.kind {
	case kindText:
		return s.appendText(dst, v)
	case kindInteger:
		n, ok := integer(v)
		return strconv.AppendInt(dst, n, 10), ok && n >= s.least
	case kindBoolean:
		b, ok := v.(bool)
		return strconv.AppendBool(dst, b), ok
	case kindArray:
		return s.appendArray(dst, v)
	case kindObject:
		return s.appendObject(dst, v)
	}
	return dst, false
}

func (s *shape) appendText(dst []byte, v any) ([]byte, bool) {
	if at, ok := v.(time.Time); ok && s.time {
		return appendTime(dst, at)
	}
	t, ok := text(v)
	if !ok || s.words != nil && !slices.Contains(s.words, t) || s.match != nil && !s.match(t) || s.time &&
		!isUTCTime(t) {
		return dst, false
	}
	// A string has no more characters than bytes, so most need not be counted.
	if len(t) > s.longest && utf8.RuneCountInString(t) > s.longest || s.shortest > 0 &&
		utf8.RuneCountInString(t) < s.shortest {
		return dst, false
	}
	return appendString(dst, t), true
}

func (s *shape) appendArray(dst []byte, v any) ([]byte, bool) {
	items, ok := v.([]any)
	if !ok || items == nil || len(items) > s.most || s.unique && !unique(items) {
		return dst, false
	}
	if s.items == nil {
		return appendOpenArray(dst, items, 0)
	}
	dst = append(dst, '[')
	for i, item := range items {
		if i > 0 {
			dst = append(dst, ',')
		}
		if dst, ok = s.items.append(dst, item); !ok {
			return dst, false
		}
	}
	return append(dst, ']'), true
}

// unique reports that the items are texts and no two are the same.
func unique(items []any) bool {
	if len(items) > maxUnique {
		return false
	}
	for i, item := range items {
		t, ok := text(item)
		if !ok {
			return false
		}
		for _, earlier := range items[:i] {
			if same, _ := text(earlier); same == t {
				return false
			}
		}
	}
	return true
}

// appendObject asks the map for each member that there may be, in order of their names, and so has
// nothing to sort. When it has found fewer than the map holds, there is one that may not be.
func (s *shape) appendObject(dst []byte, v any) ([]byte, bool) {
	m, ok := v.(map[string]any)
	if !ok || m == nil || len(m) > s.most {
		return dst, false
	}
	if s.open {
		return appendOpenObject(dst, m, 0)
	}
	found := 0
	dst = append(dst, '{')
	for i := range s.members {
		member := &s.members[i]
		item, ok := m[member.name]
		if !ok {
			if member.required {
				return dst, false
			}
			continue
		}
		if found > 0 {
			dst = append(dst, ',')
		}
		found++
		dst = append(dst, member.label...)
		if dst, ok = member.shape.append(dst, item); !ok {
			return dst, false
		}
	}
	return append(dst, '}'), found == len(m)
}

// plainValues names an integer that is not written as its digits, or a time that is not written as
// Go reads it. A schema takes 1.0 and 1e2 for integers too, and t and z in small letters, but
// readers with typed values do not.
func (s *shape) plainValues(v any, path string) error {
	switch {
	case s == nil:
	case s.kind == kindInteger:
		if _, ok := integer(v); !ok {
			return fmt.Errorf("%s is written %.40v: an integer is written as its digits, within 64 bits", path, v)
		}
	case s.kind == kindText && s.time:
		written, _ := v.(string)
		if new(time.Time).UnmarshalText([]byte(written)) != nil {
			return fmt.Errorf("%s is written %.40q: a time is written as in 2006-01-02T15:04:05Z", path, written)
		}
	case s.kind == kindArray:
		items, _ := v.([]any)
		for i, item := range items {
			if err := s.items.plainValues(item, fmt.Sprintf("%s/%d", path, i)); err != nil {
				return err
			}
		}
	case s.kind == kindObject:
		object, _ := v.(map[string]any)
		for _, m := range s.members {
			if item, ok := object[m.name]; ok {
				if err := m.shape.plainValues(item, path+"/"+m.name); err != nil {
					return err
				}
			}
		}
	}
	return nil
}
