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

// schemas compiles the embedded schemas once, at first use. They are part of the program, so a broken one is a panic; a test
// compiles them all.
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

// Verify reads an encoded event as Decode does and also holds the envelope and the payload to their schemas, as Encode did when
// it was written.
func Verify(body []byte) (Event, error) {
	e, err := Decode(body)
	if err != nil {
		return Event{}, err
	}
	return e, e.verify(body)
}

func (e Event) verify(body []byte) error {
	payload, ok := schemas().payloads[e.Type]
	if !ok {
		return fmt.Errorf("%w: the contract has no event type %.140q", ErrEvent, e.Type)
	}
	// Not schema.Decode: its bound on the size of a document is below that of an event.
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
	return nil
}
