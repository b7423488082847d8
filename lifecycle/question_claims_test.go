package lifecycle

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/lifecycle/internal/node"
	"github.com/interlude-go/interlude/store"
)

// K5 J8: the absence of a claim is confirmed by durable data; a current claim is a conflict, and
// the call reads again.
func TestK5ReleaseIsConfirmed(t *testing.T) {
	away := errors.New("connection refused")
	claimed := func(until time.Time) Run {
		claim := &interaction.Claim{Actor: "ada", Until: until}
		return Run{ID: "r", Open: []interaction.Question{{ID: 1, Claim: claim}}}
	}
	for name, c := range map[string]struct {
		store saying
		want  error
	}{
		"no claim":               {saying{run: Run{ID: "r", Open: []interaction.Question{{ID: 1}}}}, nil},
		"a claim":                {saying{run: claimed(noon.Add(1))}, node.ErrReadAgain},
		"a claim that is over":   {saying{run: claimed(noon)}, nil},
		"the question is closed": {saying{run: Run{ID: "r"}}, nil},
		"the run is gone":        {saying{err: store.ErrNotFound}, store.ErrNotFound},
		"the store is away":      {saying{err: away, run: claimed(noon.Add(1))}, away},
	} {
		t.Run(name, func(t *testing.T) {
			c.store.Store = newStore(t)
			err := clientOf(t, c.store).confirmReleased(t.Context(), "r", 1, noon)
			require.Equal(t, c.want, err)
		})
	}
}

// K5: people cannot fill the log of a run with changes of its questions. They can still answer and
// release, and the host can do everything; an answer makes room.
func TestK5ChangesOfAQuestionAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lc, stop := serve(t, Config{Engine: agent{turn: func(_ context.Context, in engine.Turn) (
			engine.Outcome, error) {
			if in.Attempt > 2 {
				return finished(), nil
			}
			return asking("?"), nil
		}}})
		defer stop()
		_, err := lc.Submit(t.Context(), Spec{ID: "r", Prompt: "x", Ask: &AskPolicy{
			Wait: &Wait{Then: interaction.ThenFail, End: 3 * time.Hour}}})
		require.NoError(t, err)
		synctest.Wait()
		ada := lc.As(Actor{ID: "ada"})
		asked := in(t, lc.Client, "r", StateWaitingUser).Seq
		until := time.Now().Add(time.Hour)
		flood := func(question int) (changes int) {
			for ; changes <= 2*MaxChanges; changes += 2 {
				if err := ada.Claim(t.Context(), "r", question, until); err != nil {
					require.ErrorIs(t, err, ErrTooMany)
					return changes
				}
				require.NoError(t, ada.Release(t.Context(), "r", question))
			}
			return changes
		}
		require.Equal(t, MaxChanges, flood(1))
		require.Equal(t, asked+MaxChanges, in(t, lc.Client, "r", StateWaitingUser).Seq)
		q, err := lc.Pending(t.Context(), "r")
		require.NoError(t, err)
		end := q.EndsAt.Add(time.Hour)
		require.ErrorIs(t, ada.Reassign(t.Context(), "r", 1, nil, Audience{Users: []string{"bob"}}), ErrTooMany)
		require.ErrorIs(t, ada.Extend(t.Context(), "r", 1, end), ErrTooMany)
		require.ErrorIs(t, lc.As(Actor{ID: "bob"}).Claim(t.Context(), "r", 1, until), ErrTooMany)
		require.NoError(t, lc.Extend(t.Context(), "r", 1, end), "the host may")

		_, err = ada.Reply(t.Context(), "r", Reply{ID: 1, Text: "yes"})
		require.NoError(t, err)
		synctest.Wait()
		require.NoError(t, ada.Claim(t.Context(), "r", 2, until))
		require.Equal(t, MaxChanges, flood(2), "the last release comes after the bound")
		require.NoError(t, ada.Release(t.Context(), "r", 2))
	})
}

// K5: a vote is looked for among the open questions first. If these have all votes of the run, its
// history, which may be long, is not read.
func TestK5VotesOfOpenQuestionsNeedNoHistory(t *testing.T) {
	question := func(id int, key string) interaction.Question {
		return interaction.Question{ID: id, Votes: []interaction.Vote{{Actor: "ada", Key: key}}}
	}
	first, second := question(1, "a"), question(2, "b")
	run := &Run{ID: "r", Votes: 2, Open: []interaction.Question{first, second}}
	for key, want := range map[string]int{"a": 1, "b": 2, "c": 0} {
		record, vote, err := voteWithKey(t.Context(), nil, run, key)
		require.NoError(t, err)
		require.Equal(t, want > 0, vote != nil, key)
		if want > 0 {
			require.Equal(t, []any{want, key}, []any{record.Question.ID, vote.Key})
		}
	}
}
