package audit

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/interlude-go/interlude/contract"
	"github.com/interlude-go/interlude/contract/fcmp"
	"github.com/interlude-go/interlude/internal/schema"
)

// NewCheckerFrom returns a Checker of another version's contract, from a folder like package
// contract's: lifecycle.json, and events with a schema per event type. Each line must also be valid
// by these schemas, so that readers of that version understand each log that the Checker accepts.
// The soundness of that contract is not checked again. The error matches contract.ErrContract.
func NewCheckerFrom(folder fs.FS) (*Checker, error) {
	raw, err := fs.ReadFile(folder, "lifecycle.json")
	if err != nil {
		return nil, fmt.Errorf("%w: %w", contract.ErrContract, err)
	}
	l := new(contract.Lifecycle)
	// not the strict reader: it may lack members that today's contract must have
	if err := json.Unmarshal(raw, l); err != nil {
		return nil, fmt.Errorf("%w: %w", contract.ErrContract, err)
	}
	rules, err := rulesOf(l)
	if err != nil {
		return nil, err
	}
	c := newChecker(l, rules)
	if c.schemas, err = readSchemas(folder); err != nil {
		return nil, fmt.Errorf("%w: %w", contract.ErrContract, err)
	}
	return c, nil
}

// readSchemas reads the folder's schemas by event type. The schema of the envelope has its own name
// as key.
func readSchemas(folder fs.FS) (map[string]*schema.Schema, error) {
	const suffix = ".schema.json"
	files, err := fs.Glob(folder, "events/*"+suffix)
	if err != nil {
		return nil, err
	}
	all := make(map[string]*schema.Schema)
	for _, file := range files {
		raw, err := fs.ReadFile(folder, file)
		if err != nil {
			return nil, err
		}
		typ := strings.TrimSuffix(path.Base(file), suffix)
		if all[typ], err = schema.Compile(raw); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
	}
	return all, nil
}

// understood returns an error if readers of the Checker's contract would reject an event that is
// valid today. A Checker without earlier schemas uses the current ones, which the event already
// satisfies.
func (c *Checker) understood(body []byte, e *fcmp.Event) error {
	if c.schemas == nil {
		return nil
	}
	for _, part := range []struct {
		typ  string
		body []byte
	}{{"envelope", body}, {e.Type, e.Data}} {
		if c.schemas[part.typ] == nil {
			return fmt.Errorf("contract %s has no schema for %s", c.l.Version, part.typ)
		}
		if err := c.schemas[part.typ].ValidateJSON(part.body); err != nil {
			return fmt.Errorf("by the contract %s: %w", c.l.Version, err)
		}
	}
	return nil
}
