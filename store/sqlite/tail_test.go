package sqlite_test

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/interlude-go/interlude/store"
	"github.com/interlude-go/interlude/store/sqlite"
)

// plain opens the file as another program does, to count its rows.
func plain(t *testing.T, path string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	return db
}

// number is the answer to a query for one.
func number(t require.TestingT, db *sql.DB, query string, args ...any) (n int) {
	require.NoError(t, db.QueryRow(query, args...).Scan(&n), query)
	return n
}

// withEvents is a commit with events of these sizes, and no other change. A run's first is its
// creation.
func withEvents(prev store.Run, sizes ...int) store.Commit {
	c := report(prev)
	if prev.Version == 0 {
		c = newRun(prev.ID, 0)
	}
	c.Run.Seq, c.Run.LocalSeq, c.Events = prev.Seq, prev.LocalSeq, nil
	for _, size := range sizes {
		c.Run.Seq++
		c.Run.LocalSeq++
		body := fmt.Appendf(nil, "%s:%d:", prev.ID, c.Run.Seq)
		body = append(body, bytes.Repeat([]byte{byte('a' + c.Run.Seq%26)}, max(0, size-len(body)))...)
		c.Events = append(c.Events, store.Event{Seq: c.Run.Seq, Body: body[:size]})
	}
	return c
}

// requireEvents compares a reader's events from the cursor with all committed ones.
func requireEvents(t require.TestingT, s *sqlite.Store, id string, all []store.Event, after, limit int) {
	got, err := s.Events(context.Background(), id, uint64(after), limit)
	require.NoError(t, err)
	want := all[min(after, len(all)):]
	want = want[:min(limit, len(want))]
	if size := sizeOf(got); len(got) < len(want) && size > store.MinPage { // large ones come in several pages
		want = want[:len(got)]
	}
	require.Len(t, got, len(want), "run %s after %d, limit %d", id, after, limit)
	for i := range want {
		require.Equal(t, want[i].Seq, got[i].Seq)
		require.True(t, bytes.Equal(want[i].Body, got[i].Body), "run %s event %d: %.40s is not %.40s", id, want[i].Seq,
			got[i].Body, want[i].Body)
	}
}

func sizeOf(events []store.Event) (size int) {
	for _, e := range events {
		size += len(e.Body)
	}
	return size
}

// eventWriter commits events of a few runs, and records the commits. All checks share the file:
// creating one takes longest.
type eventWriter struct {
	t         require.TestingT
	draw      *rapid.T
	ids       []string
	path      string
	db        *sql.DB
	store     *sqlite.Store
	runs      map[string]store.Run // the current records
	committed map[string][]store.Event
	reads     int
}

// reset makes new runs of names that no check had before.
func (w *eventWriter) reset(t *rapid.T, name string) {
	w.t, w.draw, w.ids = t, t, []string{name + "a", name + "b", name + "c"}
	w.runs, w.committed = map[string]store.Run{}, map[string][]store.Event{}
	for _, id := range w.ids {
		w.runs[id] = store.Run{ID: id}
	}
}

func (w *eventWriter) open() {
	s, err := sqlite.Open(context.Background(), w.path, quick)
	require.NoError(w.t, err)
	w.store = s
}

// sizes draws the sizes of one commit's events: none, a few of any size, or exactly enough to fill
// the run's row.
func (w *eventWriter) sizes(prev store.Run) []int {
	size := rapid.OneOf(rapid.IntRange(1, 60), rapid.IntRange(400, 1600),
		rapid.SampledFrom([]int{sqlite.MaxTail - 1, sqlite.MaxTail, sqlite.MaxTail + 1, 2 * sqlite.MaxTail}))
	if prev.Version > 0 && rapid.IntRange(0, 3).Draw(w.draw, "fill") == 0 {
		used := number(w.t, w.db, `SELECT coalesce(max(length(tail)), 0) FROM runs WHERE id = ?`, prev.ID)
		left := sqlite.MaxTail - used - 1 + rapid.IntRange(-1, 1).Draw(w.draw, "off")
		return []int{max(1, left)}
	}
	return rapid.SliceOfN(size, 0, 3).Draw(w.draw, "sizes")
}

