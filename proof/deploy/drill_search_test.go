//go:build search

package main

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/proof/checkout"
	"github.com/interlude-go/interlude/store/postgres/pgtest"
)

// J14 J1 J2 J7 J4: a rolling deploy with everyday faults fails no run and loses no answer. Nodes
// are replaced with SIGTERM and SIGKILL, agents are overloaded, each version refuses the other's
// sessions, and the first version lacks an engine. The nodes of the first version have an earlier
// library. Without any of the safeguards, the same drill fails.
func TestRollingDeployFailsNoRunAndLosesNoAnswer(t *testing.T) {
	p, err := build(t.Context(), t.TempDir(), earlierOf()[0])
	if errors.Is(err, checkout.ErrNoHistory) { // for example in an archive of the sources
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
