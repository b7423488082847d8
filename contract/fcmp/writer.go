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

// Payload is the data of an event. The types of this package are all that there are.
type Payload interface {
	// Type is the event type that has such data.
	Type() string

	// write appends the data as JSON, members sorted by name, and marks the writer as bad when the
	// schema does not allow it.
	write(w *writer)
}

// writer appends JSON, byte for byte as encoding/json writes it with its HTML escaping off.
type writer struct {
	b []byte
	// bad says that something was written that the schema does not allow. What was written then has
	// no meaning.
	bad bool
	why error // says why, where the schema does not

	// The time that was written last, and its JSON. The events of a commit have the same time, most
	// of them twice.
	lastTime     time.Time
	lastTimeText []byte
}

// Events are written into buffers that are used again. A usual one fits without growing; the
// largest that is kept is no burden.
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

// text writes a text. The text is bad if it has fewer characters than shortest or more than
// longest, or if match, unless nil, returns false for it.
func (w *writer) text(s string, shortest, longest int, match func(string) bool) {
	// A text has no more characters than bytes, so most need not be counted.
	if len(s) > longest && utf8.RuneCountInString(s) > longest ||
		shortest > 0 && utf8.RuneCountInString(s) < shortest || match != nil && !match(s) {
		w.bad = true
		return
	}
	w.b = appendString(w.b, s)
}

// word writes one of a few words.
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

// unique refuses a list of at most a hundred texts in which one stands twice.
func (w *writer) unique(list []string) {
	if w.bad {
		return
	}
	for i, s := range list {
		w.bad = w.bad || slices.Contains(list[:i], s)
	}
}

// any writes an object of any shape, the member of that name. What is not plain, which is rare, is
// brought into plain form first.
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

// anyObject bounds the numbers in an object of any shape, as the schema of its event does.
var anyObject = sync.OnceValue(func() *schema.Schema { return schema.MustCompile([]byte(`{"type": "object"}`)) })

// marshalOpen is what writer.any writes, by reflection.
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
	// Two names that are no UTF-8 may have become the same.
	return bytes.TrimSuffix(buf.Bytes(), []byte{'\n'}), unambiguous(buf.Bytes())
}

// explain says why a payload was refused.
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
