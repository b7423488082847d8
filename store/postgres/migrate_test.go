package postgres_test

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/store"
	"github.com/interlude-go/interlude/store/postgres"
	"github.com/interlude-go/interlude/store/postgres/pgtest"
)

// next are the migrations of a version after this one, with one more.
func next(text string) []postgres.Migration {
	known := postgres.Migrations()
	version := len(known) + 1
	return append(known, postgres.NewMigration(version, fmt.Sprintf("%04d_next.sql", version), text))
}

const additive = `ALTER TABLE interlude.nodes ADD COLUMN zone text;
	CREATE INDEX states_zone ON interlude.states (owner, id) WHERE slot;`

// elsewhere is a world whose schema does not exist yet.
func elsewhere(tb testing.TB) *world {
	tb.Helper()
	dsn, schema := pgtest.Schema(tb)
	return &world{tb, dsn, schema}
}

func (w *world) status() postgres.Status {
	w.Helper()
	have, err := postgres.Inspect(w.Context(), w.dsn, w.schema)
	require.NoError(w, err)
	return have
}

// frozen are the sums of the migrations. A new one is added here by the commit that adds it; none
// is ever changed, because the schemas that it made do not change with it.
var frozen = []string{"f2be2064e868e6ec", "5c48a46ee7e53c6f", "fcd5facaa6491081", "408bf1cd551799a3",
	"2cd646232049b32e", "5410b3ee93a9cdbb",
	"f370e68a7dbbd03b", "b9bbc421d9f74f9c", "d3384703116135b7", "b01f6304abef623c", "270e2fefd78b6675"}

// J8: Open refuses a schema that another text of a migration made; it does not leave that to the
// first statement that fails.
func TestOpenRefusesSchemaOfAnotherMigration(t *testing.T) {
	w, s := newWorld(t, postgres.Options{NoListen: true, NoNotify: true})
	require.NoError(t, s.Close())
	w.exec(`UPDATE interlude.migrations SET sum = 'other' WHERE version = 1`)
	err := refused(t, w.dsn, postgres.Options{Schema: w.schema})
	require.ErrorIs(t, err, postgres.ErrForeign)
	require.ErrorContains(t, err, "migration 1")
	require.ErrorIs(t, postgres.Migrate(t.Context(), w.dsn, w.schema), postgres.ErrForeign)
}

func TestMigrationsListsFrozenFiles(t *testing.T) {
	files, err := os.ReadDir("migrations")
	require.NoError(t, err)
	all := postgres.Migrations()
	require.Len(t, all, len(files))
	for i, m := range all {
		require.Equal(t, i+1, m.Version)
		require.Equal(t, files[i].Name(), m.Name)
		require.Regexp(t, fmt.Sprintf(`^%04d_`, m.Version), m.Name, "so that they stand in their order")
		require.Len(t, m.Sum, 16)
	}
	sums := make([]string, len(all))
	for i, m := range all {
		sums[i] = m.Sum
	}
	require.Equal(t, frozen, sums, "a migration that was on the main branch never changes (J8)")
	all[0].Name = "changed"
	require.NotEqual(t, "changed", postgres.Migrations()[0].Name, "the list is the caller's")
	require.Panics(t, func() { postgres.NewMigration(2, "x.sql", "-- oldest: 3\n") })
	require.Equal(t, 2, postgres.NewMigration(2, "x.sql", "-- oldest: 2\nSELECT 1").Oldest)
}

// Any number of processes may find an empty database at once: exactly one applies each migration,
// and all continue.
func TestMigrateByManyNodesAtOnce(t *testing.T) {
	w := elsewhere(t)
	known := next(additive)
	var nodes sync.WaitGroup
	results := make(chan error, 100)
	for i := range 8 {
		nodes.Go(func() {
			s, err := postgres.OpenWith(t.Context(), w.dsn, postgres.Options{Schema: w.schema, NoListen: true,
				NoNotify: true}, known)
			if err == nil {
				err = errors.Join(second(s.Inspect(t.Context())), s.Close())
			}
			results <- err
		})
		nodes.Go(func() { results <- postgres.MigrateWith(t.Context(), w.dsn, w.schema, known) })
		if i%2 == 0 {
			nodes.Go(func() { results <- postgres.Migrate(t.Context(), w.dsn, w.schema) }) // older ones among them
		}
	}
	nodes.Wait()
	close(results)
	for err := range results {
		require.NoError(t, err)
	}
	have := w.status()
	require.Equal(t, len(known), have.Version)
	require.Len(t, have.Applied, len(known))
}

// Older nodes continue, and can be opened again, while a migration adds something.
func TestOlderNodesServeDuringMigration(t *testing.T) {
	w, old := newWorld(t, postgres.Options{})
	stop, stopped := make(chan struct{}), make(chan error, 1)
	go func() {
		run := created("busy")
		err := errors.Join(old.Commit(t.Context(), []store.Commit{run})...)
		for err == nil {
			select {
			case <-stop:
				stopped <- nil
				return
			default:
				run = report(run.Run)
				err = errors.Join(old.Commit(t.Context(), []store.Commit{run})...)
			}
		}
		stopped <- err
	}()
	known := next(additive)
	s, err := postgres.OpenWith(t.Context(), w.dsn, postgres.Options{Schema: w.schema}, known)
	require.NoError(t, err)
	defer s.Close()
	w.commit(s, created("of the new"))
	w.commit(old, created("of the old"))
	require.Equal(t, w.load(old, "of the new"), w.load(s, "of the new"))
	w.commit(w.open(postgres.Options{}), created("of another old one"))
	close(stop)
	require.NoError(t, <-stopped)
	have := w.status()
	require.Equal(t, []int{len(known), 1}, []int{have.Version, have.Oldest})
	require.Equal(t, known[len(known)-1].Name, have.Applied[len(known)-1].Name)
	require.NoError(t, second(old.Inspect(t.Context())))
	require.NoError(t, second(s.Inspect(t.Context())))
}

