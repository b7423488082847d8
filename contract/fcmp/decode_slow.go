package fcmp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/interlude-go/interlude/internal/schema"
)

// decodeSlow reads an event in any form that JSON allows. It specifies decodeFast, and is the only
// one that explains errors.
func decodeSlow(body []byte) (Event, error) {
	if bytes.HasPrefix(body, byteOrderMark) {
		return Event{}, fmt.Errorf("%w: it begins with a byte order mark (BOM); save the log as UTF-8 without one",
			ErrEvent)
	}
	dec := json.NewDecoder(bytes.NewReader(body))
	var e Event
	if err := dec.Decode(&e); err != nil {
		return Event{}, fmt.Errorf("%w: %w", ErrEvent, err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return Event{}, fmt.Errorf("%w: there is more after its end", ErrEvent)
	}
	if err := unambiguous(body); err != nil {
		return Event{}, fmt.Errorf("%w: %w", ErrEvent, err)
	}
	if err := exactNames(body); err != nil {
		return Event{}, fmt.Errorf("%w: %w", ErrEvent, err)
	}
	if knownProtocol([]byte(e.ProtocolVersion)) == "" {
		return Event{}, fmt.Errorf("%w: protocol_version is %.40q, this reader knows %q", ErrEvent, e.ProtocolVersion,
			protocols)
	}
	if err := e.header().check(); err != nil {
		return Event{}, fmt.Errorf("%w: %w", ErrEvent, err)
	}
	if len(e.Data) == 0 || e.Data[0] != '{' {
		return Event{}, fmt.Errorf("%w: data is missing or no object", ErrEvent)
	}
	return e, nil
}

// byteOrderMark is U+FEFF in UTF-8, with which some editors begin a text.
var byteOrderMark = []byte("\ufeff")

// Unambiguous refuses JSON that readers understand differently: an object with a member twice (some
// readers take the first, some the last), a number that does not fit into a float64, and an escape
// of half a character, which some refuse and some replace. The body must otherwise be valid JSON.
// The error matches ErrEvent.
func Unambiguous(body []byte) error {
	if err := unambiguous(body); err != nil {
		return fmt.Errorf("%w: %w", ErrEvent, err)
	}
	return nil
}

func unambiguous(body []byte) error {
	if err := schema.UniqueKeys(body); err != nil {
		return err
	}
	var v any
	if err := json.Unmarshal(body, &v); err != nil { // a number that does not fit into a float64
		return err
	}
	if i := loneSurrogate(body); i >= 0 {
		return fmt.Errorf("the escape %.6s at byte %d is half of a character (a lone surrogate)", body[i:], i)
	}
	return nil
}

// loneSurrogate returns the index of the first escape of an unpaired surrogate in a JSON text, or
// -1.
func loneSurrogate(body []byte) int {
	for i := 0; i < len(body); i++ {
		if body[i] != '\\' {
			continue
		}
		if at(body, i+1) != 'u' {
			i++ // the escaped character begins no escape
			continue
		}
		switch first, second := codeUnit(body, i), codeUnit(body, i+6); {
		case first < 0xd800 || first > 0xdfff:
			i += 5
		case first < 0xdc00 && 0xdc00 <= second && second <= 0xdfff:
			i += 11
		default:
			return i
		}
	}
	return -1
}

// codeUnit reads the escape \uXXXX at i; 0 if there is no escape.
func codeUnit(body []byte, i int) uint64 {
	if at(body, i) != '\\' || at(body, i+1) != 'u' || i+6 > len(body) {
		return 0
	}
	n, _ := strconv.ParseUint(string(body[i+2:i+6]), 16, 16)
	return n
}

// The members of an envelope and of its meta. TestTheEnvelopeHasItsMembers compares them with the
// schema.
var (
	envelopeMembers = []string{"protocol_version", "run_id", "seq", "ts", "engine", "type", "data", "meta"}
	metaMembers     = []string{"attempt", "local_seq", "incarnation"}
)

// exactNames refuses members that the envelope does not have. encoding/json would take "SEQ" for
// "seq", other readers do not.
func exactNames(body []byte) error {
	var whole map[string]json.RawMessage
	if err := json.Unmarshal(body, &whole); err != nil {
		return fmt.Errorf("the envelope is no object: %w", err)
	}
	if err := refuseUnknown("the envelope", whole, envelopeMembers); err != nil {
		return err
	}
	var meta map[string]json.RawMessage
	if json.Unmarshal(whole["meta"], &meta) != nil {
		return nil // missing or null, which is judged elsewhere
	}
	return refuseUnknown("meta", meta, metaMembers)
}

// refuseUnknown names the first member, in order of names, that the object should not have.
func refuseUnknown(object string, members map[string]json.RawMessage, names []string) error {
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if slices.Contains(names, name) {
			continue
		}
		if i := slices.IndexFunc(names, func(n string) bool { return strings.EqualFold(n, name) }); i >= 0 {
			return fmt.Errorf("%s has no member %.140q; it is written %q", object, name, names[i])
		}
		return fmt.Errorf("%s has no member %.140q", object, name)
	}
	return nil
}
