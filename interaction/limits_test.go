package interaction_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
)

// nested is n nested lists around inner.
func nested(n int, inner string) string {
	return strings.Repeat("[", n) + inner + strings.Repeat("]", n)
}

// C2: questions of agents are accepted up to each limit, and not beyond it.
func TestReadAcceptsQuestionsUpToTheLimits(t *testing.T) {
	object := func(size int) string { // a question as JSON of so many bytes
		head, tail := `{"kind":"confirm","prompt":"x","more":"`, `"}`
		return head + strings.Repeat("y", size-len(head)-len(tail)) + tail
	}
	whole := func(object string) string { return `{"ask_user":` + object + `}` }
	tagged := func(body string) string { return "<ASK_USER_YAML>" + body + "</ASK_USER_YAML>" }
	mappings := func(n int) string { // a mapping in a mapping, n deep, as a block
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "\n%sa:", strings.Repeat(" ", i+1))
		}
		return b.String() + " 1"
	}
	for name, c := range map[string]struct{ taken, refused string }{
		"bytes of JSON": {whole(object(interaction.MaxAskUser)), whole(object(interaction.MaxAskUser + 1))},
		"bytes of YAML": {tagged(object(interaction.MaxAskUser)), tagged(object(interaction.MaxAskUser + 1))},
		"depth of JSON": {whole(`{"prompt":"x","kind":"confirm","ui_hints":` + `{"a":` + nested(14, "") + `}}`),
			whole(`{"prompt":"x","kind":"confirm","ui_hints":{"a":` + nested(15, "") + `}}`)},
		"depth of flow": {tagged(`{prompt: x, kind: confirm, more: ` + nested(15, "") + `}`),
			tagged(`{prompt: x, kind: confirm, more: ` + nested(16, "") + `}`)},
		"depth of blocks": {tagged("prompt: x\nkind: confirm\nmore:" + mappings(14) + "\n"),
			tagged("prompt: x\nkind: confirm\nmore:" + mappings(15) + "\n")},
		"number of values": {
			tagged("{prompt: x, kind: confirm, more: [" + strings.Repeat("1,", 4092) + "]}"),
			tagged("{prompt: x, kind: confirm, more: [" + strings.Repeat("1,", 4093) + "]}"),
		},
	} {
		t.Run("C2/"+name, func(t *testing.T) {
			r := interaction.Read(c.taken, nil)
			require.Empty(t, r.Diagnostics)
			require.NotNil(t, r.Question)
			r = interaction.Read(c.refused, nil)
			require.Nil(t, r.Question)
			require.Len(t, r.Diagnostics, 1)
			require.Equal(t, fsm.WarnAskUserTruncated, r.Diagnostics[0].Code)
		})
	}
	t.Run("C2/brackets beyond all measure are not given to the parser", func(t *testing.T) {
		r := interaction.Read(tagged("prompt: x\nmore: "+strings.Repeat("[", 20_000)), nil)
		require.Equal(t, fsm.WarnAskUserTruncated, r.Diagnostics[0].Code, "for its depth, and not as what the parser "+
			"makes of it")
	})
	t.Run("C1/many brackets side by side are not deep", func(t *testing.T) {
		r := interaction.Read(tagged("prompt: x\nkind: choose_one\noptions: ["+strings.Repeat("{label: a, value: b},",
			50)+"]"), nil)
		require.Empty(t, r.Diagnostics)
		require.Len(t, r.Question.Options, 50)
	})
}

