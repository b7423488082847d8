package explain

import (
	"slices"
	"strings"

	"github.com/interlude-go/interlude/contract"
)

// Entry is what is known of one id.
type Entry struct {
	ID string `json:"id"`
	// Kind is state, event, mode, profile, fact, submission, transition, rejection, gate rule,
	// waiting rule, error code, warning code, event type, invariant or requirement.
	Kind string `json:"kind"`
	// Name is what the contract and the events call it, empty for what has an id only.
	Name string `json:"name,omitempty"`
	Doc  string `json:"doc"`
	// Says is what the contract says of it beside that, in order.
	Says []Field `json:"says,omitempty"`
	// Requirements are those that it is there for.
	Requirements []string `json:"requirements,omitempty"`
	// UsedBy are the ids of what names it.
	UsedBy []string `json:"used_by,omitempty"`
}

// Field is one thing that the contract says.
type Field struct {
	Name string `json:"name"`
	Text string `json:"text"`
}

// Requirement is a requirement's id and what it asks for. The contract knows ids only.
type Requirement struct{ ID, Text string }

// Index finds entries by id and by name. It is safe for concurrent use.
type Index struct{ entries []Entry }

// New makes the index of a contract and of the requirements that its entries are there for.
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

// called is what others name the entry by.
func (e *Entry) called() string {
	if e.Name != "" {
		return e.Name
	}
	return e.ID
}

// All returns every entry, in the order of the contract. They are not the caller's to change.
func (x *Index) All() []Entry { return x.entries }

// Find returns the entries with this id or name, in any case of letters. There may be several: an
// event and the type of the event that tells of it may share a name.
func (x *Index) Find(word string) []Entry {
	var found []Entry
	for _, e := range x.entries {
		if strings.EqualFold(e.ID, word) || e.Name != "" && strings.EqualFold(e.Name, word) {
			found = append(found, e)
		}
	}
	return found
}

// Near returns up to three ids or names that somebody may have meant by the word, the nearest
// first.
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

// longest is longer than any name, in bytes.
const longest = 100

// distance is how many letters have to be put in, taken out or changed to make b of a.
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
