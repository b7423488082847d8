package interaction

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/interlude-go/interlude/internal/schema"
)

// A question with a Schema is a form: its reply has a Value that the schema accepts. Schemas and
// values follow the rules of output schemas and outputs: bounded, JSON Schema 2020-12, formats
// asserted, references to other documents rejected.

// Limits of forms, in bytes.
const (
	MaxSchema    = 128 << 10
	MaxArguments = 64 << 10
	MaxValue     = 64 << 10
)

// Fault is one violation of the schema by a value.
type Fault struct {
	// Pointer locates it as a JSON pointer; empty for the whole value.
	Pointer string
	// Want states the expected value.
	Want string
}

// ValueError lists the violations in a reply's value, by pointer.
type ValueError struct{ Faults []Fault }

func (e *ValueError) Error() string {
	var all []string
	for _, f := range e.Faults {
		all = append(all, fmt.Sprintf("%q: %s", f.Pointer, f.Want))
	}
	return "interaction: invalid reply: the value does not fit the question's schema: " + strings.Join(all, "; ")
}

func (e *ValueError) Is(target error) bool { return target == ErrInvalidReply }

// ErrSchema is matched by the error of Question.Validate about a Schema.
var ErrSchema = errors.New("interaction: the schema of the question cannot be used")

// Validate returns an error if the question cannot be asked as it is: ErrSchema if its Schema is
// not a JSON Schema, exceeds MaxSchema or the limits of forms, or refers to another document;
// ErrOnly if it has Only and cannot accept only its options; an error about invalid Files. The
// schema of an approval is not checked: with an unusable one the arguments cannot be edited. A turn
// of code in the host's process that asks an invalid question fails, or is held. An engine with a
// foreign agent omits the schema instead (Normalize).
//
// A pattern outside the syntax of Go's package regexp is no error where the schema without it only
// accepts more: the question is asked without the pattern, with a warning.
func (q Question) Validate() error {
	if err := q.Files.Validate(); err != nil {
		return err
	}
	if q.Subject != nil {
		if err := validateChanges(q.Subject.Changes); err != nil {
			return err
		}
	}
	if q.Only {
		asked := q
		asked.Only = false
		asked, _ = Normalize(asked)
		asked.Only = true
		if err := asked.validateOnly(); err != nil {
			return err
		}
	}
	if len(q.Schema) == 0 || q.Subject != nil {
		return nil
	}
	if _, _, err := usableSchema(q.Schema); err != nil {
		return fmt.Errorf("%w: %w", ErrSchema, err)
	}
	return nil
}

// usableSchema returns the schema without the patterns that cannot be compiled, and these patterns.
func usableSchema(raw json.RawMessage) (json.RawMessage, []string, error) {
	raw = bytes.TrimSpace(raw)
	var dropped []string
	err := validateSchemaText(raw)
	if err == nil {
		raw, dropped, err = schema.Relax(raw)
	}
	if err == nil {
		err = validateSchema(raw)
	}
	return raw, dropped, err
}

func validateSchemaText(raw json.RawMessage) error {
	if len(raw) > MaxSchema {
		return fmt.Errorf("%d bytes, at most %d", len(raw), MaxSchema)
	}
	return validateJSON(raw)
}

func validateSchema(raw json.RawMessage) error {
	if err := validateSchemaText(raw); err != nil {
		return err
	}
	size, err := schema.Measure(raw)
	switch {
	case err != nil:
		return err
	case size.Instructions > maxPatterns:
		return fmt.Errorf("its patterns are too large: more than %d instructions", maxPatterns)
	}
	s, err := schema.Cached(raw)
	if err != nil {
		return err
	}
	switch checks := s.Cost(); {
	case checks > maxChecks:
		return fmt.Errorf("it is too complex: one value would be checked %d times over, at most %d", checks, maxChecks)
	case size.Instructions*checks > maxPatterns:
		return fmt.Errorf("its patterns are too large: %d instructions, for a value that is checked up to %d times, "+
			"at most %d in all", size.Instructions, checks, maxPatterns)
	}
	return nil
}

