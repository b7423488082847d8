package typed_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/interaction/typed"
)

type order struct {
	Colour string     `json:"colour" jsonschema:"red or blue"`
	Count  int64      `json:"count"`
	By     *time.Time `json:"by,omitempty"`
	Notes  []string   `json:"notes,omitempty"`
}

// K3: whatever value of a question of a type is accepted, it decodes to that type.
func TestValueOfATypedQuestionDecodes(t *testing.T) {
	q, err := typed.Question[order]("What?")
	require.NoError(t, err)
	q, odd := interaction.Normalize(q)
	require.Empty(t, odd)
	q.ID = 1
	for value, accepted := range map[string]bool{
		`{"colour":"red","count":9007199254740993}`:                         true,
		`{"colour":"red","count":3,"by":"2026-01-02T03:04:05Z","notes":[]}`: true,
		`{"colour":"red"}`:                       false,
		`{"colour":"red","count":"3"}`:           false,
		`{"colour":"red","count":1.5}`:           false,
		`{"colour":"red","count":3,"size":4}`:    false,
		`{"colour":"red","count":3,"by":"noon"}`: false,
		`[]`:                                     false,
	} {
		r := interaction.Reply{ID: 1, Value: json.RawMessage(value)}
		err := r.CheckFor(q)
		if !accepted {
			require.ErrorIs(t, err, interaction.ErrInvalidReply, value)
			continue
		}
		require.NoError(t, err, value)
		got, err := interaction.As[order](r.AnswerTo(&q, time.Now()))
		require.NoError(t, err, value)
		require.Equal(t, "red", got.Colour)
		require.NotEqual(t, int64(9007199254740992), got.Count, "no number is rounded")
	}
	again, err := typed.Question[order]("What?")
	require.NoError(t, err)
	require.Equal(t, q.Digest(), interaction.Question{Kind: q.Kind, Prompt: "What?", Schema: again.Schema}.Digest(),
		"the same type has the same digest")
}

func TestTypesWithoutASchema(t *testing.T) {
	_, err := typed.Question[func()]("?")
	require.Error(t, err)
	_, err = typed.Question[chan int]("?")
	require.Error(t, err)
}
