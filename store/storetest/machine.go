package storetest

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/slots"
	"github.com/interlude-go/interlude/store"
)

// runMachine executes random operations on the store and on the model, which must always agree.
func runMachine(t testing.TB, h Harness) {
	t.Helper()
	rapid.Check(t, func(rt *rapid.T) {
		m := &machine{tb: t, ctx: t.Context(), harness: h, model: newModel(), now: base, first: h.Open(t)}
		m.other = m.first
		if h.Also != nil {
			m.other = h.Also(t, m.first)
		}
		defer m.close(rt)
		for _, p := range []slots.Pool{{Name: "p", Capacity: 3}, {Name: "q", Capacity: 4, KeyCapacity: 1}} {
			require.NoError(rt, m.first.SetPool(m.ctx, p))
			m.pools[p.Name] = p
		}
		for range 2 {
			m.joined++
			id := fmt.Sprint("n", m.joined)
			require.NoError(rt, m.first.Join(m.ctx, store.Node{ID: id, Lease: lease}, base))
			m.nodes[id] = true
		}
		actions := map[string]func(*rapid.T){
			"": m.check, "commit": m.commits, "commit more": m.commits, "claim": m.claims, "claim again": m.claims,
			"later": m.later,
			"join":  m.joins, "expire": m.expires, "renew": m.renews, "pool": m.changesPool, "prune": m.prunes,
			"due":     m.falls,
			"orphans": m.orphaned, "read": m.reads, "list": m.lists, "survey": m.surveys,
			"list children": m.listsChildren,
		}
		if h.Reopen != nil {
			actions["restart"] = m.restart
		}
		rt.Repeat(actions)
	})
}

// machine is the store, used through two handles, and its model.
type machine struct {
	*model
	tb      testing.TB
	ctx     context.Context
	harness Harness
	first   store.Store
	other   store.Store
	now     time.Time
	joined  int
}

func (m *machine) close(rt *rapid.T) {
	require.NoError(rt, m.other.Close())
	require.NoError(rt, m.first.Close())
}

func (m *machine) store(rt *rapid.T) store.Store {
	if rapid.Bool().Draw(rt, "other handle") {
		return m.other
	}
	return m.first
}

// restart reopens the first handle, after closing it or abandoning it like a process that dies. The
// other handle, another process's, stays open.
func (m *machine) restart(rt *rapid.T) {
	again := m.harness.Reopen
	if rapid.Bool().Draw(rt, "crash") {
		again = m.harness.Crash
	}
	alone := m.other == m.first
	m.first = again(m.tb, m.first)
	if alone {
		m.other = m.first
	}
}

func (m *machine) later(rt *rapid.T) {
	m.now = m.now.Add(time.Duration(rapid.SampledFrom([]int64{1, 1000, 1_000_000, 3_000_000}).Draw(rt,
		"microseconds")) * time.Microsecond)
}

// check compares all runs with the model after each step.
func (m *machine) check(rt *rapid.T) {
	page, err := m.first.Runs(m.ctx, store.Query{Limit: store.MaxBatch})
	require.NoError(rt, err)
	want := by(m.where(func(store.Run) bool { return true }), func(r store.Run) time.Time { return r.CreatedAt })
	require.Equal(rt, ids(want), ids(page.Runs))
	for i := range want {
		require.Equal(rt, text(rt, want[i]), text(rt, page.Runs[i]))
	}
	pools, err := m.first.Pools(m.ctx)
	require.NoError(rt, err)
	require.Equal(rt, m.use(), pools)
}

// reads has a handle read everything of one run, which may be missing.
func (m *machine) reads(rt *rapid.T) {
	id := m.anyID(rt)
	s := m.store(rt)
	require.Equal(rt, m.snapshot(rt, id), readSnapshot(m.ctx, rt, s, id))
	key := rapid.SampledFrom(replyKeys).Draw(rt, "key")
	got, err := s.Settled(m.ctx, id, key)
	if want := m.settled(id, key); want != nil {
		require.NoError(rt, err)
		require.Equal(rt, *want, got)
	} else {
		require.ErrorIs(rt, err, store.ErrNotFound)
	}
}

