package lifecycle

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/store"
)

// K5 J8: that nobody has claimed a question is confirmed by what is durable; a claim that lasts is
// a conflict, and the call reads again.
func TestK5ReleaseIsConfirmed(t *testing.T) {
	away := errors.New("connection refused")
	claimed := func(until time.Time) Run {
		claim := &interaction.Claim{Actor: "ada", Until: until}
		return Run{ID: "r", Pending: &interaction.Question{ID: 1, Claim: claim}}
	}
	for name, c := range map[string]struct {
		store saying
		want  error
	}{
		"no claim":               {saying{run: Run{ID: "r", Pending: &interaction.Question{ID: 1}}}, nil},
		"a claim":                {saying{run: claimed(noon.Add(1))}, store.ErrConflict},
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

// K5: a vote is looked for among the open questions first. If these have all votes of the run, its
// history, which may be long, is not read.
func TestK5VotesOfOpenQuestionsNeedNoHistory(t *testing.T) {
	question := func(id int, key string) interaction.Question {
		return interaction.Question{ID: id, Votes: []interaction.Vote{{Actor: "ada", Key: key}}}
	}
	first, second := question(1, "a"), question(2, "b")
	run := &Run{ID: "r", Votes: 2, Pending: &first, Siblings: []interaction.Question{second}}
	for key, want := range map[string]int{"a": 1, "b": 2, "c": 0} {
		q, vote, err := voteWithKey(t.Context(), nil, run, key)
		require.NoError(t, err)
		require.Equal(t, want > 0, vote != nil, key)
		if want > 0 {
			require.Equal(t, []any{want, key}, []any{q.ID, vote.Key})
		}
	}
}
