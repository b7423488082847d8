package lifecycle

import (
	"bytes"
	"encoding/json"
	"strings"
	"time"
)

// Bounds of a search with InboxQuery.Text.
const (
	// MaxSearchText is the longest text, in bytes.
	MaxSearchText = 256
	// MaxSearchTime is the time after which a call returns its results so far.
	MaxSearchTime = 200 * time.Millisecond
)

// search examines questions for a text.
type search struct {
	text  string // in lower case
	begun time.Time
	read  int // questions examined
}

func (s *search) spent() bool {
	return s != nil && (s.read >= MaxInboxRead || time.Since(s.begun) > MaxSearchTime)
}

// finds reports whether the question has the reader's text, or no text is searched for.
func (r *inboxReader) finds(run *Run, q *Question) bool {
	if r.query.Text == "" {
		return true
	}
	if r.search == nil { // a watch examines the questions of one run at a time
		r.search = &search{text: strings.ToLower(r.query.Text)}
	}
	r.search.read++
	r.page.Searched = r.search.read
	return r.search.in(run.ID, run.Title, q.Prompt, q.Context) || q.Subject != nil &&
		(r.search.in(q.Subject.Tool, q.Subject.Title, q.Subject.Risk) || r.search.inJSON(q.Subject.Arguments))
}

func (s *search) in(texts ...string) bool {
	for _, text := range texts {
		if strings.Contains(strings.ToLower(text), s.text) {
			return true
		}
	}
	return false
}

// inJSON searches the text as written, and its names and strings without their escapes.
func (s *search) inJSON(raw json.RawMessage) bool {
	if s.in(string(raw)) {
		return true
	}
	if bytes.IndexByte(raw, '\\') < 0 {
		return false
	}
	for dec := json.NewDecoder(bytes.NewReader(raw)); ; {
		token, err := dec.Token()
		if err != nil {
			return false
		}
		if text, ok := token.(string); ok && s.in(text) {
			return true
		}
	}
}
