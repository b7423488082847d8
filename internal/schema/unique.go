package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// UniqueKeys refuses a document in which an object has a member twice. It reads token by token,
// because a decoder silently keeps the last of two equal keys.
func UniqueKeys(raw []byte) error {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber() // a number need not fit into a float64
	type level struct {
		keys    map[string]bool // nil in an array
		atValue bool            // in an object, whether the next token is a value
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
		if len(open) > 0 { // the token has ended a value
			open[len(open)-1].atValue = false
		}
	}
}
