package postgres_test

import (
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/slots"
	"github.com/interlude-go/interlude/store"
	"github.com/interlude-go/interlude/store/postgres"
)

// grant gives a role the rights that the operators' guide gives to another.
func (w *world) grant(documented, role string) {
	w.Helper()
	guide, err := os.ReadFile("../../docs/postgres.md")
	require.NoError(w, err)
	grants := regexp.MustCompile(`(?m)^GRANT .* TO .*`+documented+`\b.*;$`).FindAllString(string(guide), -1)
	require.NotEmpty(w, grants)
	for _, grant := range grants {
		grant = strings.ReplaceAll(grant[:strings.LastIndex(grant, " TO ")], "SCHEMA interlude", "SCHEMA "+w.quoted())
		w.exec(grant + " TO " + role)
	}
}

// A role that may not make tables lets another role migrate, and needs no more rights than the
// operators' guide lists.
func TestNodeNeedsDocumentedRights(t *testing.T) {
	w := elsewhere(t)
	node, dsn := w.newRole("")
	require.ErrorIs(t, refused(t, dsn, postgres.Options{Schema: w.schema}), postgres.ErrRights,
		"no right to make a schema")
	require.ErrorIs(t, postgres.Migrate(t.Context(), dsn, w.schema), postgres.ErrRights)
	require.NoError(t, postgres.Migrate(t.Context(), w.dsn, w.schema))
	require.ErrorIs(t, refused(t, dsn, postgres.Options{Schema: w.schema, NoMigrate: true}), postgres.ErrRights,
		"no right to look")

	w.grant("interlude_node", node)
	w.dsn = dsn
	have, err := postgres.Inspect(t.Context(), dsn, w.schema)
	require.NoError(t, err)
	require.Empty(t, have.Lacks)
	w.open(postgres.Options{}) // there is nothing to migrate
	s := w.open(postgres.Options{NoMigrate: true})
	w.furnish(s)
	require.NoError(t, s.CreateFeed(t.Context(), store.Feed{Name: "all", MaxLag: time.Microsecond}))
	r := w.commit(s, cancel(w.commit(s, answer(w.waiting(s, "r"), "key"))))
	require.NoError(t, s.Confirm(t.Context(), func(store.Reader) error { return nil }))
	require.NoError(t, second(s.Renew(t.Context(), "n", noon)))
	require.NoError(t, second(s.Expire(t.Context(), noon, "n")))
	require.NoError(t, second(s.Orphans(t.Context(), 0, 1)))
	require.NoError(t, second(s.Survey(t.Context(), noon)))
	n, err := s.Prune(t.Context(), r.FinishedAt.Add(time.Second), 10)
	require.NoError(t, err)
	require.Equal(t, 1, n)
	require.Equal(t, feedRows{}, w.feedRows(), "the feed is lost")
	_, err = postgres.OpenWith(t.Context(), w.dsn, postgres.Options{Schema: w.schema}, next(additive))
	require.ErrorIs(t, err, postgres.ErrRights, "the tables are another role's")
}

// The queries of the operators' guide, in its tables and programs, can be executed.
func TestTheQueriesOfTheGuideWork(t *testing.T) {
	w := elsewhere(t)
	s := w.open(postgres.Options{})
	w.furnish(s)
	guide, err := os.ReadFile("../../docs/postgres.md")
	require.NoError(t, err)
	query := regexp.MustCompile("`(SELECT [^`…]+)`|(?m)^ *(SELECT [^`…]+?);")
	queries := query.FindAllStringSubmatch(string(guide), -1)
	require.Greater(t, len(queries), 10)
	for _, q := range queries {
		w.exec(strings.ReplaceAll(q[1]+q[2], "'interlude'", "'"+w.schema+"'"))
	}
}

// The statements of the operators' guide that create roles and the schema can be executed.
func TestTheRolesOfTheGuideCanBeCreated(t *testing.T) {
	w := elsewhere(t)
	w.open(postgres.Options{})
	guide, err := os.ReadFile("../../docs/postgres.md")
	require.NoError(t, err)
	blocks := regexp.MustCompile("(?s)```sql\n(CREATE ROLE .*?)```").FindAllStringSubmatch(string(guide), -1)
	require.Len(t, blocks, 3)
	for _, b := range blocks {
		statements := strings.ReplaceAll(b[1], "CREATE SCHEMA interlude ", "CREATE SCHEMA another ")
		statements = w.inSchema(strings.ReplaceAll(statements, "SCHEMA interlude ", "SCHEMA "+w.quoted()+" "))
		tx := w.beginTx(pgx.ReadCommitted) // rolled back, since roles belong to the whole server
		_, err := tx.Exec(t.Context(), statements)
		require.NoError(t, err, statements)
		require.NoError(t, tx.Rollback(t.Context()))
	}
}

// The status column with which docs/compare.md compares decides once, before the deadline or at it.
func TestTheStatusColumnOfThePageDecidesOnce(t *testing.T) {
	w := elsewhere(t)
	w.exec(`CREATE SCHEMA ` + w.quoted())
	w.exec(`CREATE TABLE interlude.refunds (id int, state text, by text, deadline timestamptz)`)
	w.exec(`INSERT INTO interlude.refunds VALUES (7, 'open', '', now() + interval '1 hour'),
		(8, 'open', '', now() - interval '1 hour')`)
	page, err := os.ReadFile("../../docs/compare.md")
	require.NoError(t, err)
	updates := regexp.MustCompile(`UPDATE refunds [^;]+`).FindAllString(string(page), -1)
	require.Len(t, updates, 2)
	for _, update := range append(updates, updates...) {
		w.exec(strings.Replace(update, "refunds", "interlude.refunds", 1))
	}
	require.Equal(t, []string{"7 approved", "8 rejected"},
		w.lines(w.inSchema(`SELECT id || ' ' || state FROM interlude.refunds ORDER BY id`)))
}