// claims lets a node claim, and judges which runs were picked.
func (m *machine) claims(rt *rapid.T) {
	node := rapid.SampledFrom(append(slices.Sorted(maps.Keys(m.nodes)), "stranger")).Draw(rt, "node")
	limit := rapid.IntRange(1, 6).Draw(rt, "max")
	engines := anyEngines(rt)
	suspects := engines != nil && rapid.Bool().Draw(rt, "suspects")
	var drained, noSuspects bool
	claimed, err := m.store(rt).Claim(m.ctx, store.ClaimRequest{Node: node, Now: m.now, Max: limit, Engines: engines,
		Suspects: suspects, Drained: &drained, NoSuspects: &noSuspects, Start: Started(m.now)})
	if !m.nodes[node] {
		require.ErrorIs(rt, err, store.ErrStaleEpoch)
		return
	}
	require.NoError(rt, err)
	p := &picks{model: m.model, node: node, now: m.now, limit: limit, engines: engines,
		suspect: suspects, drained: drained, noSuspects: noSuspects}
	for _, c := range claimed {
		p.got = append(p.got, c.Run.ID)
	}
	require.Empty(rt, p.fault(), "picked %v", p.got)
	for _, c := range claimed {
		prev := m.runs[c.Run.ID].run.Clone()
		prev.Slot, prev.Owner = true, node
		prev.Epoch++
		made, err := Started(m.now)(prev, nil)
		require.NoError(rt, err)
		require.NoError(rt, m.commit(made))
		require.Equal(rt, text(rt, made.Run), text(rt, c.Run))
		require.Equal(rt, m.runs[c.Run.ID].spec, string(c.Spec))
	}
}

func anyEngines(rt *rapid.T) []string {
	return rapid.SampledFrom([][]string{nil, {"agent"}, {"agent", "other"}, {"none", "other", "third"},
		{"none"}}).Draw(rt, "engines")
}

// commits stores a batch of drafts. A later one may follow up on an earlier one.
func (m *machine) commits(rt *rapid.T) {
	var batch []store.Commit
	var want []error
	for range rapid.IntRange(1, 4).Draw(rt, "entries") {
		c := m.draft(rt)
		batch = append(batch, c)
		want = append(want, m.commit(c))
	}
	errs := m.store(rt).Commit(m.ctx, batch)
	require.Len(rt, errs, len(batch))
	for i := range want {
		if want[i] == nil {
			require.NoError(rt, errs[i])
		} else {
			require.ErrorIs(rt, errs[i], want[i])
		}
	}
}

var replyKeys = []string{"", "k1", "k2"}

func (m *machine) anyID(rt *rapid.T) string {
	return fmt.Sprint("r", rapid.IntRange(0, 11).Draw(rt, "run"))
}

// draft draws a step that the run could take. Some drafts have lost a race, some have a fence.
func (m *machine) draft(rt *rapid.T) store.Commit {
	id := m.anyID(rt)
	s := m.runs[id]
	if s == nil || rapid.IntRange(0, 19).Draw(rt, "taken") == 0 {
		return m.submission(rt, id)
	}
	seen := m.view(s)
	if rapid.IntRange(0, 9).Draw(rt, "seen before its node went") == 0 {
		seen = s.run
	}
	c := m.step(rt, seen)
	if seen.State == fsm.StateRunning && c.Run.State != seen.State && rapid.Bool().Draw(rt, "reports usage") {
		c = using(c, rapid.Int64Range(1, 9).Draw(rt, "usage"))
	}
	if seen.State == fsm.StateRunning && rapid.Bool().Draw(rt, "keeps something") {
		c = keeping(c, kept(rapid.IntRange(1, 9).Draw(rt, "entry")))
	}
	if s.run.Prunable() || rapid.IntRange(0, 9).Draw(rt, "raced") == 0 {
		c.Expect++
		c.Run.Version++
	}
	switch rapid.IntRange(0, 5).Draw(rt, "fence") {
	case 0:
		c.Fence = &store.Fence{Node: s.run.Owner, Epoch: s.run.Epoch}
	case 1:
		c.Fence = &store.Fence{Node: "n1", Epoch: rapid.Uint64Range(0, 3).Draw(rt, "epoch")}
	}
	return c
}

func (m *machine) submission(rt *rapid.T, id string) store.Commit {
	pool := rapid.SampledFrom([]string{"p", "p", "q", "q", "q", "late"}).Draw(rt, "pool")
	if m.runs[id] != nil {
		pool = m.runs[id].run.Pool // so that there is only one reason to refuse
	}
	return Created(id, m.now, inPool(pool), withKey(rapid.SampledFrom([]string{"", "a", "b"}).Draw(rt, "key")),
		withPriority(rapid.IntRange(-1, 1).Draw(rt, "priority")), func(r *store.Run) {
			if rapid.Bool().Draw(rt, "budget") {
				withBudget(3, 20_000)(r)
			}
			r.Engine = rapid.SampledFrom([]string{"agent", "agent", "other", "third"}).Draw(rt, "engine")
			if from := rapid.SampledFrom([]string{"", "", "r0", "r1"}).Draw(rt, "forked from"); from != "" &&
				from != id {
				r.ForkedFrom = &store.ForkPoint{RunID: from, Question: rapid.IntRange(0, 2).Draw(rt, "question")}
			}
			m.placesInFamily(rt, r)
			if rapid.IntRange(0, 3).Draw(rt, "held back") == 0 {
				r.NotBefore = m.now.Add(time.Duration(rapid.Int64Range(-2, 5).Draw(rt, "seconds")) * time.Second)
			}
		})
}