// next is a commit for a run, and its expected result: sometimes it must be refused.
func (w *eventWriter) next() (c store.Commit, want error) {
	prev := w.runs[rapid.SampledFrom(w.ids).Draw(w.draw, "run")]
	c = withEvents(prev, w.sizes(prev)...)
	switch rapid.IntRange(0, 9).Draw(w.draw, "refused") {
	case 0: // decided on an older or a newer record, or made twice
		if prev.Version > 0 {
			c.Run.Version--
			c.Expect--
		} else {
			c.Run.Version++
			c.Expect++
			c.Spec = nil
		}
		switch {
		case prev.Version == 0:
			return c, store.ErrNotFound
		case c.Expect == 0:
			return c, store.ErrInvalid // a creation has a spec
		}
		return c, store.ErrConflict
	case 1:
		c.Events = append(c.Events, store.Event{Seq: c.Run.Seq + 1})
		c.Run.Seq++
		return c, store.ErrInvalid
	case 2:
		if prev.Version > 0 { // events that do not follow
			c.Run.Seq++
			for i := range c.Events {
				c.Events[i].Seq++
			}
			return c, store.ErrInvalid
		}
	case 3:
		if prev.Version > 0 {
			c.Fence = &store.Fence{Node: "nobody", Epoch: 1}
			return c, store.ErrStaleEpoch
		}
	}
	return c, nil
}

// commits stores a batch, some of which is refused.
func (w *eventWriter) commits() {
	batch := make([]store.Commit, rapid.IntRange(1, 3).Draw(w.draw, "batch"))
	want := make([]error, len(batch))
	for i := range batch {
		batch[i], want[i] = w.next()
		if want[i] == nil { // later entries follow up on it
			w.runs[batch[i].Run.ID] = batch[i].Run.Clone()
			w.committed[batch[i].Run.ID] = append(w.committed[batch[i].Run.ID], batch[i].Events...)
		}
	}
	for i, err := range w.store.Commit(context.Background(), batch) {
		require.ErrorIs(w.t, err, want[i], "entry %d", i)
	}
}

// restart makes the store forget its memory.
func (w *eventWriter) restart() {
	require.NoError(w.t, w.store.Close())
	w.open()
}

// check reads every run from every cursor, with one limit after the other.
func (w *eventWriter) check() {
	for _, id := range w.ids {
		if w.runs[id].Version == 0 {
			_, err := w.store.Events(context.Background(), id, 0, 1)
			require.ErrorIs(w.t, err, store.ErrNotFound)
			continue
		}
		told := w.committed[id]
		requireEvents(w.t, w.store, id, told, 0, 1000)
		for after := range len(told) + 2 {
			requireEvents(w.t, w.store, id, told, after, 1+(after+w.reads)%5)
		}
		w.reads++
	}
	require.LessOrEqual(w.t, number(w.t, w.db, `SELECT coalesce(max(length(tail)), 0) FROM runs`), sqlite.MaxTail)
}

// prune ends one run and deletes it: nothing of it stays in the log, and everything of the others
// does.
func (w *eventWriter) prune(id string) {
	if w.runs[id].Version == 0 {
		return
	}
	n := number(w.t, w.db, `SELECT n FROM runs WHERE id = ?`, id)
	logged := func(whose string) int {
		return number(w.t, w.db, `SELECT count(*) FROM log WHERE k >> 28 `+whose+` ?`, n)
	}
	others := logged("<>")
	require.NoError(w.t, w.store.Commit(context.Background(), []store.Commit{end(w.runs[id])})[0])
	pruned, err := w.store.Prune(context.Background(), noon.Add(time.Second), 10)
	require.NoError(w.t, err)
	require.Equal(w.t, 1, pruned)
	require.Zero(w.t, logged("="))
	require.Equal(w.t, others, logged("<>"))
	w.runs[id], w.committed[id] = store.Run{ID: id}, nil
}

