package schema

import (
	"encoding/json"
	"regexp"
	"regexp/syntax"
	"slices"

	"github.com/santhosh-tekuri/jsonschema/v5"
)

// maxWork bounds the checks of a document in all its places. The validator cannot be interrupted,
// and a schema that applies itself twice to a member doubles its work with each level of a
// document. So the checks are counted before, which costs less and ends at the bound. A check takes
// microseconds, and half a kilobyte if it fails.
const maxWork = 500_000

// How much work counts as one check.
const (
	namesOfCheck  = 4    // required names: a failure lists all that are missing
	membersOfStep = 8    // members or items of a value, which the validator notes at each check of it
	runesOfCheck  = 1000 // bytes of a text
	digitsOfCheck = 50   // of a number, which is compared as a fraction
	stepsOfCheck  = 100  // instructions of a pattern, each for each byte of a text
	deepest       = 20_000
)

type worker struct {
	s    *Schema
	left int
}

// affordable reports whether checking the document stays within maxWork.
func (s *Schema) affordable(v any) bool {
	w := worker{s, maxWork}
	w.check(s.compiled, v, 0)
	return w.left >= 0
}

func (w *worker) spend(n int) { w.left -= n }

// check counts the checks of a value against a schema, as if none had failed.
func (w *worker) check(s *jsonschema.Schema, v any, depth int) {
	if s == nil || w.left < 0 {
		return
	}
	if depth > deepest {
		w.left = -1
		return
	}
	w.spend(1)
	if s.Always != nil || len(s.Types) > 0 && !hasType(s.Types, v) {
		return
	}
	p := w.s.parts[s]
	if p == nil { // of a meta-schema
		w.left = -1
		return
	}
	w.spend(p.names)
	if p.keyed {
		w.measure(v)
	}
	switch v := v.(type) {
	case map[string]any:
		w.members(s, v, depth+1)
	case []any:
		w.items(s, v, depth+1)
	case string:
		w.spend(len(v)/runesOfCheck + p.pattern*len(v)/stepsOfCheck)
	case json.Number:
		w.spend(len(v) / digitsOfCheck)
	}
	for _, sub := range p.inPlace {
		w.check(sub, v, depth+1)
	}
}

func (w *worker) members(s *jsonschema.Schema, v map[string]any, depth int) {
	w.spend(len(v)/membersOfStep + len(s.Properties)/membersOfStep)
	for name, sub := range s.Properties {
		if item, ok := v[name]; ok {
			w.check(sub, item, depth)
		}
	}
	other, _ := s.AdditionalProperties.(*jsonschema.Schema)
	if s.PropertyNames == nil && other == nil && s.UnevaluatedProperties == nil && len(s.PatternProperties) == 0 {
		return
	}
	for name, item := range v {
		w.check(s.PropertyNames, name, depth)
		for pattern, sub := range s.PatternProperties {
			w.spend(1 + w.s.parts[s].patterns[pattern]*len(name)/stepsOfCheck)
			if w.left >= 0 && pattern.MatchString(name) {
				w.check(sub, item, depth)
			}
		}
		if s.Properties[name] == nil {
			w.check(other, item, depth)
			w.check(s.UnevaluatedProperties, item, depth)
		}
	}
}

func (w *worker) items(s *jsonschema.Schema, v []any, depth int) {
	w.spend(len(v) / membersOfStep)
	each, _ := s.Items.(*jsonschema.Schema)
	listed, _ := s.Items.([]*jsonschema.Schema)
	more, _ := s.AdditionalItems.(*jsonschema.Schema)
	for i, item := range v {
		w.check(each, item, depth)
		if i < len(listed) {
			w.check(listed[i], item, depth)
		} else {
			w.check(more, item, depth)
		}
		if i < len(s.PrefixItems) {
			w.check(s.PrefixItems[i], item, depth)
		} else {
			w.check(s.Items2020, item, depth)
		}
		w.check(s.Contains, item, depth)
		w.check(s.UnevaluatedItems, item, depth)
		if w.left < 0 {
			return
		}
	}
}

// measure counts a document's values, which a look-up in an enum reads.
func (w *worker) measure(v any) {
	if w.left < 0 {
		return
	}
	w.spend(1)
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			w.measure(item)
		}
	case map[string]any:
		for _, item := range v {
			w.measure(item)
		}
	case string:
		w.spend(len(v) / runesOfCheck)
	}
}

// hasType reports whether the value may be of one of the types.
func hasType(types []string, v any) bool {
	var is string
	switch v.(type) {
	case nil:
		is = "null"
	case bool:
		is = "boolean"
	case string:
		is = "string"
	case []any:
		is = "array"
	case map[string]any:
		is = "object"
	default:
		return slices.Contains(types, "number") || slices.Contains(types, "integer")
	}
	return slices.Contains(types, is)
}

type parts struct {
	inPlace  []*jsonschema.Schema
	names    int // required ones, in checks
	keyed    bool
	pattern  int // instructions
	patterns map[*regexp.Regexp]int
}

func (p *parts) add(all []*jsonschema.Schema) {
	for _, s := range all {
		if !slices.Contains(p.inPlace, s) {
			p.inPlace = append(p.inPlace, s)
		}
	}
}

// partsOf prepares the counting for each reachable schema. References that depend on the path to
// them count for each schema to which they can lead.
func partsOf(all map[*jsonschema.Schema]bool) map[*jsonschema.Schema]*parts {
	anchored := map[string][]*jsonschema.Schema{}
	var recursive []*jsonschema.Schema
	for s := range all {
		if s.DynamicAnchor != "" {
			anchored[s.DynamicAnchor] = append(anchored[s.DynamicAnchor], s)
		}
		if s.RecursiveAnchor {
			recursive = append(recursive, s)
		}
	}
	prepared := make(map[*jsonschema.Schema]*parts, len(all))
	for s := range all {
		p := &parts{names: len(s.Required) / namesOfCheck, pattern: sizeOf(s.Pattern),
			keyed: len(s.Extensions)+len(s.Enum)+len(s.Constant) > 0}
		for _, sub := range inPlace(s) {
			if sub != nil {
				p.inPlace = append(p.inPlace, sub)
			}
		}
		if s.DynamicRef != nil {
			p.add(anchored[s.DynamicRef.DynamicAnchor])
		}
		if s.RecursiveRef != nil {
			p.add(recursive)
		}
		for _, names := range s.DependentRequired {
			p.names += len(names)
		}
		for pattern := range s.PatternProperties {
			if p.patterns == nil {
				p.patterns = make(map[*regexp.Regexp]int, len(s.PatternProperties))
			}
			p.patterns[pattern] = sizeOf(pattern)
		}
		prepared[s] = p
	}
	return prepared
}

func sizeOf(pattern *regexp.Regexp) int {
	if pattern == nil {
		return 0
	}
	parsed, err := syntax.Parse(pattern.String(), syntax.Perl)
	if err != nil {
		return 1
	}
	n, _ := instructions(parsed)
	return n
}
