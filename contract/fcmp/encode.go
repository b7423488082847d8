package fcmp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
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
	// Incarnation is 0 before the first restore of the data; at most MaxIncarnation.
	Incarnation uint64
}

func (h Header) meta() Meta { return Meta{h.Attempt, h.LocalSeq, h.Incarnation} }

// maxEngine is the longest engine name in bytes.
const maxEngine = 256

// SchemaViolation: an event's header or payload violates the contract. No part of its commit may be
// stored.
type SchemaViolation struct {
	Type   string
	RunID  string
	Seq    uint64
	Detail string
}

func (v *SchemaViolation) Error() string {
	return fmt.Sprintf("contract: event %s, seq %d of run %q violates its schema: %s", v.Type, v.Seq, v.RunID, v.Detail)
}

// Code is the error code in the contract.
func (*SchemaViolation) Code() string { return "PROTOCOL_SCHEMA_VIOLATION" }

// Encode writes one event as JSON without a line break; equal arguments give equal bytes. It checks
// header and payload against their schemas; the error is a *SchemaViolation. It does not change or
// keep the payload. The one allocation is the result, at exact size.
func Encode(h Header, p Payload) ([]byte, error) {
	w := newWriter()
	defer w.free()
	if err := w.encode(h, p); err != nil {
		return nil, err
	}
	return bytes.Clone(w.b), nil
}

// Append is Encode for a caller that has a buffer: it appends the event to dst. On an error it
// appends nothing.
func Append(dst []byte, h Header, p Payload) ([]byte, error) {
	w := newWriter()
	defer w.free()
	own := w.b
	w.b = dst
	err := w.encode(h, p)
	if err == nil {
		dst = w.b
	}
	w.b = own
	return dst, err
}

// encode appends an event, or returns why it may not be written.
func (w *writer) encode(h Header, p Payload) error {
	before := len(w.b)
	err := h.check()
	if err == nil {
		w.event(h, p)
		switch size := len(w.b) - before; {
		case w.bad:
			err = explain(p, w.why)
		case size >= MaxEvent:
			err = fmt.Errorf("%d bytes encoded, at most %d", size+1, MaxEvent) // with its line's end
		}
	}
	if err != nil {
		return &SchemaViolation{Type: p.Type(), RunID: h.RunID, Seq: h.Seq, Detail: err.Error()}
	}
	return nil
}

func (w *writer) event(h Header, p Payload) {
	w.b = append(append(w.b, `{"protocol_version":"`...), laterProtocol(protocolOf(p), protocolOfMeta(h.meta()))...)
	w.b = append(w.b, `","run_id":"`...)
	w.b = append(w.b, h.RunID...)
	w.b = strconv.AppendUint(append(w.b, `","seq":`...), h.Seq, 10)
	w.b = append(w.b, `,"ts":`...)
	w.time(h.TS)
	w.b = appendString(append(w.b, `,"engine":`...), h.Engine)
	w.b = append(append(w.b, `,"type":"`...), p.Type()...)
	w.b = append(w.b, `","data":`...)
	p.write(w)
	w.b = strconv.AppendInt(append(w.b, `,"meta":{"attempt":`...), int64(h.Attempt), 10)
	w.b = strconv.AppendUint(append(w.b, `,"local_seq":`...), h.LocalSeq, 10)
	w.b = appendEndOfMeta(w.b, h.Incarnation)
}

const incarnationKey = `,"incarnation":`

// appendEndOfMeta appends the part of an event after its local_seq.
func appendEndOfMeta(b []byte, incarnation uint64) []byte {
	if incarnation > 0 {
		b = strconv.AppendUint(append(b, incarnationKey...), incarnation, 10)
	}
	return append(b, "}}"...)
}

// Mark returns an encoded event with another incarnation, in new memory; the body itself if it is
// not in the form that Encode writes. Stores call it, because only the transaction that writes the
// event knows the incarnation.
func Mark(body []byte, incarnation uint64) []byte {
	w, ok := readWritten(body)
	protocol := protocolOfMarked(&w, incarnation)
	if !ok || protocol == "" {
		return body
	}
	from := len(`{"protocol_version":"`)
	marked := make([]byte, 0, len(body)+len(incarnationKey)+len("9007199254740991"))
	to := len(body) - len(appendEndOfMeta(marked, w.incarnation))
	marked = append(append(marked, body[:from]...), protocol...)
	marked = append(marked, body[from+len(w.protocol):to]...)
	return appendEndOfMeta(marked, incarnation)
}

// protocolOfMarked returns the lowest version that can express the event with another incarnation;
// empty for an unknown event. It decodes the payload only of an event that loses its incarnation,
// which may need a lower version then.
func protocolOfMarked(w *written, incarnation uint64) string {
	protocol, typ := knownProtocol(w.protocol), knownType(w.typ)
	if protocol == "" || typ == "" {
		return ""
	}
	if incarnation > 0 || w.incarnation == 0 {
		return laterProtocol(protocol, protocolOfMeta(Meta{Incarnation: incarnation}))
	}
	p := newPayload(typ)
	if json.Unmarshal(w.data, p) != nil {
		return ""
	}
	return protocolOf(p)
}

func (h Header) check() error {
	switch {
	case !isRunID(h.RunID):
		return fmt.Errorf("run_id %.140q does not match %s", h.RunID, patternRunID)
	case h.Seq < 1:
		return errors.New("seq counts from 1")
	case h.TS.IsZero() || !hasPlainYear(h.TS):
		return errors.New("ts is missing or outside of the years 1 to 9999")
	case h.Engine == "" || len(h.Engine) > maxEngine:
		return fmt.Errorf("engine has %d bytes, from 1 to %d are allowed", len(h.Engine), maxEngine)
	case h.Attempt < 0:
		return errors.New("meta.attempt counts from 0")
	case h.LocalSeq < 1:
		return errors.New("meta.local_seq counts from 1")
	case h.Incarnation > MaxIncarnation:
		return fmt.Errorf("meta.incarnation is above %d", uint64(MaxIncarnation))
	}
	return nil
}

// FormatTime formats a time for events: in UTC, to the microsecond.
func FormatTime(t time.Time) string {
	return t.UTC().Truncate(time.Microsecond).Format(timeLayout)
}
