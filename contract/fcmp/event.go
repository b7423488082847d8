package fcmp

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// MaxEvent is the largest encoded event in bytes: the longest message with each character escaped,
// and room for the rest.
const MaxEvent = 8 << 20

// timeLayout is RFC 3339 in UTC, with as many digits as the time has, up to microseconds.
const timeLayout = "2006-01-02T15:04:05.999999Z07:00"

// ErrEvent: these bytes are not an event.
var ErrEvent = errors.New("contract: not an FCMP event")

// Meta locates an event within its attempt.
type Meta struct {
	// Attempt is the turn's number, 0 before the first.
	Attempt int `json:"attempt"`
	// LocalSeq counts the events of the attempt, from 1.
	LocalSeq uint64 `json:"local_seq"`
	// Incarnation is the number of the data's last restore before the event, larger with each; 0
	// before the first. Events of the log with other numbers may have the same Seq: they were lost.
	Incarnation uint64 `json:"incarnation,omitempty"`
}

// MaxIncarnation is the largest incarnation, which every reader of JSON reads exactly.
const MaxIncarnation = 1<<53 - 1

// Event is one FCMP event.
type Event struct {
	ProtocolVersion string `json:"protocol_version"`
	RunID           string `json:"run_id"`
	// Seq is the event's number within the run, from 1 without a gap.
	Seq    uint64    `json:"seq"`
	TS     time.Time `json:"ts"`
	Engine string    `json:"engine"`
	Type   string    `json:"type"`
	// Data is the payload; Decode reads it into the type's struct.
	Data json.RawMessage `json:"data"`
	Meta Meta            `json:"meta"`
}

// Decode reads an encoded event and checks the envelope's form and protocol; Verify checks the
// payload too. The error matches ErrEvent.
//
// It rejects everything that Encode never writes: unknown members, other protocols, bodies above
// MaxEvent.
func Decode(body []byte) (Event, error) {
	if len(body) > MaxEvent {
		return Event{}, fmt.Errorf("%w: %d bytes, at most %d", ErrEvent, len(body), MaxEvent)
	}
	if e, ok := decodeFast(body); ok {
		return e, nil
	}
	return decodeSlow(body)
}

func (e Event) header() Header {
	return Header{RunID: e.RunID, Seq: e.Seq, TS: e.TS, Engine: e.Engine, Attempt: e.Meta.Attempt,
		LocalSeq: e.Meta.LocalSeq, Incarnation: e.Meta.Incarnation}
}

// ID is "run/seq", or with an incarnation "run/seq@incarnation". It is unique, also among events that
// a restore removed, unless a run is submitted again under its id after it was pruned.
func (e Event) ID() string { return e.RunID + "/" + e.Cursor().String() }

// Cursor is the event's place in its run.
func (e Event) Cursor() Cursor { return Cursor{e.Seq, e.Meta.Incarnation} }

// Cursor is a place in a run's log: after the event with this number and incarnation. The zero Cursor
// is before the first event.
type Cursor struct{ Seq, Incarnation uint64 }

// String returns "seq", or "seq@incarnation" with an incarnation.
func (c Cursor) String() string {
	text := strconv.FormatUint(c.Seq, 10)
	if c.Incarnation > 0 {
		text += "@" + strconv.FormatUint(c.Incarnation, 10)
	}
	return text
}

// ParseCursor reads the form of Cursor.String. The error matches ErrEvent.
func ParseCursor(text string) (c Cursor, err error) {
	seq, incarnation, found := strings.Cut(text, "@")
	if c.Seq, err = strconv.ParseUint(seq, 10, 63); err == nil && found {
		c.Incarnation, err = strconv.ParseUint(incarnation, 10, 63)
	}
	if err != nil || c.Incarnation > MaxIncarnation {
		return Cursor{}, fmt.Errorf("%w: %.80q is no cursor, want seq or seq@incarnation", ErrEvent, text)
	}
	return c, nil
}

// Decode reads the data into a payload struct of this package.
func (e Event) Decode(into any) error {
	if err := json.Unmarshal(e.Data, into); err != nil {
		return fmt.Errorf("contract: data of %s, seq %d: %w", e.Type, e.Seq, err)
	}
	return nil
}