// F8: wherever the events of a run are stored, in its row, in the log or in both, a reader gets
// exactly the committed ones, from every cursor; also after the run left the cache, next to refused
// commits, and when its id is used again.
func TestEventsReadsTailAndLog(t *testing.T) {
	path := closedFile(t)
	w := &eventWriter{t: t, path: path, db: plain(t, path)}
	w.open()
	defer func() { require.NoError(t, w.store.Close()) }()
	checks := 0
	rapid.Check(t, func(rt *rapid.T) {
		checks++
		w.reset(rt, fmt.Sprint("check-", checks))
		for range rapid.IntRange(1, 6).Draw(rt, "steps") {
			switch rapid.IntRange(0, 11).Draw(rt, "do") {
			case 0:
				w.restart()
			case 1:
				w.prune(rapid.SampledFrom(w.ids).Draw(w.draw, "run"))
			default:
				w.commits()
			}
			w.check()
		}
	})
}

// F8: the exact sizes at which events move from the run's row to the log.
func TestCommitMovesFullTailToLog(t *testing.T) {
	const full = sqlite.MaxTail
	s, path := openMade(t, quick)
	db := plain(t, path)
	for _, c := range []struct {
		name    string
		commits [][]int // sizes of each commit's events, the creation first
		tail    int     // bytes in the row
		logged  int     // rows of the log
	}{
		{"no event at all", [][]int{{}, {}}, 0, 0},
		{"one byte short of full", [][]int{{full - 1}}, full - 1, 0},
		{"a creation that would fill it", [][]int{{full}}, 0, 1},
		{"a creation that is larger", [][]int{{full + 1}, {}}, 0, 1},
		{"a report that fills it", [][]int{{}, {full}}, full, 0},
		{"a report that is larger", [][]int{{}, {full + 1}}, 0, 1},
		{"a second report that fills it", [][]int{{10}, {full - 11}}, full, 0},
		{"a second report that is a byte too long", [][]int{{10}, {full - 10}}, full - 10, 1},
		{"a full one, then no event", [][]int{{}, {full}, {}}, full, 0},
		{"a full one, then one of a byte", [][]int{{}, {full}, {1}}, 1, 1},
		{"two that are larger", [][]int{{full + 1}, {full + 1, 5}, {5}}, 5, 2},
		{"a larger one behind some", [][]int{{7, 8}, {3 * full}, {9}}, 9, 2},
		{"a commit of many", [][]int{{1}, slices.Repeat([]int{100}, 20), slices.Repeat([]int{100}, 20)}, 20*101 - 1, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			run := store.Run{ID: strings.ReplaceAll(c.name, " ", "-")}
			var told []store.Event
			for _, sizes := range c.commits {
				next := withEvents(run, sizes...)
				put(t, s, next)
				run, told = next.Run, append(told, next.Events...)
				for after := range len(told) + 2 {
					for _, limit := range []int{1, 2, len(told), len(told) + 1} {
						requireEvents(t, s, run.ID, told, after, max(1, limit))
					}
				}
			}
			require.Equal(t, c.tail, number(t, db, `SELECT length(tail) FROM runs WHERE id = ?`, run.ID))
			require.Equal(t, c.logged,
				number(t, db, `SELECT count(*) FROM log WHERE k >> 28 = (SELECT n FROM runs WHERE id = ?)`, run.ID))
		})
	}
}

// F8: a reader of many large events gets them in pages of limited size. The caller owns the events
// of a page: appending to an event does not change the next.
func TestEventsGivesCallerOwnPage(t *testing.T) {
	s, _ := openMade(t, quick)
	first := withEvents(store.Run{ID: "r"}, 10, 10, 10)
	put(t, s, first)
	run := first.Run
	told := first.Events
	for range 3 {
		c := withEvents(run, store.MinPage/2, 10, store.MinPage)
		put(t, s, c)
		run, told = c.Run, append(told, c.Events...)
	}
	for after := 0; after < len(told); {
		got, err := s.Events(t.Context(), "r", uint64(after), 1000)
		require.NoError(t, err)
		require.NotEmpty(t, got)
		require.LessOrEqual(t, sizeOf(got[:len(got)-1]), store.MinPage, "a page ends with the event that fills it")
		for i := range got {
			_ = append(got[i].Body, strings.Repeat("#", 50)...)
		}
		for i := range got {
			require.True(t, bytes.Equal(told[after+i].Body, got[i].Body), "event %d", after+i+1)
		}
		after += len(got)
	}
}
