package fcmp

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"
)

// Header is the envelope of an event without its type and data.
type Header struct {
	RunID    string
	Seq      uint64 // from 1
	TS       time.Time
	Engine   string
	Attempt  int    // 0 before the first turn
	LocalSeq uint64 // from 1 within the attempt
}

// MaxEngine is the longest engine name in bytes.
const MaxEngine = 256

// SchemaViolation says that an event may not be written: its header or its payload is not what the
// contract says. Nothing of the commit that it belongs to may be stored (F7).
type SchemaViolation struct {
	Type   string
	RunID  string
	Seq    uint64
	Detail string
}

func (v *SchemaViolation) Error() string {
	return fmt.Sprintf("contract: event %s, seq %d of run %q violates its schema: %s", v.Type, v.Seq, v.RunID, v.Detail)
}

// Code is the violation's error code in the contract.
func (*SchemaViolation) Code() string { return "PROTOCOL_SCHEMA_VIOLATION" }

// Events are written into rooms that are used again. A usual one fits without growing; the largest
// that is kept is no burden.
const (
	usualRoom   = 1 << 10
	largestRoom = 64 << 10
)

var rooms = sync.Pool{New: func() any {
	room := make([]byte, 0, usualRoom)
	return &room
}}

// Encode writes one event as JSON without a line break; equal arguments give equal bytes.
//
// The data is validated against the type's schema as it is, before it is encoded (F7). Its values
// may be JSON's own Go types, and also times, named string, number and bool types, slices, maps and
// structs with json tags, which are brought into that form first. The map is not changed or kept.
// The error is a *SchemaViolation.
//
// Plain data, which is nearly all, is checked and written in one walk. Everything else, and every
// violation, is left to the validator of schemas, whose verdict counts.
func Encode(h Header, typ string, data map[string]any) ([]byte, error) {
	if body, ok := encodeFast(h, typ, data); ok {
		return body, nil
	}
	return encodeSlow(h, typ, data)
}

// encodeFast writes what it knows to be right, as encodeSlow would. Its one allocation is the
// result, of just the size it needs.
func encodeFast(h Header, typ string, data map[string]any) ([]byte, bool) {
	room := rooms.Get().(*[]byte) //nolint:forcetypeassert // the pool's own New
	defer rooms.Put(room)
	b, ok := appendEvent((*room)[:0], h, typ, data)
	if !ok || len(b) >= MaxEvent {
		return nil, false
	}
	if cap(b) <= largestRoom {
		*room = b
	}
	return bytes.Clone(b), true
}

func appendEvent(b []byte, h Header, typ string, data map[string]any) ([]byte, bool) {
	payload, ok := shapes()[typ]
	if !ok || h.check() != nil {
		return b, false
	}
	b = append(b, `{"protocol_version":"`+Protocol+`","run_id":"`...)
	b = append(b, h.RunID...)
	b = strconv.AppendUint(append(b, `","seq":`...), h.Seq, 10)
	if b, ok = appendTime(append(b, `,"ts":`...), h.TS); !ok {
		return b, false
	}
	b = appendString(append(b, `,"engine":`...), h.Engine)
	b = append(append(b, `,"type":"`...), typ...)
	if b, ok = payload.append(append(b, `","data":`...), data); !ok {
		return b, false
	}
	b = strconv.AppendInt(append(b, `,"meta":{"attempt":`...), int64(h.Attempt), 10)
	b = strconv.AppendUint(append(b, `,"local_seq":`...), h.LocalSeq, 10)
	return append(b, "}}"...), true
}

func (h Header) check() error {
	switch {
	case !isRunID(h.RunID):
		return fmt.Errorf("run_id %.140q does not match %s", h.RunID, patternRunID)
	case h.Seq < 1:
		return errors.New("seq counts from 1")
	case h.TS.IsZero() || h.TS.UTC().Year() > 9999 || h.TS.UTC().Year() < 1:
		return errors.New("ts is missing or outside of the years 1 to 9999")
	case h.Engine == "" || len(h.Engine) > MaxEngine:
		return fmt.Errorf("engine has %d bytes, from 1 to %d are allowed", len(h.Engine), MaxEngine)
	case h.Attempt < 0:
		return errors.New("meta.attempt counts from 0")
	case h.LocalSeq < 1:
		return errors.New("meta.local_seq counts from 1")
	}
	return nil
}

// FormatTime writes a time as events have it: in UTC, as far as microseconds.
func FormatTime(t time.Time) string {
	return t.UTC().Truncate(time.Microsecond).Format(timeLayout)
}
