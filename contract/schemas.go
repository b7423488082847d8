package contract

import (
	"embed"
	"fmt"
	"strings"
	"sync"

	"github.com/interlude-go/interlude/internal/schema"
)

//go:embed events/*.schema.json
var eventFiles embed.FS

const (
	schemaSuffix = ".schema.json"
	envelope     = "envelope" // the schema of what is around every payload
)

// schemaSet is the compiled event schemas.
type schemaSet struct {
	envelope *schema.Schema
	payloads map[string]*schema.Schema // by event type
}

// eventSchemas reads the embedded schemas, by event type, and the envelope's.
func eventSchemas() map[string][]byte {
	entries, err := eventFiles.ReadDir("events")
	if err != nil {
		panic(err) // embedded
	}
	found := map[string][]byte{}
	for _, entry := range entries {
		raw, err := eventFiles.ReadFile("events/" + entry.Name())
		if err != nil {
			panic(err)
		}
		found[strings.TrimSuffix(entry.Name(), schemaSuffix)] = raw
	}
	return found
}

// EventSchema returns the schema of an event type's data, or that of the envelope for "". ok is
// false for a type that the contract does not have. The bytes are the caller's.
func EventSchema(typ string) (raw []byte, ok bool) {
	if typ == "" {
		typ = envelope
	}
	raw, err := eventFiles.ReadFile("events/" + typ + schemaSuffix)
	return raw, err == nil
}

// schemas compiles the embedded schemas once, at first use. They are part of the program, so a
// broken one is a panic; a test compiles them all.
var schemas = sync.OnceValue(func() schemaSet {
	set := schemaSet{payloads: map[string]*schema.Schema{}}
	for typ, raw := range eventSchemas() {
		compiled, err := schema.Compile(raw)
		if err != nil {
			panic(fmt.Errorf("contract: schema of %s: %w", typ, err))
		}
		if typ == envelope {
			set.envelope = compiled
		} else {
			set.payloads[typ] = compiled
		}
	}
	return set
})
