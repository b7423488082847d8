package store

import (
	"bytes"
	"slices"
	"time"

	"github.com/interlude-go/interlude/fsm"
)

// Family relates a run to its ancestors and children. A run without any of them has none.
type Family struct {
	// Children is the number of started children. A child whose start was interrupted by a crash may
	// count twice.
	Children int `json:"children"`
	// Ancestors are the ids of the runs above this one, from the root of the tree down to the run's
	// parent, which has started it; empty in a root. They never change.
	Ancestors []string `json:"ancestors,omitempty"`
	// Due is the time from which a node must process the run's relatives. If the run waits for
	// children, the node checks whether they have ended. If the run has ended, the node continues a
	// waiting parent and cancels the run's children. Zero: nothing is due. See EndedChild.
	Due time.Time `json:"due,omitzero"`
}

// Limits of families.
const (
	MaxDepth    = 8    // ancestors of a run
	MaxChildren = 1000 // that a run starts
)

// EndedChild is Family.Due of a child that has ended, once its parent has been informed. The child
// keeps this value, and is not pruned, until its parent has ended too.
var EndedChild = time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)

// Parent is the id of the run that has started this one; empty if none has.
func (r *Run) Parent() string {
	if r.Family == nil || len(r.Family.Ancestors) == 0 {
		return ""
	}
	return r.Family.Ancestors[len(r.Family.Ancestors)-1]
}

// AwaitsChildren reports whether the run waits for children of it to end. It is not claimed before
// a commit has ended the block.
func (r *Run) AwaitsChildren() bool { return r.Block != nil && r.Block.Kind == BlockChildren }

// DueAt returns the run's next due time: the deadline of its questions, or Family.Due.
func (r *Run) DueAt() time.Time {
	if r.Family != nil && r.Deadline.IsZero() {
		return r.Family.Due
	}
	return r.Deadline
}

// fits reports whether the run may have the family.
func (f *Family) fits(r *Run) bool {
	switch {
	case len(f.Ancestors) > MaxDepth || f.Children < 0 || f.Children > MaxChildren || !storable(f.Due):
		return false
	case len(f.Ancestors) == 0 && f.Children == 0:
		return false
	case slices.Contains(f.Ancestors, "") || slices.Contains(f.Ancestors, r.ID):
		return false
	}
	return f.Due.IsZero() || r.State == fsm.StateQueued || r.State.Terminal()
}

// sameAncestors reports whether the runs are of the same tree, at the same place.
func sameAncestors(a, b *Run) bool {
	var of [2][]string
	for i, f := range []*Family{a.Family, b.Family} {
		if f != nil {
			of[i] = f.Ancestors
		}
	}
	return slices.Equal(of[0], of[1])
}

// changesDueAlone reports whether the commit of a run that has ended changes nothing but
// Family.Due.
func (c *Commit) changesDueAlone(prev *Run) bool {
	if prev.Family == nil || c.Run.Family == nil || prev.Family.Due.IsZero() || len(c.Events) > 0 ||
		len(c.Settled) > 0 || c.Usage != nil || len(c.Journal) > 0 {
		return false
	}
	family := *prev.Family
	family.Due = c.Run.Family.Due
	want := *prev
	want.Version, want.Family = c.Run.Version, &family
	a, errA := Encode(want)
	b, errB := Encode(c.Run)
	return errA == nil && errB == nil && bytes.Equal(a, b)
}
