package postgres_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/store"
	"github.com/interlude-go/interlude/store/postgres"
)

// F8: what one node commits, a watcher on another node hears of: the run, its state and its last event.
func TestANodeHearsOfWhatAnotherCommits(t *testing.T) {
	w, a := newWorld(t, postgres.Options{})
	b := w.open(postgres.Options{})
	here, there := hints(t, a), hints(t, b)
	w.hearsOf(a, there)

	run := w.waiting(a, "a")
	for h := range until(there, time.After(patience)) {
		require.NotEmpty(t, h.RunID, "nothing was lost")
		if h.RunID == "a" && h.State == fsm.StateWaitingUser {
			require.Equal(t, run.Seq, h.Seq)
			break
		}
	}
	// By then its own notifications have come back to the node; it heard of each commit once, as it made it.
	seen := 0
	for len(here) > 0 {
		if h := <-here; h.RunID == "a" {
			require.NotEmpty(t, h.Events, "a hint of its own brings the events")
			seen++
		}
	}
	require.Equal(t, 3, seen, "submitted, started, asked")
}

// I13: a node whose listening connection was lost listens again, and is told that it may have missed anything.
func TestALostListenerComesBack(t *testing.T) {
	w, a := newWorld(t, postgres.Options{})
	b := w.open(postgres.Options{NoNotify: true})
	there := hints(t, b)
	w.hearsOf(a, there)
	w.exec(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'LISTEN%' || $1 || '%' AND pid <> pg_backend_pid()`, w.schema)
	for h := range until(there, time.After(patience)) {
		if h.RunID == "" {
			w.hearsOf(a, there)
			return
		}
	}
	require.FailNow(t, "nobody was told that hints may be lost")
}

// I13: hints are not needed. Two nodes that neither tell nor listen see each other's commits when they look.
func TestWithoutNotificationsEverythingIsSeen(t *testing.T) {
	w, a := newWorld(t, postgres.Options{NoNotify: true, NoListen: true})
	b := w.open(postgres.Options{NoNotify: true, NoListen: true})
	waiting := w.waiting(a, "r")
	require.Equal(t, waiting.Version, w.load(b, "r").Version)
	queued := w.commit(b, answer(waiting, "key"))
	require.Equal(t, queued.Version, w.load(a, "r").Version)
	claimed, err := a.Claim(t.Context(), store.ClaimRequest{Node: "n", Now: noon, Max: 5, Start: start})
	require.NoError(t, err)
	require.Len(t, claimed, 1)
	require.Equal(t, "user_reply", string(claimed[0].Run.Answer.Resolution))
}
