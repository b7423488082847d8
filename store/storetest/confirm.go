package storetest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/slots"
	"github.com/interlude-go/interlude/store"
)

var confirmCases = []promised{
	{
		"confirm/shows what is stored",
		"Within Confirm, read sees what every other call sees; an error of read is returned unchanged, and the " +
			"store keeps working (J8).",
		func(w *world) {
			w.commit(Answered(w.waiting("a"), w.tick(), "key"))
			want := w.snapshot("a")
			run := w.load("a")
			require.NoError(w, w.store.Confirm(w.ctx, func(r store.Reader) error {
				shown, err := r.Run(w.ctx, "a")
				require.NoError(w, err)
				require.Equal(w, text(w, run), text(w, shown))
				again, history, err := store.ReadHistory(w.ctx, r, "a")
				require.NoError(w, err)
				require.Equal(w, text(w, run), text(w, again))
				require.Equal(w, want.History, history)
				settled, err := r.Settled(w.ctx, "a", "key")
				require.NoError(w, err)
				require.Equal(w, history[0], settled)
				return nil
			}))
			refused := errors.New("the reader's own")
			require.ErrorIs(w, w.store.Confirm(w.ctx, func(r store.Reader) error {
				require.ErrorIs(w, second(r.Run(w.ctx, "unknown")), store.ErrNotFound)
				return refused
			}), refused)
			gone, cancel := context.WithCancel(w.ctx)
			cancel()
			require.ErrorIs(w, w.store.Confirm(gone, func(store.Reader) error { return nil }), context.Canceled)
			require.Equal(w, want, w.snapshot("a"), "nothing is changed")
			w.submit("b")
		},
	},
	{
		"confirm/recent records",
		"A store.RecentReader returns a copy of a run at one of its versions; a commit based on an old one is " +
			"ErrConflict (C8).",
		func(w *world) {
			recent, ok := w.store.(store.RecentReader)
			if !ok {
				return
			}
			asked := w.waiting("a")
			if run, ok := recent.Recent("a"); ok {
				require.Equal(w, text(w, asked), text(w, run))
				run.Open[0].Prompt = "another"
				again, _ := recent.Recent("a")
				require.Equal(w, text(w, asked), text(w, again), "it is a copy")
			}
			_, ok = recent.Recent("unknown")
			require.False(w, ok)
			w.commit(Answered(asked, w.tick(), "key"))
			if run, ok := recent.Recent("a"); ok {
				require.LessOrEqual(w, run.Version, asked.Version+1)
			}
			w.refused(store.ErrConflict, Answered(asked, w.tick(), "key"))
		},
	},
}

// Replica is a store whose commits wait for a copy that can take over.
type Replica struct {
	// Store is the primary, opened with a timeout that a slow machine does not exceed.
	Store store.Store
	// Hasty is the same primary, opened so that a call fails within a few seconds while the copy cannot
	// be reached.
	Hasty store.Store
	// Cut disconnects the copy from the primary; Restore connects it again.
	Cut, Restore func()
	// Promote stops the primary for good and opens the copy in its place. The suite closes that.
	Promote func() store.Store
}

// Run proves that a copy that takes over has everything that a commit or a read has acknowledged.
func (r Replica) Run(t *testing.T) {
	t.Helper()
	require.NotNil(t, r.Hasty, "Replica.Hasty is not set")
	w := &world{TB: t, ctx: t.Context(), store: r.Store, now: base}
	w.join("n")
	w.pool("p", 100, 0)
	waits := w.waiting("acknowledged")
	undone := w.waiting("undone")
	w.store = r.Hasty
	confirm := func(id string) (run store.Run, err error) {
		err = r.Hasty.Confirm(w.ctx, func(r store.Reader) (err error) {
			run, err = r.Run(w.ctx, id)
			return err
		})
		return run, err
	}
	// A commit may time out before it is sent, so it is repeated until the primary has stored it.
	unacknowledged := func(c store.Commit) {
		t.Helper()
		refusals := []error{store.ErrStaleEpoch, store.ErrNotFound, store.ErrInvalid, store.ErrConflict,
			store.ErrExists}
		for late := time.Now().Add(time.Minute); ; {
			err := w.try(c)
			require.Error(t, err, "the copy does not have it")
			for _, refusal := range refusals {
				require.NotErrorIs(t, err, refusal, "its outcome is unknown")
			}
			refusals = refusals[:3] // an earlier try may be stored by the next one
			if run, err := r.Store.Run(w.ctx, c.Run.ID); err == nil && run.Version == c.Run.Version {
				return
			}
			require.True(t, time.Now().Before(late), "it is never stored")
		}
	}

	r.Cut()
	answer := Answered(waits, w.tick(), "key")
	unacknowledged(answer)
	unacknowledged(Created("submitted", w.tick()))
	for _, id := range []string{"acknowledged", "submitted"} {
		_, err := confirm(id)
		require.Error(t, err, "what a read shows is not confirmed while the copy is away")
	}
	require.Error(t, second(r.Hasty.Renew(w.ctx, "n", w.now)), "what a renewal lists is as good as confirmed")
	require.Error(t, r.Hasty.SetPool(w.ctx, slots.Pool{Name: "p", Capacity: 1}))

	r.Restore()
	require.Eventually(t, func() bool {
		run, err := confirm("acknowledged")
		return err == nil && run.Version == answer.Run.Version && second(confirm("submitted")) == nil
	}, time.Minute, 10*time.Millisecond, "they are confirmed when the copy is back")

	r.Cut()
	unacknowledged(Answered(undone, w.tick(), "other"))
	w.store = r.Promote()
	t.Cleanup(func() { require.NoError(t, w.store.Close()) })
	require.Equal(t, text(t, answer.Run), text(t, w.load("acknowledged")), "what was confirmed is there")
	require.NoError(t, second(w.store.Settled(w.ctx, "acknowledged", "key")))
	w.load("submitted")
	unanswered := w.load("undone")
	require.Equal(t, undone.Version, unanswered.Version, "what was not is undone")
	require.ErrorIs(t, second(w.store.Settled(w.ctx, "undone", "other")), store.ErrNotFound)
	w.commit(Answered(unanswered, w.tick(), "other"))
}
