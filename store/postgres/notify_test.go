package postgres

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/store"
	"github.com/interlude-go/interlude/store/postgres/pgtest"
)

// notices are all that the notifier has to send.
func notices(tb testing.TB, n *notifier) (all []notice) {
	tb.Helper()
	for next := n.next(); next != nil; next = n.next() {
		payload := next.payload()
		require.LessOrEqual(tb, len(payload), maxPayload)
		var arrived notice
		require.NoError(tb, json.Unmarshal([]byte(payload), &arrived))
		all = append(all, arrived)
	}
	return all
}

func newTestNotifier() *notifier {
	s := &Store{instance: "here"}
	s.notifier = newNotifier(s)
	return s.notifier
}

// Several hints of one run become the newest one, whatever the order in which they came.
func TestNotifierKeepsNewestHintOfRun(t *testing.T) {
	n := newTestNotifier()
	n.enqueue([]store.Hint{{RunID: "a", State: fsm.StateQueued, Seq: 1}, {RunID: "b", State: fsm.StateQueued, Seq: 1}})
	n.enqueue([]store.Hint{{RunID: "a", State: fsm.StateCanceled, Seq: 3}})
	n.enqueue([]store.Hint{{RunID: "a", State: fsm.StateRunning, Seq: 2}})
	require.Equal(t, []notice{{From: "here", Runs: []runHint{
		{ID: "a", State: fsm.StateCanceled, Seq: 3}, {ID: "b", State: fsm.StateQueued, Seq: 1},
	}}}, notices(t, n))
	require.Empty(t, notices(t, n))
}

// Hints that do not fit into one notification go into several; each run is named once.
func TestNotifierSplitsManyHints(t *testing.T) {
	n := newTestNotifier()
	const runs = 1000
	for i := range runs {
		n.enqueue([]store.Hint{{RunID: fmt.Sprintf("run-%04d", i), State: fsm.StateQueued, Seq: 1}})
	}
	all := notices(t, n)
	require.Greater(t, len(all), 1)
	seen := make(map[string]bool)
	for _, next := range all {
		require.False(t, next.All)
		for _, r := range next.Runs {
			require.False(t, seen[r.ID])
			seen[r.ID] = true
		}
	}
	require.Len(t, seen, runs)
}

// Too many hints, or hints with ids that are too long in JSON, become "anything may have
// changed".
func TestNotifierReplacesTooManyHintsByAll(t *testing.T) {
	n := newTestNotifier()
	for i := range maxHints + 1 {
		n.enqueue([]store.Hint{{RunID: fmt.Sprintf("run-%04d", i)}})
	}
	require.Equal(t, []notice{{From: "here", All: true}}, notices(t, n))
	n.enqueue([]store.Hint{{RunID: strings.Repeat("<", 2000)}})
	require.Equal(t, []notice{{From: "here", All: true}}, notices(t, n))
}

// R4: a hint says whether this process makes the claim that it calls for. Only hints that another
// process must act on are sent at once.
func TestNotifierSaysWhatThisProcessClaims(t *testing.T) {
	n := newTestNotifier()
	stop := n.s.Claims(func(h store.Hint) bool { return h.RunID == "mine" })
	n.enqueue([]store.Hint{{RunID: "mine", State: fsm.StateQueued, Seq: 1},
		{RunID: "b", State: fsm.StateFailed, Seq: 1}})
	require.Empty(t, n.wake)
	require.Len(t, n.quiet, 1)
	n.enqueue([]store.Hint{{RunID: "c", State: fsm.StateCanceled, Seq: 1}})
	require.Len(t, n.wake, 1)
	n.s.Announce(fsm.StateWaitingUser)
	n.s.Announce(fsm.StateQueued)
	n.s.Announce(fsm.StateWaitingUser)
	require.Equal(t, []notice{{From: "here", Found: fsm.StateQueued, Runs: []runHint{
		{ID: "mine", State: fsm.StateQueued, Seq: 1, Claimed: true}, {ID: "b", State: fsm.StateFailed, Seq: 1},
		{ID: "c", State: fsm.StateCanceled, Seq: 1},
	}}}, notices(t, n))
	stop()
	n.enqueue([]store.Hint{{RunID: "mine", State: fsm.StateQueued, Seq: 3}})
	require.False(t, notices(t, n)[0].Runs[0].Claimed)
	for version, claimed := range map[uint64]bool{1: true, 2: false} { // a later version may have released a slot
		later := &store.Run{ID: "later", Version: version, State: fsm.StateQueued, NotBefore: time.Unix(1, 0)}
		n.enqueue([]store.Hint{{RunID: "later", State: fsm.StateQueued, Seq: version, Run: later}})
		require.Equal(t, claimed, notices(t, n)[0].Runs[0].Claimed)
	}
}

