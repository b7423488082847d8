package schema

import "github.com/santhosh-tekuri/jsonschema/v5"

// MaxCost limits how often a schema may check one value: thirty definitions that each refer twice
// to the next one would check it a billion times. The count covers one level; maxWork bounds a
// whole document.
const MaxCost = 10_000

// costsOf counts how often validating a value checks this value, but not its members, by following
// references and combinations. It stops counting above MaxCost.
func costsOf(s *jsonschema.Schema) *coster {
	c := &coster{counts: map[*jsonschema.Schema]int{}, walked: map[*jsonschema.Schema]bool{}}
	c.walk(s)
	return c
}

type coster struct {
	counts  map[*jsonschema.Schema]int // checks of the same value, per schema; -1 while they are being counted
	walked  map[*jsonschema.Schema]bool
	highest int
}

func (c *coster) walk(s *jsonschema.Schema) {
	if s == nil || c.walked[s] {
		return
	}
	c.walked[s] = true
	c.highest = max(c.highest, c.inPlace(s))
	for _, sub := range inPlace(s) {
		c.walk(sub)
	}
	for _, sub := range members(s) {
		c.walk(sub)
	}
}

func (c *coster) inPlace(s *jsonschema.Schema) int {
	if s == nil {
		return 0
	}
	if n, ok := c.counts[s]; ok {
		return max(n, 0) // the validator itself refuses a loop
	}
	c.counts[s] = -1
	n := 1 + len(s.Required)/namesOfCheck
	for _, names := range s.DependentRequired {
		n += len(names)
	}
	for _, sub := range inPlace(s) {
		n = min(n+c.inPlace(sub), MaxCost+1)
	}
	c.counts[s] = n
	return n
}

// inPlace lists the schemas that s applies to the same value.
func inPlace(s *jsonschema.Schema) []*jsonschema.Schema {
	subs := []*jsonschema.Schema{s.Ref, s.RecursiveRef, s.DynamicRef, s.Not, s.If, s.Then, s.Else}
	subs = append(subs, s.AllOf...)
	subs = append(subs, s.AnyOf...)
	subs = append(subs, s.OneOf...)
	for _, sub := range s.DependentSchemas {
		subs = append(subs, sub)
	}
	for _, d := range s.Dependencies {
		if sub, ok := d.(*jsonschema.Schema); ok {
			subs = append(subs, sub)
		}
	}
	return subs
}

// members lists the schemas that s applies to parts of the value.
func members(s *jsonschema.Schema) []*jsonschema.Schema {
	subs := []*jsonschema.Schema{s.PropertyNames, s.UnevaluatedProperties, s.Items2020, s.Contains, s.UnevaluatedItems,
		s.ContentSchema}
	subs = append(subs, s.PrefixItems...)
	for _, sub := range s.Properties {
		subs = append(subs, sub)
	}
	for _, sub := range s.PatternProperties {
		subs = append(subs, sub)
	}
	for _, either := range []any{s.AdditionalProperties, s.Items, s.AdditionalItems} {
		switch sub := either.(type) {
		case *jsonschema.Schema:
			subs = append(subs, sub)
		case []*jsonschema.Schema:
			subs = append(subs, sub...)
		}
	}
	return subs
}
