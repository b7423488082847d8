package audit

import (
	"cmp"
	"maps"
	"slices"
)

const (
	Missing = "missing" // the contract requires the member
	Null    = "null"    // the member is null, and counts as missing
	Unknown = "unknown" // the contract has no member of this name
	// an unknown event type, code or policy, or a member of another form, which counts as missing
	Foreign  = "foreign"
	Zoneless = "without a zone" // a time that is read as UTC
	// a time of the event other than its ts, or a deadline that is not due
	OtherTime  = "at another time"
	Miscounted = "counted differently"        // an attempt, or the number of a question
	Early      = "before its change of state" // a question
)

// Forgiven is a kind of accepted deviation from the contract, and how often it occurred.
type Forgiven struct {
	Type   string // event type, empty for the envelope
	Member string // path from the data, or from the envelope; empty for the event as a whole
	How    string // Missing, Null and so on
	Value  string // the foreign code or policy, if there is one
	Count  int
}

type mark struct{ typ, member, how, value string }

// forgiven counts the accepted deviations. Names of unknown and foreign members come from the log,
// so their length and number are bounded.
type forgiven map[mark]int

const (
	maxForgiven = 100
	maxName     = 80  // bytes
	others      = "…" // replaces names that are too long or too many
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

// list returns the deviations, the most frequent first.
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
