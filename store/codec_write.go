package store

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// writer appends members to a JSON object as encoding/json writes them. A method whose name ends in If leaves out what is empty, as
// omitempty and omitzero do. The first failure is kept; what is written after it means nothing.
type writer struct {
	buf []byte
	err error
}

func (w *writer) put(s string) { w.buf = append(w.buf, s...) }

func (w *writer) text(name, v string) {
	w.buf = appendText(append(w.buf, name...), v)
}

func (w *writer) textIf(name, v string) {
	if v != "" {
		w.text(name, v)
	}
}

func (w *writer) int(name string, v int64) {
	w.buf = strconv.AppendInt(append(w.buf, name...), v, 10)
}

func (w *writer) intIf(name string, v int) {
	if v != 0 {
		w.int(name, int64(v))
	}
}

func (w *writer) uint(name string, v uint64) {
	w.buf = strconv.AppendUint(append(w.buf, name...), v, 10)
}

func (w *writer) uintIf(name string, v uint64) {
	if v != 0 {
		w.uint(name, v)
	}
}

func (w *writer) flag(name string, v bool) {
	w.buf = strconv.AppendBool(append(w.buf, name...), v)
}

func (w *writer) flagIf(name string, v bool) {
	if v {
		w.flag(name, v)
	}
}

func (w *writer) time(name string, v time.Time) {
	var err error
	w.put(name)
	w.put(`"`)
	if w.buf, err = v.AppendText(w.buf); err != nil {
		w.fail(name, err)
	}
	w.put(`"`)
}

func (w *writer) timeIf(name string, v time.Time) {
	if !v.IsZero() {
		w.time(name, v)
	}
}

// bytes tells nil, which is null, from empty.
func (w *writer) bytes(name string, v []byte) {
	w.put(name)
	if v == nil {
		w.put(`null`)
		return
	}
	w.buf = append(base64.StdEncoding.AppendEncode(append(w.buf, '"'), v), '"')
}

func textsIf[T ~string](w *writer, name string, v []T) {
	if len(v) == 0 {
		return
	}
	w.put(name)
	before := byte('[')
	for _, s := range v {
		w.buf = appendText(append(w.buf, before), string(s))
		before = ','
	}
	w.put(`]`)
}

// labelsIf writes the labels in the order of their names.
func (w *writer) labelsIf(name string, v map[string]string) {
	if len(v) == 0 {
		return
	}
	w.put(name)
	before := byte('{')
	for _, k := range slices.Sorted(maps.Keys(v)) {
		w.buf = appendText(append(w.buf, before), k)
		w.buf = appendText(append(w.buf, ':'), v[k])
		before = ','
	}
	w.put(`}`)
}

// rawIf writes JSON that somebody else made: as it is when it is written as encoding/json would, otherwise made so.
func (w *writer) rawIf(name string, v json.RawMessage) {
	switch {
	case len(v) == 0:
	case endOfValue(v, 0, 0) == len(v):
		w.buf = append(append(w.buf, name...), v...)
	default:
		w.other(name, v)
	}
}

func (w *writer) valuesIf(name string, v map[string]any) {
	if len(v) > 0 {
		w.other(name, v)
	}
}

// other leaves to encoding/json what is rare or of unknown shape.
func (w *writer) other(name string, v any) {
	body, err := json.Marshal(v)
	if err != nil {
		w.fail(name, err)
		return
	}
	w.buf = append(append(w.buf, name...), body...)
}

func (w *writer) fail(name string, err error) {
	if w.err == nil {
		w.err = fmt.Errorf("%s: %w", strings.Trim(name, `{,":`), err)
	}
}
