package redact

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// Mask replaces each secret.
const Mask = "[redacted]"

// MinValue is the shortest value that can be redacted, in bytes: a shorter one, such as "true" or
// "1234", occurs everywhere. Lines of a longer value are redacted separately from MinLine on.
const (
	MinValue = 6
	MinLine  = 8
)

var (
	ErrTooShort = fmt.Errorf("redact: a secret has less than %d bytes: taking out all that looks like it would "+
		"destroy the text", MinValue)
	ErrMask = fmt.Errorf("redact: a secret is part of %s, which stands for secrets", Mask)
)

// Check reports whether a value can be redacted: ErrTooShort, ErrMask, or nil; also nil for empty
// values and white space, which need no redaction. Its error does not contain the value.
func Check(value string) error {
	switch value = strings.TrimSpace(value); {
	case value == "":
		return nil
	case len(value) < MinValue:
		return ErrTooShort
	case strings.Contains(Mask, value):
		return ErrMask
	}
	return nil
}

// Redactor removes its values from texts and streams. It does not change and is safe for concurrent
// use. A nil Redactor changes nothing.
type Redactor struct {
	first [256]int32 // the node of a first byte, 0 for a byte that begins no pattern
	nodes []node
}

// New returns a Redactor of the values, or nil if all are empty. White space around a value does
// not count. The error joins Check's errors.
func New(values ...string) (*Redactor, error) {
	var broken error
	var all []string
	for i, v := range values {
		if err := Check(v); err != nil {
			broken = errors.Join(broken, fmt.Errorf("value %d: %w", i+1, err))
			continue
		}
		all = append(all, patterns(v)...)
	}
	if broken != nil || len(all) == 0 {
		return nil, broken
	}
	r := &Redactor{nodes: make([]node, 1)}
	for _, p := range all {
		r.add(p)
	}
	r.link()
	return r, nil
}

// String is s without the secrets.
func (r *Redactor) String(s string) string {
	if r == nil || !r.occursIn(s) {
		return s
	}
	return string(r.Bytes([]byte(s)))
}

// Bytes is b without the secrets, or b itself if it has none.
func (r *Redactor) Bytes(b []byte) []byte {
	if r == nil || !r.occursIn(string(b)) {
		return b
	}
	s := stream{r: r}
	return s.finish(s.feed(nil, b))
}

func (r *Redactor) occursIn(text string) bool {
	state := int32(0)
	for i := range len(text) {
		if state = r.next(state, text[i]); r.nodes[state].match > 0 {
			return true
		}
	}
	return false
}

// Value redacts decoded JSON, and reports whether there were secrets: in strings, names of members,
// and numbers, which become strings. Maps and lists are changed in place.
func (r *Redactor) Value(v any) (clean any, found bool) {
	if r == nil {
		return v, false
	}
	switch v := v.(type) {
	case string:
		text := r.String(v)
		return text, text != v
	case json.Number:
		if text := r.String(string(v)); text != string(v) {
			return text, true
		}
	case []any:
		for i := range v {
			var in bool
			v[i], in = r.Value(v[i])
			found = found || in
		}
	case map[string]any:
		for name, member := range v {
			text := r.String(name)
			member, in := r.Value(member)
			if text != name {
				delete(v, name)
			}
			v[text] = member
			found = found || in || text != name
		}
	}
	return v, found
}
