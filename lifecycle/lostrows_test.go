package lifecycle

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/store"
	"github.com/interlude-go/interlude/store/memory"
)

// losing is a store whose other tables lose their first rows, as after a DELETE.
type losing struct {
	*memory.Store
	journal, settled atomic.Bool
	sessions         atomic.Bool  // of the runs themselves
	events           atomic.Int64 // how many are lost; negative: all
}

func (s *losing) Journal(ctx context.Context, id string) ([]interaction.JournalEntry, error) {
	entries, err := s.Store.Journal(ctx, id)
	if s.journal.Load() && len(entries) > 0 {
		entries = entries[1:]
	}
	return entries, err
}

func (s *losing) History(ctx context.Context, id string, q store.HistoryQuery) (store.Run, []interaction.Record,
	error) {
	run, records, err := s.Store.History(ctx, id, q)
	if s.settled.Load() {
		records = nil
	}
	return run, records, err
}

func (s *losing) Interaction(ctx context.Context, id string, number int) (interaction.Record, error) {
	if s.settled.Load() {
		return interaction.Record{}, store.ErrNotFound
	}
	return s.Store.Interaction(ctx, id, number)
}

func (s *losing) Run(ctx context.Context, id string) (store.Run, error) {
	run, err := s.Store.Run(ctx, id)
	if s.sessions.Load() {
		run.Session = nil
	}
	return run, err
}

func (s *losing) Recent(string) (store.Run, bool) { return store.Run{}, false }

func (s *losing) Confirm(_ context.Context, read func(store.Reader) error) error { return read(s) }

func (s *losing) Events(ctx context.Context, id string, after uint64, limit int) ([]store.Event, error) {
	switch lost := s.events.Load(); {
	case lost < 0:
		return nil, nil
	case lost > 0:
		after = max(after, uint64(lost))
	}
	return s.Store.Events(ctx, id, after, limit)
}

// J5 M1: lost entries of a journal hold the run before a step is executed again, with an error that
// names both numbers, and the run continues when they are back. C4 C5 J6: so do readers of settled
// questions refuse to work on a part of them. F8: events with a gap are an error.
func TestLostRowsAreNoticed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &losing{Store: newStore(t)}
		var steps atomic.Int64
		lc, stop := serving(t, Config{Store: s, Engine: sinking(func(ctx context.Context, in engine.Turn,
			sink engine.Sink) (engine.Outcome, error) {
			journal := sink.(engine.Journal)
			entries, err := journal.Entries(ctx)
			if err != nil {
				return engine.Outcome{}, err
			}
			if len(entries) == 0 {
				steps.Add(1)
				err = journal.Append(ctx, engine.JournalEntry{Path: "1", Name: "charge", Type: "step",
					Body: []byte(`"paid"`)})
				return asking("Ship?"), err
			}
			return engine.Done("shipped"), nil
		})})
		submit(t, lc, "r")
		synctest.Wait()
		in(t, lc.Client, "r", fsm.StateWaitingUser)
		s.journal.Store(true)
		_, err := lc.Reply(t.Context(), "r", Reply{ID: 1, Text: "yes", Key: "k"})
		require.NoError(t, err)
		synctest.Wait()
		run := in(t, lc.Client, "r", fsm.StateQueued)
		require.True(t, run.Held(), "%+v", run.Block)
		require.Contains(t, run.Block.Reason,
			"the journal of run r has 0 entries of 0 bytes, and its record counts 1 of 17 bytes")
		_, err = lc.Fork(t.Context(), "r", At{Question: 1, ID: "f"})
		require.ErrorIs(t, err, store.ErrCorrupt)
		s.journal.Store(false)
		err = lc.Resume(t.Context(), "r", Resume{Choice: ChoiceRepeat, Version: run.Version})
		require.NoError(t, err)
		time.Sleep(time.Second)
		synctest.Wait()
		in(t, lc.Client, "r", fsm.StateSucceeded)
		require.EqualValues(t, 1, steps.Load(), "no step was executed again")

		s.settled.Store(true)
		_, err = lc.Reply(t.Context(), "r", Reply{ID: 1, Text: "no"})
		require.ErrorIs(t, err, store.ErrCorrupt)
		require.ErrorContains(t, err, "the history of run r has 0 settled questions, and its record counts 1")
		_, err = lc.History(t.Context(), "r")
		require.ErrorIs(t, err, store.ErrCorrupt)
		_, err = lc.Question(t.Context(), "r", 1)
		require.ErrorIs(t, err, store.ErrCorrupt)
		_, err = lc.Question(t.Context(), "r", 2)
		require.ErrorIs(t, err, store.ErrNotFound, "it was never asked")
		_, err = lc.Fork(t.Context(), "r", At{Question: 1, ID: "f"})
		require.ErrorIs(t, err, store.ErrCorrupt)
		s.settled.Store(false)
		_, err = lc.Reply(t.Context(), "r", Reply{ID: 1, Text: "no"})
		require.ErrorIs(t, err, ErrSettled)

		for lost, want := range map[int64]string{3: "event 4 where event 1 is expected", -1: "no event after 0"} {
			s.events.Store(lost)
			var last error
			for _, err := range lc.Events(t.Context(), "r", 0) {
				last = err
			}
			require.ErrorIs(t, last, store.ErrCorrupt)
			require.ErrorContains(t, last, want)
		}
		stop()
	})
}

// E2: a resumable run that has lost its session does not begin again with the answer to a question that
// its engine has not asked: it fails, or is held where the host wants that.
func TestE2ARunWithoutItsSessionDoesNotBeginAgain(t *testing.T) {
	for forgiving, state := range map[bool]fsm.State{false: fsm.StateFailed, true: fsm.StateQueued} {
		synctest.Test(t, func(t *testing.T) {
			s := &losing{Store: newStore(t)}
			turns := 0
			lc, stop := serving(t, Config{Store: s, Forgiving: forgiving, Engine: agent{turn: func(context.Context,
				engine.Turn) (engine.Outcome, error) {
				turns++
				return asking("Ship?"), nil
			}}})
			submit(t, lc, "r")
			synctest.Wait()
			in(t, lc.Client, "r", fsm.StateWaitingUser)
			s.sessions.Store(true)
			_, err := lc.Reply(t.Context(), "r", Reply{ID: 1, Text: "yes"})
			require.NoError(t, err)
			synctest.Wait()
			run := in(t, lc.Client, "r", state)
			require.Equal(t, forgiving, run.Held())
			if forgiving {
				require.Equal(t, fsm.CodeSessionResumeFailed, run.Block.Code)
				require.Contains(t, run.Block.Reason, "the session handle is missing")
			} else {
				require.Equal(t, fsm.CodeSessionResumeFailed, run.Error.Code)
				require.Contains(t, run.Error.Message, "the session handle is missing")
			}
			require.Equal(t, 1, turns)
			stop()
		})
	}
}
