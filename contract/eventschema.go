package contract

import (
	"embed"
	"encoding/json"
	"slices"
)

//go:embed events/*.schema.json
var eventFiles embed.FS

const (
	schemaSuffix = ".schema.json"
	envelope     = "envelope" // the schema of the envelope of every payload
)

// EventSchema returns the schema of an event type's data, or of the envelope for "". ok is false
// for an unknown type. The caller owns the bytes.
func EventSchema(typ string) (raw []byte, ok bool) {
	if typ == "" {
		typ = envelope
	}
	raw, err := eventFiles.ReadFile("events/" + typ + schemaSuffix)
	return raw, err == nil
}

// envelopeProtocols are the protocol versions that the envelope's schema allows.
func envelopeProtocols() []string {
	raw, _ := EventSchema("")
	var schema struct {
		Properties struct {
			Version struct{ Enum []string } `json:"protocol_version"`
		}
	}
	_ = json.Unmarshal(raw, &schema) // embedded; what cannot be read names no version
	return schema.Properties.Version.Enum
}

// MetaMember precedes the members of the envelope's meta in Extension.Members.
const MetaMember = "meta"

// isOptionalMember reports whether the entry (see Extension.Members) names an optional member of an
// event.
func isOptionalMember(entry string) bool {
	typ, member := SplitMember(entry)
	if typ == MetaMember {
		typ = ""
	}
	raw, ok := EventSchema(typ)
	type object struct {
		Properties map[string]json.RawMessage
		Required   []string
	}
	var schema object
	if !ok || json.Unmarshal(raw, &schema) != nil {
		return false
	}
	if typ == "" {
		meta := schema.Properties[MetaMember]
		if schema = (object{}); json.Unmarshal(meta, &schema) != nil {
			return false
		}
	}
	return schema.Properties[member] != nil && !slices.Contains(schema.Required, member)
}

func countPayloadSchemas() int {
	files, err := eventFiles.ReadDir("events")
	if err != nil {
		panic(err) // embedded
	}
	return len(files) - 1 // without the envelope's
}
