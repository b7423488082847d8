package postgres_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/slots"
	"github.com/interlude-go/interlude/store"
	"github.com/interlude-go/interlude/store/postgres"
)

// Every statement works in every mode of the driver (prepared, described, without a statement
// cache as poolers need it, and as text), and under every isolation level and time zone that a
// database sets for its sessions.
func TestStoreInEveryQueryExecMode(t *testing.T) {
	for name, settings := range map[string][]string{
		"prepared":                  nil,
		"described, cached":         {"default_query_exec_mode=cache_describe"},
		"described":                 {"default_query_exec_mode=describe_exec"},
		"statement caching off":     {"default_query_exec_mode=exec"},
		"simple protocol":           {"default_query_exec_mode=simple_protocol"},
		"serializable by default":   {"default_transaction_isolation=serializable"},
		"far from UTC":              {"timezone=Asia/Kathmandu", "datestyle=German"},
		"a planner without scruple": {"enable_indexscan=off", "enable_seqscan=on", "plan_cache_mode=force_custom_plan"},
	} {
		t.Run(name, func(t *testing.T) {
			w, _ := newWorld(t, postgres.Options{})
			life(w, w.open(postgres.Options{}, settings...))
		})
	}
}

// life leads runs through everything that a store does.
func life(w *world, s *postgres.Store) {
	w.Helper()
	ctx := w.Context()
	run := w.commit(s, fenced(report(w.running(s, "r")), "n"))
	run = w.commit(s, fenced(ask(run), "n"))
	page, err := s.Waiting(ctx, store.WaitingQuery{Query: store.Query{Key: run.Key}})
	require.NoError(w, err)
	require.Len(w, page.Runs, 1)
	due, next, err := s.Due(ctx, noon, 5)
	require.NoError(w, err)
	require.Empty(w, due)
	require.Equal(w, run.Deadline, next)
	run = w.commit(s, answer(run, "key\x00 with a zero"))
	record, err := s.Settled(ctx, "r", "key\x00 with a zero")
	require.NoError(w, err)
	require.Equal(w, 1, record.Question.ID)

	labeled := created("labeled")
	labeled.Run.Labels, labeled.Run.Key, labeled.Run.NotBefore = map[string]string{`te"am`: `bl\ue, {x}`}, "\x00k",
		noon.Add(time.Hour)
	w.commit(s, labeled)
	page, err = s.Runs(ctx, store.Query{Labels: labeled.Run.Labels, Key: "\x00k", States: []fsm.State{fsm.StateQueued}})
	require.NoError(w, err)
	require.Len(w, page.Runs, 1)
	require.NoError(w, s.SetPool(ctx, slots.Pool{Name: "p", Capacity: 3, KeyCapacity: 1}))
	claimed, err := s.Claim(ctx, store.ClaimRequest{Node: "n", Now: noon.Add(2 * time.Hour), Max: 5, Start: start})
	require.NoError(w, err)
	require.Len(w, claimed, 2)
	require.ErrorIs(w, w.try(s, fenced(report(run), "another")), store.ErrStaleEpoch)

	held, err := s.Renew(ctx, "n", noon)
	require.NoError(w, err)
	require.Len(w, held, 2)
	survey, err := s.Survey(ctx, noon)
	require.NoError(w, err)
	require.Equal(w, 2, survey.Running)
	gone, err := s.Expire(ctx, noon, "n")
	require.NoError(w, err)
	require.Len(w, gone, 1)
	orphans, err := s.Orphans(ctx, 0, 5)
	require.NoError(w, err)
	require.Len(w, orphans, 2)
	for _, orphan := range orphans {
		w.commit(s, cancel(orphan))
	}
	_, history, err := store.ReadHistory(ctx, s, "r")
	require.NoError(w, err)
	require.Len(w, history, 1)
	events, err := s.Events(ctx, "r", 0, 100)
	require.NoError(w, err)
	require.Len(w, events, 7)
	pools, err := s.Pools(ctx)
	require.NoError(w, err)
	require.Zero(w, pools[0].Held)
	pruned, err := s.Prune(ctx, noon.Add(24*time.Hour), 10)
	require.NoError(w, err)
	require.Equal(w, 2, pruned)
	_, err = s.Run(ctx, "r")
	require.ErrorIs(w, err, store.ErrNotFound)
}
