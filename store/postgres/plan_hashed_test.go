package postgres

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/store/postgres/pgtest"
)

// rowsWithoutStatistics fills the large tables of a schema that is never analyzed.
const rowsWithoutStatistics = `
	INSERT INTO interlude.runs (created_at, id, spec) SELECT i, 'run-' || i, '' FROM generate_series(1, 5000) AS i;
	INSERT INTO interlude.states (n, id, version, state, engine, pool, key, priority, queued_at, ready, slot, epoch,
		record) SELECT n, id, 1, 'queued', '', 'p', '', 0, n, true, false, 0, '' FROM interlude.runs;
	INSERT INTO interlude.settled (run, id, key, record) SELECT n, 1, '', '' FROM interlude.runs;
	INSERT INTO interlude.events (run, last, first, bodies) SELECT n, 1, 1, '' FROM interlude.runs;
	INSERT INTO interlude.usage (run, attempt, input, output, cost, worked) SELECT n, 1, 0, 0, 0, 0 FROM interlude.runs;`

var (
	parameter = regexp.MustCompile(`\$\d+`)
	hashed    = regexp.MustCompile(`hashed (SubPlan \d+)`)
)

// No statement, with tables that were not analyzed since they were filled, can be planned with a
// hash table of all rows of a large one (R7). Whether the planner prefers it depends on PostgreSQL's
// version, so the test makes the alternative as bad as it can.
func TestNoStatementHashesWholeTables(t *testing.T) {
	dsn, schema := pgtest.Schema(t)
	s, err := Open(t.Context(), dsn, Options{Schema: schema, NoListen: true, NoNotify: true})
	require.NoError(t, err)
	defer s.Close()
	for table := range strings.SplitSeq("runs states settled events usage", " ") {
		_, err := s.pool.Exec(t.Context(), inSchema(`ALTER TABLE interlude.`+table+` SET (autovacuum_enabled = off)`, schema))
		require.NoError(t, err)
	}
	_, err = s.pool.Exec(t.Context(), inSchema(rowsWithoutStatistics, schema))
	require.NoError(t, err)
	conn, err := s.pool.Acquire(t.Context())
	require.NoError(t, err)
	defer conn.Release()
	_, err = conn.Exec(t.Context(), `SET plan_cache_mode = force_generic_plan; SET enable_indexscan = off;
		SET enable_indexonlyscan = off; SET enable_bitmapscan = off; SET enable_hashjoin = off; SET enable_mergejoin = off`)
	require.NoError(t, err)
	defer conn.Exec(t.Context(), `RESET ALL`)
	planned := 0
	for i, text := range s.texts {
		last := 0
		for _, p := range parameter.FindAllString(text, -1) {
			var n int
			_, err := fmt.Sscanf(p, "$%d", &n)
			require.NoError(t, err)
			last = max(last, n)
		}
		name := fmt.Sprint("all", i)
		if _, err := conn.Exec(t.Context(), `PREPARE `+name+` AS `+text); err != nil {
			continue // no statement that has a plan: LOCK, ALTER
		}
		execute := `EXPLAIN (VERBOSE, FORMAT JSON) EXECUTE ` + name
		if last > 0 {
			execute += `(` + strings.TrimSuffix(strings.Repeat("NULL, ", last), ", ") + `)`
		}
		var body []byte
		require.NoError(t, conn.QueryRow(t.Context(), execute).Scan(&body), text)
		var plans []struct{ Plan hashedPlan }
		require.NoError(t, json.Unmarshal(body, &plans))
		planned++
		for _, found := range hashed.FindAllStringSubmatch(string(body), -1) {
			plans[0].Plan.walk("", func(subplan, relation string) {
				require.False(t, subplan == found[1] && slices.Contains([]string{
					"runs", "states", "settled", "events", "usage", "asked", "journal", "voted",
				}, relation), "a hash table of all of %s: %s", relation, text)
			})
		}
	}
	require.Greater(t, planned, 40)
}

// hashedPlan is a node of what EXPLAIN (VERBOSE, FORMAT JSON) says.
//
//nolint:tagliatelle // the names are PostgreSQL's
type hashedPlan struct {
	Subplan  string       `json:"Subplan Name"`
	Relation string       `json:"Relation Name"`
	Plans    []hashedPlan `json:"Plans"`
}

// walk visits the relations, with the subplan that they are in.
func (p *hashedPlan) walk(within string, visit func(subplan, relation string)) {
	if p.Subplan != "" {
		within = p.Subplan
	}
	visit(within, p.Relation)
	for i := range p.Plans {
		p.Plans[i].walk(within, visit)
	}
}