// C2: each part of a question is cut at its limit, with a diagnostic.
func TestNormalizeCutsPartsAtTheLimits(t *testing.T) {
	hints := func(bytes int) map[string]any { return map[string]any{"a": strings.Repeat("x", bytes-len(`{"a":""}`))} }
	list := func(n int, of string) []string { return strings.Split(strings.Repeat(of+"\n", n-1)+of, "\n") }
	deep := func(depth int) (hints map[string]any) {
		require.NoError(t, json.Unmarshal([]byte(`{"a":`+nested(depth-1, "")+`}`), &hints))
		return hints
	}
	many := func(n int) map[string]any {
		all := make(map[string]any)
		for i := range n {
			all[fmt.Sprint(i)] = i
		}
		return all
	}
	options := func(n int, label string) []interaction.Option {
		all := make([]interaction.Option, n)
		for i := range all {
			all[i] = interaction.Option{Label: label, Value: "v"}
		}
		return all
	}
	text := func(n int) string { return strings.Repeat("x", n) }
	for name, c := range map[string]struct{ kept, cut interaction.Question }{
		"prompt": {interaction.Question{Prompt: text(interaction.MaxPromptText)},
			interaction.Question{Prompt: text(interaction.MaxPromptText + 1)}},
		"context": {interaction.Question{Context: text(interaction.MaxContext)},
			interaction.Question{Context: text(interaction.MaxContext + 1)}},
		"options": {interaction.Question{Options: options(interaction.MaxOptions, "l")},
			interaction.Question{Options: options(interaction.MaxOptions+1, "l")}},
		"a label": {interaction.Question{Options: options(1, text(interaction.MaxLabel))},
			interaction.Question{Options: options(1, text(interaction.MaxLabel+1))}},
		"required fields": {interaction.Question{RequiredFields: list(interaction.MaxRequiredFields, "f")},
			interaction.Question{RequiredFields: list(interaction.MaxRequiredFields+1, "f")}},
		"a field's name": {interaction.Question{RequiredFields: list(1, text(interaction.MaxLabel))},
			interaction.Question{RequiredFields: list(1, text(interaction.MaxLabel+1))}},
		"bytes of hints": {interaction.Question{UIHints: hints(interaction.MaxUIHints)},
			interaction.Question{UIHints: hints(interaction.MaxUIHints + 1)}},
		"depth of hints": {interaction.Question{UIHints: deep(interaction.MaxDepth)},
			interaction.Question{UIHints: deep(interaction.MaxDepth + 1)}},
		"hints": {interaction.Question{UIHints: many(interaction.MaxOptions)},
			interaction.Question{UIHints: many(interaction.MaxOptions + 1)}},
	} {
		t.Run("C2/"+name, func(t *testing.T) {
			for _, q := range []*interaction.Question{&c.kept, &c.cut} {
				q.Kind, q.DefaultPolicy = interaction.Confirm, interaction.Abort
				if q.Prompt == "" {
					q.Prompt = "?"
				}
			}
			got, odd := interaction.Normalize(c.kept)
			require.Empty(t, odd)
			requireSame(t, c.kept, got)
			got, odd = interaction.Normalize(c.cut)
			require.Len(t, odd, 1)
			require.Equal(t, fsm.WarnAskUserTruncated, odd[0].Code)
			again, odd := interaction.Normalize(got)
			require.Empty(t, odd, "what is left is within the limits")
			require.Equal(t, got, again)
		})
	}
}

// requireSame compares questions as JSON, to which numbers are all alike.
func requireSame(t *testing.T, want, got interaction.Question) {
	t.Helper()
	wanted, err := json.Marshal(want)
	require.NoError(t, err)
	gotten, err := json.Marshal(got)
	require.NoError(t, err)
	require.JSONEq(t, string(wanted), string(gotten))
}

// C2: a text is cut between two characters, and NUL is removed, which some stores refuse.
func TestNormalizeCutsTextsBetweenCharacters(t *testing.T) {
	long, _ := interaction.Normalize(interaction.Question{Prompt: "a" + strings.Repeat("é", interaction.MaxPromptText)})
	require.Equal(t, "a"+strings.Repeat("é", interaction.MaxPromptText/2-1), long.Prompt)
	long, _ = interaction.Normalize(interaction.Question{Prompt: "abc" + strings.Repeat("𝄞",
		interaction.MaxPromptText)})
	require.Equal(t, "abc"+strings.Repeat("𝄞", interaction.MaxPromptText/4-1), long.Prompt)
	nul, _ := interaction.Normalize(interaction.Question{Prompt: "\x00a\x00b"})
	require.Equal(t, "\uFFFDa\uFFFDb", nul.Prompt)
}

// C3 C5: a reply is accepted up to each limit.
func TestReplyIsAcceptedUpToTheLimits(t *testing.T) {
	key, actor, text := strings.Repeat("k", interaction.MaxKey), strings.Repeat("a", interaction.MaxActor),
		strings.Repeat("x", interaction.MaxReplyText)
	require.NoError(t, interaction.Reply{ID: 1, Text: text, Key: key, Actor: interaction.Actor{ID: actor}}.Validate())
	for field, r := range map[string]interaction.Reply{
		"Text is 262145 bytes": {ID: 1, Text: text + "x"},
		"Text is not text":     {ID: 1, Text: "\x00a"},
		"Key is 256 bytes":     {ID: 1, Text: "x", Key: key + "k"},
		"Key is 3 bytes":       {ID: 1, Text: "x", Key: "k\xffk"},
		"Key is 2 bytes":       {ID: 1, Text: "x", Key: "\x00k"},
		"Actor is 256 bytes":   {ID: 1, Text: "x", Actor: interaction.Actor{ID: actor + "a"}},
		"Actor is 3 bytes":     {ID: 1, Text: "x", Actor: interaction.Actor{ID: "a\xffa"}},
		"Actor is 2 bytes":     {ID: 1, Text: "x", Actor: interaction.Actor{ID: "\x00a"}},
	} {
		require.ErrorContains(t, r.Validate(), "invalid reply: "+field+", want ")
	}
}

