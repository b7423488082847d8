package store_test

import (
	"context"
	"encoding/base64"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/store"
)

func TestQueryNormalChecksAndFillsIn(t *testing.T) {
	for _, c := range []struct {
		q    store.Query
		want int
		err  error
	}{
		{store.Query{}, 100, nil},
		{store.Query{Limit: 1}, 1, nil},
		{store.Query{Limit: store.MaxBatch}, store.MaxBatch, nil},
		{store.Query{Limit: store.MaxBatch + 1}, 0, store.ErrInvalid},
		{store.Query{Limit: -1}, 0, store.ErrInvalid},
		{store.Query{After: "no cursor"}, 0, store.ErrInvalid},
		{store.Query{States: slices.Repeat(fsm.States(), 100_000)}, 100, nil},
		{store.Query{States: manyStates(store.MaxBatch + 1)}, 0, store.ErrInvalid},
		{store.Query{Labels: manyLabels(store.MaxBatch)}, 100, nil},
		{store.Query{Labels: manyLabels(store.MaxBatch + 1)}, 0, store.ErrInvalid},
		{store.Query{After: store.Cursor{At: noon, ID: "a"}.String()}, 100, nil},
	} {
		got, err := c.q.Normal()
		require.ErrorIs(t, err, c.err)
		if c.err == nil {
			require.Equal(t, c.want, got.Limit)
			require.LessOrEqual(t, len(got.States), len(fsm.States()), "each once")
		}
	}
}

func manyStates(n int) []fsm.State {
	states := make([]fsm.State, n)
	for i := range n {
		states[i] = fsm.State(strconv.Itoa(i))
	}
	return states
}

func manyLabels(n int) map[string]string {
	labels := make(map[string]string, n)
	for i := range n {
		labels[strconv.Itoa(i)] = "x"
	}
	return labels
}

func TestQueryMatchesAllFilters(t *testing.T) {
	r := parked()
	for _, c := range []struct {
		q    store.Query
		want bool
	}{
		{store.Query{}, true},
		{store.Query{States: []fsm.State{fsm.StateQueued, fsm.StateWaitingUser}}, true},
		{store.Query{States: []fsm.State{fsm.StateQueued}}, false},
		{store.Query{Pool: "p", Key: "k", Labels: map[string]string{"team": "blue"}}, true},
		{store.Query{Pool: "q"}, false},
		{store.Query{Key: "q"}, false},
		{store.Query{Labels: map[string]string{"team": "red"}}, false},
		{store.Query{Labels: map[string]string{"team": "blue", "other": ""}}, false},
	} {
		require.Equal(t, c.want, c.q.Matches(&r), "%+v", c.q)
	}
}

func TestReadCursorReturnsCursor(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := store.Cursor{
			At: time.UnixMicro(rapid.Int64().Draw(t, "at")).UTC(),
			ID: rapid.StringMatching(`[A-Za-z0-9][A-Za-z0-9._-]{0,127}`).Draw(t, "id"),
		}
		got, err := store.ReadCursor(c.String())
		require.NoError(t, err)
		require.Equal(t, c.String(), got.String())
		require.Equal(t, c.ID, got.ID)
		require.True(t, c.At.Equal(got.At))
	})
}

func TestReadCursorRefusesBadCursor(t *testing.T) {
	for _, raw := range []string{"", " ", "x", "12", "x a", "1.5 a", strconv.FormatInt(1<<62, 10) + "0 a"} {
		_, err := store.ReadCursor(base64.RawURLEncoding.EncodeToString([]byte(raw)))
		require.ErrorIs(t, err, store.ErrInvalid, "%q", raw)
	}
	_, err := store.ReadCursor("not base64!")
	require.ErrorIs(t, err, store.ErrInvalid)
}

