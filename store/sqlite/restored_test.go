package sqlite_test

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/store"
	"github.com/interlude-go/interlude/store/sqlite"
)

// restored are hosts over copies of one file, one after the other.
type restored struct {
	*testing.T

	sent map[string]string           // by id, the events that left a host
	last map[string]lifecycle.Cursor // by run, the last event that left a host
}

// host serves the file until do returns, and reads its feed to the end.
func (r *restored) host(path string, do func(lc *lifecycle.Lifecycle)) {
	r.Helper()
	st, err := sqlite.Open(r.Context(), path, quick)
	require.NoError(r, err)
	lc, err := lifecycle.New(lifecycle.Config{Store: st, Engine: engine.Func(
		func(_ context.Context, t engine.Turn, _ engine.Sink) (engine.Outcome, error) {
			if len(t.Answers) == 0 {
				return engine.Ask(engine.Question{Prompt: "Which?"}), nil
			}
			return engine.Done(t.Answers[0].Text), nil
		})})
	require.NoError(r, err)
	ctx, cancel := context.WithCancel(r.Context())
	ended := make(chan error, 1)
	go func() { ended <- lc.Serve(ctx) }()
	do(lc)
	for event, err := range lc.Feed(ctx, "all", lifecycle.FeedFilter{}) {
		require.NoError(r, err)
		r.sends(event.Event)
		if !event.More {
			require.NoError(r, event.Ack(ctx))
			break
		}
	}
	cancel()
	require.NoError(r, <-ended)
	lc.Close()
	require.NoError(r, st.Close())
}

func (r *restored) sends(e lifecycle.Event) {
	r.Helper()
	body := fmt.Sprint(e.TS, e.Type, string(e.Data))
	if before, ok := r.sent[e.ID()]; ok {
		require.Equal(r, before, body, "%s came again with other content", e.ID())
	}
	r.sent[e.ID()], r.last[e.RunID] = body, e.Cursor()
}

// follow reads a run's events up to the first of the type.
func (r *restored) follow(lc *lifecycle.Lifecycle, id, typ string) {
	r.Helper()
	for event, err := range lc.Events(r.Context(), id, 0) {
		require.NoError(r, err)
		r.sends(event)
		if event.Type == typ {
			return
		}
	}
}

// After a restore, no event has the id of a lost one, a cursor of a lost event is refused, and a
// reply whose receipt was lost is decided again. The same backup may be restored twice. Data that
// was never restored has ids without an incarnation.
func TestR5NoEventIDRepeatsAfterARestore(t *testing.T) {
	ctx, dir := t.Context(), t.TempDir()
	const runs = 20
	id := func(i int) string { return fmt.Sprint("r", i) }
	r := &restored{t, map[string]string{}, map[string]lifecycle.Cursor{}}
	original, backup := filepath.Join(dir, "runs.db"), filepath.Join(dir, "backup.db")
	answer := func(lc *lifecycle.Lifecycle, text string) {
		for i := range runs {
			reply := lifecycle.Reply{ID: 1, Text: text, Key: "k"}
			receipt, err := lc.Reply(ctx, id(i), reply)
			require.NoError(t, err)
			require.False(t, receipt.Replayed, "the receipt of the lost reply")
			again, err := lc.Reply(ctx, id(i), reply)
			require.NoError(t, err)
			require.True(t, again.Replayed)
			require.Equal(t, receipt.AcceptedAt, again.AcceptedAt)
			r.follow(lc, id(i), "")
		}
	}
	r.host(original, func(lc *lifecycle.Lifecycle) {
		_, err := lc.CreateFeed(ctx, "all", lifecycle.DefaultFeedLag)
		require.NoError(t, err)
		for i := range runs {
			_, err := lc.Submit(ctx, lifecycle.Spec{ID: id(i), Prompt: "go"})
			require.NoError(t, err)
			r.follow(lc, id(i), lifecycle.TypeInputRequired)
		}
		copyOf(t, original, backup)
		answer(lc, "one")
	})
	for event := range r.sent {
		require.NotContains(t, event, "@")
	}
	lost := maps.Clone(r.last)
	for _, text := range []string{"two", "another"} {
		path := filepath.Join(dir, text+".db")
		require.NoError(t, sqlite.Restore(ctx, backup, path))
		r.host(path, func(lc *lifecycle.Lifecycle) {
			require.ErrorIs(t, lc.CheckCursor(ctx, id(0), lost[id(0)]), lifecycle.ErrCursorBeyondEnd)
			answer(lc, text)
			for i := range runs {
				require.NotZero(t, r.last[id(i)].Incarnation)
				require.ErrorIs(t, lc.CheckCursor(ctx, id(i), lost[id(i)]), lifecycle.ErrCursorBeyondEnd)
				require.NoError(t, lc.CheckCursor(ctx, id(i), r.last[id(i)]))
				for _, err := range lc.EventsAfter(ctx, id(i), lost[id(i)]) {
					require.ErrorIs(t, err, lifecycle.ErrCursorBeyondEnd)
				}
				for event, err := range lc.EventsAfter(ctx, id(i), lifecycle.Cursor{Seq: 3}) { // before the backup
					require.NoError(t, err)
					require.GreaterOrEqual(t, event.Seq, uint64(4))
				}
			}
		})
		lost = maps.Clone(r.last)
	}
	t.Logf("%d ids", len(r.sent))
}

func copyOf(t *testing.T, path, to string) {
	t.Helper()
	s, err := sqlite.Open(t.Context(), path, quiet)
	require.NoError(t, err)
	require.NoError(t, s.Backup(t.Context(), to))
	require.NoError(t, s.Close())
}

// envRestored makes this program call Restored for the file, and kill itself in the transaction.
const envRestored = "INTERLUDE_SQLITE_RESTORED"

// A kill -9 within Restored changes nothing, also for a host that has the file open; the next call
// raises the incarnation.
func TestR5RestoredIsKilled(t *testing.T) {
	path := filepath.Join(t.TempDir(), "runs.db")
	s := at(t, path)
	defer s.Close()
	require.NoError(t, setPools(t, s))
	commit := func(c store.Commit) {
		t.Helper()
		require.NoError(t, s.Commit(t.Context(), []store.Commit{c})[0])
	}
	commit(newRun("before", 10))
	db := plain(t, path)
	const raised, version = `SELECT count(*) FROM restored`, `PRAGMA user_version`
	before := number(t, db, version)
	for i := range 3 {
		cmd := exec.CommandContext(t.Context(), os.Args[0])
		cmd.Env = append(os.Environ(), envRestored+"="+path)
		out, err := cmd.CombinedOutput()
		var exit *exec.ExitError
		require.ErrorAs(t, err, &exit)
		require.Equal(t, -1, exit.ExitCode(), "killed: %s", out)
		require.Zero(t, number(t, db, raised))
		require.Equal(t, before, number(t, db, version), "earlier releases open the file")
		commit(newRun(fmt.Sprint("r", i), 10))
	}
	require.NoError(t, sqlite.Restored(t.Context(), path))
	require.Equal(t, 1, number(t, db, raised))
	require.NotEqual(t, before, number(t, db, version))
}
