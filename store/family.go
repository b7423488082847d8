package store

import (
	"bytes"
	"encoding/json"
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
	// Zero: nothing is due.
	Due time.Time `json:"due,omitzero"`
	// Kept reports that the run is an ended child whose parent was informed. It is not pruned until
	// the parent has ended too. Nothing is due then.
	Kept bool `json:"-"` // see keptDue
}

const (
	MaxDepth    = 8    // ancestors of a run
	MaxChildren = 1000 // started by a run
)

// keptDue is the stored Due of a child with Kept.
var keptDue = time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)

// storedFamily is a Family in stored form, without Kept.
type storedFamily Family

func (f Family) toStored() storedFamily {
	if f.Kept {
		f.Due, f.Kept = keptDue, false
	}
	return storedFamily(f)
}

// inStore returns the family for the generated writer, which has no name for Kept.
func (f *Family) inStore() *Family {
	if f == nil || !f.Kept {
		return f
	}
	stored := Family(f.toStored())
	return &stored
}

func (f *Family) fromStored() {
	if f.Due.Equal(keptDue) {
		f.Due, f.Kept = time.Time{}, true
	}
}

func (f Family) MarshalJSON() ([]byte, error) { return json.Marshal(f.toStored()) }

func (f *Family) UnmarshalJSON(body []byte) error {
	err := json.Unmarshal(body, (*storedFamily)(f))
	f.fromStored()
	return err
}

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

// KeptForParent reports whether the run is an ended child kept for its parent.
func (r *Run) KeptForParent() bool { return r.Family != nil && r.Family.Kept }

// Prunable reports whether the run has ended, nothing is due for its relatives, and it is not kept
// for its parent.
func (r *Run) Prunable() bool {
	return r.State.Terminal() && (r.Family == nil || r.Family.Due.IsZero() && !r.Family.Kept)
}

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
	case f.Kept && (!f.Due.IsZero() || !r.State.Terminal()) || f.Due.Equal(keptDue):
		return false
	}
	return f.Due.IsZero() || r.State == fsm.StateQueued || r.State.Terminal()
}

func sameAncestors(a, b *Run) bool {
	var of [2][]string
	for i, f := range []*Family{a.Family, b.Family} {
		if f != nil {
			of[i] = f.Ancestors
		}
	}
	return slices.Equal(of[0], of[1])
}

// changesDueAlone reports whether the commit of an ended run changes only its family's Due and Kept.
func (c *Commit) changesDueAlone(prev *Run) bool {
	if prev.Family == nil || c.Run.Family == nil || prev.Prunable() || len(c.Events) > 0 ||
		len(c.Settled) > 0 || c.Usage != nil || len(c.Journal) > 0 {
		return false
	}
	family := *prev.Family
	family.Due, family.Kept = c.Run.Family.Due, c.Run.Family.Kept
	want := *prev
	want.Version, want.Family = c.Run.Version, &family
	a, errA := Encode(want)
	b, errB := Encode(c.Run)
	return errA == nil && errB == nil && bytes.Equal(a, b)
}
