package schema

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v5"
)

// maxReasons and maxReason bound an explanation, which may be stored or shown to a person.
const (
	maxReasons = 5
	maxReason  = 300
)

// explain turns the validator's tree of errors into a short, stable text: the reasons at the
// leaves, with their places, sorted because the validator finds them in random order.
func explain(err error) error {
	var violation *jsonschema.ValidationError
	if !errors.As(err, &violation) {
		return errors.New(clip(strings.TrimPrefix(err.Error(), "jsonschema: ")))
	}
	reasons := leaves(violation, nil)
	slices.Sort(reasons)
	reasons = slices.Compact(reasons)
	more := ""
	if n := len(reasons) - maxReasons; n > 0 {
		reasons, more = reasons[:maxReasons], fmt.Sprintf("; and %d more", n)
	}
	return errors.New(strings.Join(reasons, "; ") + more)
}

// explainCompile keeps the cause of a refused reference visible to errors.Is, and explains a schema
// that breaks its meta-schema.
func explainCompile(err error) error {
	if errors.Is(err, ErrReference) {
		var wrong *jsonschema.SchemaError
		if errors.As(err, &wrong) {
			return wrong.Err
		}
		return err
	}
	return explain(err)
}

func leaves(v *jsonschema.ValidationError, reasons []string) []string {
	if len(v.Causes) == 0 {
		place := v.InstanceLocation
		if place == "" {
			place = "/"
		}
		return append(reasons, clip(place+": "+ordered(v.Message)))
	}
	for _, cause := range v.Causes {
		reasons = leaves(cause, reasons)
	}
	return reasons
}

// ordered sorts the names in a message that lists members in random order.
func ordered(message string) string {
	const between, end = "', '", "' not allowed"
	for _, begin := range []string{"additionalProperties '", "unevaluatedProperties '"} {
		if names, ok := strings.CutPrefix(message, begin); ok && strings.HasSuffix(names, end) {
			list := strings.Split(strings.TrimSuffix(names, end), between)
			slices.Sort(list)
			return begin + strings.Join(list, between) + end
		}
	}
	return message
}

// Fault is a violation of the schema at one place in a document.
type Fault struct {
	Pointer string // the place as a JSON pointer; empty for the whole document
	Want    string
}

const maxFaults = 20

// faultsOf collects the violations without another cause, the leaves of the validator's tree.
func faultsOf(v *jsonschema.ValidationError, list []Fault) []Fault {
	if len(v.Causes) == 0 {
		return append(list, Fault{clip(v.InstanceLocation), clip(ordered(v.Message))})
	}
	for _, cause := range v.Causes {
		list = faultsOf(cause, list)
	}
	return list
}

func clip(s string) string {
	if len(s) <= maxReason {
		return s
	}
	return strings.ToValidUTF8(s[:maxReason], "") + "…"
}
