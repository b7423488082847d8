package storetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/store"
)

func (w *world) journal(id string) []interaction.JournalEntry {
	w.Helper()
	entries, err := w.store.Journal(w.ctx, id)
	require.NoError(w, err)
	return entries
}

func kept(n int) interaction.JournalEntry {
	return interaction.JournalEntry{Path: fmt.Sprintf("%d.b2.1", n), Name: fmt.Sprintf("step %d ü", n), Type: "step",
		Body: []byte{0, 255, byte(n), byte(n >> 8), '\n'}}
}

func keeping(c store.Commit, entries ...interaction.JournalEntry) store.Commit {
	c.Journal = entries
	if size, err := c.Run.Journal.With(entries); err == nil {
		c.Run.Journal = size
	}
	return c
}

// keptOnly stores a step of a running turn: entries and no event.
func keptOnly(prev store.Run, now time.Time, entries ...interaction.JournalEntry) store.Commit {
	r := prev.Clone()
	r.Version++
	r.UpdatedAt = now
	return keeping(store.Commit{Run: r, Expect: prev.Version}, entries...)
}

func sleeping(prev store.Run, now, until time.Time) store.Commit {
	c := queuedAgain(prev, now)
	c.Run.Yielded++
	c.Run.NotBefore, c.Run.Block = until, &store.Block{Kind: store.BlockSleep, Until: until}
	return c
}

type entries = []interaction.JournalEntry

