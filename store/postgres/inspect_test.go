package postgres_test

import (
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/store"
	"github.com/interlude-go/interlude/store/postgres"
)

// A schema as the migrations make it is good, and Inspect knows each of its indexes.
func TestInspectFindsNoFaultInAMigratedSchema(t *testing.T) {
	w, s := newWorld(t, postgres.Options{NoListen: true, NoNotify: true})
	require.NoError(t, second(s.Inspect(t.Context())))
	require.Equal(t, len(postgres.Migrations()), w.status().Version)
	rows, err := w.connect().Query(t.Context(),
		`SELECT indexname::text FROM pg_indexes WHERE schemaname = $1 AND tablename <> 'migrations'`, w.schema)
	require.NoError(t, err)
	indexes, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	require.ElementsMatch(t, indexes, postgres.ExpectedIndexes())

	w.exec(`CREATE INDEX own ON interlude.runs (n, id)`)
	w.exec(`ALTER TABLE interlude.nodes ADD COLUMN own text`)
	require.NoError(t, second(s.Inspect(t.Context())), "what an operator adds is no fault")
	require.NoError(t, s.Close())
	require.ErrorIs(t, second(s.Inspect(t.Context())), store.ErrClosed)
}

// Manual changes are named.
func TestInspectNamesWhatIsWrong(t *testing.T) {
	for name, c := range map[string]struct {
		damage []string
		want   error
		named  []string
	}{
		"a column is gone": {[]string{`ALTER TABLE interlude.states DROP COLUMN deadline`}, postgres.ErrForeign,
			[]string{`column`, `deadline`, `states_deadline is missing`}},
		"a column was renamed": {[]string{`ALTER TABLE interlude.runs RENAME spec TO body`}, postgres.ErrForeign,
			[]string{`spec`}},
		"a column's type": {[]string{`ALTER TABLE interlude.states ALTER version TYPE text`}, postgres.ErrForeign,
			[]string{`operator does not exist`}},
		"a table is gone": {[]string{`DROP TABLE interlude.nodes`}, postgres.ErrForeign, []string{`nodes`}},
		"an index is gone": {[]string{`DROP INDEX interlude.states_ready_engine`}, postgres.ErrForeign,
			[]string{`index states_ready_engine is missing`}},
		"two indexes are gone": {[]string{`DROP INDEX interlude.states_held`, `DROP INDEX interlude.runs_created`},
			postgres.ErrForeign, []string{`states_held is missing`, `runs_created is missing`}},
		"a constraint is gone": {[]string{`ALTER TABLE interlude.runs DROP CONSTRAINT runs_id_key`},
			postgres.ErrForeign, []string{`index runs_id_key is missing`}},
		"an unfinished index": {[]string{`UPDATE pg_index SET indisvalid = false
			WHERE indexrelid = (SELECT 'interlude.states_ready_engine'::regclass)`}, postgres.ErrForeign,
			[]string{`states_ready_engine was not finished`}},
		"another migration": {[]string{`UPDATE interlude.migrations SET sum = 'other'`}, postgres.ErrForeign,
			[]string{`migration 1`, `0001_`, `other`}},
		"no recorded migration": {[]string{`DELETE FROM interlude.migrations`}, postgres.ErrOlder, nil},
	} {
		t.Run(name, func(t *testing.T) {
			w, s := newWorld(t, postgres.Options{NoListen: true, NoNotify: true})
			for _, sql := range c.damage {
				w.exec(sql)
			}
			_, inspected := postgres.Inspect(t.Context(), w.dsn, w.schema)
			for _, err := range []error{inspected, second(s.Inspect(t.Context()))} {
				require.ErrorIs(t, err, c.want)
				for _, named := range c.named {
					require.ErrorContains(t, err, named)
				}
			}
		})
	}
}

// A right that is missing is named before a call needs it.
func TestInspectNamesMissingRights(t *testing.T) {
	w, _ := newWorld(t, postgres.Options{NoListen: true, NoNotify: true})
	name, dsn := w.newRole("")
	_, err := postgres.Inspect(t.Context(), dsn, w.schema)
	require.ErrorIs(t, err, postgres.ErrRights, "it may not even look")
	w.exec(`GRANT USAGE ON SCHEMA ` + w.quoted() + ` TO ` + name)
	w.exec(`GRANT SELECT, INSERT, UPDATE ON ALL TABLES IN SCHEMA ` + w.quoted() + ` TO ` + name)
	have, err := postgres.Inspect(t.Context(), dsn, w.schema)
	require.NoError(t, err)
	require.Equal(t, []string{"DELETE on asked", "DELETE on departed", "DELETE on events", "DELETE on feed",
		"DELETE on feeds", "DELETE on journal",
		"DELETE on nodes", "DELETE on runs", "DELETE on settled", "DELETE on states", "DELETE on usage",
		"DELETE on voted"}, have.Lacks)
	w.exec(`GRANT DELETE ON ALL TABLES IN SCHEMA ` + w.quoted() + ` TO ` + name)
	have, err = postgres.Inspect(t.Context(), dsn, w.schema)
	require.NoError(t, err)
	require.Empty(t, have.Lacks)
}

func TestInspectReportsUnreachableServer(t *testing.T) {
	_, err := postgres.Inspect(t.Context(), "host=127.0.0.1 port=1 sslmode=disable", "")
	require.ErrorIs(t, err, postgres.ErrUnreachable)
	_, err = postgres.Inspect(t.Context(), "host=127.0.0.1 port=x", "")
	require.ErrorIs(t, err, postgres.ErrConfig)
	_, err = postgres.Inspect(t.Context(), "host=127.0.0.1", "pg_x")
	require.ErrorIs(t, err, postgres.ErrConfig)
}