// A migration that older packages cannot work with says so, and Open of an older package refuses
// the schema. No migration goes back.
func TestOpenRefusesNewerSchema(t *testing.T) {
	w := elsewhere(t)
	text := fmt.Sprintf("-- oldest: %d\nALTER TABLE interlude.states RENAME COLUMN record TO body;",
		len(postgres.Migrations())+1)
	known := next(text)
	require.NoError(t, postgres.MigrateWith(t.Context(), w.dsn, w.schema, known))
	for _, o := range []postgres.Options{{Schema: w.schema}, {Schema: w.schema, NoMigrate: true}} {
		require.ErrorIs(t, refused(t, w.dsn, o), postgres.ErrNewer)
	}
	require.NoError(t, postgres.Migrate(t.Context(), w.dsn, w.schema), "there is nothing to do, and nothing is done")
	have, err := postgres.Inspect(t.Context(), w.dsn, w.schema)
	require.ErrorIs(t, err, postgres.ErrNewer)
	require.Equal(t, len(known), have.Version)
}

func TestOpenWithoutMigrationRefusesOlderSchema(t *testing.T) {
	w := elsewhere(t)
	require.ErrorIs(t, refused(t, w.dsn, postgres.Options{Schema: w.schema, NoMigrate: true}), postgres.ErrOlder,
		"there is none")
	_, err := postgres.Inspect(t.Context(), w.dsn, w.schema)
	require.ErrorIs(t, err, postgres.ErrOlder)
	require.NoError(t, postgres.Migrate(t.Context(), w.dsn, w.schema))
	require.NoError(t, w.open(postgres.Options{NoMigrate: true}).Close())
	_, err = postgres.OpenWith(t.Context(), w.dsn, postgres.Options{Schema: w.schema, NoMigrate: true},
		next(additive))
	require.ErrorIs(t, err, postgres.ErrOlder)
}

// A migration that fails leaves the schema as it was, is named by the error, and can be
// repeated.
func TestFailedMigrationChangesNothing(t *testing.T) {
	w, s := newWorld(t, postgres.Options{})
	r := w.commit(s, created("r"))
	err := postgres.MigrateWith(t.Context(), w.dsn, w.schema, next(additive+"SELECT 1/0;"))
	require.ErrorContains(t, err, "_next.sql")
	require.Equal(t, len(postgres.Migrations()), w.status().Version)
	w.commit(s, report(r))
	require.NoError(t, postgres.MigrateWith(t.Context(), w.dsn, w.schema, next(additive)))
}

// A migration waits for a table that a long transaction uses in short turns, so that other
// statements on the table do not wait as long.
func TestMigrationWaitsForTablesInTurns(t *testing.T) {
	w, s := newWorld(t, postgres.Options{NoListen: true, NoNotify: true})
	tx := w.beginTx("")
	var n int
	require.NoError(t, tx.QueryRow(t.Context(), w.inSchema(`SELECT count(*) FROM interlude.nodes`)).Scan(&n))
	done := make(chan error, 1)
	go func() { done <- postgres.MigrateWith(t.Context(), w.dsn, w.schema, next(additive)) }()
	for range 2 {
		require.Eventually(t, func() bool {
			return w.sessions(`wait_event_type = 'Lock' AND query LIKE 'ALTER TABLE%zone%'`) > 0
		}, patience, 10*time.Millisecond)
		_, err := s.Renew(t.Context(), "n", noon)
		require.NoError(t, err)
	}
	require.Empty(t, done)
	require.NoError(t, tx.Rollback(t.Context()))
	require.NoError(t, <-done)
	require.Equal(t, len(postgres.Migrations())+1, w.status().Version)
}

// Open and Migrate do not touch the tables of another program.
func TestOpenRefusesForeignTables(t *testing.T) {
	for name, table := range map[string]string{
		"a table of one of the names": `CREATE TABLE interlude.states (name text)`,
		"other migrations":            `CREATE TABLE interlude.migrations (id text)`,
	} {
		t.Run(name, func(t *testing.T) {
			w := elsewhere(t)
			w.exec(`CREATE SCHEMA ` + w.quoted())
			w.exec(table)
			require.ErrorIs(t, refused(t, w.dsn, postgres.Options{Schema: w.schema}), postgres.ErrForeign)
			require.ErrorIs(t, postgres.Migrate(t.Context(), w.dsn, w.schema), postgres.ErrForeign)
			var tables int
			require.NoError(t, w.connect().QueryRow(t.Context(), `SELECT count(*) FROM pg_tables WHERE schemaname = $1`,
				w.schema).Scan(&tables))
			require.Equal(t, 1, tables)
		})
	}
}
