package postgres_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/store"
	"github.com/interlude-go/interlude/store/postgres"
	"github.com/interlude-go/interlude/store/postgres/pgtest"
)

// F8: a watcher on one node gets a hint of each commit of another node: the run, its state and
// its last event.
func TestWatchReportsCommitsOfOtherNodes(t *testing.T) {
	w, a := newWorld(t, postgres.Options{})
	b := w.open(postgres.Options{})
	here, there := hints(t, a), hints(t, b)
	w.hearsOf(a, there)

	// A listener that connects again loses hints, and says so: then another run is committed.
	var id string
	for n, found := 0, false; !found; n++ {
		require.Less(t, n, 10, "a listener connects again and again")
		id = fmt.Sprint("a", n) // of the ids that are ready, it comes before the marks
		run := w.waiting(a, id)
		h := w.hear(there, id)
		for h.RunID == id && h.State != fsm.StateWaitingUser {
			h = w.hear(there, id)
		}
		if found = h.RunID == id; found {
			require.Equal(t, run.Seq, h.Seq)
		}
	}
	// By then its own notifications have come back to the node; it heard of each commit once, as it
	// made it.
	seen := 0
	for len(here) > 0 {
		if h := <-here; h.RunID == id {
			require.NotEmpty(t, h.Events, "a hint of its own brings the events")
			seen++
		}
	}
	require.Equal(t, 3, seen, "submitted, started, asked")
}

// A node whose listening connection breaks listens again, and notifies its watchers that anything
// may have changed.
func TestWatchReconnectsAndReportsThatHintsMayBeLost(t *testing.T) {
	w, a := newWorld(t, postgres.Options{})
	b := w.open(postgres.Options{NoNotify: true})
	there := hints(t, b)
	w.hearsOf(a, there)
	w.exec(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'LISTEN%' || $1 || '%'
		AND pid <> pg_backend_pid()`, w.schema)
	for h := range until(there, time.After(patience)) {
		if h.RunID == "" {
			w.hearsOf(a, there)
			return
		}
	}
	require.FailNow(t, "nobody was told that hints may be lost")
}

// Hints are not needed: two nodes that neither notify nor listen see each other's commits when
// they poll.
func TestPollingSeesCommitsWithoutNotifications(t *testing.T) {
	w, a := newWorld(t, postgres.Options{NoNotify: true, NoListen: true})
	b := w.open(postgres.Options{NoNotify: true, NoListen: true})
	waiting := w.waiting(a, "r")
	require.Equal(t, waiting.Version, w.load(b, "r").Version)
	queued := w.commit(b, answer(waiting, "key"))
	require.Equal(t, queued.Version, w.load(a, "r").Version)
	claimed, err := a.Claim(t.Context(), store.ClaimRequest{Node: "n", Now: noon, Max: 5, Start: start})
	require.NoError(t, err)
	require.Len(t, claimed, 1)
	require.Equal(t, "user_reply", string(claimed[0].Run.Answers[0].Resolution))
}

// A process that commits and closes the store at once still notifies the others.
func TestCloseSendsLastHints(t *testing.T) {
	w, a := newWorld(t, postgres.Options{})
	there := hints(t, w.open(postgres.Options{NoNotify: true}))
	w.hearsOf(a, there)
	brief, err := postgres.Open(t.Context(), w.dsn, postgres.Options{Schema: w.schema, NoListen: true})
	require.NoError(t, err)
	for i := range 20 {
		w.commit(brief, created(fmt.Sprintf("r%d", i)))
	}
	require.NoError(t, brief.Close())
	w.hear(there, "r19")
}

// Schemas with the longest name that the server allows have separate channels.
func TestWatchInSchemaWithLongName(t *testing.T) {
	dsn := pgtest.DSN(t)
	var worlds [2]*world
	var nodes [2]*postgres.Store
	for i := range worlds {
		worlds[i] = &world{t, dsn, strings.Repeat(`long "name" `, 5) + fmt.Sprintf("%03d", i)}
		nodes[i] = worlds[i].open(postgres.Options{})
		worlds[i].furnish(nodes[i])
	}
	here, there := hints(t, worlds[0].open(postgres.Options{})), hints(t, worlds[1].open(postgres.Options{}))
	worlds[0].hearsOf(nodes[0], here)
	worlds[1].hearsOf(nodes[1], there)
	require.NoError(t, nodes[0].Transact(t.Context(), worlds[0].hostPool(), func(_ pgx.Tx, in store.Store) error {
		worlds[0].commit(in, created("r"))
		return nil
	}))
	worlds[0].hear(here, "r")
	worlds[1].requireSilence(nodes[1], "r", there)
}
