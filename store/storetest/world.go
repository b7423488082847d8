package storetest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/slots"
	"github.com/interlude-go/interlude/store"
)

// lease is so long that no store, whichever clock it uses, ends it during a case.
const lease = time.Hour

// world is the store of one case, and the case's time.
type world struct {
	testing.TB
	ctx     context.Context
	harness Harness
	store   store.Store
	now     time.Time
}

// newWorld opens a store, registers node "n" and creates pool "p" with plenty of slots.
func newWorld(tb testing.TB, h Harness) *world {
	tb.Helper()
	w := &world{TB: tb, ctx: tb.Context(), harness: h, store: h.Open(tb), now: base}
	tb.Cleanup(func() { require.NoError(tb, w.store.Close()) })
	w.join("n")
	w.pool("p", 100, 0)
	return w
}

func (w *world) also() store.Store {
	w.Helper()
	if w.harness.Also == nil {
		return w.store
	}
	s := w.harness.Also(w, w.store)
	w.Cleanup(func() { require.NoError(w, s.Close()) })
	return s
}

func (w *world) tick() time.Time {
	w.now = w.now.Add(time.Second)
	return w.now
}

func (w *world) join(ids ...string) {
	w.Helper()
	for _, id := range ids {
		require.NoError(w, w.store.Join(w.ctx, store.Node{ID: id, Identity: "process of " + id, Lease: lease}, w.now))
	}
}

func (w *world) expire(id string) {
	w.Helper()
	_, err := w.store.Expire(w.ctx, base, id)
	require.NoError(w, err)
}

func (w *world) pool(name string, capacity, keyCapacity int) {
	w.Helper()
	require.NoError(w, w.store.SetPool(w.ctx, slots.Pool{Name: name, Capacity: capacity, KeyCapacity: keyCapacity}))
}

func (w *world) try(c store.Commit) error {
	w.Helper()
	errs := w.store.Commit(w.ctx, []store.Commit{c})
	require.Len(w, errs, 1, "one error for each entry of the batch")
	return errs[0]
}

func (w *world) commit(c store.Commit) store.Run {
	w.Helper()
	require.NoError(w, w.try(c))
	return c.Run
}

// submit creates a run, one second after the previous step.
func (w *world) submit(id string, change ...func(*store.Run)) store.Run {
	w.Helper()
	return w.commit(Created(id, w.tick(), change...))
}

func (w *world) claim(node string, limit int) []store.Run {
	w.Helper()
	now := w.tick()
	claimed, err := w.store.Claim(w.ctx, store.ClaimRequest{Node: node, Now: now, Max: limit, Start: Started(now)})
	require.NoError(w, err)
	runs := make([]store.Run, len(claimed))
	for i, c := range claimed {
		runs[i] = c.Run
	}
	return runs
}

func (w *world) claimOf(node string, limit int, engines ...string) []string {
	w.Helper()
	now := w.tick()
	claimed, err := w.store.Claim(w.ctx, store.ClaimRequest{Node: node, Now: now, Max: limit, Engines: engines,
		Start: Started(now)})
	require.NoError(w, err)
	ids := make([]string, len(claimed))
	for i, c := range claimed {
		ids[i] = c.Run.ID
	}
	return ids
}

func (w *world) claimSuspects(node string, limit int, engines ...string) (ids []string) {
	w.Helper()
	now := w.tick()
	claimed, err := w.store.Claim(w.ctx, store.ClaimRequest{Node: node, Now: now, Max: limit, Engines: engines,
		Suspects: true, Start: Started(now)})
	require.NoError(w, err)
	for _, c := range claimed {
		ids = append(ids, c.Run.ID)
	}
	return ids
}

// claimInto claims runs of the engine "agent" with this Start, and asks whether any are left.
func (w *world) claimInto(drained *bool, node string, limit int,
	start func(store.Run, []byte) (store.Commit, error),
) error {
	_, err := w.store.Claim(w.ctx, store.ClaimRequest{Node: node, Now: w.tick(), Max: limit,
		Engines: []string{"agent"}, Drained: drained, Start: start})
	return err
}

