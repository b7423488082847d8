package audit

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/interlude-go/interlude/contract"
	"github.com/interlude-go/interlude/internal/schema"
)

// node is the needed part of an event schema: an object's allowed and required members, and a
// value's form.
type node struct {
	Properties map[string]*node `json:"properties"`
	Required   []string         `json:"required"`
	Items      *node            `json:"items"`
	Format     string           `json:"format"`

	compiled *schema.Schema
}

// UnmarshalJSON also compiles the node as a separate schema; event schemas have no references
// outside themselves.
func (n *node) UnmarshalJSON(raw []byte) error {
	type plain node
	if err := json.Unmarshal(raw, (*plain)(n)); err != nil {
		return err
	}
	compiled, err := schema.Compile(raw)
	n.compiled = compiled
	return err
}

func (n *node) valid(value any) bool { return n.compiled.Validate(value) == nil }

// embedded is this program's contract, for readers that do not change it.
var embedded = sync.OnceValue(contract.Load)

// schemas returns the contract's schemas by event type; the envelope has the type "".
var schemas = sync.OnceValue(func() map[string]*node {
	all := map[string]*node{}
	types := []string{""}
	for _, p := range contract.Load().Payloads {
		types = append(types, p.Type)
	}
	for _, typ := range types {
		raw, ok := contract.EventSchema(typ)
		n := new(node)
		if err := json.Unmarshal(raw, n); !ok || err != nil {
			panic(fmt.Errorf("audit: the schema of %q cannot be used: %w", typ, err)) // it is compiled in
		}
		all[typ] = n
	}
	return all
})

// members lists the paths of an object's required or optional members. A member of a nested object
// is required if every instance of that object requires it.
func (n *node) members(prefix string, required bool) []string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(n.Properties)) {
		if slices.Contains(n.Required, name) == required {
			out = append(out, prefix+name)
		}
		child := n.Properties[name]
		out = append(out, child.members(prefix+name+".", required)...)
		if child.Items != nil {
			out = append(out, child.Items.members(prefix+name+"[].", required)...)
		}
	}
	return out
}
