package acp

import "github.com/interlude-go/interlude/engine"

// What begins a line of a transcript, which holds the lines both ways: who wrote it.
const (
	fromAgent = "< "
	toAgent   = "> "
)

// span is from the beginning of one line to the end of another; nil when either is not there.
func span(first, last *engine.RawRef) *engine.RawRef {
	if first == nil || last == nil {
		return nil
	}
	return &engine.RawRef{File: first.File, Offset: first.Offset, Length: last.Offset + last.Length - first.Offset}
}
