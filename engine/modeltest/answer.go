package modeltest

import (
	"context"
	"strings"
	"time"
)

// Answer is what the model answers: pieces of a text in order, then perhaps a call of a tool; or a
// failure. The zero value is an answer without a word.
type Answer struct {
	Pieces []Piece
	// Call is a call of a tool after the text; nil for none.
	Call *Call
	// Failure is an error of the API instead of text and call; what the pieces have to do Before is
	// done.
	Failure *Failure
	End     End
}

// Piece is a part of an answer that is sent at once.
type Piece struct {
	// Before is called before the piece is sent, when it is set. An error ends the answer as Drop
	// does. ctx ends when the client has left or the server is closed.
	Before func(ctx context.Context) error
	Pause  time.Duration // before the piece
	Text   string        // need not be UTF-8: it is sent as it is
	Raw    string        // written into the response as it is, whatever the protocol
}

// Call is a call of a tool that the agent offers.
type Call struct {
	Tool Tool
	Args map[string]any
	Text string // for a Custom tool, instead of Args
}

// Failure is an error of the API.
type Failure struct {
	Status  int // of HTTP, from 400; agents try again after 429 and those from 500
	Message string
}

// End is how an answer ends.
type End int

// The ways an answer can end.
const (
	Complete End = iota
	Hang         // never, until the client leaves or the server is closed
	Drop         // the connection is cut
	Cut          // the response ends well, but before the answer does
)

// Text is an answer that says the text.
func Text(text string) Answer { return Answer{Pieces: []Piece{{Text: text}}} }

// plan says in a few words what the answer is, for the log.
func (a Answer) plan() string {
	var words []string
	text, raw := false, false
	for _, p := range a.Pieces {
		text, raw = text || p.Text != "", raw || p.Raw != ""
	}
	if text && a.Failure == nil {
		words = append(words, "text")
	}
	if raw {
		words = append(words, "raw")
	}
	if a.Failure != nil {
		words = append(words, "failure")
	}
	if a.Call != nil {
		words = append(words, "call "+a.Call.Tool.Name)
	}
	if end := []string{"", "hang", "drop", "cut"}[a.End]; end != "" {
		words = append(words, end)
	}
	return strings.Join(words, ", ")
}
