package store

import (
	"bytes"
	"slices"
)

// JoinEvents joins the events' bodies, one line each, because SQL stores keep the events of a
// commit in one row. The returned events refer to this text, and share nothing with the caller's.
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

// EventPage collects the result of Reader.Events from lines added in order: events after After, at
// most Limit, and no more once they exceed MinPage bytes.
type EventPage struct {
	After  uint64
	Limit  int
	Events []Event

	size int
}

func (p *EventPage) Full() bool { return len(p.Events) == p.Limit || p.size > MinPage }

// Add adds the page's events among the given lines; first is the first line's event. The bodies are
// parts of lines.
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