var journalCases = []promised{
	{
		"journal/keeps the entries of turns in order",
		"Entries can be read once their commit is stored, after the earlier ones: with a report or an event, with " +
			"the end of a turn, whatever it leads to, and after the end of the run (M1).",
		func(w *world) {
			r := w.running("a")
			require.Empty(w, w.journal("a"))
			r = w.commit(keptOnly(r, w.tick(), kept(9)))
			r = w.commit(fenced(keptOnly(r, w.tick(), kept(2), kept(1)), "n", r.Epoch))
			require.Equal(w, entries{kept(9), kept(2), kept(1)}, w.journal("a"))
			w.commit(keeping(Asked(r, w.tick(), false, time.Time{}), kept(3)))
			w.commit(Answered(w.load("a"), w.tick(), ""))
			w.commit(keeping(sleeping(w.start("n"), w.tick(), w.now), kept(300)))
			w.commit(keeping(using(ended(w.start("n"), w.tick(), fsm.StateSucceeded), 1), kept(4)))
			w.finished("b")
			all := entries{kept(9), kept(2), kept(1), kept(3), kept(300), kept(4)}
			for _, s := range []store.Store{w.store, w.also()} {
				got, err := s.Journal(w.ctx, "a")
				require.NoError(w, err)
				require.Equal(w, all, got)
				r, err := s.Run(w.ctx, "a")
				require.NoError(w, err)
				require.Equal(w, len(all), r.Journal.Entries)
			}
			require.Empty(w, w.journal("b"))
			_, err := w.store.Journal(w.ctx, "unknown")
			require.ErrorIs(w, err, store.ErrNotFound)
		},
	},
	{
		"journal/a refused commit writes nothing",
		"A worker that was fenced off, or whose run has changed, adds nothing to the journal; the other commits of " +
			"the batch do (M1, I2).",
		func(w *world) {
			stale, changed, fine := w.running("stale"), w.running("changed"), w.running("fine")
			w.commit(reported(changed, w.tick()))
			errs := w.store.Commit(w.ctx, []store.Commit{
				fenced(keptOnly(stale, w.tick(), kept(1)), "n", stale.Epoch-1),
				keptOnly(changed, w.now, kept(2)),
				fenced(keptOnly(fine, w.now, kept(3)), "n", fine.Epoch),
			})
			require.ErrorIs(w, errs[0], store.ErrStaleEpoch)
			require.ErrorIs(w, errs[1], store.ErrConflict)
			require.NoError(w, errs[2])
			require.Empty(w, w.journal("stale"))
			require.Empty(w, w.journal("changed"))
			require.Equal(w, entries{kept(3)}, w.journal("fine"))
			w.expire("n")
			w.refused(store.ErrStaleEpoch, fenced(keptOnly(stale, w.tick(), kept(1)), "n", stale.Epoch))
			require.Empty(w, w.journal("stale"))
		},
	},
	{
		"journal/of several writers one is stored",
		"Of any number of commits based on one version, the entries of exactly one are in the journal (M1).",
		func(w *world) {
			const lanes = 8
			r := w.running("a")
			w.race(lanes, func(ctx context.Context, i int, s store.Store) error {
				err := one(ctx, s, fenced(keptOnly(r, r.UpdatedAt, kept(2*i), kept(2*i+1)), "n", r.Epoch))
				if errors.Is(err, store.ErrConflict) {
					return nil
				}
				return err
			})
			got := w.journal("a")
			require.Len(w, got, 2)
			require.Equal(w, got[0].Body[2]+1, got[1].Body[2], "both are of one commit")
		},
	},
	{
		"journal/follows up within a batch",
		"Commits of one run in one batch, each based on the one before, write their entries in order.",
		func(w *world) {
			first := keptOnly(w.running("a"), w.tick(), kept(1))
			second := keptOnly(first.Run, w.tick(), kept(2))
			third := keeping(Asked(second.Run, w.tick(), false, time.Time{}), kept(3))
			for _, err := range w.store.Commit(w.ctx, []store.Commit{first, second, third}) {
				require.NoError(w, err)
			}
			require.Equal(w, entries{kept(1), kept(2), kept(3)}, w.journal("a"))
		},
	},
	{
		"journal/is written by turns and counted",
		"Entries outside a turn, without a path, a type or a body, with texts that no database stores, or that the " +
			"record does not count, are ErrInvalid (M1).",
		func(w *world) {
			w.refused(store.ErrInvalid, keeping(Created("new", w.tick()), kept(1)))
			w.refused(store.ErrInvalid, keeping(Answered(w.waiting("parked"), w.tick(), ""), kept(1)))
			r := w.running("a")
			for _, change := range []func(*interaction.JournalEntry){
				func(e *interaction.JournalEntry) { e.Path = "" },
				func(e *interaction.JournalEntry) { e.Type = "" },
				func(e *interaction.JournalEntry) { e.Body = nil },
				func(e *interaction.JournalEntry) { e.Path = "a\x00" },
				func(e *interaction.JournalEntry) { e.Name = "\xff" },
				func(e *interaction.JournalEntry) { e.Name = strings.Repeat("n", interaction.MaxJournalWord+1) },
			} {
				e := kept(1)
				change(&e)
				w.refused(store.ErrInvalid, keptOnly(r, w.tick(), kept(2), e))
			}
			for _, size := range []*interaction.JournalSize{nil, {Entries: 2, Bytes: 20}, {Entries: 1, Bytes: 1}} {
				c := keptOnly(r, w.tick(), kept(1))
				c.Run.Journal = size
				w.refused(store.ErrInvalid, c)
			}
			r = w.commit(keptOnly(r, w.tick(), kept(1)))
			less := reported(r, w.tick())
			less.Run.Journal = nil
			w.refused(store.ErrInvalid, less)
			require.Equal(w, entries{kept(1)}, w.journal("a"))
		},
	},
	{
		"journal/has limits",
		"An entry of MaxJournalBody bytes is kept; a longer one is ErrInvalid, one beyond MaxJournalEntries or " +
			"MaxJournalSize is ErrJournalFull, and nothing is written (M1).",
		func(w *world) {
			large := kept(1)
			large.Body = bytes.Repeat([]byte{7}, interaction.MaxJournalBody)
			r := w.commit(keptOnly(w.running("a"), w.tick(), large))
			require.Equal(w, entries{large}, w.journal("a"))
			full := func(r store.Run, es ...interaction.JournalEntry) {
				c := keptOnly(r, w.tick(), es...)
				w.refused(interaction.ErrJournalFull, c)
				require.ErrorIs(w, w.try(c), store.ErrInvalid)
			}
			larger := large
			larger.Body = append(bytes.Clone(large.Body), 7)
			full(r, larger)
			fits := make(entries, interaction.MaxJournalSize/interaction.MaxJournalBody)
			for i := range fits {
				fits[i] = large
			}
			full(r, fits...)
			small := make(entries, interaction.MaxJournalEntries-1)
			for i := range small {
				small[i] = interaction.JournalEntry{Path: "p", Type: "t", Body: []byte{1}}
			}
			full(r, slices.Concat(small, entries{kept(1), kept(2)})...)
			r = w.commit(keptOnly(r, w.tick(), small...))
			require.Len(w, w.journal("a"), interaction.MaxJournalEntries)
			full(r, kept(2))
		},
	},
	{
		"journal/is deleted with its run",
		"Prune deletes the journal of a run too; another run with its id begins without one (M1).",
		func(w *world) {
			w.commit(keeping(ended(w.running("a"), w.tick(), fsm.StateSucceeded), kept(1)))
			require.Equal(w, 1, w.prune(w.tick(), 9))
			_, err := w.store.Journal(w.ctx, "a")
			require.ErrorIs(w, err, store.ErrNotFound)
			r := w.running("a")
			require.Empty(w, w.journal("a"))
			w.commit(keptOnly(r, w.tick(), kept(2)))
			require.Equal(w, entries{kept(2)}, w.journal("a"))
		},
	},
	{
		"journal/a run that sleeps is claimed at its time",
		"A run whose turn sleeps is queued with a block until its NotBefore, and no claim takes it earlier (M1).",
		func(w *world) {
			until := w.now.Add(time.Hour)
			w.commit(sleeping(w.running("a"), w.tick(), until))
			require.Empty(w, w.claimed("n", 9))
			require.Equal(w, store.BlockSleep, w.load("a").Block.Kind)
			_, next := w.due(w.now, 9)
			require.Equal(w, until, next)
			w.now = until
			require.Equal(w, []string{"a"}, w.claimed("n", 9))
			require.Nil(w, w.load("a").Block)
			wrong := sleeping(w.load("a"), w.tick(), w.now.Add(time.Hour))
			wrong.Run.Block.Until = w.now
			w.refused(store.ErrInvalid, wrong)
		},
	},
}

var journalDurableCases = []promised{
	{
		"journal/survives a restart",
		"Acknowledged entries survive a close of the store and the death of its process (M1).",
		func(w *world) {
			n := 0
			for _, restart := range w.restarts() {
				n++
				id := fmt.Sprint("r", n)
				w.commit(keptOnly(w.running(id), w.tick(), kept(n), kept(n+1)))
				w.store = restart(w, w.store)
				require.Equal(w, entries{kept(n), kept(n + 1)}, w.journal(id))
			}
		},
	},
}
