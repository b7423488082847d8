package main

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/store/postgres"
	"github.com/interlude-go/interlude/store/postgres/pgtest"
	"github.com/interlude-go/interlude/store/sqlite"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// J14 J1 J2 J7 J4: a rolling deploy with everyday faults fails no run and loses no answer. Nodes
// are replaced with SIGTERM and SIGKILL, agents are overloaded, each version refuses the sessions
// of the other, and the first version lacks an engine. The nodes of the first version have an
// earlier library. Without any one of the safeguards, the same drill fails.
func TestRollingDeployFailsNoRunAndLosesNoAnswer(t *testing.T) {
	p, err := build(t.Context(), t.TempDir(), true)
	if errors.Is(err, errNoHistory) { // for example in an archive of the sources
		t.Log(err)
		p.first, err = p.second, nil
	}
	require.NoError(t, err)
	const interrupted = "ORCHESTRATOR_RESTART_INTERRUPTED: the worker died"
	same := programs{p.second, p.second}
	for name, c := range map[string]struct {
		args     string
		programs programs
		fails    string
	}{
		"two libraries on SQLite":     {"-runs 60", p, ""},
		"two libraries on PostgreSQL": {"-runs 60 -postgres", p, ""},
		"in good order":               {"-runs 40 -orderly", same, ""},
		"without retry":               {"-runs 40 -without retry", same, "held without need: ENGINE_FAILED: 503"},
		"without ask":                 {"-runs 40 -without ask", same, interrupted},
		"without hold":                {"-runs 40 -without hold", same, "is not converted yet"},
		"without repeat":              {"-runs 40 -without repeat", same, interrupted},
		"without grace": {"-runs 40 -without grace", same, "held without need: ORCHESTRATOR_RESTART_INTERRUPTED: the " +
			"host shut down"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // these drills wait most of the time
			o, err := parse(strings.Fields(c.args))
			require.NoError(t, err)
			database := filepath.Join(t.TempDir(), "runs.db")
			if o.postgres {
				database = pgtest.DSN(t)
			}
			v, err := drill(t.Context(), o, c.programs, database, t.TempDir())
			require.NoError(t, err)
			t.Logf("%s", v)
			if c.fails == "" {
				require.Empty(t, v.wrong)
				require.Positive(t, v.tried)
				require.Positive(t, v.refused)
				require.Positive(t, v.unpaid)
				return
			}
			require.Contains(t, strings.Join(v.wrong, "\n"), c.fails)
		})
	}
}

// J14: beside this release, a node of the earlier one starts and serves; after RefuseEarlier it
// refuses to start, while those of this one do.
func TestEarlierReleasesAreRefused(t *testing.T) {
	p, err := build(t.Context(), t.TempDir(), true)
	if errors.Is(err, errNoHistory) {
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
