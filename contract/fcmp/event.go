package fcmp

import (
	"encoding/json"
	"errors"
	"fmt"
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
}

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
		LocalSeq: e.Meta.LocalSeq}
}

// Decode reads the data into a payload struct of this package.
func (e Event) Decode(into any) error {
	if err := json.Unmarshal(e.Data, into); err != nil {
		return fmt.Errorf("contract: data of %s, seq %d: %w", e.Type, e.Seq, err)
	}
	return nil
}
