package schema

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"regexp/syntax"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v5"
)

// The reasons to reject a schema or a document; use errors.Is. The message has the place and the
// fault.
var (
	// ErrInvalid: the schema itself cannot be used.
	ErrInvalid = errors.New("schema: cannot be compiled")
	// ErrReference: the schema refers to a document outside itself. It comes with ErrInvalid.
	ErrReference = errors.New("schema: references to other documents are not followed")
	// ErrComplex: the schema has more parts or larger patterns than MaxSchemas, MaxInstructions and
	// MaxMemory allow, or multiplies itself through references beyond MaxCost. It comes with
	// ErrInvalid.
	ErrComplex = errors.New("schema: too complex")
	// ErrCostly: checking the document would take too long, so it was not checked.
	ErrCostly = errors.New("schema: the document takes too long to check")
	// ErrViolation: the document is JSON but violates the schema.
	ErrViolation = errors.New("schema: violated")
)

// root is the base URL of every schema. Nothing can be loaded from there, so relative references
// are refused like absolute ones.
const root = "schema://document/root"

// Schema is a compiled JSON Schema. It is immutable and safe for concurrent use.
type Schema struct {
	compiled   *jsonschema.Schema
	size       Size
	cost       int
	permissive bool
	parts      map[*jsonschema.Schema]*parts
}

// Compile reads a JSON Schema (an object, true or false).
//
// The error matches ErrInvalid and, as the case may be, ErrReference, ErrComplex, ErrTooLarge,
// ErrTooDeep, ErrNumber or ErrNotJSON.
func Compile(raw []byte) (s *Schema, err error) {
	size, err := Measure(raw)
	if err != nil {
		return nil, err
	}
	// The compiler panics on some references into places that hold no schema.
	defer func() {
		if p := recover(); p != nil {
			s, err = nil, fmt.Errorf("%w: %v", ErrInvalid, p)
		}
	}()
	compiler := jsonschema.NewCompiler()
	compiler.Draft = jsonschema.Draft2020
	compiler.AssertFormat = true
	compiler.Formats["regex"] = isPattern
	compiler.LoadURL = deny
	if err := compiler.AddResource(root, bytes.NewReader(raw)); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	compiled, err := compiler.Compile(root)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInvalid, explainCompile(err))
	}
	costs := costsOf(compiled)
	if costs.highest > MaxCost {
		return nil, fmt.Errorf("%w: %w: one value would be checked more than %d times over", ErrInvalid, ErrComplex,
			MaxCost)
	}
	permissive := permitsObjects(compiled)
	for s := range costs.walked {
		indexEnums(s)
	}
	return &Schema{compiled: compiled, size: size, cost: costs.highest, permissive: permissive,
		parts: partsOf(costs.walked)}, nil
}

// MustCompile is Compile for a schema of the program itself; it panics on an error.
func MustCompile(raw []byte) *Schema {
	s, err := Compile(raw)
	if err != nil {
		panic(err)
	}
	return s
}

// Validate checks a decoded value: nil, bool, string, a number type or json.Number, []any,
// map[string]any. Another type, or nesting deeper than MaxDepth, is an error. The error matches
// ErrViolation if the value breaks the schema.
func (s *Schema) Validate(v any) error {
	if err := validateValue(v, 0); err != nil {
		return err
	}
	return s.validate(v)
}

// ValidateJSON decodes a document within the bounds and checks it.
func (s *Schema) ValidateJSON(raw []byte) error {
	v, err := Decode(raw)
	if err != nil {
		return err
	}
	if !s.affordable(v) {
		return fmt.Errorf("%w: it would take more than %d checks", ErrCostly, maxWork)
	}
	return s.validate(v)
}

// Faults decodes a document within the bounds and lists its schema violations in the order of their
// places, at most 20; more than 500,000 checks of values are a violation too. The error says that
// the document cannot be read.
func (s *Schema) Faults(raw []byte) ([]Fault, error) {
	v, err := Decode(raw)
	if err != nil {
		return nil, err
	}
	if !s.affordable(v) {
		return []Fault{{"", fmt.Sprintf("a value that takes at most %d checks", maxWork)}}, nil
	}
	err = s.compiled.Validate(v)
	if err == nil {
		return nil, nil
	}
	var violation *jsonschema.ValidationError
	if !errors.As(err, &violation) {
		return nil, explain(err)
	}
	faults := faultsOf(violation, nil)
	slices.SortFunc(faults, func(a, b Fault) int {
		return cmp.Or(strings.Compare(a.Pointer, b.Pointer), strings.Compare(a.Want, b.Want))
	})
	faults = slices.Compact(faults)
	return faults[:min(len(faults), maxFaults)], nil
}

func (s *Schema) Size() Size { return s.size }

// Cost returns how often the schema may check one value, as limited by MaxCost.
func (s *Schema) Cost() int { return s.cost }

// Permissive reports whether the schema accepts every object, so that validating against it proves
// nothing. If it cannot decide, it returns false.
func (s *Schema) Permissive() bool { return s.permissive }

func (s *Schema) validate(v any) error {
	if err := s.compiled.Validate(v); err != nil {
		return fmt.Errorf("%w: %w", ErrViolation, explain(err))
	}
	return nil
}

// isPattern is the format "regex". It only parses: compiling a pattern may take a hundred
// megabytes.
func isPattern(v any) bool {
	pattern, ok := v.(string)
	if !ok {
		return true
	}
	_, err := syntax.Parse(pattern, syntax.Perl)
	return err == nil
}

func deny(url string) (io.ReadCloser, error) {
	return nil, fmt.Errorf("%w: %q", ErrReference, url)
}
