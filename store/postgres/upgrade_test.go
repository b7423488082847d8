package postgres_test

import (
	"context"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/store/postgres"
	"github.com/interlude-go/interlude/store/postgres/pgtest"
)

// old is the database of the first release.
func old(t *testing.T) *world {
	t.Helper()
	text, err := os.ReadFile("../../testdata/releases/v0.0.0-4b62763/postgres.sql")
	require.NoError(t, err)
	w := &world{t, pgtest.DSN(t), postgres.DefaultSchema}
	conn := w.connect()
	_, err = conn.Exec(t.Context(), string(text), pgx.QueryExecModeSimpleProtocol)
	require.NoError(t, err)
	require.NoError(t, conn.Close(t.Context())) // the text sets the session's search path
	return w
}

// lines are the rows of a query for one text.
func (w *world) lines(query string) []string {
	w.Helper()
	conn := w.connect()
	rows, err := conn.Query(w.Context(), query)
	require.NoError(w, err)
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(w, err)
	require.NoError(w, conn.Close(w.Context()))
	return lines
}

// upgraded returns the result of an upgrade: tables, indexes, triggers, and recorded migrations.
func (w *world) upgraded() []string {
	w.Helper()
	return w.lines(`SELECT 'column ' || table_name || '.' || column_name FROM information_schema.columns
			WHERE table_schema = 'interlude'
		UNION ALL SELECT indexdef FROM pg_indexes WHERE schemaname = 'interlude'
		UNION ALL SELECT 'trigger ' || tgname FROM pg_trigger
		UNION ALL SELECT 'migration ' || version || name || oldest || sum FROM interlude.migrations ORDER BY 1`)
}

// R6: a large database of the first release is served while it is upgraded in batches. Older nodes
// renew their leases, report and answer without a wait of a second, their queued runs are claimed, and a
// node of this version serves. At the end all is as after an upgrade of a small database.
func TestR6DatabaseIsServedWhileItIsUpgraded(t *testing.T) {
	small := old(t)
	require.NoError(t, postgres.Migrate(t.Context(), small.dsn, small.schema))
	w := old(t)
	older, stop := context.WithCancel(t.Context())
	stopped := make(chan error, 1)
	go func() { stopped <- serveAsOlder(older, w.dsn) }()
	step := make(chan struct{})
	s := w.open(postgres.Options{}.InBatches(1, func() {
		select {
		case step <- struct{}{}:
		case <-t.Context().Done():
		}
	}))
	require.True(t, w.status().Filling)
	require.Equal(t, []string{"1", "2"}, w.lines(`SELECT version::text FROM interlude.migrations ORDER BY version`),
		"versions that expect the index do not open it")
	node := w.open(postgres.Options{NoMigrate: true})
	require.NoError(t, second(node.Inspect(t.Context())))

	lc, err := lifecycle.New(lifecycle.Config{Store: node, Engine: engine.Func(
		func(context.Context, engine.Turn, engine.Sink) (engine.Outcome, error) {
			return engine.Done("done"), nil
		})})
	require.NoError(t, err)
	served := make(chan error, 1)
	go func() { served <- lc.Serve(older) }()
	waiting, err := lc.Get(t.Context(), "waiting")
	require.NoError(t, err)
	_, err = lc.Reply(t.Context(), "waiting", lifecycle.Reply{ID: waiting.Open[0].ID, Text: "blue", Key: "k"})
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		run, err := lc.Get(t.Context(), "waiting")
		return err == nil && run.State == fsm.StateSucceeded
	}, patience, 10*time.Millisecond, "it is executed before its batch")
	w.exec(`UPDATE interlude.states SET ready = true WHERE id = 'long'`) // as an older node does
	require.Equal(t, []string{"default"}, w.lines(
		`SELECT encode(engine, 'escape') FROM interlude.states WHERE id = 'long'`))
	w.exec(`UPDATE interlude.states SET ready = false WHERE id = 'long'`)

	steps := 0
	for w.status().Filling {
		select {
		case <-step:
			steps++
		case <-time.After(20 * time.Millisecond):
		}
	}
	require.Greater(t, steps, len(w.lines(`SELECT id FROM interlude.states`)))
	stop()
	require.NoError(t, <-stopped)
	require.NoError(t, <-served)
	require.Equal(t, []string{"0"}, w.lines(`SELECT count(*)::text FROM interlude.states
		WHERE finished_at IS NULL AND engine IS NULL`))
	require.Equal(t, small.upgraded(), w.upgraded())
	require.NoError(t, second(s.Inspect(t.Context())))
}

// serveAsOlder renews a lease and writes a run, as nodes of the first release do, until ctx ends. A
// statement that waits for a lock for a second is an error.
func serveAsOlder(ctx context.Context, dsn string) error {
	conn, err := pgx.Connect(context.WithoutCancel(ctx), dsn)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	if _, err := conn.Exec(context.WithoutCancel(ctx), `SET lock_timeout = '1s'`); err != nil {
		return err
	}
	for ctx.Err() == nil {
		for _, text := range []string{`UPDATE interlude.nodes SET until = until + 1`,
			`UPDATE interlude.states SET version = version WHERE id = 'lost'`} {
			if _, err := conn.Exec(context.WithoutCancel(ctx), text); err != nil {
				return err
			}
		}
	}
	return nil
}

// envUpgrade makes this program an operator that upgrades the database in batches of some runs. It
// kills itself before the second step.
const envUpgrade = "INTERLUDE_POSTGRES_UPGRADE"

func upgradeAndDie(dsn string) error {
	steps := 0
	return postgres.MigrateInBatches(context.Background(), dsn, "", 4, func() {
		if steps++; steps == 2 {
			killSelf()
			select {}
		}
	})
}

// R6: an upgrade that is killed between any two of its steps continues where it was, also with an
// index that was not finished.
func TestR6UpgradeContinuesWhereItWasKilled(t *testing.T) {
	small := old(t)
	require.NoError(t, postgres.Migrate(t.Context(), small.dsn, small.schema))
	w := old(t)
	for kills, broken := 0, false; ; kills++ {
		cmd := exec.CommandContext(t.Context(), os.Args[0])
		cmd.Env = append(os.Environ(), envUpgrade+"="+w.dsn)
		out, err := cmd.CombinedOutput()
		if err == nil {
			require.True(t, broken)
			require.Greater(t, kills, 5)
			break
		}
		var exit *exec.ExitError
		require.ErrorAs(t, err, &exit)
		require.Equal(t, -1, exit.ExitCode(), "killed: %s", out)
		if !w.status().Filling { // after the last step
			continue
		}
		if last := w.lines(`SELECT last::text FROM interlude.filling WHERE version = 3`); last[0] == "-1" && !broken {
			broken = true
			conn := w.connect()
			_, err := conn.Exec(t.Context(), `CREATE UNIQUE INDEX CONCURRENTLY states_ready_engine
				ON interlude.states ((true))`)
			require.Error(t, err, "runs are equal in this, so the index stays invalid")
		}
	}
	require.Equal(t, small.upgraded(), w.upgraded())
	engines := `SELECT id || coalesce(encode(engine, 'escape'), '') FROM interlude.states
		WHERE finished_at IS NULL ORDER BY 1`
	require.Equal(t, small.lines(engines), w.lines(engines))
	require.False(t, w.status().Filling)
	require.NoError(t, postgres.Migrate(t.Context(), w.dsn, w.schema))
}

// killSelf ends this process as kill -9 does.
func killSelf() {
	if self, err := os.FindProcess(os.Getpid()); err == nil {
		_ = self.Kill()
	}
}
