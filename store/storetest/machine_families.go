package storetest

import (
	"slices"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/interlude-go/interlude/store"
)

// This file has the machine's steps for families of runs (M3). A store lists the children of a run,
// returns runs when Family.Due has come, and neither claims a run that waits for children nor
// prunes a run with a Family.Due or Family.Kept. It does not read the awaited children, so they
// need not exist.

// parents are the runs that have children. They may be children of each other.
var parents = []string{"r0", "r1", "r2"}

// placesInFamily may make a new run the child of another one.
func (m *machine) placesInFamily(rt *rapid.T, r *store.Run) {
	parent := rapid.SampledFrom(append([]string{""}, parents...)).Draw(rt, "parent")
	if parent == "" || parent == r.ID {
		return
	}
	family := &store.Family{}
	if s := m.runs[parent]; s != nil && s.run.Family != nil {
		family.Ancestors = slices.Clone(s.run.Family.Ancestors)
	}
	family.Ancestors = append(family.Ancestors, parent)
	if !slices.Contains(family.Ancestors, r.ID) { // a run may have been pruned, and its id used again
		r.Family = family
	}
}

// awaits counts a child of a running run, which then waits for children.
func (m *machine) awaits(rt *rapid.T, r store.Run) store.Commit {
	c := queuedAgain(r, m.now)
	count(&c.Run)
	c.Run.Yielded++
	c.Run.Block = &store.Block{Kind: store.BlockChildren, Children: []string{"r3", "r4"}[:rapid.IntRange(1, 2).
		Draw(rt, "children")], Any: rapid.Bool().Draw(rt, "any")}
	c.Run.Family.Due = m.anyDue(rt)
	if rapid.Bool().Draw(rt, "for a time") {
		c.Run.Block.Until = m.now.Add(time.Second)
	}
	return c
}

// anyDue draws when the relatives of a run are due: never, now or later.
func (m *machine) anyDue(rt *rapid.T) time.Time {
	return rapid.SampledFrom([]time.Time{{}, m.now, m.now.Add(time.Second)}).Draw(rt, "family due")
}

func (m *machine) listsChildren(rt *rapid.T) {
	parent := rapid.SampledFrom(parents).Draw(rt, "parent")
	page, err := m.store(rt).Runs(m.ctx, store.Query{Parent: parent, Limit: store.MaxBatch})
	require.NoError(rt, err)
	children := m.where(func(r store.Run) bool { return r.Parent() == parent })
	require.Equal(rt, ids(by(children, func(r store.Run) time.Time { return r.CreatedAt })), ids(page.Runs))
}
