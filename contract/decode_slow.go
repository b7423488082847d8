package contract

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// decodeSlow reads an event in any form that JSON allows. It is the definition of what decodeFast does, and the only one that
// explains what is wrong.
func decodeSlow(body []byte) (Event, error) {
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.DisallowUnknownFields()
	var e Event
	if err := dec.Decode(&e); err != nil {
		return Event{}, fmt.Errorf("%w: %w", ErrEvent, err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return Event{}, fmt.Errorf("%w: there is more after its end", ErrEvent)
	}
	if e.ProtocolVersion != Protocol {
		return Event{}, fmt.Errorf("%w: protocol_version is %.40q, this reader knows %q", ErrEvent, e.ProtocolVersion, Protocol)
	}
	if err := e.header().check(); err != nil {
		return Event{}, fmt.Errorf("%w: %w", ErrEvent, err)
	}
	if len(e.Data) == 0 || e.Data[0] != '{' {
		return Event{}, fmt.Errorf("%w: data is missing or no object", ErrEvent)
	}
	return e, nil
}
