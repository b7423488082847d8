package postgres_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/slots"
	"github.com/interlude-go/interlude/store"
	"github.com/interlude-go/interlude/store/postgres"
)

// insertByOlder inserts a run as packages for version 2 of the schema do, which do not name the
// column engine.
func (w *world) insertByOlder(r store.Run, record []byte) {
	w.Helper()
	if record == nil {
		var err error
		record, err = store.AppendRun(nil, &r)
		require.NoError(w, err)
	}
	var finished *int64
	if !r.FinishedAt.IsZero() {
		at := r.FinishedAt.UnixMicro()
		finished = &at
	}
	w.exec(`WITH run AS (INSERT INTO interlude.runs (id, created_at, spec) VALUES ($1, 0, '{}') RETURNING n, id)
		INSERT INTO interlude.states (n, id, version, state, pool, key, priority, queued_at, ready, slot, epoch,
			finished_at, record)
		SELECT n, id, $2, $3, 'p', '', 0, 0, $4, false, 0, $5, $6 FROM run`,
		r.ID, int64(r.Version), string(r.State), r.State == fsm.StateQueued, finished, record)
}

// J4, J8: the migration fills the engine of runs and nodes of older versions, also those added
// later by older nodes. An unreadable record stops neither the migration nor the other runs.
func TestMigrateFillsEnginesOfOlderVersions(t *testing.T) {
	w := elsewhere(t)
	require.NoError(t, postgres.MigrateWith(t.Context(), w.dsn, w.schema, postgres.Migrations()[:2]))
	of := func(id, engine string) store.Run {
		r := created(id).Run
		r.Engine, r.Labels = engine, map[string]string{"nul": "\x00"}
		return r
	}
	ended := of("ended", "a")
	ended.State, ended.FinishedAt = fsm.StateCanceled, noon
	w.insertByOlder(of("before, a", "a"), nil)
	w.insertByOlder(of("before, é", "<é\"\\>"), nil)
	w.insertByOlder(of("damaged", "a"), []byte(`{"id":`))
	w.insertByOlder(ended, nil)
	w.exec(`INSERT INTO interlude.nodes (id, identity, lease, until) VALUES ('older', '', 1, 0)`)

	s := w.open(postgres.Options{})
	require.NoError(t, second(s.Inspect(t.Context())))
	require.NoError(t, s.SetPool(t.Context(), slots.Pool{Name: "p", Capacity: 100}))
	require.NoError(t, s.Join(t.Context(), store.Node{ID: "n", Lease: time.Hour, Engines: []string{"a"}}, noon))
	w.insertByOlder(of("after, a", "a"), nil)
	w.insertByOlder(of("after, é", "<é\"\\>"), nil)

	nodes, err := s.Nodes(t.Context())
	require.NoError(t, err)
	require.Len(t, nodes, 2)
	require.Equal(t, []string{"a"}, nodes[0].Engines)
	require.Nil(t, nodes[1].Engines, "an older node does not say which engines it has")
	survey, err := s.Survey(t.Context(), noon)
	require.NoError(t, err)
	epoch := time.UnixMicro(0).UTC()
	require.Equal(t, []store.EngineSurvey{
		{Engine: "", Queued: 1, OldestReady: epoch, Nodes: 1},
		{Engine: "<é\"\\>", Queued: 2, OldestReady: epoch, Nodes: 1},
		{Engine: "a", Queued: 2, OldestReady: epoch, Nodes: 2},
	}, survey.Engines)

	claimed, err := s.Claim(t.Context(), store.ClaimRequest{Node: "n", Now: noon, Max: 9, Engines: []string{"a"},
		Start: start})
	require.NoError(t, err)
	require.Len(t, claimed, 2)
	require.Equal(t, []string{"after, a", "before, a"}, []string{claimed[0].Run.ID, claimed[1].Run.ID})
	claimed, err = s.Claim(t.Context(), store.ClaimRequest{Node: "n", Now: noon, Max: 9, Start: start})
	require.ErrorIs(t, err, store.ErrCorrupt, "a claim of any engine names the damaged record")
	require.Len(t, claimed, 2)
}

// J4: a claim of several engines starts runs in the order that they would have with one engine,
// in pools with and without a key capacity, also when each claim takes one run.
func TestClaimOfSeveralEnginesKeepsOrder(t *testing.T) {
	t.Parallel()
	for name, pool := range map[string]slots.Pool{
		"by age":            {Name: "p", Capacity: 1000},
		"a bound by key":    {Name: "p", Capacity: 1000, KeyCapacity: 100},
		"little room":       {Name: "p", Capacity: 40},
		"little room, keys": {Name: "p", Capacity: 40, KeyCapacity: 15},
	} {
		t.Run(name, func(t *testing.T) {
			quiet := postgres.Options{NoListen: true, NoNotify: true}
			w, _ := newWorld(t, quiet)
			claimOrder := func(engine func(i int) string, req store.ClaimRequest) (ids []string) {
				s := w.open(quiet)
				require.NoError(t, s.Empty(t.Context()))
				w.furnish(s)
				require.NoError(t, s.SetPool(t.Context(), pool))
				for i := range 60 {
					c := created(strings.Repeat("r", 1+i%7) + string(rune('A'+i)))
					c.Run.Engine, c.Run.Priority, c.Run.Key = engine(i), i%3, []string{"", "x", "y", "z"}[i%4]
					c.Run.QueuedAt = noon.Add(time.Duration(i*37%60) * time.Second)
					w.commit(s, c)
				}
				for i := range 20 {
					c := created("foreign" + string(rune('A'+i)))
					c.Run.Engine, c.Run.Priority = "bb", 9
					if req.Engines != nil {
						w.commit(s, c)
					}
				}
				req.Node, req.Now, req.Start = "n", noon.Add(time.Hour), start
				for {
					claimed, err := s.Claim(t.Context(), req)
					require.NoError(t, err)
					if len(claimed) == 0 {
						return ids
					}
					for _, c := range claimed {
						ids = append(ids, c.Run.ID)
					}
				}
			}
			one := func(int) string { return "a" }
			three := func(i int) string { return []string{"a", "b", "c"}[i*i%5%3] }
			for _, most := range []int{1, 7, 100} {
				want := claimOrder(one, store.ClaimRequest{Max: most, Engines: []string{"a"}})
				require.Len(t, want, min(60, pool.Capacity))
				require.Equal(t, want, claimOrder(three, store.ClaimRequest{Max: most, Engines: []string{"a", "b", "c",
					"none"}}))
				require.Equal(t, want, claimOrder(three, store.ClaimRequest{Max: most}), "of any engine")
				require.Equal(t, want, claimOrder(three, store.ClaimRequest{Max: most, Hinted: true}), "of any engine")
			}
		})
	}
}
