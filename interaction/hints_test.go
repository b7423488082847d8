package interaction_test

import (
	"encoding/json"
	"errors"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
)

// bad encodes itself by a function.
type bad func() ([]byte, error)

func (b bad) MarshalJSON() ([]byte, error) { return b() }

type link struct{ Next *link }

// hidden has a chain that JSON leaves out.
type hidden struct{ next *hidden }

// brief encodes itself, whatever it holds.
type brief struct{ Ring *link }

func (brief) MarshalJSON() ([]byte, error) { return []byte(`"brief"`), nil }

// TestNormalizeHintsOfAnyShape: C2 J10, an engine in the host's process may hand over any Go value
// as hints. What JSON cannot hold within the limits is left out with a diagnostic; nothing of it
// ends the process.
func TestNormalizeHintsOfAnyShape(t *testing.T) {
	const million = 1_000_000
	maps := map[string]any{}
	for range million {
		maps = map[string]any{"x": maps}
	}
	lists := []any{}
	for range million {
		lists = []any{lists}
	}
	chain := &link{}
	for range million {
		chain = &link{chain}
	}
	secret := &hidden{}
	for range interaction.MaxDepth {
		secret = &hidden{secret}
	}
	round := map[string]any{}
	round["self"] = round
	ring := &link{}
	ring.Next = ring
	var pointer any
	pointer = &pointer
	for name, hints := range map[string]map[string]any{
		"maps a million deep":      maps,
		"lists a million deep":     {"x": lists},
		"pointers a million deep":  {"x": chain},
		"a chain beyond the limit": {"x": secret},
		"a map that holds itself":  round,
		"a ring of structs":        {"x": ring},
		"a pointer to itself":      {"x": pointer},
		"a panic":                  {"x": bad(func() ([]byte, error) { panic("no") })},
		"an error":                 {"x": bad(func() ([]byte, error) { return nil, errors.New("no") })},
		"what is not JSON":         {"x": bad(func() ([]byte, error) { return []byte("{"), nil })},
		"a function":               {"x": func() {}},
		"not a number":             {"x": math.NaN()},
		"a long list":              {"x": make([]int, million)},
		"what encodes itself deep": {"x": json.RawMessage(nested(interaction.MaxDepth, ""))},
	} {
		t.Run(name, func(t *testing.T) {
			q, told := interaction.Normalize(interaction.Question{Kind: interaction.OpenText, Prompt: "Which?",
				UIHints: hints})
			require.Empty(t, q.UIHints)
			require.Len(t, told, 1)
			require.Equal(t, fsm.WarnAskUserTruncated, told[0].Code)
		})
	}
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	q, told := interaction.Normalize(interaction.Question{Kind: interaction.OpenText, Prompt: "Which?",
		UIHints: map[string]any{
			"at": now, "list": [2]int{1, 2}, "struct": struct{ Wide bool }{true}, "bytes": []byte("x"),
			"none": (*link)(nil), "brief": brief{ring},
		}})
	require.Empty(t, told)
	require.Equal(t, map[string]any{
		"at": "2026-01-02T03:04:05Z", "list": []any{1.0, 2.0}, "struct": map[string]any{"Wide": true}, "bytes": "eA==",
		"none": nil, "brief": "brief",
	}, q.UIHints)
}
