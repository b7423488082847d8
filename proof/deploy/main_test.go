package main

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/proof/checkout"
	"github.com/interlude-go/interlude/store/postgres"
	"github.com/interlude-go/interlude/store/postgres/pgtest"
	"github.com/interlude-go/interlude/store/sqlite"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// J14: beside this release, a node of the earlier one starts and serves; after RefuseEarlier it
// refuses to start, while those of this one do.
func TestEarlierReleasesAreRefused(t *testing.T) {
	p, err := build(t.Context(), t.TempDir(), true)
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
			f := &fleet{programs: p, dir: t.TempDir(), config: hostConfig{Database: c.database, Lease: time.Second}}
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
