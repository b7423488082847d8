package store

import (
	"bytes"
	"slices"
	"time"

	"github.com/interlude-go/interlude/fsm"
)

// Family relates a run to its ancestors and children; nil without any.
type Family struct {
	// Children is the number of started children. A child whose start was interrupted by a crash
	// may count twice.
	Children int `json:"children"`
	// Ancestors are the ids of the runs above this one, from the tree's root to the parent that
	// started it; empty in a root. They never change.
	Ancestors []string `json:"ancestors,omitempty"`
	// Due is the time from which a node must process the run's relatives: check whether awaited
	// children have ended or, for an ended run, continue a waiting parent and cancel the children.
	// Zero: nothing is due. See EndedChild.
	Due time.Time `json:"due,omitzero"`
}

const (
	MaxDepth    = 8    // ancestors of a run
	MaxChildren = 1000 // started by a run
)

// EndedChild is Family.Due of an ended child whose parent has been informed. The child is not
// pruned until its parent has ended, too.
var EndedChild = time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)

// Parent is the id of the run that has started this one; empty if none.
func (r *Run) Parent() string {
	if r.Family == nil || len(r.Family.Ancestors) == 0 {
		return ""
	}
	return r.Family.Ancestors[len(r.Family.Ancestors)-1]
}

// AwaitsChildren reports whether the run waits for its children. It is not claimed before a commit
// has ended the block.
func (r *Run) AwaitsChildren() bool { return r.Block != nil && r.Block.Kind == BlockChildren }

// DueAt returns the run's next due time: its questions' deadline, or Family.Due.
func (r *Run) DueAt() time.Time {
	if r.Family != nil && r.Deadline.IsZero() {
		return r.Family.Due
	}
	return r.Deadline
}

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

// sameAncestors reports whether the runs have the same place in a tree.
func sameAncestors(a, b *Run) bool {
	var of [2][]string
	for i, f := range []*Family{a.Family, b.Family} {
		if f != nil {
			of[i] = f.Ancestors
		}
	}
	return slices.Equal(of[0], of[1])
}

// changesDueAlone reports whether the commit of an ended run changes only Family.Due.
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