// The name of a schema's channel fits the server, and no other schema has it.
func TestChannelNameFitsServer(t *testing.T) {
	channel := func(schema string) string { return (&Store{o: Options{Schema: schema}}).channel() }
	require.Equal(t, "interlude a", channel("a"))
	long := strings.Repeat("é", 31)
	require.LessOrEqual(t, len(channel(long)), 63)
	require.NotEqual(t, channel(long), channel(long+"a"))
}

// A notification that cannot be decoded comes from a newer version: anything may have changed. A
// store ignores its own notifications.
func TestNotificationsAreDecoded(t *testing.T) {
	for payload, want := range map[string][]store.Hint{
		`{"from":"there","runs":[{"id":"a","s":"queued","n":7},{"id":"b","s":"failed","n":9}]}`: {
			{RunID: "a", State: fsm.StateQueued, Seq: 7}, {RunID: "b", State: fsm.StateFailed, Seq: 9},
		},
		`{"from":"","runs":[{"id":"a","s":"queued","n":7,"new":true}]}`: {{RunID: "a", State: fsm.StateQueued, Seq: 7}},
		`{"from":"there","runs":[{"id":"a","s":"queued","n":7,"c":true}]}`: {
			{RunID: "a", State: fsm.StateQueued, Seq: 7, Claimed: true},
		},
		`{"from":"there","found":"queued"}`:                      {{State: fsm.StateQueued}},
		`{"from":"here","runs":[{"id":"a","s":"queued","n":7}]}`: nil,
		`{"from":"there","all":true}`:                            {{}},
		`{"from":"there","rows":"of another version"}`:           {{}},
		`{"from":7}`:  {{}},
		`not JSON`:    {{}},
		`{"from":"t`:  {{}},
		``:            {{}},
		`{"all":true`: {{}},
	} {
		s := &Store{instance: "here"}
		var heard []store.Hint
		stop := s.Watch(func(h store.Hint) { heard = append(heard, h) })
		s.publishNotification(payload)
		stop()
		require.Equal(t, want, heard, payload)
	}
}

// A listener that receives nothing for a while pings its connection, and continues with it when it
// answers.
func TestListenerPingsSilentConnection(t *testing.T) {
	dsn, schema := pgtest.Schema(t)
	s, err := Open(t.Context(), dsn, Options{Schema: schema, NoListen: true, Timeout: 30 * time.Second})
	require.NoError(t, err)
	defer s.Close()
	conn, err := s.connectListener()
	require.NoError(t, err)
	defer conn.Close(context.Background())
	_, err = conn.Exec(t.Context(), `LISTEN `+quoted(s.channel()))
	require.NoError(t, err)
	for range 3 {
		n, err := s.waitForNotification(conn, 5*time.Millisecond)
		require.NoError(t, err)
		require.Nil(t, n)
	}
	_, err = s.pool.Exec(t.Context(), s.texts[notifyText], s.channel(), "hello")
	require.NoError(t, err)
	n, err := s.waitForNotification(conn, 30*time.Second)
	require.NoError(t, err)
	require.Equal(t, "hello", n.Payload)

	_, err = s.pool.Exec(t.Context(), `SELECT pg_terminate_backend($1)`, conn.PgConn().PID())
	require.NoError(t, err)
	_, err = s.waitForNotification(conn, 30*time.Second)
	require.Error(t, err)
}
