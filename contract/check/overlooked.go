package main

import (
	"cmp"
	"slices"

	"github.com/interlude-go/interlude/contract/audit"
)

// overlooked adds up what was forgiven in all logs.
type overlooked map[audit.Forgiven]int

func (o overlooked) add(list []audit.Forgiven) {
	for _, f := range list {
		n := f.Count
		f.Count = 0
		o[f] += n
	}
}

// list returns the most frequent first.
func (o overlooked) list() []forgiven {
	var all []forgiven
	for f, n := range o {
		all = append(all, forgiven{f.Type, f.Member, f.How, f.Value, n})
	}
	slices.SortFunc(all, func(a, b forgiven) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Type, b.Type), cmp.Compare(a.Member, b.Member),
			cmp.Compare(a.How, b.How),
			cmp.Compare(a.Value, b.Value))
	})
	return all
}
