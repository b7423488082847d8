package typed_test

import (
	"encoding/json"
	"net/netip"
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

// K3: every accepted value of a typed question decodes to its type.
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
		err := r.ValidateFor(q)
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

// decoded has types with their own JSON decoding.
type decoded struct {
	Any     json.RawMessage            `json:"any"`
	Perhaps *json.RawMessage           `json:"perhaps,omitempty"`
	Several []json.RawMessage          `json:"several,omitempty"`
	Named   map[string]json.RawMessage `json:"named,omitempty"`
	Bytes   []byte                     `json:"bytes,omitempty"`
	Number  json.Number                `json:"number,omitempty"`
	Address netip.Addr                 `json:"address,omitzero"`
	At      *time.Time                 `json:"at,omitempty"`
}

// N3: a field whose type decodes itself accepts exactly what the type decodes.
func TestN3TypesThatDecodeThemselves(t *testing.T) {
	q, err := typed.Question[decoded]("What?")
	require.NoError(t, err)
	require.NoError(t, q.Validate())
	q.ID = 1
	for value, accepted := range map[string]bool{
		`{"any":{"a":[1,"x",null]}}`:             true,
		`{"any":"aGk="}`:                         true,
		`{"any":17}`:                             true,
		`{"any":null,"perhaps":null}`:            true,
		`{"any":[],"perhaps":{"b":true}}`:        true,
		`{"any":1,"several":[1,"a",{}]}`:         true,
		`{"any":1,"named":{"a":false,"b":[]}}`:   true,
		`{"any":1,"bytes":"aGk="}`:               true,
		`{"any":1,"bytes":[104,105]}`:            false,
		`{"any":1,"bytes":"a"}`:                  false,
		`{"any":1,"number":12345678901234567.5}`: true,
		`{"any":1,"number":"x"}`:                 false,
		`{"any":1,"address":"::1"}`:              true,
		`{"any":1,"address":{}}`:                 false,
		`{"any":1,"at":"2026-01-02T03:04:05Z"}`:  true,
		`{"any":1,"at":null}`:                    true,
		`{}`:                                     false,
	} {
		r := interaction.Reply{ID: 1, Value: json.RawMessage(value)}
		if !accepted {
			require.ErrorIs(t, r.ValidateFor(q), interaction.ErrInvalidReply, value)
			continue
		}
		require.NoError(t, r.ValidateFor(q), value)
		_, err := interaction.As[decoded](r.AnswerTo(&q, time.Now()))
		require.NoError(t, err, value)
	}
	whole, err := typed.Question[json.RawMessage]("What?")
	require.NoError(t, err)
	require.JSONEq(t, "true", string(whole.Schema))
}
