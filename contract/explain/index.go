package explain

import (
	"slices"
	"strings"

	"github.com/interlude-go/interlude/contract"
)

// Entry explains one id.
type Entry struct {
	ID string `json:"id"`
	// Kind is state, event, mode, profile, fact, submission, transition, rejection, gate rule,
	// waiting rule, error code, warning code, event type, protocol version, invariant or
	// requirement.
	Kind string `json:"kind"`
	// Name is its name in the contract and in events; empty if it has only an id.
	Name         string   `json:"name,omitempty"`
	Doc          string   `json:"doc"`
	Says         []Field  `json:"says,omitempty"`
	Requirements []string `json:"requirements,omitempty"`
	// UsedBy are the ids of the entries that refer to this one.
	UsedBy []string `json:"used_by,omitempty"`
}

// Field is one parameter of an entry.
type Field struct {
	Name string `json:"name"`
	Text string `json:"text"`
}

// Requirement is a requirement. The contract has only the ids.
type Requirement struct{ ID, Text string }

// Index finds entries by id and by name. It is safe for concurrent use.
type Index struct{ entries []Entry }

// New creates the index of a contract and its requirements.
func New(l *contract.Lifecycle, requirements []Requirement) *Index {
	b := builder{used: map[thing][]string{}}
	b.lists(l)
	for _, r := range requirements {
		b.add("requirement", "", r.ID, r.Text, nil, nil, nil)
	}
	for i := range b.entries {
		e := &b.entries[i]
		e.UsedBy = slices.Compact(b.used[thing{e.Kind, e.called()}])
	}
	return &Index{b.entries}
}

// called is the name by which others refer to the entry.
func (e *Entry) called() string {
	if e.Name != "" {
		return e.Name
	}
	return e.ID
}

// All returns every entry in the contract's order. Callers must not change them.
func (x *Index) All() []Entry { return x.entries }

// Find returns the entries with this id or name in any case. There may be several: an event of the
// state machine and the type of a stored event may share a name.
func (x *Index) Find(word string) []Entry {
	var found []Entry
	for _, e := range x.entries {
		if strings.EqualFold(e.ID, word) || e.Name != "" && strings.EqualFold(e.Name, word) {
			found = append(found, e)
		}
	}
	return found
}

// Near returns up to three similar ids or names, the nearest first.
func (x *Index) Near(word string) []string {
	type candidate struct {
		word     string
		distance int
	}
	if len(word) > longest {
		return nil
	}
	word = strings.ToUpper(word)
	var all []candidate
	for _, e := range x.entries {
		for _, known := range []string{e.ID, e.Name} {
			if known == "" || slices.ContainsFunc(all, func(c candidate) bool { return c.word == known }) {
				continue
			}
			upper := strings.ToUpper(known)
			d := distance(word, upper)
			if part := len(word) >= 3 && (strings.Contains(upper, word) || strings.Contains(word, upper)); part {
				d = min(d, 2)
			}
			if d <= max(2, len(known)/3) && d < len(word) {
				all = append(all, candidate{known, d})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b candidate) int { return a.distance - b.distance })
	var near []string
	for _, c := range all[:min(3, len(all))] {
		near = append(near, c.word)
	}
	return near
}

// longest is more than the length of any name in bytes.
const longest = 100

// distance is the number of letters to insert, delete or replace to turn a into b.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := before
			if a[i] != b[j] {
				change++
			}
			before = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