// Users rely on the limits.
func TestLimitsAreUnchanged(t *testing.T) {
	require.Equal(t, []int{262144, 255, 255}, []int{interaction.MaxReplyText, interaction.MaxKey, interaction.MaxActor})
	require.Equal(t, []int{32768, 32768, 100, 1024, 100, 8192},
		[]int{interaction.MaxPromptText, interaction.MaxContext, interaction.MaxOptions, interaction.MaxLabel,
			interaction.MaxRequiredFields, interaction.MaxUIHints})
	require.Equal(t, []int{65536, 16, 1048576, 65536}, []int{interaction.MaxAskUser, interaction.MaxDepth,
		interaction.MaxOutput, interaction.MaxSessionHandle})
}

func TestSessionHandleClone(t *testing.T) {
	require.Nil(t, (*interaction.SessionHandle)(nil).Clone())
	h := &interaction.SessionHandle{Engine: "e", Version: "1", Data: []byte("data")}
	copied := h.Clone()
	require.Equal(t, h, copied)
	copied.Data[0] = 'x'
	require.Equal(t, "data", string(h.Data), "the copy shares nothing")
}

// I11: an output of an engine is accepted up to its limit.
func TestReadAcceptsOutputUpToItsLimit(t *testing.T) {
	output := func(size int) string { return `{"a":"` + strings.Repeat("x", size-len(`{"a":""}`)) + `"}` }
	r := interaction.Read("", json.RawMessage(output(interaction.MaxOutput)))
	require.Len(t, r.Output, interaction.MaxOutput)
	require.Nil(t, r.OutputFault)
	over := output(interaction.MaxOutput + 1)
	for _, r := range []interaction.Reading{
		interaction.Read("", json.RawMessage(over)), interaction.Read(over, nil), interaction.Read("Here:\n```json\n"+
			over+"\n```", nil),
	} {
		require.Nil(t, r.Output)
		require.Equal(t, &interaction.Diagnostic{Code: fsm.WarnEngineOutputTruncated,
			Detail: "output has 1048577 bytes, at most 1048576 are accepted"}, r.OutputFault)
		require.Contains(t, r.Baseline().Prompt, r.OutputFault.Detail)
	}
	r = interaction.Read("{", json.RawMessage(`{"a":`))
	require.Equal(t, &interaction.Diagnostic{Code: fsm.WarnEngineOutputMalformed,
		Detail: "structured output is not valid JSON"}, r.OutputFault)
	r = interaction.Read("I am done.", json.RawMessage(`{"eur":-1e400}`)) // N3: no other reader could read it
	require.Nil(t, r.Output)
	require.Equal(t, &interaction.Diagnostic{Code: fsm.WarnEngineOutputMalformed, Detail: "structured output: " +
		"schema: number is out of bounds: 1e400 is above the range of a float64"}, r.OutputFault)
	require.Nil(t, interaction.Read(`{"eur":1e400}`, nil).Output)
	require.Nil(t, interaction.Read("{", nil).OutputFault, "a text that looks like an output is shown as it is")
}

// C2 B8: a turn that neither asks nor completes gives a question that shows the agent's text; its
// output only if there was no other text.
func TestBaselineShowsTheOutputOfASilentTurn(t *testing.T) {
	asked := func(text, output string) string {
		return interaction.Read(text, json.RawMessage(output)).Baseline().Prompt
	}
	notDone := `{"__SKILL_DONE__":false,"left":2}`
	require.JSONEq(t, `{"left":2}`, asked("", notDone))
	require.Equal(t, "Two left.", asked("Two left.", notDone))
	require.Equal(t, interaction.Baseline("").Prompt, asked("", `{"left":2}`), "it is not said to be unfinished")
}

// C2: one text gives sixteen diagnostics at most.
func TestReadGivesAtMostSixteenDiagnostics(t *testing.T) {
	label := strings.Repeat("x", interaction.MaxLabel+1)
	r := interaction.Read("<ASK_USER_YAML>\nkind: choose_one\nprompt: x\noptions:\n"+strings.Repeat("- {label: "+label+
		"}\n", 40)+"</ASK_USER_YAML>", nil)
	require.Len(t, r.Question.Options, 40)
	require.Len(t, r.Diagnostics, 16)
}

// Objects of more than 512 bytes cost the garbage collector more, and a history has a Record for
// each question: with 520 bytes, the memory store took 5 % more processor time at 16 callers.
func TestARecordIsSmall(t *testing.T) {
	require.LessOrEqual(t, unsafe.Sizeof(interaction.Record{}), uintptr(512))
}