// FuzzReadCursor: an untrusted cursor is read or refused, and a read one is a place.
func FuzzReadCursor(f *testing.F) {
	f.Add(store.Cursor{At: noon, ID: "run-1"}.String())
	f.Add("")
	f.Add("MTIgYQ")
	f.Fuzz(func(t *testing.T, s string) {
		c, err := store.ReadCursor(s)
		if err != nil {
			require.ErrorIs(t, err, store.ErrInvalid)
			return
		}
		again, err := store.ReadCursor(c.String())
		require.NoError(t, err)
		require.Equal(t, c, again)
	})
}

// pages is a RunReader whose history has these questions. Each page has one of them, whatever
// number the question states.
type pages struct {
	store.RunReader
	numbers []int
}

func (p pages) History(_ context.Context, id string, q store.HistoryQuery) (store.Run, []interaction.Record, error) {
	run := store.Run{ID: id, Interactions: len(p.numbers)}
	if q.After >= len(p.numbers) {
		return run, nil, nil
	}
	return run, []interaction.Record{{Question: interaction.Question{ID: p.numbers[q.After]}}}, nil
}

// J8: if a damaged record states another number, time or id than its row, each loop over pages
// ends with an error. Otherwise the next page would be the same page again, without end.
func TestAPageThatWouldRepeatIsCorrupt(t *testing.T) {
	for _, numbers := range [][]int{{1, 1, 3}, {1, 2, 1}, {0}, {1, 2, 2, 5}, {1, 3, 1}} {
		_, _, err := store.ReadHistory(t.Context(), pages{numbers: numbers}, "a")
		require.ErrorIs(t, err, store.ErrCorrupt, "%v", numbers)
	}
	_, all, err := store.ReadHistory(t.Context(), pages{numbers: []int{1, 2, 3}}, "a")
	require.NoError(t, err)
	require.Len(t, all, 3)

	require.ErrorIs(t, store.CheckEvents("a", 4, []store.Event{{Seq: 5}, {Seq: 5}}, 0), store.ErrCorrupt)
	require.ErrorIs(t, store.CheckEvents("a", 4, []store.Event{{Seq: 3}}, 9), store.ErrCorrupt)

	place := func(seconds int64, id string) store.Cursor { return store.Cursor{At: time.Unix(seconds, 0), ID: id} }
	for _, c := range []struct {
		last           store.Cursor
		oldest, newest bool // a page after (5, "b") may end there
	}{
		{place(5, "b"), false, false}, {place(5, "c"), true, false}, {place(5, "a"), false, true},
		{place(6, "a"), true, false}, {place(4, "c"), false, true},
	} {
		for _, q := range []store.Query{{}, {Newest: true}} {
			_, err := c.last.After(q)
			require.NoError(t, err, "the first page")
			q.After = place(5, "b").String()
			next, err := c.last.After(q)
			if q.Newest && c.newest || !q.Newest && c.oldest {
				require.NoError(t, err)
				require.Equal(t, c.last.String(), next.After)
				continue
			}
			require.ErrorIs(t, err, store.ErrCorrupt)
			require.ErrorContains(t, err, c.last.ID)
		}
	}
}

// reused is a RunReader of a run that was deleted, and whose id was used again.
type reused struct{ store.RunReader }

func (reused) History(_ context.Context, id string, _ store.HistoryQuery) (store.Run, []interaction.Record, error) {
	return store.Run{ID: id, CreatedAt: noon.Add(time.Second)}, nil, nil
}

// C7 J6: an incomplete page is never correct, also if its run was deleted after the page was read: a
// reader without an error would look for the next page after the last record of an empty one.
func TestAnIncompletePageOfADeletedRunIsNotFound(t *testing.T) {
	run := store.Run{ID: "a", CreatedAt: noon, Interactions: 2}
	for _, newest := range []bool{false, true} {
		q := store.HistoryQuery{Limit: 9, Newest: newest}
		require.ErrorIs(t, store.CheckHistory(t.Context(), reused{}, &run, q, nil), store.ErrNotFound)
	}
}
