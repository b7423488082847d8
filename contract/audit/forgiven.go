package audit

import (
	"cmp"
	"maps"
	"slices"
)

// How a member departs from the contract in a way that is forgiven.
const (
	Missing = "missing" // it is required, and something was taken in its place
	Null    = "null"    // it may be missing, or is then made up for
	Unknown = "unknown" // the contract has no such member
)

// Forgiven is a departure from the contract that was passed over, and how often.
type Forgiven struct {
	Type   string // event type, empty for the envelope
	Member string // path from the data, or from the envelope
	How    string // Missing, Null or Unknown
	Count  int
}

// mark is one departure.
type mark struct{ typ, member, how string }

// forgiven counts departures. What is unknown is named by the log: its names are bounded in length and number.
type forgiven map[mark]int

const (
	maxForgiven = 100
	maxName     = 80  // bytes
	others      = "…" // stands for the names that are too many
)

func (f forgiven) add(made []mark) {
	for _, m := range made {
		if len(m.member) > maxName {
			m.member = others
		}
		if _, ok := f[m]; !ok && len(f) >= maxForgiven && m.how == Unknown {
			m = mark{m.typ, others, Unknown}
		}
		f[m]++
	}
}

// list returns the most frequent first.
func (f forgiven) list() []Forgiven {
	var all []Forgiven
	for m := range maps.Keys(f) {
		all = append(all, Forgiven{m.typ, m.member, m.how, f[m]})
	}
	slices.SortFunc(all, func(a, b Forgiven) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Type, b.Type), cmp.Compare(a.Member, b.Member), cmp.Compare(a.How, b.How))
	})
	return all
}
