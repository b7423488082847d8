package store

import (
	"encoding/json"
	"fmt"
)

// Encode returns the record's stored form: JSON, without a line break.
func Encode(r Run) ([]byte, error) {
	body, err := json.Marshal(r)
	if err != nil {
		return nil, fmt.Errorf("%w: run %s cannot be encoded: %w", ErrInvalid, r.ID, err)
	}
	return body, nil
}

// Decode reads a stored record. What does not decode or does not agree with itself is ErrCorrupt. Unknown fields are passed over: a
// newer version may have written them.
func Decode(body []byte) (Run, error) {
	var r Run
	if err := json.Unmarshal(body, &r); err != nil {
		return Run{}, fmt.Errorf("%w: record: %w", ErrCorrupt, err)
	}
	if err := r.Coherent(); err != nil {
		return Run{}, fmt.Errorf("%w: record: %w", ErrCorrupt, err)
	}
	return r, nil
}