func (w *world) claimed(node string, limit int) []string {
	w.Helper()
	return ids(w.claim(node, limit))
}

func (w *world) start(node string) store.Run {
	w.Helper()
	runs := w.claim(node, 1)
	require.Len(w, runs, 1, "one run is ready and a slot is free")
	return runs[0]
}

// running creates a run and starts it on node "n". No other run may be ready.
func (w *world) running(id string, change ...func(*store.Run)) store.Run {
	w.Helper()
	w.submit(id, change...)
	r := w.start("n")
	require.Equal(w, id, r.ID)
	return r
}

func (w *world) waiting(id string, change ...func(*store.Run)) store.Run {
	w.Helper()
	r := w.running(id, change...)
	return w.commit(Asked(r, w.tick(), false, time.Time{}))
}

func (w *world) finished(id string) store.Run {
	w.Helper()
	r := w.running(id)
	return w.commit(ended(r, w.tick(), fsm.StateSucceeded))
}

func (w *world) load(id string) store.Run {
	w.Helper()
	r, err := w.store.Run(w.ctx, id)
	require.NoError(w, err)
	return r
}

func ids(runs []store.Run) []string {
	all := make([]string, len(runs))
	for i := range runs {
		all[i] = runs[i].ID
	}
	return all
}

func text(tb require.TestingT, r store.Run) string {
	body, err := store.Encode(r)
	require.NoError(tb, err)
	return string(body)
}

type runSnapshot struct {
	Run     string
	Missing bool
	Spec    string
	Events  []store.Event
	History []interaction.Record
	Usage   []store.TurnUsage
	Journal []interaction.JournalEntry
}

// readSnapshot reads everything of a run, and checks that the parts agree (I10).
func readSnapshot(ctx context.Context, tb require.TestingT, s store.Store, id string) runSnapshot {
	run, err := s.Run(ctx, id)
	if errors.Is(err, store.ErrNotFound) {
		return runSnapshot{Missing: true}
	}
	require.NoError(tb, err)
	spec, err := s.Spec(ctx, id)
	require.NoError(tb, err)
	events := readAll(ctx, tb, s, id)
	again, history, err := store.ReadHistory(ctx, s, id)
	require.NoError(tb, err)
	require.NoError(tb, run.Validate())
	require.Equal(tb, text(tb, run), text(tb, again), "History returns the run as Run does")
	require.Len(tb, events, int(run.Seq), "the events end where the record says")
	for i, e := range events {
		require.EqualValues(tb, i+1, e.Seq, "events have no gap")
	}
	if len(history) == 0 {
		history = nil
	}
	usage, err := s.Usage(ctx, id)
	require.NoError(tb, err)
	if len(usage) == 0 {
		usage = nil
	}
	journal, err := s.Journal(ctx, id)
	require.NoError(tb, err)
	if len(journal) == 0 {
		journal = nil
	}
	return runSnapshot{Run: text(tb, run), Spec: string(spec), Events: events, History: history, Usage: usage,
		Journal: journal}
}

func readAll(ctx context.Context, tb require.TestingT, s store.Store, id string) (all []store.Event) {
	for {
		part, err := s.Events(ctx, id, uint64(len(all)), store.MaxBatch)
		require.NoError(tb, err)
		if len(part) == 0 {
			return all
		}
		all = append(all, part...)
	}
}

func (w *world) snapshot(id string) runSnapshot {
	w.Helper()
	return readSnapshot(w.ctx, w, w.store, id)
}

func (w *world) refused(want error, c store.Commit) {
	w.Helper()
	before := w.snapshot(c.Run.ID)
	require.ErrorIs(w, w.try(c), want)
	require.Equal(w, before, w.snapshot(c.Run.ID), "nothing was written")
}
