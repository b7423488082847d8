package contract

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/interlude-go/interlude/internal/schema"
)

// ErrContract is matched by every error about a contract that cannot be used.
var ErrContract = errors.New("contract: unsound")

var meta = sync.OnceValue(func() *schema.Schema { return schema.MustCompile(metaSchema) })

// Parse reads a contract and checks everything that can be checked of it: that no key is unknown or
// given twice (schema and token walk), that ids are unique and names known, that every state ×
// event cell has either transitions or exactly one rejection, that guards of one cell never
// overlap, that the gate decides every case and each of its rules some case, that the waiting
// policy is total, and that each invariant can be executed. The error matches ErrContract and lists
// every fault found.
func Parse(raw []byte) (*Lifecycle, error) {
	if err := meta().ValidateJSON(raw); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrContract, err)
	}
	if err := uniqueKeys(raw); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrContract, err)
	}
	l := new(Lifecycle)
	if err := decodeStrict(raw, l); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrContract, err)
	}
	if err := l.Check(); err != nil {
		return nil, err
	}
	return l, nil
}

// decodeStrict refuses members that the Go type does not have.
func decodeStrict(raw []byte, into any) error {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	if err := dec.Decode(into); err != nil {
		return fmt.Errorf("cannot be decoded: %w", err)
	}
	return nil
}

// uniqueKeys walks the tokens of a document, because a decoder lets the last of two equal keys win
// in silence.
func uniqueKeys(raw []byte) error {
	dec := json.NewDecoder(bytes.NewReader(raw))
	type level struct {
		keys    map[string]bool // nil in an array
		atValue bool            // in an object: the next token is a value
	}
	var open []level
	for {
		token, err := dec.Token()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("cannot be read: %w", err)
		}
		if key, ok := token.(string); ok && len(open) > 0 {
			if in := &open[len(open)-1]; in.keys != nil && !in.atValue {
				if in.keys[key] {
					return fmt.Errorf("key %q is given twice, at byte %d", key, dec.InputOffset())
				}
				in.keys[key], in.atValue = true, true
				continue
			}
		}
		switch token {
		case json.Delim('{'):
			open = append(open, level{keys: map[string]bool{}})
			continue
		case json.Delim('['):
			open = append(open, level{})
			continue
		case json.Delim('}'), json.Delim(']'):
			open = open[:len(open)-1]
		}
		if len(open) > 0 { // a value has ended
			open[len(open)-1].atValue = false
		}
	}
}
