package storetest

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/slots"
	"github.com/interlude-go/interlude/store"
)

func (m *machine) joins(rt *rapid.T) {
	id := fmt.Sprint("n", rapid.IntRange(1, m.joined+1).Draw(rt, "node"))
	engines := anyEngines(rt)
	err := m.store(rt).Join(m.ctx, store.Node{ID: id, Lease: lease, Engines: engines}, m.now)
	switch n := fmt.Sprint("n", m.joined+1); {
	case id == n:
		require.NoError(rt, err)
		m.joined++
		m.nodes[id], m.has[id] = true, engines
	case m.nodes[id]:
		require.ErrorIs(rt, err, store.ErrExists)
	default: // an expired id: a store may still know it, and need not
		if err == nil {
			m.nodes[id], m.has[id] = true, engines
		}
	}
}

func (m *machine) anyNode(rt *rapid.T) string {
	return fmt.Sprint("n", rapid.IntRange(1, m.joined+1).Draw(rt, "node"))
}

func (m *machine) expires(rt *rapid.T) {
	id := m.anyNode(rt)
	gone, err := m.store(rt).Expire(m.ctx, base, id)
	require.NoError(rt, err)
	if m.nodes[id] {
		require.Len(rt, gone, 1)
		require.Equal(rt, id, gone[0].ID)
	} else {
		require.Empty(rt, gone)
	}
	delete(m.nodes, id)
	m.departs(rt)
	nodes, err := m.store(rt).Nodes(m.ctx)
	require.NoError(rt, err)
	var left []string
	for _, n := range nodes {
		left = append(left, n.ID)
		require.Equal(rt, m.has[n.ID], n.Engines)
	}
	require.Equal(rt, slices.Sorted(maps.Keys(m.nodes)), left)
}

// departs checks the departures after Expire: each gone node that parked runs name has one, whose
// time never changes.
func (m *machine) departs(rt *rapid.T) {
	all, err := m.store(rt).Departures(m.ctx)
	require.NoError(rt, err)
	before := m.gone
	m.gone = map[string]time.Time{}
	for _, d := range all {
		if at, known := before[d.ID]; known {
			require.Equal(rt, at, d.At)
		}
		m.gone[d.ID] = d.At
	}
	for _, s := range m.runs {
		if s.run.Parked() && !m.nodes[s.run.Owner] {
			require.Contains(rt, m.gone, s.run.Owner)
		}
	}
}

func (m *machine) renews(rt *rapid.T) {
	id := m.anyNode(rt)
	holds, err := m.store(rt).Renew(m.ctx, id, m.now)
	if !m.nodes[id] {
		require.ErrorIs(rt, err, store.ErrStaleEpoch)
		return
	}
	require.NoError(rt, err)
	require.ElementsMatch(rt, m.holds(id), holds)
}

func (m *machine) changesPool(rt *rapid.T) {
	p := slots.Pool{
		Name:     rapid.SampledFrom([]string{"p", "q", "late"}).Draw(rt, "pool"),
		Capacity: rapid.IntRange(1, 5).Draw(rt, "capacity"), KeyCapacity: rapid.IntRange(0, 3).Draw(rt, "key capacity"),
	}
	require.NoError(rt, m.store(rt).SetPool(m.ctx, p))
	m.pools[p.Name] = p
}

func (m *machine) prunes(rt *rapid.T) {
	before := m.now.Add(-time.Duration(rapid.Int64Range(0, 3).Draw(rt, "seconds ago")) * time.Second)
	limit := rapid.IntRange(1, 3).Draw(rt, "limit")
	s := m.store(rt)
	n, err := s.Prune(m.ctx, before, limit)
	require.NoError(rt, err)
	old := m.prunable(before)
	require.Equal(rt, min(limit, len(old)), n)
	if n == 0 {
		return
	}
	// Runs that finished at the same time as the last deleted one may be deleted in any order.
	last, gone := old[n-1].FinishedAt, 0
	for _, r := range old {
		missing := readSnapshot(m.ctx, rt, s, r.ID).Missing
		require.False(rt, r.FinishedAt.Before(last) && !missing, "run %s is older than others that were deleted", r.ID)
		require.False(rt, r.FinishedAt.After(last) && missing, "run %s is younger than others that were left", r.ID)
		if missing {
			delete(m.runs, r.ID)
			gone++
		}
	}
	require.Equal(rt, n, gone)
}

