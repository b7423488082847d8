package contract

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/interlude-go/interlude/internal/schema"
)

// ErrContract: the contract cannot be used.
var ErrContract = errors.New("contract: unsound")

var meta = sync.OnceValue(func() *schema.Schema { return schema.MustCompile(metaSchema) })

// Parse reads a contract and checks: that no key is unknown or given twice (schema and token walk),
// that ids are unique and names known, that every state × event cell has either transitions or
// exactly one rejection, that guards of one cell never overlap, that the gate decides every case
// and each of its rules some case, and that the waiting policy is total. The error matches
// ErrContract and lists every fault found. That each invariant can be executed is checked by
// audit.Executable.
func Parse(raw []byte) (*Lifecycle, error) {
	if err := meta().ValidateJSON(raw); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrContract, err)
	}
	if err := schema.UniqueKeys(raw); err != nil {
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

func decodeStrict(raw []byte, into any) error {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	if err := dec.Decode(into); err != nil {
		return fmt.Errorf("cannot be decoded: %w", err)
	}
	return nil
}
