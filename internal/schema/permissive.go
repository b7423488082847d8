package schema

import "github.com/santhosh-tekuri/jsonschema/v5"

func permitsObjects(s *jsonschema.Schema) bool {
	return permits(s, true, &path{seen: map[*jsonschema.Schema]bool{}, left: maxPermits})
}

// maxPermits limits the schemas that permits visits: each path to a schema counts, and there can be
// exponentially many.
const maxPermits = 100_000

type path struct {
	seen map[*jsonschema.Schema]bool
	left int
}

// permits reports whether s accepts every object, or every value if onlyObjects is false. A
// reference back to itself adds no constraint. Beyond maxPermits the result is false.
func permits(s *jsonschema.Schema, onlyObjects bool, to *path) bool {
	if s == nil || to.seen[s] {
		return true
	}
	if to.left--; to.left < 0 {
		return false
	}
	if s.Always != nil {
		return *s.Always
	}
	to.seen[s] = true
	defer delete(to.seen, s)
	each := func(schemas ...*jsonschema.Schema) bool {
		for _, sub := range schemas {
			if !permits(sub, onlyObjects, to) {
				return false
			}
		}
		return true
	}
	if !permitsType(s.Types, onlyObjects) || s.Constant != nil || s.Enum != nil || s.Not != nil ||
		s.DynamicRef != nil || s.RecursiveRef != nil {
		return false
	}
	if !onlyObjects && constrainsOthers(s) {
		return false
	}
	return permitsMembers(s, to) && each(s.Ref, s.Then, s.Else) && each(s.AllOf...) &&
		permitsOne(s.AnyOf, each) && (len(s.OneOf) == 0 || len(s.OneOf) == 1 && each(s.OneOf...))
}

func permitsType(types []string, onlyObjects bool) bool {
	if len(types) == 0 {
		return true
	}
	for _, t := range types {
		if t == "object" {
			return onlyObjects
		}
	}
	return false
}

func permitsMembers(s *jsonschema.Schema, to *path) bool {
	if s.MinProperties > 0 || s.MaxProperties >= 0 || len(s.Required) > 0 || len(s.DependentRequired) > 0 ||
		len(s.DependentSchemas) > 0 || len(s.Dependencies) > 0 {
		return false
	}
	if extra, ok := s.AdditionalProperties.(bool); ok && !extra {
		return false
	}
	extra, _ := s.AdditionalProperties.(*jsonschema.Schema)
	members := []*jsonschema.Schema{extra, s.PropertyNames, s.UnevaluatedProperties}
	for _, sub := range s.Properties {
		members = append(members, sub)
	}
	for _, sub := range s.PatternProperties {
		members = append(members, sub)
	}
	for _, sub := range members {
		if !permits(sub, false, to) {
			return false
		}
	}
	return true
}

func permitsOne(choices []*jsonschema.Schema, each func(...*jsonschema.Schema) bool) bool {
	if len(choices) == 0 {
		return true
	}
	for _, sub := range choices {
		if each(sub) {
			return true
		}
	}
	return false
}

// constrainsOthers reports whether the schema constrains values that are not objects. It does not
// look inside arrays.
func constrainsOthers(s *jsonschema.Schema) bool {
	return s.Format != "" || s.MinItems > 0 || s.MaxItems >= 0 || s.UniqueItems || s.Items != nil ||
		s.AdditionalItems != nil ||
		s.PrefixItems != nil || s.Items2020 != nil || s.Contains != nil || s.UnevaluatedItems != nil ||
		s.MinLength > 0 || s.MaxLength >= 0 || s.Pattern != nil ||
		s.Minimum != nil || s.Maximum != nil || s.ExclusiveMinimum != nil || s.ExclusiveMaximum != nil ||
		s.MultipleOf != nil
}
