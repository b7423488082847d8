package fcmp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

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

// encodeSlow validates by the schemas and writes by reflection. It is the definition of what
// encodeFast does, the judge of what that refuses, and the only one that explains a violation.
func encodeSlow(h Header, typ string, data map[string]any) ([]byte, error) {
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
	if err := shapes()[typ].plainValues(plain, ""); err != nil {
		return refuse(err)
	}
	var buf bytes.Buffer
	buf.Grow(512)
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	err = enc.Encode(wire{
		ProtocolVersion: Protocol, RunID: h.RunID, Seq: h.Seq, TS: FormatTime(h.TS), Engine: h.Engine,
		Type: typ, Data: plain, Meta: Meta{Attempt: h.Attempt, LocalSeq: h.LocalSeq},
	})
	if err != nil {
		return refuse(err)
	}
	if buf.Len() > MaxEvent {
		return refuse(fmt.Errorf("%d bytes encoded, at most %d", buf.Len(), MaxEvent))
	}
	if err := unambiguous(buf.Bytes()); err != nil { // names of hints that are no UTF-8 may have become the same
		return refuse(err)
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte{'\n'}), nil
}