// Limits on the cost of checking a value: how often one value may be checked, and the total size of
// all patterns, in instructions of the matcher, times these checks. A matcher may execute each
// instruction once per character.
const (
	maxChecks   = 1000
	maxPatterns = 5000
)

// validateValue checks a value against a schema: a *ValueError if it is JSON that the schema does
// not allow.
func validateValue(declared, value json.RawMessage) error {
	s, err := schema.Cached(declared)
	if err != nil {
		return fmt.Errorf("interaction: the question's schema: %w", err)
	}
	faults, err := s.Faults(value)
	if err != nil || len(faults) == 0 {
		return err
	}
	e := &ValueError{}
	for _, f := range faults {
		e.Faults = append(e.Faults, Fault(f))
	}
	return e
}

// validateJSON checks that all parsers read the JSON alike: UTF-8, no duplicate members, no
// unpaired surrogates, within the bounds of package schema.
func validateJSON(raw json.RawMessage) error {
	switch {
	case !utf8.Valid(raw):
		return errors.New("it is not UTF-8")
	case len(raw) == 0 || len(bytes.TrimSpace(raw)) != len(raw):
		return errors.New("it is empty, or has blanks around it")
	}
	if _, err := schema.Decode(raw); err != nil {
		return err
	}
	if halfCharacter(raw) {
		return errors.New("an escape is an unpaired surrogate")
	}
	return schema.UniqueKeys(raw)
}

// halfCharacter reports an escaped unpaired surrogate, which parsers decode differently.
func halfCharacter(raw []byte) bool {
	const digits = 4
	unit := func(i int) rune { // the escape at i, or -1
		if !bytes.HasPrefix(raw[i:], []byte(`\u`)) { // in valid JSON, digits follow
			return -1
		}
		var r rune
		for _, c := range bytes.ToLower(raw[i+2 : i+2+digits]) {
			r = r<<4 | rune(strings.IndexByte("0123456789abcdef", c))
		}
		return r
	}
	for i := 0; i < len(raw); i++ {
		if raw[i] != '\\' {
			continue
		}
		switch first := unit(i); {
		case first >= 0xD800 && first < 0xDC00:
			if second := unit(i + 2 + digits); second < 0xDC00 || second > 0xDFFF {
				return true
			}
			i += 3 + 2*digits
		case first >= 0xDC00 && first <= 0xDFFF:
			return true
		default:
			i++ // the escaped character begins no escape
		}
	}
	return false
}

// canonical writes validated JSON as Question.Digest hashes it: without blanks, members sorted by
// name, numbers as written.
func canonical(raw json.RawMessage) (json.RawMessage, error) {
	v, err := schema.Decode(raw)
	if err != nil {
		return nil, err
	}
	return encodeCanonical(v)
}

func encodeCanonical(v any) (json.RawMessage, error) {
	var buf bytes.Buffer
	e := json.NewEncoder(&buf)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte{'\n'}), nil
}

// ErrNoValue: the answer is a text, an automatic decision, or the decision about an approval.
var ErrNoValue = errors.New("interaction: the answer has no value")

// As decodes the value of an answer to a question with a schema. Numbers decode to json.Number
// where T does not fix their type, so that none is rounded. The error matches ErrNoValue, or
// reports that the value is not a T; a schema generated from T (package interaction/typed) rules
// that out.
func As[T any](a Answer) (T, error) {
	var v T
	if len(a.Value) == 0 {
		return v, fmt.Errorf("%w: question %d was settled by %s", ErrNoValue, a.ID, a.Resolution)
	}
	d := json.NewDecoder(bytes.NewReader(a.Value))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		return v, fmt.Errorf("interaction: the answer to question %d: %w", a.ID, err)
	}
	return v, nil
}
