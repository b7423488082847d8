package contract

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
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

var runID = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$`)

// SchemaViolation says that an event may not be written: its header or its payload is not what the contract says. Nothing
// of the commit that it belongs to may be stored (F7).
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

// wire is an event as it is written. The order of its fields is the order in the bytes.
type wire struct {
	ProtocolVersion string         `json:"protocol_version"`
	RunID           string         `json:"run_id"`
	Seq             uint64         `json:"seq"`
	TS              string         `json:"ts"`
	Engine          string         `json:"engine"`
	Type            string         `json:"type"`
	Data            map[string]any `json:"data"`
	Meta            Meta           `json:"meta"`
}

// Encode writes one event as JSON without a line break; equal arguments give equal bytes.
//
// The data is validated against the type's schema as it is, before it is encoded (F7). Its values may be JSON's own Go types, and
// also times, named string, number and bool types, slices, maps and structs with json tags, which are brought into that form first.
// The map is not changed or kept. The error is a *SchemaViolation.
func Encode(h Header, typ string, data map[string]any) ([]byte, error) {
	refuse := func(err error) ([]byte, error) {
		return nil, &SchemaViolation{Type: typ, RunID: h.RunID, Seq: h.Seq, Detail: err.Error()}
	}
	if err := h.check(); err != nil {
		return refuse(err)
	}
	payload, ok := schemas().payloads[typ]
	if !ok {
		return refuse(errors.New("the contract has no such event type"))
	}
	plain, err := plainMap(data)
	if err != nil {
		return refuse(err)
	}
	if err := payload.Validate(plain); err != nil {
		return refuse(err)
	}
	var buf bytes.Buffer
	buf.Grow(512)
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	err = enc.Encode(wire{
		ProtocolVersion: Protocol, RunID: h.RunID, Seq: h.Seq, TS: formatTime(h.TS), Engine: h.Engine,
		Type: typ, Data: plain, Meta: Meta{Attempt: h.Attempt, LocalSeq: h.LocalSeq},
	})
	if err != nil {
		return refuse(err)
	}
	if buf.Len() > MaxEvent {
		return refuse(fmt.Errorf("%d bytes encoded, at most %d", buf.Len(), MaxEvent))
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte{'\n'}), nil
}

func (h Header) check() error {
	switch {
	case !runID.MatchString(h.RunID):
		return fmt.Errorf("run_id %.140q does not match %s", h.RunID, runID)
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

func formatTime(t time.Time) string {
	return t.UTC().Truncate(time.Microsecond).Format(timeLayout)
}
