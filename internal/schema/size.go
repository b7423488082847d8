package schema

import (
	"fmt"
	"regexp/syntax"
	"strings"
)

// The limits on compiling a schema, checked in its text: the compiler compares all pairs of
// sub-schemas, and the repetitions of a pattern of ten characters can take megabytes.
const (
	// MaxSchemas is the number of objects and booleans in a schema, a bound on its sub-schemas.
	MaxSchemas = 5000
	// maxSearches bounds how many sub-schemas the compiler visits to resolve references by name,
	// each of which visits all.
	maxSearches = 1 << 21
	// MaxInstructions is the total size of the patterns, in instructions of the matcher.
	MaxInstructions = 50_000
	// MaxMemory is an estimate of the compiled schema's bytes. Compiling it takes about six times
	// as many.
	MaxMemory = 16 << 20
)

// Estimates of memory in bytes.
const (
	schemaBytes      = 1500 // of a sub-schema with its entries in the compiler's tables
	pathFactor       = 12   // for each byte of a sub-schema's path, which is kept several times, escaped
	textFactor       = 4    // for each byte of the schema's text
	valueBytes       = 100  // of a value in a list, such as an enum
	instructionBytes = 120  // of an instruction in the program and in its variant for unambiguous patterns
	runeBytes        = 12   // of a bound of a character class, likewise
)

// Size is the size of a schema.
type Size struct {
	// Schemas is the number of objects and booleans.
	Schemas      int
	Instructions int
	// Memory is an estimate of the compiled schema's bytes.
	Memory int

	named int // references by name
}

// Measure computes a schema's size without compiling it. Each member that could be a pattern counts
// as one, since a reference may lead anywhere. The error matches ErrInvalid, and ErrComplex if the
// schema exceeds the limits.
func Measure(raw []byte) (Size, error) {
	v, err := Decode(raw)
	if err != nil {
		return Size{}, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	s := Size{Memory: textFactor * len(raw)}
	if err := s.add(v, 0); err != nil {
		return s, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	return s, nil
}

// add counts the value, whose path has that many bytes. It stops beyond the bounds.
func (s *Size) add(v any, path int) error {
	switch v := v.(type) {
	case bool:
		s.addSchema(path)
	case []any:
		s.Memory += valueBytes * len(v)
		for _, item := range v {
			if err := s.add(item, path+1); err != nil {
				return err
			}
		}
	case map[string]any:
		s.addSchema(path)
		for name, item := range v {
			s.addMember(name, item)
			if err := s.add(item, path+1+len(name)); err != nil {
				return err
			}
		}
	}
	return s.check()
}

func (s *Size) check() error {
	switch {
	case s.Schemas > MaxSchemas:
		return fmt.Errorf("%w: it has more than %d sub-schemas", ErrComplex, MaxSchemas)
	case s.Schemas*s.named > maxSearches:
		return fmt.Errorf("%w: it has %d references by name to %d sub-schemas", ErrComplex, s.named, s.Schemas)
	case s.Instructions > MaxInstructions:
		return fmt.Errorf("%w: its patterns have more than %d instructions", ErrComplex, MaxInstructions)
	case s.Memory > MaxMemory:
		return fmt.Errorf("%w: it would occupy more than %d bytes of memory", ErrComplex, MaxMemory)
	}
	return nil
}

func (s *Size) addSchema(path int) {
	s.Schemas++
	s.Memory += schemaBytes + pathFactor*path
}

// addMember counts a member of an object that is a pattern, has patterns, or is a reference.
func (s *Size) addMember(name string, value any) {
	switch value := value.(type) {
	case string:
		switch {
		case name == "pattern":
			s.addPattern(value)
		case strings.HasSuffix(strings.ToLower(name), "ref") && !strings.HasPrefix(value, "#/"):
			s.named++
		}
	case map[string]any:
		if name != "patternProperties" {
			return
		}
		for pattern := range value {
			s.addPattern(pattern)
		}
	}
}

func (s *Size) addPattern(pattern string) {
	parsed, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil || s.Instructions > MaxInstructions {
		return // the compiler reports the pattern's fault
	}
	const ends = 2 // the instruction that fails, and the match
	n, runes := instructions(parsed)
	s.Instructions += n + ends
	s.Memory += n*instructionBytes + runes*runeBytes
}

// instructions counts the instructions that regexp compiles from a pattern, and the bounds of their
// character classes. Package syntax limits both to some millions.
func instructions(re *syntax.Regexp) (n, runes int) {
	for _, sub := range re.Sub {
		subN, subRunes := instructions(sub)
		n, runes = n+subN, runes+subRunes
	}
	switch re.Op {
	case syntax.OpLiteral:
		return len(re.Rune), len(re.Rune)
	case syntax.OpCharClass:
		return 1, len(re.Rune)
	case syntax.OpCapture, syntax.OpStar:
		return n + 2, runes
	case syntax.OpPlus, syntax.OpQuest:
		return n + 1, runes
	case syntax.OpAlternate:
		return n + len(re.Sub) - 1, runes
	case syntax.OpRepeat:
		if re.Max < 0 {
			return max(re.Min, 1)*n + 2, max(re.Min, 1) * runes
		}
		return re.Max*n + re.Max - re.Min, re.Max * runes
	}
	return max(n, 1), runes
}
