package plainjson

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Writer appends members to a JSON object as encoding/json writes them. Methods named …If leave out
// an empty value, as omitempty and omitzero do. The zero Writer starts with a new buffer.
type Writer struct {
	// Buf is the output, after the caller's initial content.
	Buf []byte
	// Err is the first failure. After it the output is not valid.
	Err error
}

// Put writes text that is not a value: an object's brackets, or a name whose value follows.
func (w *Writer) Put(s string) { w.Buf = append(w.Buf, s...) }

func (w *Writer) Text(name, v string) {
	w.Buf = AppendText(append(w.Buf, name...), v)
}

func (w *Writer) TextIf(name, v string) {
	if v != "" {
		w.Text(name, v)
	}
}

func (w *Writer) Int(name string, v int64) {
	w.Buf = strconv.AppendInt(append(w.Buf, name...), v, 10)
}

func (w *Writer) IntIf(name string, v int) {
	if v != 0 {
		w.Int(name, int64(v))
	}
}

func (w *Writer) Uint(name string, v uint64) {
	w.Buf = strconv.AppendUint(append(w.Buf, name...), v, 10)
}

func (w *Writer) UintIf(name string, v uint64) {
	if v != 0 {
		w.Uint(name, v)
	}
}

// Duration writes nanoseconds.
func (w *Writer) Duration(name string, v time.Duration) { w.Int(name, int64(v)) }

func (w *Writer) DurationIf(name string, v time.Duration) {
	if v != 0 {
		w.Duration(name, v)
	}
}

func (w *Writer) Flag(name string, v bool) {
	w.Buf = strconv.AppendBool(append(w.Buf, name...), v)
}

func (w *Writer) FlagIf(name string, v bool) {
	if v {
		w.Flag(name, v)
	}
}

// Time writes a time in RFC 3339. It fails for years after 9999, which the format lacks.
func (w *Writer) Time(name string, v time.Time) {
	var err error
	w.Put(name)
	w.Put(`"`)
	if w.Buf, err = v.AppendText(w.Buf); err != nil {
		w.fail(name, err)
	}
	w.Put(`"`)
}

func (w *Writer) TimeIf(name string, v time.Time) {
	if !v.IsZero() {
		w.Time(name, v)
	}
}

// Bytes writes bytes as base64. Nil is written as null, and differs from empty.
func (w *Writer) Bytes(name string, v []byte) {
	w.Put(name)
	if v == nil {
		w.Put(`null`)
		return
	}
	w.Buf = append(base64.StdEncoding.AppendEncode(append(w.Buf, '"'), v), '"')
}

// fewLabels is the number of names up to which they are sorted without allocating.
const fewLabels = 8

// LabelsIf writes the labels in the order of their names.
func (w *Writer) LabelsIf(name string, v map[string]string) {
	if len(v) == 0 {
		return
	}
	var few [fewLabels]string
	names := slices.AppendSeq(few[:0], maps.Keys(v))
	slices.Sort(names)
	w.Put(name)
	before := byte('{')
	for _, k := range names {
		w.Buf = AppendText(append(w.Buf, before), k)
		w.Buf = AppendText(append(w.Buf, ':'), v[k])
		before = ','
	}
	w.Put(`}`)
}

// RawIf writes JSON from the caller, converted to encoding/json's form if necessary. It fails for
// invalid JSON.
func (w *Writer) RawIf(name string, v json.RawMessage) {
	switch {
	case len(v) == 0:
	case endOfValue(v, 0, 0) == len(v):
		w.Buf = append(append(w.Buf, name...), v...)
	default:
		w.other(name, v)
	}
}

// ValuesIf writes a map of any shape. A value that JSON cannot express is a failure.
func (w *Writer) ValuesIf(name string, v map[string]any) {
	if len(v) > 0 {
		w.other(name, v)
	}
}

// ExactIf writes the caller's JSON byte for byte, with its blanks and escapes. JSON that is not
// Embeddable is a failure.
func (w *Writer) ExactIf(name string, v json.RawMessage) {
	switch {
	case len(v) == 0:
	case !Embeddable(v):
		w.fail(name, errNotEmbeddable)
	default:
		w.Buf = append(append(w.Buf, name...), v...)
	}
}

var errNotEmbeddable = errors.New("it is not JSON, or has blanks around it")

// maxDecodeDepth is the nesting depth that encoding/json can decode.
const maxDecodeDepth = 10_000

// Embeddable reports whether v can be part of an object byte for byte: JSON without surrounding
// white space, and, within an object, not too deep for encoding/json.
func Embeddable(v json.RawMessage) bool {
	const blanks = " \t\r\n"
	if len(v) == 0 || strings.IndexByte(blanks, v[0]) >= 0 || strings.IndexByte(blanks, v[len(v)-1]) >= 0 ||
		!json.Valid(v) {
		return false
	}
	// nest it one level deeper, as the object does
	return len(v) < maxDecodeDepth || json.Valid(bytes.Join([][]byte{[]byte("["), v, []byte("]")}, nil))
}

func WriteTexts[T ~string](w *Writer, name string, list []T) {
	if len(list) == 0 {
		return
	}
	w.Put(name)
	before := byte('[')
	for _, s := range list {
		w.Buf = AppendText(append(w.Buf, before), string(s))
		before = ','
	}
	w.Put(`]`)
}

func WriteList[T any](w *Writer, name string, list []T, write func(*Writer, *T)) {
	if len(list) == 0 {
		return
	}
	w.Put(name)
	before := `[`
	for i := range list {
		w.Put(before)
		write(w, &list[i])
		before = `,`
	}
	w.Put(`]`)
}

// other writes a rare value, or one of unknown shape, with encoding/json.
func (w *Writer) other(name string, v any) {
	body, err := json.Marshal(v)
	if err != nil {
		w.fail(name, err)
		return
	}
	w.Buf = append(append(w.Buf, name...), body...)
}

func (w *Writer) fail(name string, err error) {
	if w.Err == nil {
		w.Err = fmt.Errorf("%s: %w", strings.Trim(name, `{,":`), err)
	}
}
