package explain_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/contract"
	"github.com/interlude-go/interlude/contract/explain"
	"github.com/interlude-go/interlude/internal/reqmap"
)

func index() *explain.Index {
	var requirements []explain.Requirement
	for _, r := range reqmap.Requirements() {
		requirements = append(requirements, explain.Requirement{ID: r.ID, Text: r.Text})
	}
	return explain.New(contract.Load(), requirements)
}

// eachString visits the texts of the contract's file, each with its key.
func eachString(key string, tree any, visit func(key, text string)) {
	switch tree := tree.(type) {
	case map[string]any:
		for key, item := range tree {
			eachString(key, item, visit)
		}
	case []any:
		for _, item := range tree {
			eachString(key, item, visit)
		}
	case string:
		visit(key, tree)
	}
}

func source(t testing.TB) any {
	t.Helper()
	var tree any
	require.NoError(t, json.Unmarshal(contract.Source(), &tree))
	return tree
}

// G2: every id of the contract, and every requirement, is explained.
func TestFindExplainsEveryID(t *testing.T) {
	t.Parallel()
	x := index()
	n := 0
	eachString("", source(t), func(key, text string) {
		switch key {
		case "id":
			n++
			require.Len(t, x.Find(text), 1, text)
			require.NotEmpty(t, x.Find(text)[0].Doc, text)
		case "requirements":
			require.Len(t, x.Find(text), 1, text)
		}
	})
	require.Len(t, x.All(), n+len(reqmap.Requirements()))
}

// G2: wherever the contract refers to something, the index knows the reference. A key of the
// contract that is not listed here is missing in the index.
func TestIndexHasEveryReference(t *testing.T) {
	t.Parallel()
	x := index()
	other := map[string]bool{"id": true, "name": true, "code": true, "doc": true, "slot": true, "on_deadline": true,
		"kind": true, "present": true, "source": true, "limit": true, "schema": true}
	seen := 0
	eachString("", source(t), func(key, text string) {
		found := x.Find(text)
		if other[key] || len(found) == 0 {
			return
		}
		seen++
		require.True(t, slices.ContainsFunc(found, func(e explain.Entry) bool {
			return len(e.UsedBy) > 0 || e.Kind == "event type"
		}), "%s %s", key, text)
	})
	require.Greater(t, seen, 300)

	reply := x.Find("interaction.reply.accepted")
	require.Len(t, reply, 2)
	require.Equal(t, "event", reply[0].Kind)
	require.Contains(t, reply[0].UsedBy, "TR-06")
	require.NotContains(t, reply[0].UsedBy, "IV-24", "which names the event's type")
	require.Equal(t, "event type", reply[1].Kind)
	require.Contains(t, reply[1].UsedBy, "IV-24")
	require.Contains(t, x.Find("ENGINE_FAILED")[0].UsedBy, "CG-01")
	require.Contains(t, x.Find("WC-01")[0].UsedBy, "CG-08")
	require.Contains(t, x.Find("slot_held")[0].UsedBy, "TR-01")
	require.Contains(t, x.Find("resumable")[0].UsedBy, "WP-01")
	require.Contains(t, x.Find("auto")[0].UsedBy, "IV-11")
	require.Contains(t, x.Find("F4")[0].UsedBy, "IV-27")
	for _, e := range x.All() {
		require.Len(t, slices.Compact(slices.Clone(e.UsedBy)), len(e.UsedBy), e.ID)
		for _, id := range e.UsedBy {
			require.Len(t, x.Find(id), 1, "%s is used by %s", e.ID, id)
		}
	}
}

func TestATransitionSaysHowManyEventsItEmits(t *testing.T) {
	t.Parallel()
	require.Contains(t, index().Find("TR-02")[0].Says, explain.Field{Name: "emits", Text: "assistant.message.final " +
		"(or none), diagnostic.warning (any number), conversation.state.changed, user.input.required (at least one)"})
}

func TestFindIgnoresCase(t *testing.T) {
	t.Parallel()
	x := index()
	require.Equal(t, x.Find("IV-24"), x.Find("iv-24"))
	require.Equal(t, x.Find("ENGINE_FAILED"), x.Find("engine_failed"))
	require.Empty(t, x.Find(""))
}

func TestNearFindsSimilarNames(t *testing.T) {
	t.Parallel()
	x := index()
	for word, want := range map[string]string{
		"IV-2": "IV-02", "tr6": "TR-06", "ENGINE_FAILD": "ENGINE_FAILED", "wait": "waiting_user",
		"turn.start": "turn.started", "reply.accepted": "interaction.reply.accepted",
	} {
		require.Contains(t, x.Near(word), want, word)
	}
	for _, word := range []string{"", "zzzzzzzz", strings.Repeat("waiting_user", 100_000)} {
		require.Empty(t, x.Near(word))
	}
}

// FuzzNear: any word has few suggestions, and each of them is known.
func FuzzNear(f *testing.F) {
	x := index()
	f.Add("TR-6")
	f.Add("")
	f.Add("\xff")
	f.Fuzz(func(t *testing.T, word string) {
		near := x.Near(word)
		require.LessOrEqual(t, len(near), 3)
		for _, known := range near {
			require.NotEmpty(t, x.Find(known))
		}
	})
}
