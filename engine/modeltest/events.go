package modeltest

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"unicode/utf8"
)

// object is a JSON object of an answer.
type object = map[string]any

// words is a text that is written into JSON as it is, also what is no UTF-8 of it.
type words string

// MarshalJSON writes the text.
func (t words) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('"')
	for s := string(t); s != ""; {
		n := 0
		for n < len(s) {
			r, size := utf8.DecodeRuneInString(s[n:])
			if r == utf8.RuneError && size == 1 {
				break
			}
			n += size
		}
		quoted, err := json.Marshal(s[:n])
		if err != nil {
			return nil, err
		}
		b.Write(quoted[1 : len(quoted)-1])
		if s = s[n:]; s != "" {
			b.WriteByte(s[0])
			s = s[1:]
		}
	}
	b.WriteByte('"')
	return b.Bytes(), nil
}

// events is a response of server-sent events. After an error, which is kept, nothing more is
// written.
type events struct {
	w   http.ResponseWriter
	err error
}

// begin sends the header, so that the client knows that it is heard.
func begin(w http.ResponseWriter) *events {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-cache")
	w.WriteHeader(http.StatusOK)
	e := &events{w: w}
	e.flush()
	return e
}

// send writes an event; the name may be empty.
func (e *events) send(name string, v any) {
	body, err := json.Marshal(v)
	if err != nil {
		e.err = err
		return
	}
	var b strings.Builder
	if name != "" {
		b.WriteString("event: " + name + "\n")
	}
	b.WriteString("data: ")
	b.Write(body)
	b.WriteString("\n\n")
	e.raw(b.String())
}

// raw writes bytes as they are.
func (e *events) raw(s string) {
	if e.err == nil {
		_, e.err = io.WriteString(e.w, s)
	}
	e.flush()
}

func (e *events) flush() {
	if e.err == nil {
		e.err = http.NewResponseController(e.w).Flush()
	}
}

// reply writes a JSON response.
func reply(w http.ResponseWriter, status int, v any) {
	body, err := json.Marshal(v)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(body) // whoever asked has left
}
