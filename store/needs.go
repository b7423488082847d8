package store

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// A record that uses a feature which came after the numbered forms stands in a list after the names
// of the features that a reader must know: [{"needs":["withheld","only"]},{…}]. Releases that do
// not know one of the names refuse the record, as do all releases before these names.
const (
	needsPrefix = `[{"needs":`
	needsSuffix = "},"
)

// A feature is something that a record may use and that earlier releases do not know.
type feature struct {
	name string
	used func(r *Run) bool
}

// features are all features, in the order in which a record names them. A new one is added at the
// end.
var features = []feature{
	// A fork that does not inherit all answers of its source. An earlier release would have its
	// engine continue without the answer, or with one of another person.
	{"withheld", func(r *Run) bool {
		return r.ForkedFrom != nil && (r.ForkedFrom.AsksAgain > 0 || r.ForkedFrom.Withholds)
	}},
	// A question that accepts only its options, or marks the one that means yes. An earlier release
	// would accept any text, and give the engine an answer without its Selection.
	{"only", func(r *Run) bool {
		if r.Answer != nil && r.Answer.Selection != nil || r.Pending != nil && r.Pending.HasSelection() {
			return true
		}
		for i := range r.Siblings {
			if r.Siblings[i].HasSelection() {
				return true
			}
		}
		return false
	}},
}

// needsForm is the beginning of the list in which the record stands, with the names of the features
// that it uses; empty if it uses none.
func (r *Run) needsForm() string {
	var names []string
	for _, f := range features {
		if f.used(r) {
			names = append(names, `"`+f.name+`"`)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return needsPrefix + "[" + strings.Join(names, ",") + "]" + needsSuffix
}

// withoutNeeds returns the record in a list with names of features, and true if it is one. The
// error names a feature that this release does not know.
func withoutNeeds(body []byte) (record []byte, ok bool, _ error) {
	rest, ok := bytes.CutPrefix(body, []byte(needsPrefix))
	if !ok {
		return nil, false, nil
	}
	list, record, ok := bytes.Cut(rest, []byte(needsSuffix))
	if !ok {
		return nil, false, nil
	}
	if record, ok = bytes.CutSuffix(record, []byte(formSuffix)); !ok {
		return nil, false, nil
	}
	var names []string
	if err := json.Unmarshal(list, &names); err != nil {
		return nil, false, fmt.Errorf("the features that it needs: %w", err)
	}
	for _, name := range names {
		if !slices.ContainsFunc(features, func(f feature) bool { return f.name == name }) {
			return nil, false, fmt.Errorf("it needs %.80q, which this release does not know: upgrade this node", name)
		}
	}
	return record, true, nil
}
