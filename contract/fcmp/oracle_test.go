package fcmp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/contract"
	"github.com/interlude-go/interlude/internal/schema"
)

// keywords is an event schema, as far as payloads are drawn from it.
//
//nolint:tagliatelle // JSON Schema writes its keywords in this way
type keywords struct {
	Type                 string              `json:"type"`
	Enum                 []string            `json:"enum"`
	Const                json.RawMessage     `json:"const"`
	MinLength            int                 `json:"minLength"`
	MaxLength            *int                `json:"maxLength"`
	Pattern              string              `json:"pattern"`
	Format               string              `json:"format"`
	Minimum              *int64              `json:"minimum"`
	Items                *keywords           `json:"items"`
	UniqueItems          bool                `json:"uniqueItems"`
	Properties           map[string]keywords `json:"properties"`
	Required             []string            `json:"required"`
	AdditionalProperties *bool               `json:"additionalProperties"`
}

func orElse[T any](p *T, otherwise T) T {
	if p == nil {
		return otherwise
	}
	return *p
}

func eventTypes() []string {
	types := contract.Load().PayloadTypes()
	slices.Sort(types)
	return types
}

const hints = "ui_hints"

// payloadOf brings data into its payload type, as far as that can hold it.
func payloadOf(typ string, data map[string]any) (Payload, error) {
	p := newPayload(typ)
	if p == nil {
		return nil, errors.New("no such event type")
	}
	rest := maps.Clone(data)
	asked, hasHints := p.(*InputRequired)
	if hasHints { // of any shape, and kept as they are
		delete(rest, hints)
		if h, ok := data[hints].(map[string]any); ok {
			asked.UIHints = h
		} else if data[hints] != nil {
			return nil, errors.New("hints are no object")
		}
	}
	plain, err := plainMap(rest)
	if err != nil {
		return nil, err
	}
	raw, err := json.Marshal(plain)
	if err != nil {
		return nil, err
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	return p, dec.Decode(p)
}

// encode writes an event whose data is given as a map.
func encode(h Header, typ string, data map[string]any) ([]byte, error) {
	p, err := payloadOf(typ, data)
	if err != nil {
		return nil, err
	}
	return Encode(h, p)
}

// dataOf is a payload as a map, as the slow encoder takes it.
func dataOf(p Payload) (map[string]any, error) {
	asked, hasHints := p.(*InputRequired)
	if hasHints {
		bare := *asked
		bare.UIHints = nil
		p = &bare
	}
	raw, err := json.Marshal(p)
	if err != nil {
		return nil, err
	}
	data, err := decodeObject(raw)
	if err != nil {
		return nil, err
	}
	if err := formatTimes(data); err != nil {
		return nil, err
	}
	if own, ok := data["wait"].(map[string]any); ok && own["steps"] == nil {
		own["steps"] = []any{}
	} else if ok {
		for _, s := range own["steps"].([]any) {
			if err := formatTimes(s.(map[string]any)); err != nil {
				return nil, err
			}
		}
	}
	if kept, ok := data["remember"].(map[string]any); ok {
		if err := formatTimes(kept); err != nil {
			return nil, err
		}
	}
	if end, ok := data["terminal"].(map[string]any); ok && end["warnings"] == nil {
		end["warnings"] = []any{} // a list that is nil is empty
	}
	if hasHints && len(asked.UIHints) > 0 {
		data[hints] = asked.UIHints
	}
	return data, nil
}

// formatTimes writes the times of an object as Encode does.
func formatTimes(data map[string]any) error {
	for _, name := range []string{
		"accepted_at", "asked_at", "at", "claimed_until", "closed_at", "due_at", "not_before", "policy_until",
		"until", "updated_at", "wait_deadline_at",
	} {
		if text, ok := data[name].(string); ok {
			at, err := time.Parse(time.RFC3339Nano, text)
			if err != nil || at.Year() < 1 {
				return fmt.Errorf("%s is %s: %w", name, text, err)
			}
			data[name] = FormatTime(at)
		}
	}
	return nil
}

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

// encodeSlow validates by the schemas and writes by reflection. It is the specification of Encode:
// it was the encoder before the payloads had types.
func encodeSlow(h Header, typ string, data map[string]any) ([]byte, error) {
	if err := h.check(); err != nil {
		return nil, err
	}
	plain, err := plainMap(data)
	if err != nil {
		return nil, err
	}
	if err := schemas().payloads[typ].Validate(plain); err != nil {
		return nil, err
	}
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(wire{
		ProtocolVersion: lowestProtocol(h, typ, plain), RunID: h.RunID, Seq: h.Seq, TS: FormatTime(h.TS),
		Engine: h.Engine, Type: typ, Data: plain, Meta: h.meta(),
	}); err != nil {
		return nil, err
	}
	if buf.Len() > MaxEvent {
		return nil, fmt.Errorf("%d bytes encoded, at most %d", buf.Len(), MaxEvent)
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte{'\n'}), unambiguous(buf.Bytes())
}

// lowestProtocol is the version that the contract's extensions say.
func lowestProtocol(h Header, typ string, data map[string]any) string {
	l := contract.Load()
	for _, e := range slices.Backward(l.Extensions) { // the latest version comes last
		trigger, _ := data["trigger"].(string)
		if slices.Contains(e.Types, typ) || typ == TypeStateChanged && slices.Contains(e.Triggers, trigger) {
			return e.Protocol
		}
		for _, entry := range e.Members {
			if entry == "meta.incarnation" && h.Incarnation > 0 {
				return e.Protocol
			}
			if of, member := contract.SplitMember(entry); of == typ && data[member] != nil {
				return e.Protocol
			}
		}
	}
	return l.Protocol
}

// requireSame holds Encode to encodeSlow, and reports whether the payload is valid.
func requireSame(t require.TestingT, h Header, typ string, data map[string]any) bool {
	p, err := payloadOf(typ, data)
	if err != nil {
		return false
	}
	got, gotErr := Encode(h, p)
	requireAppended(t, h, p, got, gotErr)
	data, err = dataOf(p)
	if err != nil {
		require.Error(t, gotErr, "%v", err)
		return false
	}
	want, wantErr := encodeSlow(h, typ, data)
	_, unwritable := json.Marshal(p)
	if wantErr != nil && (unwritable != nil || errors.Is(wantErr, schema.ErrNumber) || errors.Is(wantErr, errTooDeep)) {
		require.Error(t, gotErr) // Encode and the oracle find this fault before or after the others
		return false
	}
	if wantErr != nil {
		require.ErrorContains(t, gotErr, wantErr.Error())
		return false
	}
	require.NoError(t, gotErr, "the schema allows it")
	require.Equal(t, string(want), string(got))
	return true
}

// requireAppended compares Append with Encode's result: the same bytes after the caller's, or the
// same error and only the caller's bytes.
func requireAppended(t require.TestingT, h Header, p Payload, encoded []byte, refused error) {
	appended, err := Append([]byte("{before\n"), h, p)
	require.Equal(t, refused, err)
	require.Equal(t, "{before\n"+string(encoded), string(appended))
}