// step draws a step that the run's state allows, and sometimes a forbidden one.
func (m *machine) step(rt *rapid.T, r store.Run) store.Commit {
	end := func() store.Commit {
		ends := []fsm.State{fsm.StateFailed, fsm.StateCanceled}
		if r.State == fsm.StateRunning {
			ends = append(ends, fsm.StateSucceeded)
		}
		c := ended(r, m.now, rapid.SampledFrom(ends).Draw(rt, "end"))
		if r.Family != nil {
			c.Run.Family.Due, c.Run.Family.Kept = m.anyDue(rt), false
			if rapid.Bool().Draw(rt, "kept") {
				c.Run.Family.Due, c.Run.Family.Kept = time.Time{}, true
			}
		}
		return c
	}
	choice := rapid.IntRange(0, 7).Draw(rt, "step")
	switch {
	case r.State.Terminal() && !r.Prunable():
		if rapid.Bool().Draw(rt, "kept") {
			return keptChild(r)
		}
		return withDue(r, time.Time{})
	case r.AwaitsChildren() && choice < 2:
		return goingOn(r, m.now)
	case r.AwaitsChildren() && choice < 5:
		return withDue(r, m.anyDue(rt))
	case r.State == fsm.StateRunning && choice == 4:
		return counting(r, m.now)
	case r.State == fsm.StateRunning && choice == 5:
		return m.awaits(rt, r)
	case r.State == fsm.StateRunning && choice < 2:
		var deadline time.Time
		if rapid.Bool().Draw(rt, "deadline") {
			deadline = m.now.Add(time.Duration(rapid.Int64Range(0, 4).Draw(rt, "seconds")) * time.Second)
		}
		if questions := rapid.IntRange(-1, 4).Draw(rt, "questions"); questions > 1 {
			c := AskedTogether(r, m.now, questions, interaction.Rule{Answers: rapid.IntRange(0, 3).Draw(rt, "needed")})
			c.Run.Deadline = deadline
			return c
		}
		c := Asked(r, m.now, rapid.Bool().Draw(rt, "sticky"), deadline)
		if rapid.IntRange(0, 4).Draw(rt, "session") == 0 {
			c.Run.Session = nil
		}
		c.Run.Open[0].To = rapid.SampledFrom(audiences).Draw(rt, "to")
		return c
	case r.State == fsm.StateRunning && choice == 2:
		until := m.now.Add(time.Duration(rapid.IntRange(0, 4).Draw(rt, "pause")) * time.Second)
		if until.After(r.NotBefore) && rapid.Bool().Draw(rt, "put off") {
			return putOff(r, m.now, until)
		}
		if rapid.Bool().Draw(rt, "held") {
			return Held(r, m.now, rapid.SampledFrom([]time.Time{{}, until}).Draw(rt, "until"))
		}
		c := queuedAgain(r, m.now)
		if rapid.Bool().Draw(rt, "backs off") {
			repeats := rapid.IntRange(1, 2).Draw(rt, "repeats")
			c.Run.Repeats += repeats
			c.Run.Losses += rapid.IntRange(0, repeats).Draw(rt, "losses")
			if later := m.now.Add(time.Duration(rapid.IntRange(0, 4).Draw(rt, "seconds")) * time.Second); later.After(
				r.NotBefore) {
				c.Run.NotBefore = later
			}
		}
		return c
	case r.State == fsm.StateRunning && choice == 3:
		return reported(r, m.now)
	case r.Held() && choice < 2:
		c := unblocked(r, m.now)
		if c.Run.Budget != nil && rapid.Bool().Draw(rt, "raised") {
			c.Run.Budget.Limit.Turns++
		}
		return c
	case r.State == fsm.StateWaitingUser && !r.Slot && choice == 0:
		return blocked(r, m.now)
	case r.State == fsm.StateWaitingUser && choice < 4 && r.Together != nil:
		open := r.Open
		number, key := rapid.SampledFrom(open).Draw(rt, "open").ID, rapid.SampledFrom(replyKeys).Draw(rt, "key")
		if r.Together.Met(r.Together.Replies+1, len(open)-1, false) {
			return Completed(r, m.now, number, key)
		}
		return Recorded(r, m.now, number, key)
	case r.State == fsm.StateWaitingUser && choice < 4:
		c := Answered(r, m.now, rapid.SampledFrom(replyKeys).Draw(rt, "key"))
		if rapid.Bool().Draw(rt, "automatic") {
			decision := interaction.NewAutoDecision(r.Open[0]).Answer(m.now)
			record := interaction.Settle(r.Open[0], decision, "", "")
			c.Run.Answers, c.Settled = []interaction.Answer{decision}, []interaction.Record{record}
		}
		return c
	case r.State == fsm.StateWaitingUser && choice == 4:
		return Changed(r, m.now, func(r *store.Run) { r.Owner = "n1" }) // as nodes of an older release do
	case r.State == fsm.StateQueued && choice < 4:
		return reported(r, m.now)
	}
	return end()
}
