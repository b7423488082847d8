package fcmp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/interlude-go/interlude/internal/schema"
)

// Payload is the data of an event. Only the types of this package implement it.
type Payload interface {
	Type() string

	// write appends the data as JSON, members sorted by name, and marks the writer as bad if the
	// schema does not allow it.
	write(w *writer)
}

// writer appends JSON as encoding/json writes it without HTML escaping.
type writer struct {
	b []byte
	// bad: the output violates the schema and must be discarded.
	bad bool
	why error // explains errors outside the schema

	// The time that was written last, and its JSON. The events of a commit have the same time, most
	// of them twice.
	lastTime     time.Time
	lastTimeText []byte
}

// Sizes of the reused buffers: a typical event fits without growing; larger ones are not kept.
const (
	usualBuffer   = 1 << 10
	largestBuffer = 64 << 10
)

var writers = sync.Pool{New: func() any { return &writer{b: make([]byte, 0, usualBuffer)} }}

func newWriter() *writer {
	w := writers.Get().(*writer) //nolint:forcetypeassert // the pool's own New
	w.b, w.bad, w.why = w.b[:0], false, nil
	return w
}

func (w *writer) free() {
	if cap(w.b) <= largestBuffer {
		writers.Put(w)
	}
}

func (w *writer) open(bracket byte) { w.b = append(w.b, bracket) }

// next separates a member or item from the one before.
func (w *writer) next() {
	if last := w.b[len(w.b)-1]; last != '{' && last != '[' {
		w.b = append(w.b, ',')
	}
}

func (w *writer) key(name string) {
	w.next()
	w.b = append(append(append(w.b, '"'), name...), `":`...)
}

// text writes a text, which is bad if its length in characters is outside shortest to longest, or
// if match, unless nil, returns false.
func (w *writer) text(s string, shortest, longest int, match func(string) bool) {
	// A text has at most as many characters as bytes, so most need no counting.
	if len(s) > longest && utf8.RuneCountInString(s) > longest ||
		shortest > 0 && utf8.RuneCountInString(s) < shortest || match != nil && !match(s) {
		w.bad = true
		return
	}
	w.b = appendString(w.b, s)
}

func (w *writer) word(s string, words ...string) {
	if !slices.Contains(words, s) {
		w.bad = true
		return
	}
	w.b = append(append(append(w.b, '"'), s...), '"')
}

func (w *writer) bool(v bool) { w.b = strconv.AppendBool(w.b, v) }

func (w *writer) integer(n, least int64) {
	w.bad = w.bad || n < least
	w.b = strconv.AppendInt(w.b, n, 10)
}

func (w *writer) time(t time.Time) {
	if len(w.lastTimeText) > 0 && t.Equal(w.lastTime) { // whatever its location: it is written in UTC
		w.b = append(w.b, w.lastTimeText...)
		return
	}
	before := len(w.b)
	var ok bool
	if w.b, ok = appendTime(w.b, t); !ok {
		w.bad = true
		return
	}
	w.lastTime, w.lastTimeText = t, append(w.lastTimeText[:0], w.b[before:]...)
}

func (w *writer) atMost(n, most int) { w.bad = w.bad || n > most }

func (w *writer) unique(list []string) {
	if w.bad {
		return
	}
	for i, s := range list {
		w.bad = w.bad || slices.Contains(list[:i], s)
	}
}

// any writes an object of any shape as the member. Rare types are converted first.
func (w *writer) any(member string, object map[string]any) {
	if w.bad {
		return
	}
	before := len(w.b)
	b, ok := appendOpenObject(w.b, object, 0)
	if ok {
		w.b = b
		return
	}
	raw, err := marshalOpen(member, object)
	w.bad, w.why = err != nil, err
	w.b = append(w.b[:before], raw...)
}

var anyObject = sync.OnceValue(func() *schema.Schema { return schema.MustCompile([]byte(`{"type": "object"}`)) })

// marshalOpen is writer.any by reflection.
func marshalOpen(member string, object map[string]any) ([]byte, error) {
	plain, _, err := plainObject(object, 1) // it is a member of the data
	if err != nil {
		return nil, fmt.Errorf("%s: %w", member, err)
	}
	if err := anyObject().Validate(plain); err != nil {
		return nil, err
	}
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(plain); err != nil {
		return nil, err
	}
	// Two names with invalid UTF-8 may have become equal.
	return bytes.TrimSuffix(buf.Bytes(), []byte{'\n'}), unambiguous(buf.Bytes())
}

func explain(p Payload, why error) error {
	if why != nil {
		return why
	}
	raw, err := json.Marshal(p)
	var unwritable *json.UnsupportedValueError // a number in an object of any shape
	if errors.As(err, &unwritable) {
		return fmt.Errorf("%w: %s", schema.ErrNumber, unwritable.Str)
	}
	if err != nil {
		return err
	}
	data, err := decodeObject(raw)
	if err != nil {
		return err
	}
	if end, ok := data["terminal"].(map[string]any); ok && end["warnings"] == nil {
		end["warnings"] = []any{} // a list that is nil is written as an empty one
	}
	if err := schemas().payloads[p.Type()].Validate(data); err != nil {
		return err
	}
	return errors.New("a time is outside of the years 1 to 9999")
}
