package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver pgx
	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/proof/cast"
	"github.com/interlude-go/interlude/proof/checkout"
	"github.com/interlude-go/interlude/slots"
	"github.com/interlude-go/interlude/store"
	"github.com/interlude-go/interlude/store/postgres"
	"github.com/interlude-go/interlude/store/postgres/pgtest"
	"github.com/interlude-go/interlude/store/sqlite"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// J14: next to this release, a node of the earlier one starts and serves; after RefuseEarlier it
// refuses to start, while new nodes do start.
func TestEarlierReleasesAreRefused(t *testing.T) {
	p, err := build(t.Context(), t.TempDir(), earlierOf()[0])
	if errors.Is(err, checkout.ErrNoHistory) {
		t.Log(err)
		return // as docs/production.md says, this is about the release before
	}
	require.NoError(t, err)
	for name, c := range map[string]struct {
		database string
		refuse   func(ctx context.Context, database string) error
	}{
		"SQLite": {filepath.Join(t.TempDir(), "runs.db"), sqlite.RefuseEarlier},
		"PostgreSQL": {pgtest.DSN(t), func(ctx context.Context, dsn string) error {
			return postgres.RefuseEarlier(ctx, dsn, "")
		}},
	} {
		t.Run(name, func(t *testing.T) {
			f := &fleet{programs: p, dir: t.TempDir(), config: hostConfig{Database: c.database, Lease: time.Minute}}
			serve := func(version int) error {
				n, err := f.start(version)
				if err != nil {
					return err
				}
				return f.stop(n)
			}
			require.NoError(t, serve(2))
			require.NoError(t, serve(1))
			for range 2 {
				require.NoError(t, c.refuse(t.Context(), c.database))
				require.ErrorContains(t, serve(1), "of a newer version")
				require.NoError(t, serve(2))
			}
		})
	}
}

// J14: nodes of each earlier release refuse every run whose record names a feature, and leave it as
// it is, while they execute the others. A node of this release executes all. A name that this
// release does not know is refused by it in the same way.
func TestEarlierReleasesRefuseEveryNamedFeature(t *testing.T) {
	for _, commit := range earlierOf() {
		p, err := build(t.Context(), t.TempDir(), commit)
		if errors.Is(err, checkout.ErrNoHistory) {
			t.Log(err)
			return // as above
		}
		require.NoError(t, err)
		for name, database := range map[string]string{
			"SQLite": filepath.Join(t.TempDir(), "runs.db"), "PostgreSQL": pgtest.DSN(t),
		} {
			t.Run(commit[:8]+" on "+name, func(t *testing.T) {
				d := &named{T: t, fleet: fleet{programs: p, dir: t.TempDir(),
					config: hostConfig{Database: database, Lease: time.Minute}}, database: database}
				d.submit()
				d.serve(1, "plain")
				d.serve(2, store.Needs()...)
			})
		}
	}
}

// named has a run without named features, one for each name, and one with an unknown name. The id of
// a run is the name.
type named struct {
	*testing.T
	fleet

	database string
	left     map[string][]byte // the records of the runs that no node has executed
}

func (d *named) submit() {
	st, err := cast.OpenStore(d.Context(), d.database)
	require.NoError(d, err)
	defer st.Close()
	require.NoError(d, st.SetPool(d.Context(), slots.Pool{Name: "default", Capacity: 60}))
	c, err := lifecycle.NewClient(lifecycle.ClientConfig{Store: st})
	require.NoError(d, err)
	defer c.Close()
	ids := append(store.Needs(), "plain", "zebra")
	for _, id := range ids {
		_, err := c.Submit(d.Context(), lifecycle.Spec{ID: id, Engine: "writer", Prompt: `{"questions":0,"work":0}`})
		require.NoError(d, err)
	}
	d.left = make(map[string][]byte)
	for _, id := range ids {
		if id != "plain" {
			d.left[id] = fmt.Appendf(nil, `[{"needs":[%q]},%s]`, id, d.record(id, nil))
			d.record(id, d.left[id])
		}
	}
}

// record reads the stored record of a run, or replaces it.
func (d *named) record(id string, by []byte) (body []byte) {
	driver, table, mark := "sqlite", "runs", "?"
	database := d.database + "?_pragma=busy_timeout(60000)" // a closed store's file may still be in use
	if !cast.OnSQLite(d.database) {
		driver, table, mark, database = "pgx", "interlude.states", "$1", d.database
	}
	db, err := sql.Open(driver, database)
	require.NoError(d, err)
	defer db.Close()
	if by != nil {
		_, err = db.ExecContext(d.Context(), "UPDATE "+table+" SET record = "+mark+" WHERE id = '"+id+"'", by)
		require.NoError(d, err)
		return by
	}
	row := db.QueryRowContext(d.Context(), "SELECT record FROM "+table+" WHERE id = '"+id+"'")
	require.NoError(d, row.Scan(&body))
	return body
}

// serve has a node of the version execute these runs, and requires that it leaves the others as they
// are.
func (d *named) serve(version int, runs ...string) {
	n, err := d.start(version)
	require.NoError(d, err)
	st, err := cast.OpenStore(d.Context(), d.database)
	require.NoError(d, err)
	defer st.Close()
	c, err := lifecycle.NewClient(lifecycle.ClientConfig{Store: st, Poll: 20 * time.Millisecond})
	require.NoError(d, err)
	defer c.Close()
	for _, id := range runs {
		_, err := c.Wait(d.Context(), id)
		require.NoError(d, err)
		delete(d.left, id)
	}
	require.NoError(d, d.stop(n))
	for id, body := range d.left {
		require.Equal(d, string(body), string(d.record(id, nil)), id)
	}
	_, err = c.Get(d.Context(), "zebra")
	require.ErrorIs(d, err, store.ErrNewer)
	require.ErrorIs(d, c.Cancel(d.Context(), "zebra", ""), store.ErrNewer)
}

func TestAWrongCommandLineSaysWhatIsWrong(t *testing.T) {
	for args, want := range map[string]string{
		"-runs 0":           "-runs is 0",
		"-kills -1":         "-kills -1",
		"-lease 10ms":       "-lease 10ms",
		"-without care":     `-without is "care", want one of [retry ask hold repeat grace]`,
		"-without retry us": `unexpected argument "us"`,
	} {
		_, err := parse(strings.Fields(args))
		require.ErrorContains(t, err, want)
	}
}
