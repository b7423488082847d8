package fcmp

import (
	"fmt"
	"sync"

	"github.com/interlude-go/interlude/contract"
	"github.com/interlude-go/interlude/internal/schema"
)

// declared is this program's contract, for readers that do not change it.
var declared = sync.OnceValue(contract.Load)

type schemaSet struct {
	envelope *schema.Schema
	payloads map[string]*schema.Schema // by event type
}

// schemas compiles the contract's schemas once, at first use. They are part of the program, so a
// broken one is a panic; a test compiles them all.
var schemas = sync.OnceValue(func() schemaSet {
	set := schemaSet{envelope: compiled(""), payloads: map[string]*schema.Schema{}}
	for _, p := range declared().Payloads {
		set.payloads[p.Type] = compiled(p.Type)
	}
	return set
})

// compiled returns the schema of an event type, or of the envelope for "".
func compiled(typ string) *schema.Schema {
	raw, _ := contract.EventSchema(typ)
	s, err := schema.Compile(raw)
	if err != nil {
		panic(fmt.Errorf("fcmp: schema of %q: %w", typ, err))
	}
	return s
}
