package modeltest

import (
	"context"
	"strings"
	"time"
)

// Answer is the model's answer: pieces of text, perhaps followed by a tool call; or a failure. The
// zero value is an empty text.
type Answer struct {
	Pieces []Piece
	// Call is a tool call after the text, or nil.
	Call *Call
	// Failure is an error of the API. It replaces text and call, but each piece's Before is still
	// called.
	Failure *Failure
	End     End
}

// Piece is a part of an answer. Each piece is flushed.
type Piece struct {
	// Before, if set, is called before the piece is sent. An error ends the answer as Drop does.
	// ctx ends when the client leaves or the server is closed.
	Before func(ctx context.Context) error
	Pause  time.Duration // before the piece
	Text   string        // sent unchanged, even if it is not valid UTF-8
	Raw    string        // written into the response unchanged, in any protocol
}

// Call is a call of a tool that the agent offers.
type Call struct {
	Tool Tool
	Args map[string]any
	Text string // for a Custom tool, instead of Args
}

// Failure is an error of the API.
type Failure struct {
	Status  int // the HTTP status, from 400; agents retry after 429 and from 500
	Message string
}

type End int

// The ways an answer can end.
const (
	Complete End = iota
	Hang         // until the client leaves or the server is closed
	Drop         // the connection is cut
	Cut          // the response ends early without an error
)

// Text returns an answer with the text.
func Text(text string) Answer { return Answer{Pieces: []Piece{{Text: text}}} }

func (a Answer) plan() string {
	var parts []string
	text, raw := false, false
	for _, p := range a.Pieces {
		text, raw = text || p.Text != "", raw || p.Raw != ""
	}
	if text && a.Failure == nil {
		parts = append(parts, "text")
	}
	if raw {
		parts = append(parts, "raw")
	}
	if a.Failure != nil {
		parts = append(parts, "failure")
	}
	if a.Call != nil {
		parts = append(parts, "call "+a.Call.Tool.Name)
	}
	if end := []string{"", "hang", "drop", "cut"}[a.End]; end != "" {
		parts = append(parts, end)
	}
	return strings.Join(parts, ", ")
}
