package audit

import (
	"cmp"
	"maps"
	"slices"
)

// How a member departs from the contract in a way that is forgiven.
const (
	Missing = "missing" // the contract requires it
	Null    = "null"    // it is null, and counts as missing
	Unknown = "unknown" // the contract has no such member
	// the contract has no such event type, code or policy, or the member has another form and
	// counts as missing
	Foreign  = "foreign"
	Zoneless = "without a zone" // a time that is taken for UTC
)

// Forgiven is a departure from the contract that was passed over, and how often.
type Forgiven struct {
	Type   string // event type, empty for the envelope
	Member string // path from the data, or from the envelope; empty for an event type that the contract does not have
	How    string // Missing, Null, Unknown, Foreign or Zoneless
	Value  string // the foreign code or policy, where that is what is foreign
	Count  int
}

// mark is one departure.
type mark struct{ typ, member, how, value string }

// forgiven counts departures. What is unknown or foreign is named by the log: its names are bounded
// in length and number.
type forgiven map[mark]int

const (
	maxForgiven = 100
	maxName     = 80  // bytes
	others      = "…" // stands for the names that are too many
)

func (f forgiven) add(marks []mark) {
	for _, m := range marks {
		for _, name := range []*string{&m.typ, &m.member, &m.value} {
			if len(*name) > maxName {
				*name = others
			}
		}
		if _, ok := f[m]; !ok && len(f) >= maxForgiven {
			switch {
			case m.how == Unknown:
				m = mark{typ: m.typ, member: others, how: Unknown}
			case m.value != "":
				m.value = others
			case m.member == "":
				m.typ = others
			}
		}
		f[m]++
	}
}

// list returns the most frequent first.
func (f forgiven) list() []Forgiven {
	var all []Forgiven
	for m := range maps.Keys(f) {
		all = append(all, Forgiven{m.typ, m.member, m.how, m.value, f[m]})
	}
	slices.SortFunc(all, func(a, b Forgiven) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Type, b.Type), cmp.Compare(a.Member, b.Member),
			cmp.Compare(a.How, b.How),
			cmp.Compare(a.Value, b.Value))
	})
	return all
}