// J7: roles with rights to each table from before the table of departures continue after its
// migration.
func TestRolesKeepTheirRightsThroughMigration(t *testing.T) {
	w := elsewhere(t)
	before := postgres.Migrations()[:3]
	require.NoError(t, postgres.MigrateWith(t.Context(), w.dsn, w.schema, before))
	roles := map[string]string{}
	for _, documented := range []string{"node", "front", "watch"} {
		role, dsn := w.newRole("")
		w.exec(`GRANT USAGE ON SCHEMA ` + w.quoted() + ` TO ` + role)
		w.exec(`GRANT SELECT ON ALL TABLES IN SCHEMA ` + w.quoted() + ` TO ` + role)
		roles[documented] = dsn
		if documented == "watch" {
			continue
		}
		w.exec(`GRANT INSERT ON interlude.runs, interlude.states, interlude.events, interlude.settled TO ` + role)
		w.exec(`GRANT UPDATE ON interlude.states TO ` + role)
		if documented == "node" {
			w.exec(`GRANT INSERT ON interlude.nodes, interlude.pools TO ` + role)
			w.exec(`GRANT UPDATE ON interlude.nodes, interlude.pools TO ` + role)
			w.exec(`GRANT DELETE ON interlude.runs, interlude.states, interlude.events, interlude.settled,
				interlude.nodes TO ` + role)
		}
	}
	require.NoError(t, postgres.Migrate(t.Context(), w.dsn, w.schema))
	opened := map[string]*postgres.Store{}
	for name, dsn := range roles {
		s, err := postgres.Open(t.Context(), dsn, postgres.Options{Schema: w.schema, NoMigrate: true})
		require.NoError(t, err)
		defer s.Close()
		opened[name] = s
	}
	w.furnish(opened["node"])
	parked := ask(w.running(opened["node"], "r"))
	parked.Run.Session = &interaction.SessionHandle{Engine: "agent", Data: []byte("s")}
	w.commit(opened["node"], parked)
	require.NoError(t, second(opened["node"].Expire(t.Context(), noon, "n")))
	run, err := opened["watch"].Run(t.Context(), "r")
	require.NoError(t, err)
	require.Equal(t, store.RecoveredWaiting, run.Recovery)
	w.commit(opened["front"], answer(run, "key"))
	require.NoError(t, second(opened["node"].Expire(t.Context(), noon)))
	departures, err := opened["watch"].Departures(t.Context())
	require.NoError(t, err)
	require.Empty(t, departures)
}

// Processes that submit, reply and cancel, and processes that only read, need fewer rights. A call
// that needs more returns an error that says so.
func TestClientNeedsFewerRights(t *testing.T) {
	w, s := newWorld(t, postgres.Options{})
	waiting := w.waiting(s, "waiting")
	front, frontDSN := w.newRole("")
	w.grant("interlude_front", front)
	watch, watchDSN := w.newRole("")
	w.grant("interlude_watch", watch)
	o := postgres.Options{Schema: w.schema, NoMigrate: true}

	f, err := postgres.Open(t.Context(), frontDSN, o)
	require.NoError(t, err)
	defer f.Close()
	w.commit(f, cancel(w.commit(f, created("r"))))
	w.commit(f, answer(waiting, "key"))
	for name, err := range map[string]error{
		"claim": second(f.Claim(t.Context(), store.ClaimRequest{Node: "n", Now: noon, Max: 1, Start: start})),
		"prune": second(f.Prune(t.Context(), noon.Add(time.Second), 1)),
		"join":  f.Join(t.Context(), store.Node{ID: "m", Lease: time.Hour}, noon),
		"pool":  f.SetPool(t.Context(), slots.Pool{Name: "p", Capacity: 1}),
	} {
		require.ErrorIs(t, err, postgres.ErrRights, name)
	}

	l, err := postgres.Open(t.Context(), watchDSN, o)
	require.NoError(t, err)
	defer l.Close()
	for name, err := range map[string]error{
		"run": second(l.Run(t.Context(), "r")), "spec": second(l.Spec(t.Context(), "r")),
		"events": second(l.Events(t.Context(), "r", 0, 1)),
		"runs":   second(l.Runs(t.Context(), store.Query{})), "waiting": second(l.Waiting(t.Context(),
			store.WaitingQuery{For: &interaction.Actor{ID: "ada"}})),
		"survey": second(l.Survey(t.Context(), noon)), "pools": second(l.Pools(t.Context())),
		"nodes": second(l.Nodes(t.Context())),
	} {
		require.NoError(t, err, name)
	}
	require.ErrorIs(t, w.try(l, created("new")), postgres.ErrRights)
	have, err := l.Inspect(t.Context())
	require.NoError(t, err)
	require.Contains(t, have.Lacks, "INSERT on runs")
}

// A role that may create tables in an empty schema migrates it without other rights.
func TestMigrateUsesGivenSchema(t *testing.T) {
	w := elsewhere(t)
	name, dsn := w.newRole("")
	w.exec(`CREATE SCHEMA ` + w.quoted())
	require.ErrorIs(t, refused(t, dsn, postgres.Options{Schema: w.schema}), postgres.ErrRights)
	w.exec(`GRANT CREATE, USAGE ON SCHEMA ` + w.quoted() + ` TO ` + name)
	s, err := postgres.Open(t.Context(), dsn, postgres.Options{Schema: w.schema})
	require.NoError(t, err)
	require.NoError(t, s.Close())
}
