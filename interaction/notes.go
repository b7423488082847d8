package interaction

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// Limits of the notes on open questions.
const (
	MaxNotes = 64      // notes on a question
	MaxNote  = 4 << 10 // bytes of a note's text
	// MaxNotesTogether limits the texts of the notes on all open questions of a run, in bytes: one
	// question can have all its notes at full length.
	MaxNotesTogether = MaxNotes * MaxNote
)

// Notes are the notes on a question, the oldest first.
type Notes struct {
	Bytes int    `json:"bytes"`          // total size of the texts
	List  []Note `json:"list,omitempty"` // 1 to MaxNotes
}

// Note is a person's note on an open question. It decides nothing.
type Note struct {
	Text    string    `json:"text"` // at most MaxNote bytes
	Actor   string    `json:"actor,omitempty"`
	Via     string    `json:"via,omitempty"` // front end of the actor
	For     string    `json:"for,omitempty"` // the person for whom the actor, a deputy, wrote
	NotedAt time.Time `json:"noted_at"`
	// Key is the note's idempotency key: a question has one note with a key.
	Key string `json:"key,omitempty"`
}

// ValidateNote returns a *FieldError if a note cannot have this text or key.
func ValidateNote(text, key string) error {
	size := func(s string) string { return fmt.Sprintf("%d bytes", len(s)) }
	switch {
	case strings.TrimSpace(text) == "":
		return &FieldError{"Text", "blank", "a text"}
	case len(text) > MaxNote:
		return &FieldError{"Text", size(text), fmt.Sprintf("at most %d bytes", MaxNote)}
	case !utf8.ValidString(text) || strings.IndexByte(text, 0) >= 0:
		return &FieldError{"Text", "not text", "valid UTF-8 without NUL"}
	case len(key) > MaxKey || !utf8.ValidString(key) || strings.IndexByte(key, 0) >= 0:
		return &FieldError{"Key", size(key), fmt.Sprintf("at most %d bytes of UTF-8 without NUL", MaxKey)}
	}
	return nil
}

// All returns the notes; nil Notes have none.
func (n *Notes) All() []Note {
	if n == nil {
		return nil
	}
	return n.List
}

// Keyed returns the note with the idempotency key, or nil.
func (n *Notes) Keyed(key string) *Note {
	i := slices.IndexFunc(n.All(), func(note Note) bool { return key != "" && note.Key == key })
	if i < 0 {
		return nil
	}
	return &n.List[i]
}

// With returns the notes with one more. It does not change n.
func (n *Notes) With(note Note) *Notes {
	more := &Notes{Bytes: len(note.Text), List: append(slices.Clip(n.All()), note)}
	if n != nil {
		more.Bytes += n.Bytes
	}
	return more
}

// Clone returns a copy that shares nothing with n; nil for nil.
func (n *Notes) Clone() *Notes {
	if n == nil {
		return nil
	}
	return &Notes{n.Bytes, slices.Clone(n.List)}
}

// By reports whether the actor, in the same deputyship, has written the note.
func (n *Note) By(actor Actor) bool {
	return (n.Actor == actor.ID || actor.Is(n.Actor)) && (n.For == actor.For || actor.ActsFor(n.For))
}
