package store

import (
	"bytes"
	"slices"
)

// JoinEvents makes one text of the events' bodies, a line each, as SQL stores keep what came
// together in one row. It also returns the events, whose bodies are parts of the text then, and
// share nothing with the caller's.
func JoinEvents(events []Event) (lines []byte, parts []Event) {
	size := 0
	for _, e := range events {
		size += len(e.Body) + 1
	}
	lines, parts = make([]byte, 0, size), slices.Clone(events)
	for i := range parts {
		if i > 0 {
			lines = append(lines, '\n')
		}
		from := len(lines)
		lines = append(lines, parts[i].Body...)
		parts[i].Body = lines[from:len(lines):len(lines)]
	}
	return lines, parts
}

// Excerpt collects the events that a call of Reader.Events returns, from lines that are added in
// order: those after After, at most Limit, and no more once they are larger than MinPage together.
type Excerpt struct {
	After  uint64
	Limit  int
	Events []Event

	size int
}

// Full reports whether the reader gets no more this time.
func (x *Excerpt) Full() bool { return len(x.Events) == x.Limit || x.size > MinPage }

// Add takes those of some events that the reader wants. First is the number of the first line's
// event. The bodies stay parts of lines.
func (x *Excerpt) Add(first uint64, lines []byte) {
	for len(lines) > 0 && !x.Full() {
		body, rest, _ := bytes.Cut(lines, []byte{'\n'})
		if first > x.After {
			x.size += len(body)
			x.Events = append(x.Events, Event{Seq: first, Body: slices.Clip(body)}) // what a reader appends is its own
		}
		first, lines = first+1, rest
	}
}
