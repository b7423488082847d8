package fcmp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

const maxTime = 40

// Verify reads an encoded event like Decode, and also checks the envelope and the payload against
// their schemas, as Encode did. It rejects a body that is not UTF-8.
func Verify(body []byte) (Event, error) {
	if e, ok := verifyFast(body); ok {
		return e, nil
	}
	e, err := Decode(body)
	if err != nil {
		return Event{}, orUnknownType(body, err)
	}
	return e, e.verify(body)
}

// orUnknownType returns err, or for an unknown event type an error that says only that, since the
// expected form is unknown.
func orUnknownType(body []byte, err error) error {
	var e struct {
		Type string `json:"type"`
	}
	if json.Unmarshal(body, &e) != nil || e.Type == "" || schemas().payloads[e.Type] != nil {
		return err
	}
	return unknownType(e.Type)
}

func unknownType(typ string) error {
	return fmt.Errorf("%w: the contract has no event type %.140q", ErrEvent, typ)
}

// verifyFast accepts a valid event in Encode's form: its data, encoded again, is the same. It
// returns false for any other event, which verify then judges.
func verifyFast(body []byte) (Event, bool) {
	if len(body) > MaxEvent || !utf8.Valid(body) {
		return Event{}, false
	}
	e, ts, ok := scanEvent(body)
	if !ok || len(ts) > maxTime || !isUTCTime(string(ts)) {
		return Event{}, false
	}
	p := newPayload(e.Type)
	if json.Unmarshal(e.Data, p) != nil {
		return Event{}, false
	}
	w := newWriter()
	defer w.free()
	p.write(w)
	return e, !w.bad && bytes.Equal(w.b, e.Data) && e.ProtocolVersion == e.neededProtocol(p)
}

// verify checks an event against the schemas. It specifies verifyFast, and unlike it explains
// errors.
func (e Event) verify(body []byte) error {
	payload, ok := schemas().payloads[e.Type]
	if !ok {
		return unknownType(e.Type)
	}
	if !utf8.Valid(body) { // decoding would replace the wrong bytes without an error
		return fmt.Errorf("%w: it is not UTF-8, at byte %d", ErrEvent, notUTF8(body))
	}
	// Not schema.Decode: its size limit is below MaxEvent.
	whole, err := decodeObject(body)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrEvent, err)
	}
	if err := schemas().envelope.Validate(whole); err != nil {
		return fmt.Errorf("%w: envelope: %w", ErrEvent, err)
	}
	if err := payload.Validate(whole["data"]); err != nil {
		return fmt.Errorf("%w: data of %s: %w", ErrEvent, e.Type, err)
	}
	if err := plainValues(e); err != nil {
		return fmt.Errorf("%w: data of %s: %w", ErrEvent, e.Type, err)
	}
	return e.validateProtocol()
}

func (e Event) neededProtocol(p Payload) string {
	return laterProtocol(protocolOf(p), protocolOfMeta(e.Meta))
}

// validateProtocol returns an error unless a valid event has the lowest protocol version that can
// express it.
func (e Event) validateProtocol() error {
	p := newPayload(e.Type)
	if err := json.Unmarshal(e.Data, p); err != nil {
		return fmt.Errorf("%w: data of %s: %w", ErrEvent, e.Type, err)
	}
	if want := e.neededProtocol(p); e.ProtocolVersion != want {
		return fmt.Errorf("%w: protocol_version is %q; this event needs %q", ErrEvent, e.ProtocolVersion, want)
	}
	return nil
}

// plainValues returns an error that names an integer that is not written as its digits, or a time
// that Go does not read. A schema also takes 1.0 and 1e2, and t and z in small letters, but readers
// with typed values do not.
func plainValues(e Event) error {
	err := json.Unmarshal(e.Data, newPayload(e.Type))
	var number *json.UnmarshalTypeError
	if errors.As(err, &number) {
		return fmt.Errorf("/%s is written %.40s: an integer is written as its digits, within 64 bits",
			strings.ReplaceAll(number.Field, ".", "/"), strings.TrimPrefix(number.Value, "number "))
	}
	var at *time.ParseError
	if !errors.As(err, &at) {
		return err
	}
	var members map[string]json.RawMessage // all times are members of the data itself
	_ = json.Unmarshal(e.Data, &members)
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if written := string(members[name]); written == at.Value || written == strconv.Quote(at.Value) {
			return fmt.Errorf("/%s is written %.42s: a time is written as in 2006-01-02T15:04:05Z", name, written)
		}
	}
	return err
}

func notUTF8(body []byte) int {
	at := 0
	for at < len(body) {
		r, size := utf8.DecodeRune(body[at:])
		if r == utf8.RuneError && size == 1 {
			break
		}
		at += size
	}
	return at
}

// Salvage reads the run and event number from a line that is not a valid event. Both are empty if
// the line has no valid run_id.
func Salvage(body []byte) (run string, seq uint64) {
	var e struct {
		RunID string `json:"run_id"`
		Seq   uint64 `json:"seq"`
	}
	_ = json.Unmarshal(bytes.TrimPrefix(body, byteOrderMark), &e) // members that have another type stay empty
	if !isRunID(e.RunID) {
		return "", 0
	}
	return e.RunID, e.Seq
}
