package sqlite_test

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/lifecycle"
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
