package postgres

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/slots"
	"github.com/interlude-go/interlude/store"
	"github.com/interlude-go/interlude/store/postgres/pgtest"
)

// The server finds a rare label by its index, however often the connection has run the listing,
// also in a host's transaction: it plans each listing for its labels. Otherwise it may keep one
// plan for all labels after five executions. The test configures the session accordingly.
func TestRunsByLabelIsPlannedForItsArguments(t *testing.T) {
	dsn, schema := pgtest.Schema(t)
	s, err := Open(t.Context(), pgtest.With(dsn, "pool_max_conns=1", "plan_cache_mode=force_generic_plan"),
		Options{Schema: schema, NoListen: true, NoNotify: true})
	require.NoError(t, err)
	defer s.Close()
	require.NoError(t, s.SetPool(t.Context(), slots.Pool{Name: "q", Capacity: 1}))
	foreigners(t, s, 2000)
	conn, err := s.pool.Acquire(t.Context())
	require.NoError(t, err)
	for _, text := range []string{
		`UPDATE interlude.runs SET labels = ARRAY['"a"="b"']`,
		`UPDATE interlude.runs SET labels = ARRAY['"a"="rare"'] WHERE id = 'late'`,
		`VACUUM ANALYZE interlude.runs`, `ANALYZE interlude.states`,
	} {
		_, err := conn.Exec(t.Context(), inSchema(text, schema))
		require.NoError(t, err)
	}
	conn.Release()
	rare := store.Query{Labels: map[string]string{"a": "rare"}}
	for range 12 {
		page, err := s.Runs(t.Context(), rare)
		require.NoError(t, err)
		require.Len(t, page.Runs, 1)
	}
	var generic, custom int
	conn, err = s.pool.Acquire(t.Context())
	require.NoError(t, err)
	defer conn.Release()
	tx, err := conn.Begin(t.Context())
	require.NoError(t, err)
	for range 12 {
		page, err := s.In(tx).Runs(t.Context(), rare)
		require.NoError(t, err)
		require.Len(t, page.Runs, 1)
	}
	require.NoError(t, tx.Rollback(t.Context()))
	require.NoError(t, conn.QueryRow(t.Context(),
		`SELECT coalesce(sum(generic_plans), 0), coalesce(sum(custom_plans), 0)
		FROM pg_prepared_statements WHERE statement LIKE 'SELECT record,%@>%'`).Scan(&generic, &custom))
	require.Zero(t, generic)
	require.Positive(t, custom, "or the look proves nothing")
}
