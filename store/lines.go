package store

import (
	"bytes"
	"slices"
)

// JoinEvents joins the events' bodies to one text, a line each: SQL stores keep the events of one
// commit in one row. It also returns the events with bodies that are parts of this text, and share
// nothing with the caller's.
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

// EventPage collects the events that a call of Reader.Events returns, from lines that are added in
// order: those after After, at most Limit, and no more once they are larger than MinPage together.
type EventPage struct {
	After  uint64
	Limit  int
	Events []Event

	size int
}

// Full reports whether the page takes no more.
func (p *EventPage) Full() bool { return len(p.Events) == p.Limit || p.size > MinPage }

// Add adds those events that belong to the page, of the given lines with an event each. First is
// the number of the first line's event. The bodies stay parts of lines.
func (p *EventPage) Add(first uint64, lines []byte) {
	for len(lines) > 0 && !p.Full() {
		body, rest, _ := bytes.Cut(lines, []byte{'\n'})
		if first > p.After {
			p.size += len(body)
			p.Events = append(p.Events, Event{Seq: first, Body: slices.Clip(body)}) // clipped, so that
			// appending copies
		}
		first, lines = first+1, rest
	}
}