func (m *machine) falls(rt *rapid.T) {
	limit := rapid.IntRange(1, 4).Draw(rt, "limit")
	due, next, err := m.store(rt).Due(m.ctx, m.now, limit)
	require.NoError(rt, err)
	want := append(m.due(m.now), m.holdsDue(m.now)...)
	require.Len(rt, due, min(limit, len(want)))
	for i, r := range due {
		require.Equal(rt, want[i].DueAt(), r.DueAt())
		require.Equal(rt, want[i].Held() && want[i].State == fsm.StateQueued, r.Held() && r.State == fsm.StateQueued)
		if want[i].DueAt().IsZero() {
			require.Equal(rt, want[i].Block.Until, r.Block.Until)
		}
		require.Equal(rt, text(rt, m.view(m.runs[r.ID])), text(rt, r))
	}
	require.Equal(rt, m.next(m.now), next)
}

func (m *machine) orphaned(rt *rapid.T) {
	limit := rapid.IntRange(1, 12).Draw(rt, "limit")
	got, err := m.store(rt).Orphans(m.ctx, 0, limit)
	require.NoError(rt, err)
	want := m.orphans()
	require.Len(rt, got, min(limit, len(want)))
	for i, r := range got {
		require.Contains(rt, ids(want), r.ID)
		require.NotContains(rt, ids(got[:i]), r.ID)
		require.Equal(rt, text(rt, m.runs[r.ID].run), text(rt, r))
	}
}

// surveys compares a survey of now, or of a later time, with the model.
func (m *machine) surveys(rt *rapid.T) {
	now := m.now.Add(time.Duration(rapid.Int64Range(0, 3).Draw(rt, "seconds ahead")) * time.Second)
	got, err := m.store(rt).Survey(m.ctx, now)
	require.NoError(rt, err)
	require.Equal(rt, m.survey(now), got)
}

// lists pages through a filtered listing, of all runs or of waiting ones.
func (m *machine) lists(rt *rapid.T) {
	q := store.Query{
		Pool:   rapid.SampledFrom([]string{"", "p", "q"}).Draw(rt, "pool"),
		Key:    rapid.SampledFrom([]string{"", "a"}).Draw(rt, "key"),
		Newest: rapid.Bool().Draw(rt, "newest"), Limit: rapid.IntRange(1, 5).Draw(rt, "limit"),
	}
	q.Held = rapid.IntRange(0, 2).Draw(rt, "held") == 0
	q.ForkedFrom = rapid.SampledFrom([]string{"", "", "r0", "r1"}).Draw(rt, "forked from")
	q.Parent = rapid.SampledFrom(append([]string{"", "", ""}, parents...)).Draw(rt, "parent")
	if rapid.Bool().Draw(rt, "by state") {
		q.States = []fsm.State{fsm.StateQueued, fsm.StateWaitingUser, fsm.StateCanceled}
	}
	s := m.store(rt)
	list, at := s.Runs, func(r store.Run) time.Time { return r.CreatedAt }
	var waiting store.WaitingQuery
	waits := rapid.Bool().Draw(rt, "waiting")
	if waits {
		waiting.For = rapid.SampledFrom(askers).Draw(rt, "for")
		if rapid.IntRange(0, 3).Draw(rt, "due") == 0 {
			waiting.DueBefore = m.now.Add(time.Duration(rapid.Int64Range(0, 3).Draw(rt, "seconds")) * time.Second)
		}
		at = func(r store.Run) time.Time { return r.Open[0].AskedAt }
		list = func(ctx context.Context, q store.Query) (store.Page, error) {
			waiting.Query = q
			return s.Waiting(ctx, waiting)
		}
	}
	want := ids(by(m.where(func(r store.Run) bool {
		return (!waits || waiting.Matches(&r)) && (q.Pool == "" || r.Pool == q.Pool) &&
			(q.Key == "" || r.Key == q.Key) && (!q.Held || r.Held()) &&
			(q.ForkedFrom == "" || r.ForkedFrom != nil && r.ForkedFrom.RunID == q.ForkedFrom) &&
			(q.Parent == "" || r.Parent() == q.Parent) && (q.States == nil || slices.Contains(q.States, r.State))
	}), at))
	if q.Newest {
		slices.Reverse(want)
	}
	got := []string{}
	for {
		page, err := list(m.ctx, q)
		require.NoError(rt, err)
		got = append(got, ids(page.Runs)...)
		if q.After = page.Next; q.After == "" || len(got) > len(want) {
			break
		}
	}
	require.Equal(rt, want, got)
}
